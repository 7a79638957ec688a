"""`sigmastar learn treebank`: from trees in brackets to a parser."""

from __future__ import annotations

from typing import Any

import click

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
from sigmastar.core.cli.options import bare_words_option
from sigmastar.core.errors import InputError
from sigmastar.core.progress import counted
from sigmastar.core.text_files import described_file
from sigmastar.treebanks.data.binarized import DIRECTIONS
from sigmastar.treebanks.data.phrases import Phrases, phrases
from sigmastar.treebanks.estimator import PCFG, EMTreebankGrammar, SpectralTreebankGrammar
from sigmastar.treebanks.model.parser import DECODINGS
from sigmastar.trees.data.brackets import read_brackets
from sigmastar.trees.data.tree import Tree

_SHAPE = ("direction", "horizontal", "vertical", "threshold", "decoding")
_SINGLE = ("n_states", *_SHAPE)
METHODS = {
    "best": Method(
        SpectralTreebankGrammar,
        ("n_states", "max_iter", "device", "span_scorer", "span_share", "threshold", "decoding", *SPREAD),
        {"method": "best"},
    ),
    "pcfg": Method(PCFG, _SHAPE),
    "spectral": Method(SpectralTreebankGrammar, (*_SINGLE, *SPREAD), {"method": "spectral"}),
    "cluster": Method(SpectralTreebankGrammar, (*_SINGLE, *SPREAD), {"method": "cluster"}),
    "em": Method(EMTreebankGrammar, (*_SINGLE, "max_iter", "device", *SPREAD)),
    "spectral+em": Method(
        SpectralTreebankGrammar, (*_SINGLE, "max_iter", "device", *SPREAD), {"method": "spectral+em"}
    ),
}
_BEST, _PCFG, _EM = METHODS["best"], METHODS["pcfg"], METHODS["em"]


@click.command()
@click.argument("files", metavar="FILES...", nargs=-1, required=True)
@method_option(METHODS, "best")
@click.option(
    "--states",
    "n_states",
    type=click.IntRange(1),
    metavar="N",
    help="Largest number of states per symbol  [default: 24; cluster, spectral: 16; em: 8]",
)
@click.option(
    "--binarization",
    "--binarisation",
    "direction",
    type=click.Choice(DIRECTIONS),
    help="Direction in which phrases are made binary  [default: head; pcfg: right]",
)
@parameter(
    "horizontal",
    "--horizontal",
    _EM,
    type=click.IntRange(0, 2),
    help="Number of siblings that binary symbols remember.",
)
@parameter(
    "vertical",
    "--vertical",
    _EM,
    type=click.IntRange(1, 2),
    help="Number of labels in the symbol of a phrase: 2 adds that of its parent.",
)
@parameter("max_iter", "--rounds", _BEST, _EM, type=click.IntRange(0), metavar="N", help="Rounds of EM.")
@parameter(
    "device",
    "--device",
    _BEST,
    _EM,
    type=click.Choice(("cpu", "cuda", "auto")),
    help="Place where EM counts: the processor, or a GPU by PyTorch.",
)
@click.option(
    "--no-spans", "span_scorer", flag_value=False, default=None, help="No span scorer beside the grammars."
)
@parameter(
    "span_share",
    "--span-share",
    _BEST,
    type=click.FloatRange(0, 1),
    metavar="SHARE",
    help="Share of the marginals that comes from the span scorer.",
)
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    metavar="P",
    help="Least marginal of a label in a tree  [default: 0.44; for pcfg 0.4]",
)
@parameter("decoding", "--decoding", _PCFG, type=click.Choice(DECODINGS), help="What trees are chosen by.")
@bare_words_option
@spread_options()
@learn_options
def command(files: tuple[str, ...], method: str, **options: Any) -> None:
    """Learn a phrase structure parser from FILES of trees in brackets, as the Penn Treebank's.

    pcfg: rules counted. spectral: operators recovered from moments, as in Cohen et al. 2012. cluster:
    states are clusters of nodes by what is inside and outside of them. em: from a random start.
    spectral+em: clusters, then EM. best: spectral+em for five binarizations, their marginals averaged with
    those of a span scorer: slower, and the most accurate.
    """
    names = (*_SINGLE, "max_iter", "device", "span_scorer", "span_share", *SPREAD)
    given = {name: options.pop(name) for name in names}

    def work(estimator: Any, say: Any) -> Learned:
        bank = read_treebank(files)
        estimator.fit(bank)
        data = {
            "files": [described_file(file) for file in files],
            "n_trees": len(bank),
            "n_words": bank.n_words,
        }
        return Learned(data, f"from {counted(len(bank), 'tree')} over {counted(len(bank.words), 'word')}")

    learn(built(METHODS, method, given), method, work, **options)


def read_treebank(files: tuple[str, ...]) -> Phrases:
    """All trees of all files, without traces and functions."""
    trees = list[Tree]()
    for file in files:
        found = read_brackets(file)
        if not found:
            raise InputError("holds no trees; one looks like (S (NP (PRP she)) (VP (VBZ runs)))", file=file)
        trees += found
    try:
        return phrases(trees)
    except InputError as problem:
        raise InputError(problem.problem, file=files[0] if len(files) == 1 else None) from None
