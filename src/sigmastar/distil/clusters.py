"""Future clusters: of the two ideas the second, with what follows as the view and no noise in it.

    points     roots of the probabilities of futures, in few dimensions
    states     k-means on the points
    moves      votes along the strings: p(a, j | i) ~ sum_u d(u)_a [u in i] [ua in j],  ends likewise

The result is a proper probabilistic automaton.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from sigmastar.automata.data.strings import PrefixTrie
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Array, Floats, Indices
from sigmastar.distil.kernels import SoftTrie

_DIMENSIONS = 60


def future_points(features: Array, weights: Floats) -> Floats:
    """Points whose distances say how differently two prefixes go on."""
    rows = np.sqrt(np.maximum(features, 0.0), dtype=np.float64)
    means = weights @ rows / weights.sum()
    centred = rows - means
    _, vectors = linalg.eigh((centred * weights[:, None]).T @ centred)
    return np.asarray(centred @ vectors[:, ::-1][:, :_DIMENSIONS])


def cluster_automaton(
    alphabet: Alphabet, trie: PrefixTrie, clusters: Indices, soft: SoftTrie, n_states: int
) -> WeightedAutomaton:
    """Votes of all prefixes, a little smoothed."""
    n, k, rows, weights = len(alphabet), n_states, soft.targets, soft.weights
    emissions = np.zeros((k, n + 1))
    np.add.at(emissions, clusters, rows * weights[:, None])
    emissions /= np.maximum(emissions.sum(axis=1, keepdims=True), 1e-300)
    moves = np.zeros((n, k, k))
    np.add.at(moves, (trie.symbol[1:], clusters[trie.parent[1:]], clusters[1:]), weights[1:])
    usual = moves.sum(axis=1) + 1e-3
    moves += (usual / usual.sum(axis=1, keepdims=True))[:, None, :]
    moves /= moves.sum(axis=2, keepdims=True)
    transitions = moves * emissions[:, :n].T[:, :, None]
    initial = np.full(k, 1e-4 / k)
    initial[clusters[0]] += 1.0 - 1e-4
    final = 1.0 - transitions.sum(axis=(0, 2))
    return WeightedAutomaton(alphabet, initial, transitions, np.maximum(final, 0.0))
