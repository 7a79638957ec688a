"""`sigmastar learn dependency`: from a treebank to a parser."""

from __future__ import annotations

import hashlib
import os
import time
from pathlib import Path

import click
import numpy as np

from sigmastar import __version__
from sigmastar.cli.options import auto_or_number, json_option, quiet_option, seed_option
from sigmastar.cli.printing import print_figures
from sigmastar.cli.watching import tell, watching
from sigmastar.data.conllu import read_treebank
from sigmastar.errors import InputError
from sigmastar.learning.dependency import METHODS, learn_parser
from sigmastar.learning.heads_lexical import STATES
from sigmastar.operators.dependency_parser import DECODINGS
from sigmastar.operators.files import save_model
from sigmastar.parallel import one_blas_thread
from sigmastar.structures.heads import SYMBOLS

LEXICAL = "lexical"
DETERMINISTIC = ("det", "det+f")


@click.command(context_settings={"show_default": True})
@click.argument("file", metavar="FILE")
@click.option("--output", "-o", required=True, metavar="MODEL", help="The model file to write.")
@click.option("--method", type=click.Choice([*METHODS, *STATES]), default="spectral+em", help="How to learn.")
@click.option(
    "--symbols",
    type=click.Choice([*SYMBOLS, LEXICAL]),
    default="upos+xpos",
    help="What automata read; lexical is upos+xpos, with words in the arcs.",
)
@click.option(
    "--states",
    type=auto_or_number,
    metavar="N",
    default=10,
    help="Of each automaton, at most; auto: what says most of held-out sequences.",
)
@click.option(
    "--arcs/--no-arcs",
    default=None,
    help="Train a factor of arcs; as default with spectral+em and lexical.",
)
@click.option(
    "--decoding",
    type=click.Choice(DECODINGS),
    default=DECODINGS[0],
    help="How the parser decides: by the marginals of arcs, or (det, det+f) by the most probable tree.",
)
@click.option(
    "--counted",
    type=click.Choice(STATES),
    help="Multiply this lexicalised grammar, of counted words, into the automata.",
)
@click.option("--epochs", type=click.IntRange(1), default=3, help="Of the training of arcs.")
@seed_option
@json_option
@quiet_option
def command(
    file: str,
    output: str,
    method: str,
    symbols: str,
    states: int | str,
    arcs: bool | None,
    decoding: str,
    counted: str | None,
    epochs: int,
    seed: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """Learn a projective dependency parser from FILE, a treebank in CoNLL-U or `word TAG head` (.dp).

    det: one state a head and direction. det+f: another before the first modifier. bigram: the spectral method
    of Luque et al. 2012. spectral: the same with longer views. em: from a random start. spectral+em: EM from
    spectral states, and trained arcs, which is slower and by far the best. lex, lex+f, lex+fcp: words and
    tags counted with back-off, without hidden states.
    """
    lexical = symbols == LEXICAL and method not in STATES  # those have words of their own
    trained = arcs if arcs is not None else lexical or method == "spectral+em"
    if lexical and arcs is False:
        raise click.UsageError("--symbols lexical puts words into the arcs: it cannot go without them")
    if decoding == "viterbi" and method not in DETERMINISTIC:
        raise click.UsageError(f"--decoding viterbi is for --method {' and '.join(DETERMINISTIC)} alone")
    if counted and method in STATES:
        raise click.UsageError(f"--method {method} is counted already: leave --counted out")
    if counted and trained:
        raise click.UsageError("--counted goes with --no-arcs: trained arcs know words better")
    folder = os.path.dirname(output) or "."
    if output != "-" and not os.path.isdir(folder):
        raise InputError(f"the folder {folder} does not exist; make it first", file=output)
    with watching("reading", quiet) as say, one_blas_thread():
        treebank = read_treebank(file)
        say("learning")
        begin = time.perf_counter()
        parser = learn_parser(
            treebank,
            method,
            states,
            "upos+xpos" if symbols == LEXICAL else symbols,
            lexical=lexical,
            arcs=trained,
            rng=np.random.default_rng(seed),
            n_epochs=epochs,
            decoding=decoding,
            counted=counted,
        )
    learned = {
        "method": method,
        "seed": seed,
        "settings": {
            "symbols": symbols,
            "states": states,
            "arcs": trained,
            "decoding": decoding,
            "counted": counted,
            "epochs": epochs,
        },
        "data": {"files": [_described(file)], "n_sentences": len(treebank), "n_words": treebank.n_words},
        "sigmastar": __version__,
        "seconds": round(time.perf_counter() - begin, 3),
    }
    save_model(parser, output, learned)
    if as_json:
        print_figures(learned, as_json=True)
    tell(
        f"{output}: {method}, from {len(treebank)} sentences over {len(parser.alphabet)} symbols "
        f"in {learned['seconds']:.1f} s",
        quiet,
    )


def _described(path: str) -> dict[str, str]:
    if not os.path.isfile(path):
        return {"name": "standard input" if path == "-" else Path(path).name}
    with open(path, "rb") as stream:
        return {"name": Path(path).name, "sha256": hashlib.file_digest(stream, "sha256").hexdigest()}
