"""`sigmastar learn dependency`: from a treebank to a parser."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from sigmastar.core.cli.learning import (
    SPREAD,
    Learned,
    Method,
    built,
    learn,
    learn_options,
    method_option,
    parameter,
    spread_options,
)
from sigmastar.core.cli.options import auto_or_number
from sigmastar.core.progress import counted, tell
from sigmastar.core.text_files import described_file
from sigmastar.dependency.data.conllu import read_treebank
from sigmastar.dependency.data.projectivity import projective_sentences
from sigmastar.dependency.data.sequences import SYMBOLS
from sigmastar.dependency.data.treebank import DependencyTreebank
from sigmastar.dependency.estimator import (
    DeterministicDependencyGrammar,
    EMDependencyGrammar,
    SpectralDependencyGrammar,
)
from sigmastar.dependency.learn.parser import PROJECTIVE
from sigmastar.dependency.model.decoders import DECODERS

_COMMON = ("symbols", "arcs", "distances", "arc_epochs", "projective")
_ALONE = {"arcs": "none"}
METHODS = {
    "spectral+em": Method(SpectralDependencyGrammar, (*_COMMON, "n_states", "max_iter", *SPREAD)),
    "spectral": Method(
        SpectralDependencyGrammar, (*_COMMON, "n_states", *SPREAD), {"method": "spectral", **_ALONE}
    ),
    "bigram": Method(
        SpectralDependencyGrammar, (*_COMMON, "n_states", *SPREAD), {"method": "bigram", **_ALONE}
    ),
    "em": Method(EMDependencyGrammar, (*_COMMON, "n_states", "max_iter")),
    "det": Method(DeterministicDependencyGrammar, (*_COMMON, "decoding"), {"first": False}),
    "det+f": Method(DeterministicDependencyGrammar, (*_COMMON, "decoding")),
}
LEXICAL = "lexical"

_BEST, _EM, _COUNTED = METHODS["spectral+em"], METHODS["em"], METHODS["det+f"]


@click.command()
@click.argument("file", metavar="FILE")
@method_option(METHODS, "spectral+em", help="Way to learn the head automata.")
@parameter(
    "symbols",
    "--symbols",
    _BEST,
    type=click.Choice([*SYMBOLS, LEXICAL]),
    help="Symbols that automata read; lexical is upos+xpos with words in the trained arcs.",
)
@parameter(
    "n_states",
    "--states",
    _BEST,
    type=auto_or_number,
    metavar="N",
    help="Largest number of states per automaton; auto: chosen by held-out likelihood.",
)
@click.option(
    "--arcs/--no-arcs",
    default=None,
    help="Trained arcs that decide the parse, or head automata that do  [default: arcs with spectral+em or "
    "lexical symbols, else no arcs]",
)
@parameter(
    "decoding",
    "--decoding",
    _COUNTED,
    type=click.Choice(list(DECODERS)),
    help="Decision of det and det+f: the tree of the most probable arcs, or the most probable tree.",
)
@parameter(
    "distances",
    "--distances/--no-distances",
    _BEST,
    help="Weights of arcs by how far they reach, as counted.",
)
@parameter(
    "max_iter",
    "--iterations",
    _BEST,
    _EM,
    type=click.IntRange(1),
    metavar="N",
    help="Largest number of EM iterations.",
)
@parameter(
    "arc_epochs",
    "--epochs",
    _BEST,
    type=click.IntRange(1),
    metavar="N",
    help="Number of passes over the trees when arcs are trained.",
)
@parameter(
    "projective",
    "--projective",
    _BEST,
    type=click.Choice(PROJECTIVE),
    help="Treatment of crossing arcs: lifted, or lifted and marked in relations, undone after parsing.",
)
@spread_options()
@learn_options
def command(file: str, method: str, symbols: str | None, arcs: bool | None, **options: Any) -> None:
    """Learn a dependency parser from FILE, a treebank in CoNLL-U or `word TAG head` (.dp).

    spectral+em: states from two views (correlations, clusters, counts), then EM; trained arcs, siblings and
    grandparents are learned beside and decide the parse alone, which is slower and by far the best. spectral:
    automata recovered from long pasts and futures. bigram: the same from the statistics of Luque et al. 2012.
    em: from a random start. det: one state per head and direction. det+f: another before the first modifier.
    """
    shared = {name: options.pop(name) for name in ("output", "threads", "seed", "as_json", "quiet")}
    given = {**options, "symbols": symbols, "arcs": None if arcs is None else "trained" if arcs else "none"}
    if symbols == LEXICAL:
        if arcs is False:
            raise click.UsageError("--symbols lexical puts words into the arcs: it cannot go without them")
        given |= {"symbols": "upos+xpos", "arcs": "lexical"}
    if given["decoding"] == "viterbi" and given["arcs"] in ("trained", "lexical"):
        raise click.UsageError("--decoding viterbi is for automata alone, without trained arcs")
    chosen: Any = built(METHODS, method, given)
    if given["arc_epochs"] is not None and chosen.arcs == "none":
        raise click.UsageError("--epochs is for trained arcs; add --arcs, or leave it out")

    def work(estimator: Any, say: Any) -> Learned:
        treebank = read_treebank(file)
        _tell_of_trees(treebank, estimator, shared["quiet"])
        parser = estimator.fit(treebank).model_
        size = f"{counted(len(treebank), 'sentence')} over {counted(len(parser.alphabet), 'symbol')}"
        data = {"files": [described_file(file)], "n_sentences": len(treebank), "n_words": treebank.n_words}
        return Learned(data, f"decided by {parser.decided_by}, from {size}")

    learn(chosen, method, work, **shared)


def _tell_of_trees(treebank: DependencyTreebank, estimator: Any, quiet: bool) -> None:
    """Lines on trees that no parse of the model can be."""
    crossing = int((~projective_sentences(treebank.head, treebank.sentence_offsets)).sum())
    sentence = np.repeat(np.arange(len(treebank)), treebank.lengths)
    several = int((np.bincount(sentence, treebank.head == 0) > 1).sum())
    if crossing and estimator.projective == "lift":
        tell(f"{crossing} of {len(treebank)} trees have crossing arcs, lifted: parses have none", quiet)
    elif crossing:
        tell(f"{crossing} of {len(treebank)} trees have crossing arcs, lifted and marked in relations", quiet)
    if several:
        tell(f"{several} of {len(treebank)} trees have several roots, and so may parses", quiet)
