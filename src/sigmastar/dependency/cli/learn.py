"""`sigmastar learn dependency`: from a treebank to a parser."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import click
import numpy as np

from sigmastar import __version__
from sigmastar.core.cli.options import auto_or_number, json_option, quiet_option, seed_option
from sigmastar.core.cli.paths import described_file, require_folder
from sigmastar.core.cli.printing import print_figures
from sigmastar.core.cli.progress import tell, watching
from sigmastar.core.model_files import save_model
from sigmastar.core.parallel import one_blas_thread
from sigmastar.dependency.data.conllu import read_treebank
from sigmastar.dependency.data.sequences import SYMBOLS
from sigmastar.dependency.data.treebank import DependencyTreebank
from sigmastar.dependency.learn.arcs import N_EPOCHS
from sigmastar.dependency.learn.lexical import STATES
from sigmastar.dependency.learn.methods import METHODS, learn_parser
from sigmastar.dependency.model.parser import DECODINGS, DependencyParser

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
@click.option(
    "--distances/--no-distances", default=True, help="Weigh arcs by how far they reach, as counted."
)
@click.option("--epochs", type=click.IntRange(1), default=N_EPOCHS, help="Of the training of arcs.")
@seed_option
@json_option
@quiet_option
def command(file: str, output: str, quiet: bool, as_json: bool, **options: Any) -> None:
    """Learn a projective dependency parser from FILE, a treebank in CoNLL-U or `word TAG head` (.dp).

    det: one state a head and direction. det+f: another before the first modifier. bigram: the spectral method
    of Luque et al. 2012. spectral: the same with longer views. em: from a random start. spectral+em: EM from
    spectral states; with it trained arcs and siblings decide, which is slower and by far the best. lex,
    lex+f, lex+fcp: words and tags counted with back-off, without hidden states.
    """
    settings = Settings(**options)
    settings.check()
    require_folder(output)
    with watching("reading", quiet) as say, one_blas_thread():
        treebank = read_treebank(file)
        say("learning")
        begin = time.perf_counter()
        parser = settings.learn(treebank)
    seconds = round(time.perf_counter() - begin, 3)
    learned = settings.described(file, treebank, seconds)
    save_model(parser, output, learned)
    if as_json:
        print_figures(learned, as_json=True)
    tell(
        f"{output}: {settings.method}, from {len(treebank)} sentences over {len(parser.alphabet)} symbols "
        f"in {seconds:.1f} s",
        quiet,
    )


@dataclass(frozen=True)
class Settings:
    """How to learn, as asked for by the options of the same names."""

    method: str
    symbols: str
    states: int | str
    arcs: bool | None
    decoding: str
    counted: str | None
    distances: bool
    epochs: int
    seed: int

    @property
    def lexical(self) -> bool:
        return self.symbols == LEXICAL and self.method not in STATES  # those have words of their own

    @property
    def trained(self) -> bool:
        return self.arcs if self.arcs is not None else self.lexical or self.method == "spectral+em"

    def check(self) -> None:
        """Refuse what does not go together."""
        if self.lexical and self.arcs is False:
            raise click.UsageError("--symbols lexical puts words into the arcs: it cannot go without them")
        if self.decoding == "viterbi" and (self.method not in DETERMINISTIC or self.trained):
            methods = " and ".join(DETERMINISTIC)
            raise click.UsageError(f"--decoding viterbi is for --method {methods} alone, without arcs")
        if self.counted and self.method in STATES:
            raise click.UsageError(f"--method {self.method} is counted already: leave --counted out")
        if self.counted and self.trained:
            raise click.UsageError("--counted goes with --no-arcs: trained arcs know words better")

    def learn(self, treebank: DependencyTreebank) -> DependencyParser:
        return learn_parser(
            treebank,
            self.method,
            self.states,
            "upos+xpos" if self.symbols == LEXICAL else self.symbols,
            lexical=self.lexical,
            arcs=self.trained,
            rng=np.random.default_rng(self.seed),
            n_epochs=self.epochs,
            decoding=self.decoding,
            counted=self.counted,
            distances=self.distances,
        )

    def described(self, file: str, treebank: DependencyTreebank, seconds: float) -> dict[str, Any]:
        """What a model remembers of how it was learnt."""
        names = ("symbols", "states", "decoding", "counted", "distances", "epochs")
        return {
            "method": self.method,
            "seed": self.seed,
            "settings": {**{name: getattr(self, name) for name in names}, "arcs": self.trained},
            "data": {
                "files": [described_file(file)],
                "n_sentences": len(treebank),
                "n_words": treebank.n_words,
            },
            "sigmastar": __version__,
            "seconds": seconds,
        }
