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
from sigmastar.optimise.affine_completion import (
    AffineEntries,
    Completed,
    CompletionStep,
    complete,
    largest_penalty,
)

Array = NDArray[np.float64]
Say = Callable[..., None]


@dataclass(frozen=True, eq=False)
class CompletionFit:
    """The grammar, the matrix that it was read off, and what was seen of the corpus."""

    grammar: WeightedGrammar
    extracted: WeightedGrammar  # before refinement
    hankel: ClosedHankel
    completed: Completed
    cut_off: float  # the share of the strings that were too long


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
    extracted = grammar = extract(hankel, completed.matrix, min(n_states, completed.matrix.rank))
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
) -> Completed:
    """Solve the nuclear-norm programme, with smaller penalties until the rank allows the states."""
    entries = AffineEntries(hankel.shape, hankel.rows, hankel.columns, hankel.residual)
    largest = largest_penalty(entries)

    def watch(step: CompletionStep) -> None:
        if say:
            say(
                f"completion, step {step.iteration}: objective {step.objective:.4g}, rank {step.rank}, "
                f"violation {step.violation:.2g}",
                step.iteration / n_iterations,
            )

    for factor in (1.0, 0.3, 0.1, 0.03, 0.01):
        found = complete(
            entries, factor * penalty * largest, n_iterations, max_rank=max(60, 2 * n_states), watch=watch
        )
        if found.matrix.rank >= n_states:
            break
    return found


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
