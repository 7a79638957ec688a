"""Exact probabilities of the futures of one, two and three symbols, at every prefix of some strings.

Future clusters: of the two ideas the second, with what follows as the view and no noise in it.

    points     roots of the probabilities of futures, in few dimensions
    states     k-means on the points
    moves      votes along the strings: p(a, j | i) ~ sum_u d(u)_a [u in i] [ua in j],  ends likewise

The result is a proper probabilistic automaton.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import linalg

from sigmastar.automata.data.strings import PrefixTrie, Strings
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Array, Floats, Indices
from sigmastar.distil.kernels import SoftTrie
from sigmastar.distil.questions import Questions, strings_of

_DIMENSIONS = 60
_NEARLY_ALL = 0.999


def future_points(features: Array, weights: Floats) -> tuple[Floats, Floats]:
    """Points whose distances say how differently prefixes go on, and the variance along each direction."""
    rows = np.sqrt(np.maximum(features, 0.0), dtype=np.float64)
    means = weights @ rows / weights.sum()
    centred = rows - means
    values, vectors = linalg.eigh((centred * weights[:, None]).T @ centred)
    return np.asarray(centred @ vectors[:, ::-1][:, :_DIMENSIONS]), np.maximum(values[::-1], 0.0)


def n_directions(variances: Floats) -> int:
    """How many directions hold nearly all of the variance.

    >>> n_directions(np.array([3.0, 1.0, 1e-4, 0.0]))
    2
    """
    held = np.cumsum(variances)
    return int(np.searchsorted(held, _NEARLY_ALL * held[-1])) + 1


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


MOST_FEATURES = 800
MOST_COLUMNS = 1500  # of which about half are alone


def _n_firsts(n_symbols: int) -> int:
    return min(n_symbols, max(2, MOST_FEATURES // (n_symbols + 1)))


def _is_deep(n_symbols: int) -> bool:
    return n_symbols**2 * (n_symbols + 1) <= MOST_FEATURES


def width_of(n_symbols: int) -> int:
    """How many answers the futures of a prefix take."""
    firsts = _n_firsts(n_symbols)
    return firsts + (firsts * n_symbols if _is_deep(n_symbols) else 0) + 1


def future_features(questions: Questions, trie: PrefixTrie, rows: Floats) -> Floats:
    """A row per node: d(u), then d(u)_a d(ua)_b, and where the alphabet is small d(u)_a d(ua)_b d(uab)_c.

    Of a large alphabet the symbols a are the most likely ones; of a record there is d(u) alone.
    """
    n = rows.shape[1] - 1
    if questions.is_recorded:
        return np.array(rows)
    firsts = np.sort(np.argsort(-rows[:, :n].mean(axis=0), kind="stable")[: _n_firsts(n)])
    deep = _is_deep(n)
    features = np.empty((trie.n_nodes, (n + 1) * width_of(n)))
    features[:, : n + 1] = rows
    for nodes, states in _pieces(questions, trie):
        at = n + 1
        for code in firsts:
            told, after = _step(questions, trie, nodes, states, [int(code)])
            joint = rows[nodes, code, None] * told
            features[nodes, at : at + n + 1] = joint
            at += n + 1
            for second in range(n if deep else 0):
                further, _ = _step(questions, trie, nodes, after, [int(code), second])
                features[nodes, at : at + n + 1] = joint[:, second, None] * further
                at += n + 1
    return features


def _pieces(questions: Questions, trie: PrefixTrie) -> Iterator[tuple[Indices, Any]]:
    """Nodes with their states, of a black box that reads on; nodes alone otherwise."""
    if questions.is_incremental:
        for depth, (states, _) in enumerate(questions.levels(trie)):
            yield np.arange(trie.level_starts[depth], trie.level_starts[depth + 1]), states
        return
    for first in range(0, trie.n_nodes, 8192):
        yield np.arange(first, min(first + 8192, trie.n_nodes)), None


def _step(
    questions: Questions, trie: PrefixTrie, nodes: Indices, states: Any, codes: list[int]
) -> tuple[Floats, Any]:
    """What follows nodes when some symbols are read after them, and their states then."""
    if states is not None:
        questions.spend(len(nodes))
        after, told = questions.step(states, np.full(len(nodes), codes[-1]))
        return told, after
    prefixes = strings_of(trie, nodes, questions.alphabet)
    return questions.next_distributions(_extended(prefixes, codes)), None


def _extended(strings: Strings, codes: list[int]) -> Strings:
    """Every string with the same symbols behind it."""
    lengths = strings.lengths + len(codes)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    long = np.tile(np.array(codes, np.int32), (len(strings), 1))
    places = np.repeat(strings.offsets[1:], len(codes))
    return Strings(strings.alphabet, np.insert(strings.codes, places, long.ravel()), offsets)


def coarse(features: Floats, rng: np.random.Generator) -> Floats:
    """Futures of a large alphabet: the most likely ones alone, the others in groups with their mass.

    A group of futures is an event like any other, so what holds of futures holds of groups.
    """
    if features.shape[1] <= MOST_COLUMNS:
        return features
    order = np.argsort(-features.mean(axis=0), kind="stable")
    n_alone = MOST_COLUMNS // 2
    rest = rng.permutation(order[n_alone:])
    starts = np.linspace(0, len(rest), MOST_COLUMNS - n_alone, endpoint=False).astype(np.int64)
    return np.hstack([features[:, order[:n_alone]], np.add.reduceat(features[:, rest], starts, axis=1)])
