"""Probabilities of what does come next, without those of all that could.

    p(y | w) = max(v_w . c_y, 0) / sum over z of max(v_w . c_z, 0),   v_w the forward vector of the prefix w

with c_y the column of `next_weights` for the symbol y or the end. The sum needs every symbol that has any
weight, but never a table of all gaps and symbols: memory does not grow with the alphabet.
"""

from __future__ import annotations

import numpy as np

from sigmastar.automata.data.strings import PrefixTrie, Strings
from sigmastar.automata.kernels.values import gap_nodes, trie_values
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.arrays import Floats

_CELLS = 1 << 20  # next-symbol weights held at a time


def gap_probabilities(automaton: WeightedAutomaton, strings: Strings) -> Floats:
    """What `gap_distributions` gives to the symbol or end that follows each gap; unknown symbols get zero."""
    strings = strings.recoded(automaton.alphabet, allow_unknown=True)
    trie, columns, n_states = PrefixTrie.of(strings), automaton.next_weights, automaton.n_states
    vectors, _ = trie_values(
        trie.parent,
        trie.symbol,
        trie.level_starts,
        automaton.initial,
        automaton.transitions,
        np.eye(n_states),
    )
    if automaton.spectral_radius < 1.0:  # a sign that symbol and prefix share cancels
        vectors *= np.where(vectors @ columns.sum(axis=1) < 0.0, -1.0, 1.0)[:, None]
    totals = _clipped_sums(vectors, columns[:, columns.any(axis=0)])
    nodes, following = gap_nodes(trie.parent, trie.string_node, strings.offsets), strings.outcomes
    weights = np.maximum(np.einsum("gn,ng->g", vectors[nodes], columns[:, following]), 0.0)
    lost = totals[nodes] <= 0.0
    shares = np.where(lost, 1.0 / columns.shape[1], weights / np.where(lost, 1.0, totals[nodes]))
    return np.where(following >= 0, shares, 0.0)


def _clipped_sums(vectors: Floats, columns: Floats) -> Floats:
    """The sums over columns of `vectors @ columns`, clipped at zero."""
    sums, step = np.zeros(len(vectors)), max(_CELLS // max(columns.shape[1], 1), 1)
    for first in range(0, len(vectors), step):
        rows = slice(first, first + step)
        sums[rows] = np.maximum(vectors[rows] @ columns, 0.0).sum(axis=1)
    return sums
