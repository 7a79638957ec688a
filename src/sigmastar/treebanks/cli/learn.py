"""`sigmastar learn treebank`: from trees in brackets to a parser."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import click
import numpy as np

from sigmastar import __version__
from sigmastar.core.cli.options import json_option, quiet_option, seed_option
from sigmastar.core.cli.paths import described_file, require_folder
from sigmastar.core.cli.printing import print_figures
from sigmastar.core.cli.progress import tell, watching
from sigmastar.core.errors import InputError
from sigmastar.core.model_files import save_model
from sigmastar.core.parallel import limited_threads
from sigmastar.treebanks.data.binary import DIRECTIONS
from sigmastar.treebanks.data.phrases import Phrases, phrases
from sigmastar.treebanks.estimator import (
    PCFG,
    EMTreebankGrammar,
    SpectralTreebankGrammar,
    TreebankEstimator,
)
from sigmastar.treebanks.learn.methods import learn_treebank
from sigmastar.trees.data.brackets import read_brackets
from sigmastar.trees.data.tree import Tree

METHODS = ("best", "pcfg", "spectral", "cluster", "em", "spectral+em")


@click.command(context_settings={"show_default": True})
@click.argument("files", metavar="FILES...", nargs=-1, required=True)
@click.option("--output", "-o", required=True, metavar="MODEL", help="The model file to write.")
@click.option("--method", type=click.Choice(METHODS), default="best", help="How to learn.")
@click.option(
    "--states", type=click.IntRange(1), metavar="N", help="Of a symbol, at most; 16, best: 24, em: 8."
)
@click.option("--binarisation", type=click.Choice(DIRECTIONS), help="Which way; head, pcfg: right.")
@click.option("--horizontal", type=click.IntRange(0, 2), help="Siblings that binary symbols remember; 0.")
@click.option("--vertical", type=click.IntRange(1, 2), help="2: phrases remember their parent; 1.")
@click.option("--rounds", type=click.IntRange(0), metavar="N", help="Of EM; 4, em: 40.")
@click.option("--no-spans", is_flag=True, help="best: grammars alone, no log-linear model of spans.")
@click.option(
    "--threshold", type=click.FloatRange(0, 1), help="Least marginal of a label; 0.4, with spans 0.44."
)
@click.option("--threads", type=click.IntRange(1), default=1, help="To work with.")
@seed_option
@json_option
@quiet_option
def command(
    files: tuple[str, ...],
    output: str,
    method: str,
    states: int | None,
    binarisation: str | None,
    horizontal: int | None,
    vertical: int | None,
    rounds: int | None,
    no_spans: bool,
    threshold: float | None,
    threads: int,
    seed: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """Learn a phrase structure parser from FILES of trees in brackets, as the Penn Treebank's.

    pcfg: rules counted. spectral: hidden states by the method of Cohen et al. 2012. cluster: states are
    clusters in the spectral space. em: from a random start. spectral+em: clusters, then EM. best: spectral+em
    for several binarisations, their marginals averaged with those of a log-linear model of spans: slower, and
    the most accurate.
    """
    given = {
        "n_states": states,
        "direction": binarisation,
        "horizontal": horizontal,
        "vertical": vertical,
        "n_rounds": rounds,
        "spans": False if no_spans else None,
    }
    settings = {name: value for name, value in given.items() if value is not None}
    _require_fitting(method, settings)
    require_folder(output)
    estimator = estimator_of(method, settings)
    with watching("reading", quiet) as say, limited_threads(threads):
        bank = read_treebank(files)
        begin = time.perf_counter()
        say("learning")
        parser = learn_treebank(
            bank,
            estimator.recipes(),
            np.random.default_rng(seed),
            lambda done, total: say(f"learning, part {done + 1} of {total}", done / total),
            estimator.span_recipe(),
        )
    parser = parser if threshold is None else replace(parser, threshold=threshold)
    learned = {
        "method": method,
        "seed": seed,
        "settings": {**settings, "threshold": parser.threshold},
        "data": {
            "files": [described_file(file) for file in files],
            "n_trees": len(bank),
            "n_words": int((bank.word >= 0).sum()),
        },
        "sigmastar": __version__,
        "seconds": round(time.perf_counter() - begin, 3),
    }
    save_model(parser, output, learned)
    if as_json:
        print_figures(learned, as_json=True)
    size = f"{len(bank)} trees over {len(bank.words)} words"
    tell(f"{output}: {method}, from {size} in {learned['seconds']:.1f} s", quiet)


def estimator_of(method: str, settings: dict[str, Any]) -> TreebankEstimator:
    """The estimator that a method is."""
    if method == "pcfg":
        return PCFG(**settings)
    if method == "em":
        return EMTreebankGrammar(**settings)
    return SpectralTreebankGrammar(method, **settings)


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


def _require_fitting(method: str, settings: dict[str, Any]) -> None:
    unused = {
        "pcfg": ("n_states", "n_rounds", "spans"),
        "best": ("direction", "horizontal", "vertical", "n_rounds"),
        "spectral": ("n_rounds", "spans"),
        "cluster": ("n_rounds", "spans"),
        "em": ("spans",),
        "spectral+em": ("spans",),
    }
    names = {"n_states": "states", "direction": "binarisation", "n_rounds": "rounds", "spans": "no-spans"}
    for name in unused.get(method, ()):
        if name in settings:
            raise click.UsageError(f"--{names.get(name, name)} does not go with --method {method}")
