"""Starts of EM for grammars by name, and the way from a completed matrix to a proper grammar."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from sigmastar.automata.data.strings import Strings
from sigmastar.grammars.counts.span_occurrences import Tables, flat_table
from sigmastar.grammars.data.bracketings import Bracketings
from sigmastar.grammars.learn.completion import learn_completion
from sigmastar.grammars.learn.em import Start, from_chance, within_length
from sigmastar.grammars.learn.span_clusters import cca_start
from sigmastar.grammars.model.grammar import WeightedGrammar

Array = NDArray[np.float64]

STARTS = ("random", "cca", "spectral")
BRACKETS = ("right", "uniform", "none", "best")
_LONGEST = 10


def named_start(start: str, brackets: str | Bracketings = "right") -> Start:
    """`random`; `cca` under a prior on brackets; `spectral`: CCA under given brackets or completed ones."""
    if start == "random":
        return from_chance
    if start == "cca" and isinstance(brackets, str):
        return partial(_cca, brackets=brackets)
    return partial(_spectral, brackets=brackets if isinstance(brackets, Bracketings) else None)


def _cca(
    strings: Strings, weights: Array, n_states: int, rng: np.random.Generator, brackets: str
) -> WeightedGrammar:
    return cca_start(strings, weights, n_states, rng, brackets)


def _spectral(
    strings: Strings, weights: Array, n_states: int, rng: np.random.Generator, brackets: Bracketings | None
) -> WeightedGrammar:
    if brackets is not None:
        strings, weights = brackets.strings, np.ones(len(brackets))
        return cca_start(strings, weights, n_states, rng, bracket_tables(brackets))
    completed = learn_completion(
        strings, min(n_states, 8), weights=weights, n_iterations=30, n_refinements=100
    )
    return completed_start(completed.grammar, strings, weights, n_states, rng)


def completed_start(
    grammar: WeightedGrammar, strings: Strings, weights: Array, n_states: int, rng: np.random.Generator
) -> WeightedGrammar:
    """A proper grammar by CCA of spans, weighed by where a completed grammar has constituents."""
    short, heavy, _ = within_length(strings, weights, _LONGEST)
    return cca_start(short, heavy, n_states, rng, posterior_tables(grammar, short))


def posterior_tables(grammar: WeightedGrammar, strings: Strings) -> Tables:
    """Posteriors of spans, cut to shares; flat where a grammar gives a string no weight."""
    found = grammar.span_posteriors(strings)
    return [
        np.clip(np.nan_to_num(table), 0.02, 1.0) if table.any() else flat_table(len(table) - 1)
        for table in found
    ]


def bracket_tables(brackets: Bracketings) -> Tables:
    """One at every span that is given, and at single symbols; next to nothing elsewhere."""
    tables = []
    for length, spans in zip(brackets.strings.lengths.tolist(), brackets.binary(), strict=True):
        table = np.full((length + 1, length + 1), 1e-6)
        table[np.arange(length), np.arange(1, length + 1)] = 1.0
        for begin, end in spans:
            table[begin, end] = 1.0
        tables.append(table)
    return tables
