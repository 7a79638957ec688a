"""States of nodes from two views: what is inside a node and what is outside of it, correlated and clustered.

    Omega_a = Phi_a^T Psi_a / M_a ~ U S V^T,    Y = Phi_a U,    Z = Psi_a V        for every symbol a
    point of a node = [Y; Z], each dimension of unit size, times sqrt(S)
    state of a node = the cluster of its point among the nodes of its symbol

The first line is figure 5 of Cohen et al. (2012), by random projection (`core.views`): Omega is never made.
The weights make dimensions count by how certain they are. Clusters are counted, shrunk and climbed from in
`em`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sigmastar.core.arrays import Array, Floats, Int64s
from sigmastar.core.clusters import cluster_groups, merged, rows_by_group
from sigmastar.core.parallel import thread_map
from sigmastar.core.views import GroupedIndicators, correlate_views, random_block, unit_columns
from sigmastar.treebanks.model.latent_grammar import LatentGrammar


@dataclass(frozen=True, eq=False)
class Embedding:
    """Vectors of every node: columns beyond the dimensions of its symbol are zero."""

    inside: Floats  # Y, node x dimension
    outside: Floats  # Z
    correlations: Floats  # S: symbol x dimension, zero beyond the dimensions of a symbol
    n_dimensions: Int64s  # of each symbol
    rows: list[Int64s]  # the nodes of each symbol


def embed(
    symbol: Int64s,
    inside: GroupedIndicators,
    outside: GroupedIndicators,
    n_dimensions: Int64s,
    rng: np.random.Generator,
) -> Embedding:
    """Y and Z of all nodes.

    Parameters
    ----------
    symbol : array
        Of every node.
    inside, outside : GroupedIndicators
        Both views, grouped by symbol.
    n_dimensions : array
        For each symbol, at most.
    rng : Generator
        The source of chance.

    Returns
    -------
    Embedding
        The same on any number of threads.
    """
    most, rows = int(n_dimensions.max()), rows_by_group(symbol, len(n_dimensions))
    y, z = np.zeros((len(symbol), most)), np.zeros((len(symbol), most))
    values, found = np.zeros((len(n_dimensions), most)), np.ones(len(n_dimensions), dtype=np.int64)
    sizes = zip(outside.n_features.tolist(), n_dimensions.tolist(), strict=True)
    starts = [random_block(n, k, rng) for n, k in sizes]

    def one(a: int) -> None:
        phi, psi = inside.of(a, rows[a]), outside.of(a, rows[a])
        correlated = correlate_views(phi, psi, int(n_dimensions[a]), starts[a], total=float(len(rows[a])))
        k = len(correlated.values)
        y[rows[a], :k], z[rows[a], :k] = phi.times(correlated.left()), psi.times(correlated.right())
        values[a, :k], found[a] = correlated.values, k

    thread_map(one, [a for a in range(len(n_dimensions)) if len(rows[a])])
    return Embedding(y, z, values, found, rows)


def cluster_states(
    symbol: Array, embedding: Embedding, n_states: Int64s, rng: np.random.Generator, n_dimensions: int = 12
) -> Int64s:
    """The state of every node, below `n_states` of its symbol."""

    def points(a: int, rows: Int64s) -> Floats:
        k = min(int(embedding.n_dimensions[a]), n_dimensions)
        weight = np.sqrt(embedding.correlations[a, :k])
        sides = embedding.inside[rows, :k], embedding.outside[rows, :k]
        return np.hstack([unit_columns(side) * weight for side in sides])

    return cluster_groups(symbol, n_states, points, rng)


def joined_states(grammar: LatentGrammar, n_groups: int) -> Int64s:
    """A group, from 0, for every state of every symbol: states that are rewritten alike come together.

    A state is described by how probable each rule and each state of its children is from it.
    """
    groups = np.zeros(int(grammar.state_at[-1]), dtype=np.int64)
    rules = rows_by_group(grammar.rules[:, 0], grammar.n_symbols)
    for a in np.flatnonzero(grammar.n_states > 1).tolist():
        states = slice(grammar.state_at[a], grammar.state_at[a + 1])
        if len(rules[a]):
            points = np.sqrt(np.concatenate([_summary(grammar, rule) for rule in rules[a].tolist()])).T
        else:
            points = np.log(grammar.frequencies[states] + 1e-9)[:, None]
        groups[states] = merged(points, grammar.frequencies[states], n_groups)
    return groups


def _summary(grammar: LatentGrammar, rule: int) -> Floats:
    """P(rule, state of the left child | x) and P(rule, state of the right child | x), one column per x."""
    tensor = grammar.tensor(rule)
    return np.concatenate([tensor.sum(axis=1), tensor.sum(axis=0)])
