"""Dependency grammars in the demo: a treebank from random head automata, five learners, and a parse."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sigmastar.core.demo import DemoResult, DemoRow, learner_table, timed
from sigmastar.core.model_format import hash_arrays
from sigmastar.core.page import Picture, Section, Text
from sigmastar.core.progress import Progress
from sigmastar.dependency.data.treebank import DependencyTreebank
from sigmastar.dependency.draw import draw_arcs
from sigmastar.dependency.estimator import (
    DependencyEstimator,
    DeterministicDependencyGrammar,
    EMDependencyGrammar,
    SpectralDependencyGrammar,
)
from sigmastar.dependency.metrics import share
from sigmastar.dependency.model.generators import make_head_automata
from sigmastar.dependency.model.head_automata import sample_trees
from sigmastar.dependency.model.parser import DependencyParser

FAMILY = "dependency"
TAGS = ("ADJ", "ADP", "DET", "NOUN", "VERB")
METHODS = ("det", "det+f", "spectral", "em", "spectral+em")
TRUTH = "the grammar itself"
N_STATES = 3


@dataclass(frozen=True)
class DependencyFamily:
    """Learners of head automata against each other and the grammar that made the trees."""

    name: str = FAMILY
    n_train: int = 2000
    n_fresh: int = 500

    def run(self, seed: int, progress: Progress) -> DemoResult:
        progress("dependency: trees", 0.0)
        rng = np.random.default_rng(seed)
        truth = make_head_automata(TAGS, N_STATES, rng, n_modifiers=0.45)
        train, fresh = (sample_trees(truth, n, rng, max_words=40) for n in (self.n_train, self.n_fresh))
        rows, parsers = [], dict[str, DependencyParser]()
        for number, method in enumerate(METHODS):
            progress(f"dependency: {method}", number / len(METHODS))
            parsers[method], seconds = timed(partial(_learn, train, method, seed))
            rows.append(_row(method, parsers[method], fresh, seconds))
        rows.append(_row(TRUTH, parsers["det"].with_parts(automata=truth), fresh, None))
        section = _section(rows, fresh, parsers["spectral+em"])
        return DemoResult(tuple(rows), section, hash_arrays(train.head, fresh.head))


def _learn(treebank: DependencyTreebank, method: str, seed: int) -> DependencyParser:
    shared: dict[str, Any] = {
        "symbols": "upos",
        "arcs": "none",
        "distances": False,
        "random_state": seed,
    }  # it draws none
    estimator: DependencyEstimator
    if method.startswith("det"):
        estimator = DeterministicDependencyGrammar(first=method == "det+f", **shared)
    elif method == "em":
        estimator = EMDependencyGrammar(n_states=N_STATES, **shared)
    else:
        estimator = SpectralDependencyGrammar(method=method, n_states=N_STATES, **shared)
    return estimator.fit(treebank).model_


def _row(learner: str, parser: DependencyParser, fresh: DependencyTreebank, seconds: float | None) -> DemoRow:
    """One learner and its UAS."""
    right = parser.parse(fresh).heads == fresh.head
    every = np.ones(len(right), dtype=bool)
    uas = share(right, every, fresh.sentence_offsets, np.random.default_rng(0), n_resamples=1000)
    return DemoRow(FAMILY, learner, {"UAS": uas.value}, seconds, uas)


def _section(rows: list[DemoRow], fresh: DependencyTreebank, parser: DependencyParser) -> Section:
    one = fresh.select([_usual(fresh, parser)])
    found = parser.parse(one).heads.tolist()
    drawing = draw_arcs(one.upos, found, gold=one.head.tolist())
    caption = "A fresh sentence as spectral+em parses it; arcs that the grammar did not draw are dashed."
    table = learner_table("Heads found on fresh sentences", rows)
    about = (
        "A grammar of head automata draws trees over five tags. Learners see the trees and parse fresh "
        "sentences. UAS is the share of words with the right head; tags alone leave much open, as the "
        "grammar itself shows."
    )
    return Section("Dependency grammars", [Text(about), table, Picture(drawing, caption, caption)])


def _usual(fresh: DependencyTreebank, parser: DependencyParser) -> int:
    """A sentence of a good length that is parsed neither better nor worse than most."""
    right = (parser.parse(fresh).heads == fresh.head).astype(float)
    shares = np.add.reduceat(right, fresh.sentence_offsets[:-1]) / fresh.lengths
    good = np.flatnonzero((fresh.lengths >= 7) & (fresh.lengths <= 11))
    if not len(good):
        return int(np.argmin(np.abs(fresh.lengths - 9)))
    return int(good[np.argmin(np.abs(shares[good] - right.mean()))])
