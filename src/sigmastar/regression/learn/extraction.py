"""An automaton from the factors of a Hankel matrix, by the shifts inside its rows and columns.

    H ~ F B:   F(p a) = F(p) A_a  where p a is a row,     B(a s) = A_a B(s)  where a s is a column

    A_a = argmin sum_p |F(p) A - F(p a)|^2 + sum_s |A B(s) - B(a s)|^2
    initial = F(empty), final = B(empty)

The same operators as `recover` finds where H is exact, without slices: a completed matrix exists only as
factors, and the two sums need no more. The minimum solves a Sylvester equation a symbol.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from sigmastar.automata.data.trie import PrefixTrie
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.optimise.proximal import Thresholded
from sigmastar.regression.counts import HankelEntries

Array = NDArray[np.float64]

RIDGE = 1e-10
"""Relative to the trace: what keeps directions that no row shows from blowing up."""


def automaton_of_factors(
    entries: HankelEntries,
    triples: Thresholded,
    n_states: int,
    rng: np.random.Generator,
    ridge: float = RIDGE,
) -> WeightedAutomaton:
    """The automaton of the leading triples; states that the matrix does not have begin small and random."""
    n = min(n_states, triples.rank)
    root = np.sqrt(triples.singular_values[:n])
    outside, inside = triples.left[:, :n] * root, triples.right[:, :n] * root
    n_symbols = len(entries.alphabet)
    rows, wanted_rows = _shift_sums(entries.prefixes, outside, n_symbols)
    columns, wanted_columns = _shift_sums(entries.suffixes, inside, n_symbols)
    transitions = np.zeros((n_symbols, n, n))
    for a in range(n_symbols):
        small = ridge * (np.trace(rows[a]) + np.trace(columns[a])) + 1e-300
        transitions[a] = linalg.solve_sylvester(
            rows[a] + small * np.eye(n), columns[a], wanted_rows[a] + wanted_columns[a].T
        )
    return _padded(WeightedAutomaton(entries.alphabet, outside[0], transitions, inside[0]), n_states, rng)


def _shift_sums(trie: PrefixTrie, factor: Array, n_symbols: int) -> tuple[Array, Array]:
    """sum_p F(p)^T F(p) and sum_p F(p)^T F(p a) over the nodes that read each symbol."""
    n = factor.shape[1]
    grams, shifted = np.zeros((n_symbols, n, n)), np.zeros((n_symbols, n, n))
    for a in range(n_symbols):
        nodes = np.flatnonzero(trie.symbol == a)
        above = factor[trie.parent[nodes]]
        grams[a], shifted[a] = above.T @ above, above.T @ factor[nodes]
    return grams, shifted


def _padded(automaton: WeightedAutomaton, n_states: int, rng: np.random.Generator) -> WeightedAutomaton:
    """The same automaton, up to small random weights, with more states."""
    n, more = automaton.n_states, n_states - automaton.n_states
    if not more:
        return automaton
    size = 0.1
    initial = np.append(automaton.initial, size * rng.standard_normal(more))
    final = np.append(automaton.final, size * rng.standard_normal(more))
    transitions = size * rng.standard_normal((len(automaton.alphabet), n_states, n_states))
    transitions[:, :n, :n] = automaton.transitions
    return WeightedAutomaton(automaton.alphabet, initial, transitions, final)
