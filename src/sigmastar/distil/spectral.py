"""Operators from exact answers: of the two ideas the first, `recover`, by regression along prefixes.

    F(u) = [d(u); d(u)_a d(ua)_b; ..]      exact probabilities of the futures of one, two, three symbols
    s(u) = [1; whitened leading projections of F(u)]
    A_a  = argmin sum_u |d(u)_a s(ua) - s(u) A_a|^2 / d(u)_a       where a follows u
    A_a e_1 = argmin sum_u (d(u)_a - s(u) A_a e_1)^2               at every u: the readout is tied

With `mass = e_1` and `final = mass - sum_a A_a mass` the value of a string is a product, and the weights of
what comes next sum to one by construction. Every smaller rank is a leading block of the same statistics.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from sigmastar.automata.data.strings import PrefixTrie
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Floats
from sigmastar.distil.kernels import SoftTrie

RIDGE = 1e-10
MOST_EXACT = 60  # states of a machine that is looked for by its exact rank
_ROWS = 4000
_EXACT = 1e-11
_SMALL = 1e-12  # of the largest: directions below are rounding


@dataclass(frozen=True, eq=False)
class Directions:
    """The leading directions of the futures of many prefixes."""

    states: Floats  # prefixes x k, the first column 1
    values: Floats  # standard deviation along each direction but the first


def principal(features: Floats, weights: Floats, most: int) -> Directions:
    """Whitened projections of features, scaled by the roots of their means, onto their leading directions."""
    total = weights.sum()
    means = (weights @ features) / total
    scale = 1.0 / np.sqrt(np.maximum(means, 1e-12))
    centred = (features - means) * scale
    covariance = (centred * (weights / total)[:, None]).T @ centred
    values, vectors = linalg.eigh(covariance)
    order = np.argsort(-values)[: most - 1]
    order = order[values[order] > _SMALL * max(values[-1], 1e-300)]
    deviations = np.sqrt(values[order])
    projected = centred @ (vectors[:, order] / deviations)
    return Directions(np.hstack([np.ones((len(features), 1)), projected]), deviations)


@dataclass(frozen=True, eq=False)
class Regression:
    """Normal equations of all operators; those of a smaller rank are leading blocks."""

    alphabet: Alphabet
    initial: Floats
    grams: Floats  # symbols x k x k
    crosses: Floats  # symbols x k x k
    gram: Floats  # k x k, of all prefixes
    read: Floats  # k x symbols

    @classmethod
    def of(cls, alphabet: Alphabet, trie: PrefixTrie, states: Floats, soft: SoftTrie) -> Regression:
        """Of the states of all nodes of a trie, what follows there and how much each counts."""
        n, k, rows, weights = len(alphabet), states.shape[1], soft.targets, soft.weights
        grams, crosses = np.zeros((n, k, k)), np.zeros((n, k, k))
        for code in range(n):
            nodes = np.flatnonzero(trie.symbol == code)
            above = trie.parent[nodes]
            told = rows[above, code]
            counted = np.divide(weights[nodes], told, out=np.zeros(len(nodes)), where=told > 0)
            before, after = states[above], states[nodes] * told[:, None]
            grams[code] = (before * counted[:, None]).T @ before
            crosses[code] = (before * counted[:, None]).T @ after
        weighted = states * weights[:, None]
        return cls(alphabet, states[0], grams, crosses, weighted.T @ states, weighted.T @ rows[:, :-1])

    def solved(self, n_states: int) -> WeightedAutomaton:
        """The automaton of some rank."""
        k, n = n_states, len(self.alphabet)
        transitions = np.empty((n, k, k))
        for code in range(n):
            transitions[code] = _solve(self.grams[code, :k, :k], self.crosses[code, :k, :k])
        transitions[:, :, 0] = _solve(self.gram[:k, :k], self.read[:k]).T
        mass = np.eye(1, k)[0]
        final = mass - transitions[:, :, 0].sum(axis=0)
        return WeightedAutomaton(self.alphabet, self.initial[:k], transitions, final)


def _solve(gram: Floats, right: Floats) -> Floats:
    size = np.trace(gram) / len(gram)
    if size <= 0.0:
        return np.zeros_like(right)
    ridged = gram + RIDGE * size * np.eye(len(gram))
    return np.asarray(linalg.solve(ridged, right, assume_a="pos"))


def exact_automaton(
    alphabet: Alphabet, trie: PrefixTrie, features: Floats, soft: SoftTrie
) -> WeightedAutomaton | None:
    """The operators of a machine of low rank by plain least squares; None where the rank is not low."""
    some = np.unique(np.linspace(0, trie.n_nodes - 1, _ROWS).astype(np.int64))
    centre = features[0]
    _, values, right = linalg.svd(features[some] - centre, full_matrices=False)
    rank = int((values > _EXACT * max(values[0], _EXACT)).sum())
    if rank >= min(len(some), features.shape[1], MOST_EXACT):
        return None
    projected = (features - centre) @ (
        right[:rank].T / np.maximum(values[:rank], 1e-300) * np.sqrt(len(some))
    )
    states = np.hstack([np.ones((len(features), 1)), projected])
    transitions = np.zeros((len(alphabet), rank + 1, rank + 1))
    for code in range(len(alphabet)):
        nodes = np.flatnonzero(trie.symbol == code)
        told = soft.targets[trie.parent[nodes], code]
        if len(nodes):
            before, after = states[trie.parent[nodes]], states[nodes] * told[:, None]
            transitions[code] = linalg.lstsq(before, after, cond=1e-11)[0]
    transitions[:, :, 0] = linalg.lstsq(states, soft.targets[:, :-1], cond=1e-13)[0].T
    final = np.eye(1, rank + 1)[0] - transitions[:, :, 0].sum(axis=0)
    return WeightedAutomaton(alphabet, states[0], transitions, final)
