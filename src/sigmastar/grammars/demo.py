"""Weighted grammars in the demo: brackets hidden and found again, and the Hankel matrix before and after.

The target is the probabilistic Dyck language of Bailly et al. (2013), S -> S S 0.2 | a S b 0.4 | a b 0.4.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.demo import DemoResult, DemoRow, Progress
from sigmastar.core.figures import MissingMatplotlibError, to_svg
from sigmastar.core.matrices import plot_matrices
from sigmastar.core.page import Part, Picture, Section, Table, Text, render
from sigmastar.core.provenance import hash_strings
from sigmastar.grammars.counts.closed_hankel import ClosedHankel
from sigmastar.grammars.data.bracketings import Bracketings
from sigmastar.grammars.estimator import CompletionGrammar, EMGrammar, GrammarEstimator, SpectralGrammar
from sigmastar.grammars.learn.completion import CompletionFit
from sigmastar.grammars.metrics.brackets import bracket_score
from sigmastar.grammars.metrics.distances import grammar_distances
from sigmastar.grammars.model.grammar import WeightedGrammar
from sigmastar.grammars.model.rules import of_rules
from sigmastar.pcfg.data.rules import parse_rules

Array = NDArray[np.float64]

FAMILY = "grammar"
DYCK = ("S -> S S 0.2", "S -> a S b 0.4", "S -> a b 0.4")
LONGEST = 7
_SHOWN = 60  # rows and columns of the picture


def dyck() -> WeightedGrammar:
    """The target in algebraic form."""
    rules = parse_rules(DYCK)
    return of_rules(rules.grammar, rules.weights)


@dataclass(frozen=True)
class WeightedGrammarFamily:
    """Grammars from brackets, from strings by completion, and from strings by EM."""

    name: str = FAMILY
    n_strings: int = 4000
    n_refinements: int = 2000

    def run(self, seed: int, progress: Progress) -> DemoResult:
        truth, rng = dyck(), np.random.default_rng(seed)
        drawn = truth.sample_brackets(self.n_strings, rng)
        learners: Mapping[str, Callable[[], GrammarEstimator]] = {
            "spectral, from brackets": lambda: SpectralGrammar(4, 0.1),
            "completion, from strings": lambda: CompletionGrammar(
                4, max_length=8, n_refinements=self.n_refinements
            ),
            "EM, from strings": lambda: EMGrammar(
                4, "random", n_iterations=40, word_prior=0.01, pair_prior=0.01, held_out=0, max_length=16
            ),
        }
        rows, fits = [], {}
        for number, (label, make) in enumerate(learners.items()):
            progress(f"grammars without labels: {label}", number / len(learners))
            begin = time.perf_counter()
            fits[label] = make().fit(drawn)
            rows.append(_row(label, fits[label], truth, drawn, time.perf_counter() - begin))
        section = Section("Weighted grammars", self._parts(fits["completion, from strings"]))
        return DemoResult(tuple(rows), section, hash_strings(drawn.strings))

    def _parts(self, completion: GrammarEstimator) -> list[Part]:
        fit: CompletionFit = vars(completion)["completion_"]
        explained = (
            f"{self.n_strings} strings of the Dyck language, {', '.join(DYCK)}, are drawn. The spectral "
            "method sees their brackets; the others see strings alone. Completion looks for the Hankel "
            f"matrix of smallest nuclear norm, {fit.hankel.shape[0]} outsides x {fit.hankel.shape[1]} "
            "insides here, in which all ways to cut a string add up to its frequency; a grammar is read off "
            "and refined. "
            f"L1 is over all strings of up to {LONGEST} symbols, F1 of brackets against those drawn."
        )
        steps = Text(
            f"Completion took {len(fit.completed.objectives)} steps: objective "
            f"{fit.completed.objective:.4g}, rank {fit.completed.rank}, "
            f"violation of the equations {fit.violation:.2g}."
        )
        return [Text(explained), steps, *completion_picture(fit)]


def _row(
    label: str, estimator: GrammarEstimator, truth: WeightedGrammar, drawn: Bracketings, seconds: float
) -> DemoRow:
    part = drawn.select(np.flatnonzero(drawn.strings.lengths <= 12)[:500])
    l1 = grammar_distances(estimator.grammar_, truth, LONGEST).l1
    f1 = bracket_score(estimator.brackets(part), part).f1
    return DemoRow(FAMILY, label, {"L1": l1, "bracket F1": f1}, seconds)


def completion_picture(fit: CompletionFit, n_shown: int = _SHOWN) -> list[Part]:
    """The heaviest corner of the Hankel matrix: what strings alone show of it, and completed."""
    completed = fit.completed.triples
    rows = np.sort(np.argsort(-np.linalg.norm(completed.left * completed.singular_values, axis=1))[:n_shown])
    columns = np.sort(
        np.argsort(-np.linalg.norm(completed.right * completed.singular_values, axis=1))[:n_shown]
    )
    after = (completed.left[rows] * completed.singular_values) @ completed.right[columns].T
    matrices = {"seen in strings": observed_corner(fit.hankel, rows, columns), "completed": after}
    try:
        figure = plot_matrices(matrices)
    except MissingMatplotlibError as problem:
        return [Text(f"The picture is left out: {problem}.")]
    caption = (
        "The Hankel matrix before and after completion, its heaviest outsides and insides. Of a string only "
        "the whole is seen (one row, nothing around it); how its weight falls to cuts is grey, and completed."
    )
    return [Picture(to_svg(figure), caption, caption)]


def observed_corner(hankel: ClosedHankel, rows: NDArray[np.intp], columns: NDArray[np.intp]) -> Array:
    """Frequencies of whole strings, in the row of the bare hole; NaN elsewhere."""
    corner = np.full((len(rows), len(columns)), np.nan)
    whole = np.full(hankel.n_insides, np.nan)
    whole[hankel.table.string_node] = hankel.probabilities
    if len(at := np.flatnonzero(rows == 0)):
        inside = columns < hankel.n_insides
        corner[at[0], inside] = whole[columns[inside]]
    return corner


def grammar_page(grammar: WeightedGrammar, facts: Mapping[str, Any], learned: Mapping[str, Any]) -> str:
    """What a grammar is, as a page: its facts, its operators as pictures."""
    table = Table("What it is", ("", ""), [(name, str(value)) for name, value in facts.items()])
    history = [(name, str(value)) for name, value in learned.items()]
    parts: list[Part] = [table, Table("How it was learned", ("", ""), history)]
    try:
        shown = {
            "words": grammar.words,
            "composition": grammar.composition.reshape(grammar.n_states, -1),
        }
        figure = plot_matrices(shown, "states, pairs of states", "symbols, states")
        caption = "Word vectors, and the bilinear composition with pairs of states as columns."
        parts.append(Picture(to_svg(figure), caption, caption))
    except MissingMatplotlibError as problem:
        parts.append(Text(f"The picture is left out: {problem}."))
    return render("A weighted grammar", [Section("Model", parts)], {})
