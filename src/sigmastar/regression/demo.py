"""Regression on strings in the demo: an automaton from a seventh of its values, and its Hankel matrix."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.distances import values_up_to
from sigmastar.core.arrays import Floats
from sigmastar.core.demo import DemoResult, DemoRow, timed
from sigmastar.core.figures import MissingMatplotlibError, plot_matrices, to_svg
from sigmastar.core.model_format import hash_arrays
from sigmastar.core.page import Part, Picture, Section, Text
from sigmastar.core.progress import Progress
from sigmastar.regression.data import MadeRegression, make_regression
from sigmastar.regression.estimator import HankelRegressor

FAMILY = "regression"
SIDE = 4
"""Rows and columns of the picture are all strings of up to this many symbols."""
LEARNERS = {"nuclear norm alone": 0, "nuclear norm, then refined": 16}


@dataclass(frozen=True)
class RegressionFamily:
    """Values of strings, most of them missing."""

    name: str = FAMILY
    n_states: int = 3

    def run(self, seed: int, progress: Progress) -> DemoResult:
        made = make_regression(np.random.default_rng(seed), self.n_states)
        rows, models = [], {}
        for number, (label, n_starts) in enumerate(LEARNERS.items()):
            progress(f"regression: {label}", number / len(LEARNERS))
            model = HankelRegressor(self.n_states, n_starts=n_starts, random_state=seed)
            _, seconds = timed(partial(model.fit, made.seen_strings, made.seen_values))
            error = made.relative_error(model.predict(made.strings))
            rows.append(DemoRow(FAMILY, label, {"relative error": error}, seconds))
            models[label] = model.automaton_
        section = Section("Regression on strings", self._parts(made, models))
        return DemoResult(tuple(rows), section, hash_arrays(made.values, made.seen))

    def _parts(self, made: MadeRegression, models: dict[str, WeightedAutomaton]) -> list[Part]:
        explained = (
            f"A signed automaton of {self.n_states} states has a value for each of {len(made.strings)} "
            f"strings; {len(made.seen)} of them are seen. The Hankel matrix, with f(prefix suffix) as its "
            "entries, has as many dimensions as there are states, so the rest is determined: its nuclear "
            "norm is made small under what was seen, operators are read off its shifts, and refined until "
            "they fit. The error is over all strings."
        )
        try:
            return [Text(explained), _picture(made, models["nuclear norm, then refined"])]
        except MissingMatplotlibError as problem:
            return [Text(explained), Text(f"The picture is left out: {problem}.")]


def hankel_matrix(automaton: WeightedAutomaton, longest: int) -> Floats:
    """f(p s) for all prefixes and suffixes up to a length: forward vectors times backward ones."""
    words, _ = values_up_to(automaton, longest)
    before = np.array([automaton.initial] * len(words))
    after = np.array([automaton.final] * len(words))
    for number, word in enumerate(words):
        for code in automaton.alphabet.encode(word):
            before[number] = before[number] @ automaton.transitions[code]
        for code in reversed(automaton.alphabet.encode(word)):
            after[number] = automaton.transitions[code] @ after[number]
    matrix: Floats = before @ after.T
    return matrix


def _picture(made: MadeRegression, learned: WeightedAutomaton) -> Picture:
    truth = hankel_matrix(made.automaton, SIDE)
    words = list(values_up_to(made.automaton, SIDE)[0])
    known = set(made.seen_strings)
    seen = np.array([[p + s in known for s in words] for p in words])
    matrices = {
        "seen": np.where(seen, truth, np.nan),
        "learned": hankel_matrix(learned, SIDE),
        "true": truth,
    }
    caption = (
        "The Hankel matrix before and after completion: what is grey on the left was not seen, and filled in."
    )
    return Picture(to_svg(plot_matrices(matrices, "suffixes", "prefixes")), caption, caption)
