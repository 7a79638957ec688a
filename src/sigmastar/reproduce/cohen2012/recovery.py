"""How fast random latent PCFGs are recovered: theorem 3 of Cohen et al. (2012).

The error of a fitted grammar is the median over fresh trees of |p'(tree) / p(tree) - 1|. Nodes are all nodes
of all trees; one of each tree with the weight of its size; or one of each tree as the paper draws it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.demo import Progress
from sigmastar.trees.data.ranked import production_trees
from sigmastar.trees.learn.latent_pcfg import (
    NodeWeights,
    all_nodes,
    learn_latent_pcfg,
    one_node,
    one_uniform_node,
)
from sigmastar.trees.model.generators import make_latent_pcfg

Array = NDArray[np.float64]

ALL, ONE, UNIFORM = "all nodes", "one node, weighted", "one node, uniform"
NODES: Mapping[str, NodeWeights] = {ALL: all_nodes, ONE: one_node, UNIFORM: one_uniform_node}
N_FRESH = 300


@dataclass(frozen=True)
class Recovery:
    """The error of one fit."""

    grammar: int
    nodes: str
    n_trees: int
    error: float


def recover_grammars(
    n_grammars: int, n_states: int, sizes: tuple[int, ...], seed: int, progress: Progress
) -> Iterator[Recovery]:
    """Every way of choosing nodes, on growing samples of each of some random grammars."""
    for number in range(n_grammars):
        truth = make_latent_pcfg(np.random.default_rng([seed, number]), n_states)
        fresh = production_trees(truth.sample(N_FRESH, np.random.default_rng([seed, number, 1])))
        expected = truth.value(fresh)
        trees = truth.sample(max(sizes), np.random.default_rng([seed, number, 2]))
        for step, size in enumerate(sizes):
            progress(
                f"grammar {number + 1} of {n_grammars}, {size} trees",
                (number + step / len(sizes)) / n_grammars,
            )
            for name, nodes in NODES.items():
                rng = np.random.default_rng([seed, number, size])
                try:
                    found = learn_latent_pcfg(trees[:size], n_states, nodes, rng).value(fresh)
                    error = float(np.median(np.abs(found / expected - 1.0)))
                except ValueError:  # of some non-terminal no node was drawn
                    error = float("nan")
                yield Recovery(number, name, size, error)


def mean_errors(found: list[Recovery], nodes: str) -> tuple[Array, Array]:
    """Sizes, and the geometric mean over grammars of the errors."""
    sizes = sorted({one.n_trees for one in found})
    logs = [[np.log(o.error) for o in found if (o.nodes, o.n_trees) == (nodes, n)] for n in sizes]
    return np.array(sizes, dtype=np.float64), np.exp([np.nanmean(row) for row in logs])


def slope(found: list[Recovery], nodes: str) -> float:
    """Of log error against log size, by least squares over the larger half of the sizes."""
    sizes, errors = mean_errors(found, nodes)
    half = slice(max(len(sizes) // 2 - 1, 0), None)
    return float(np.polyfit(np.log(sizes[half]), np.log(errors[half]), 1)[0])
