"""`sigmastar learn tagger`: from tagged sentences to a tagger."""

from __future__ import annotations

import time

import click
import numpy as np

from sigmastar import __version__
from sigmastar.core.cli.options import auto_or_number, json_option, quiet_option, seed_option
from sigmastar.core.cli.paths import described_file, require_folder
from sigmastar.core.cli.printing import print_figures
from sigmastar.core.cli.progress import tell, watching
from sigmastar.core.errors import InputError
from sigmastar.core.model_files import save_model
from sigmastar.core.parallel import limited_threads
from sigmastar.taggers.data.columns import FORMATS, TaggedLayout, conllu_label, format_of
from sigmastar.taggers.learn.methods import METHODS, TaggerSettings, learn_tagger
from sigmastar.taggers.model.tagger import DECODINGS


@click.command(context_settings={"show_default": True})
@click.argument("file", metavar="FILE")
@click.option("--output", "-o", required=True, metavar="MODEL", help="The model file to write.")
@click.option(
    "--format", "file_format", type=click.Choice(FORMATS), help="Of the data; by its name if left out."
)
@click.option(
    "--label",
    metavar="COLUMN",
    help="What to learn: a name of CoNLL-U (upos), or a number from 1; the last column, or upos.",
)
@click.option(
    "--observed",
    metavar="COLUMNS",
    help="Given beside the word, here and when tags are asked: numbers or names with commas between, or "
    "none; columns between the word and the label if left out, none in CoNLL-U.",
)
@click.option("--method", type=click.Choice(list(METHODS)), default="refined", help="How to learn.")
@click.option(
    "--states", type=auto_or_number, metavar="N", default="auto", help="Of a tag at most, or of operators."
)
@click.option(
    "--iterations", type=auto_or_number, metavar="N", default="auto", help="Of EM, or passes of max-margin."
)
@click.option(
    "--members", type=auto_or_number, metavar="N", default="auto", help="Refinements that are multiplied."
)
@click.option("--features/--no-features", default=True, help="Multiply the max-margin tagger into refined.")
@click.option(
    "--decoding", type=click.Choice(DECODINGS), help="By marginals of tags, or by a sequence of pairs."
)
@click.option(
    "--conditional", is_flag=True, help="With spectral: operators of P(tags | words), not of both together."
)
@click.option("--threads", type=click.IntRange(1), help="One a core if left out.")
@seed_option
@json_option
@quiet_option
def command(
    file: str,
    output: str,
    file_format: str | None,
    label: str | None,
    observed: str | None,
    method: str,
    states: int | str,
    iterations: int | str,
    members: int | str,
    features: bool,
    decoding: str | None,
    conditional: bool,
    threads: int | None,
    seed: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """Learn a tagger from FILE, a word a line with columns of labels, an empty line between sentences.

    refined: tags refined into states by spectral clusters and a few EM iterations, times a max-margin chain;
    the best. spectral: a weighted finite tagger, operators A_x^y. em: refined tags from a random start.
    bigram, trigram: hidden Markov models of tags. max-margin: features and a low-rank Hankel block.
    """
    require_folder(output)
    layout = TaggedLayout(file_format or format_of(file), label, _names(observed))
    if layout.format == "conllu":
        _require_column(label)
    if conditional and method != "spectral":
        raise click.UsageError(f"--conditional goes with --method spectral, not with {method}")
    settings = TaggerSettings(
        _number(states), _number(iterations), _number(members), features, decoding, conditional
    )
    with watching("reading", quiet) as say, limited_threads(threads):
        read = layout.read(file)
        sentences, layout = read.sentences, read.layout
        begin = time.perf_counter()
        tagger = learn_tagger(sentences, method, settings, np.random.default_rng(seed), say)
    learned = {
        "method": method,
        "seed": seed,
        "settings": {
            "states": states, "iterations": iterations, "members": members,
            "features": features, "decoding": tagger.decoding, "conditional": conditional,
        },
        "layout": {
            "format": layout.format, "label": layout.label, "observed": list(layout.observed or ()),
        },
        "data": {
            "files": [described_file(file)], "n_sentences": len(sentences), "n_words": sentences.n_words
        },
        "sigmastar": __version__,
        "seconds": round(time.perf_counter() - begin, 3),
    }  # fmt: skip
    save_model(tagger, output, learned)
    if as_json:
        print_figures(learned, as_json=True)
    tell(
        f"{output}: {method}, from {len(sentences)} sentences over {len(tagger.tags)} tags "
        f"in {learned['seconds']:.1f} s",
        quiet,
    )


def _names(observed: str | None) -> tuple[str, ...] | None:
    if observed is None:
        return None
    return () if observed == "none" else tuple(name.strip() for name in observed.split(","))


def _number(value: int | str) -> int | None:
    return None if isinstance(value, str) else value


def _require_column(label: str | None) -> None:
    """A wrong name is a wrong call, whatever is in the file."""
    try:
        conllu_label(label)
    except InputError as problem:
        raise click.UsageError(problem.problem) from None
