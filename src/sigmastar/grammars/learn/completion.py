"""Weighted grammars from bare strings: complete the Hankel matrix, extract a grammar, refine it.

Bailly et al. (2013), section 4, with yields solved exactly and the matrix held as low rank: the programme
that the paper could run on 20,000 x 8,500 entries takes seconds at ten times that size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sigmastar.automata.data.strings import Strings
from sigmastar.grammars.counts.closed_hankel import ClosedHankel, closed_hankel
from sigmastar.grammars.data.substrings import distinct_strings
from sigmastar.grammars.learn.em import within_length
from sigmastar.grammars.learn.extraction import extract
from sigmastar.grammars.learn.refinement import refine_grammar
from sigmastar.grammars.model.grammar import WeightedGrammar
from sigmastar.optimise.completion import (
    AffineEntries,
    Completion,
    CompletionSettings,
    largest_penalty,
    proximal,
)
from sigmastar.optimise.solvers import SolverStep

Array = NDArray[np.float64]
Say = Callable[..., None]

TOLERANCE = 1e-5
"""Of the completion, relative to its objective."""


@dataclass(frozen=True, eq=False)
class CompletionFit:
    """The grammar, the matrix that it was read off, and what was seen of the corpus."""

    grammar: WeightedGrammar
    extracted: WeightedGrammar  # before refinement
    hankel: ClosedHankel
    completed: Completion
    cut_off: float  # the share of the strings that were too long

    @property
    def violation(self) -> float:
        """How far the completed matrix is from the equations, relative to its entries."""
        return _entries(self.hankel).violation(self.completed.triples)


def learn_completion(
    strings: Strings,
    n_states: int,
    *,
    weights: Array | None = None,
    max_length: int = 10,
    penalty: float = 0.005,
    n_iterations: int = 60,
    n_refinements: int = 600,
    n_strings: float | None = None,
    say: Say | None = None,
) -> CompletionFit:
    """Complete, extract, and refine unless `n_refinements` is 0; `penalty` is relative to the largest one.

    `n_strings` is the size of the corpus where its long strings were left out before.
    """
    seen, heavy, cut_off = within_length(strings, weights, max_length)
    distinct, counts = distinct_strings(seen, heavy)
    total = n_strings or counts.sum() / (1.0 - cut_off)
    cut_off = 1.0 - counts.sum() / total
    frequencies = counts / total
    hankel = closed_hankel(distinct, frequencies)
    completed = complete_hankel(hankel, n_states, penalty, n_iterations, say)
    extracted = grammar = extract(hankel, completed.triples, min(n_states, completed.rank))
    if n_refinements:
        grammar = refine_grammar(
            _scaled(extracted, distinct, frequencies),
            distinct,
            frequencies,
            total,
            n_refinements,
            _teller(say),
        )
    return CompletionFit(grammar, extracted, hankel, completed, cut_off)


def complete_hankel(
    hankel: ClosedHankel,
    n_states: int,
    penalty: float = 0.005,
    n_iterations: int = 60,
    say: Say | None = None,
) -> Completion:
    """Solve the nuclear-norm programme, with smaller penalties until the rank allows the states."""
    entries = _entries(hankel)
    largest = largest_penalty(entries)

    def watch(step: SolverStep) -> bool:
        if say:
            rank = step.weights[0].shape[1]
            say(
                f"completion, step {step.iteration}: objective {step.objective:.4g}, rank {rank}",
                step.iteration / n_iterations,
            )
        return False

    for factor in (1.0, 0.3, 0.1, 0.03, 0.01):
        settings = CompletionSettings(
            factor * penalty * largest, max(60, 2 * n_states), n_iterations, TOLERANCE, watch
        )
        found = proximal(entries, settings, np.random.default_rng(0))
        if found.rank >= n_states:
            break
    return found


def _entries(hankel: ClosedHankel) -> AffineEntries:
    return AffineEntries(hankel.shape, hankel.rows, hankel.columns, hankel.residual)


def _scaled(grammar: WeightedGrammar, strings: Strings, frequencies: Array) -> WeightedGrammar:
    """Shrink the composition of a grammar whose values explode until they are of the right size."""
    for _ in range(60):
        values = grammar.value(strings)
        if np.isfinite(values).all() and np.abs(values).sum() <= 4.0 * frequencies.sum():
            break
        grammar = WeightedGrammar(grammar.alphabet, grammar.initial, grammar.words, 0.8 * grammar.composition)
    return grammar


def _teller(say: Say | None) -> Callable[[int, float], None] | None:
    if say is None:
        return None
    return lambda step, cost: say(f"refinement, step {step}: cost {cost:.4g}")
