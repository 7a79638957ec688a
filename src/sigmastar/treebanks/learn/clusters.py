"""States by clustering: every node gets the cluster of its embedding among the nodes of its symbol.

Points are [Y; Z], each dimension weighted by the square root of its singular value so that both sides and
all dimensions speak as loud as they are certain.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.kmeans import cluster
from sigmastar.core.parallel import thread_map
from sigmastar.treebanks.data.phrases import Ints, Longs
from sigmastar.treebanks.learn.embedding import Embedding
from sigmastar.treebanks.model.latent_grammar import LatentGrammar

Array = NDArray[np.float64]

_STEPS = 15


def cluster_states(
    symbol: Ints, embedding: Embedding, n_states: Longs, rng: np.random.Generator, n_dimensions: int = 12
) -> Longs:
    """The state of every node, below `n_states` of its symbol."""
    states = np.zeros(len(symbol), dtype=np.int64)
    order = np.argsort(symbol, kind="stable")
    ends = np.searchsorted(symbol[order], np.arange(len(n_states) + 1))
    starts = [rng.random(int(k)) for k in n_states]

    def one(a: int) -> None:
        rows = order[ends[a] : ends[a + 1]]
        points = _points(embedding, rows, a, n_dimensions)
        states[rows] = cluster(points, int(n_states[a]), starts[a], _STEPS)

    thread_map(one, [a for a in range(len(n_states)) if n_states[a] > 1])
    return states


def joined_states(grammar: LatentGrammar, n_groups: int) -> Longs:
    """A group, from 0, for every state of every symbol: states that are rewritten alike come together.

    A state is described by how probable each rule and each state of its children is from it.
    """
    groups = np.zeros(int(grammar.state_at[-1]), dtype=np.int64)
    by_parent = np.argsort(grammar.rules[:, 0], kind="stable")
    ends = np.searchsorted(grammar.rules[by_parent, 0], np.arange(grammar.n_symbols + 1))
    for a in np.flatnonzero(grammar.n_states > 1).tolist():
        rules = by_parent[ends[a] : ends[a + 1]]
        mine = slice(grammar.state_at[a], grammar.state_at[a + 1])
        if len(rules):
            points = np.sqrt(np.concatenate([_summary(grammar, rule) for rule in rules.tolist()])).T
        else:
            points = np.log(grammar.frequencies[mine] + 1e-9)[:, None]
        groups[mine] = _compact(_agglomerated(points, grammar.frequencies[mine], n_groups))
    return groups


def _summary(grammar: LatentGrammar, rule: int) -> Array:
    """P(rule, state of the left child | x) and P(rule, state of the right child | x), a column a state x."""
    tensor = grammar.tensor(rule)
    return np.concatenate([tensor.sum(axis=1), tensor.sum(axis=0)])


def _agglomerated(points: Array, weights: Array, n_groups: int) -> Longs:
    """Join the two groups whose joining costs least (Ward), until `n_groups` are left."""
    members = [[i] for i in range(len(points))]
    means, sizes = [np.array(p) for p in points], [float(w) + 1e-12 for w in weights]
    while len(members) > n_groups:
        centres, mass = np.stack(means), np.array(sizes)
        distance = ((centres[:, None] - centres[None]) ** 2).sum(axis=2)
        cost = distance * mass[:, None] * mass / (mass[:, None] + mass)
        np.fill_diagonal(cost, np.inf)
        i, j = sorted(np.unravel_index(int(np.argmin(cost)), cost.shape))
        means[i] = (means[i] * sizes[i] + means[j] * sizes[j]) / (sizes[i] + sizes[j])
        sizes[i] += sizes[j]
        members[i] += members[j]
        del means[j], sizes[j], members[j]
    groups = np.zeros(len(points), dtype=np.int64)
    for number, group in enumerate(members):
        groups[group] = number
    return groups


def _compact(groups: Longs) -> Longs:
    return np.unique(groups, return_inverse=True)[1].astype(np.int64)


def _points(embedding: Embedding, rows: Longs, symbol: int, n_dimensions: int) -> Array:
    k = min(int(embedding.n_states[symbol]), n_dimensions)
    weight = np.sqrt(embedding.singular_values[symbol, :k])
    y, z = embedding.inside[rows, :k], embedding.outside[rows, :k]
    sides = [side / np.maximum(np.sqrt((side**2).mean(axis=0)), 1e-12) * weight for side in (y, z)]
    return np.ascontiguousarray(np.concatenate(sides, axis=1))
