"""Features of the nodes of production trees: phi of what is inside, psi of what is outside.

    phi   nothing but a one; the rule of the node; with it the rule of its left child, or of its right child
    psi   nothing but a one; the rule above and the side; with them the rule of the sibling, or the rule above

Indicators, so a node has at most four of each. What a node lacks (a child, a parent) is a value of its own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sigmastar.core.arrays import Int64s
from sigmastar.trees.data.ranked import RankedTrees

NONE = 0


def inside_features(trees: RankedTrees) -> sparse.csr_array:
    """phi: nodes x indicators."""
    rule = rule_numbers(trees)
    left, right = (_at(rule, child) for child in (trees.left, trees.right))
    return _indicators([np.zeros(len(rule)), rule, _pair(rule, left), _pair(rule, right)])


def outside_features(trees: RankedTrees) -> sparse.csr_array:
    """psi: nodes x indicators."""
    rule, parent = rule_numbers(trees), trees.parent
    is_right = (parent >= 0) & (trees.right[parent] == np.arange(trees.n_nodes))
    sibling = np.where(is_right, trees.left[parent], trees.right[parent])
    above = np.where(parent >= 0, 2 * rule[parent] + is_right, NONE)
    beside = _at(rule, np.where(parent >= 0, sibling, -1))
    return _indicators([np.zeros(len(rule)), above, _pair(above, beside), _pair(above, _at(above, parent))])


def rule_numbers(trees: RankedTrees) -> Int64s:
    """One number for every production, from 1 on."""
    sizes = [len(alphabet) for alphabet in trees.alphabet.ranks]
    first = np.array([1, 1 + sizes[0], 1 + sizes[0] + sizes[1]])
    return np.asarray(first[trees.rank] + trees.symbol, dtype=np.int64)


def _at(values: Int64s, nodes: NDArray[np.int32]) -> Int64s:
    return np.where(nodes >= 0, values[nodes], NONE)


def _pair(first: Int64s, second: Int64s) -> Int64s:
    return np.asarray(first * (int(second.max(initial=0)) + 1) + second, dtype=np.int64)


def _indicators(templates: list[NDArray[np.generic]]) -> sparse.csr_array:
    columns, width = list[Int64s](), 0
    for values in templates:
        distinct, position = np.unique(values, return_inverse=True)
        columns.append(width + position.ravel())
        width += len(distinct)
    n, k = len(templates[0]), len(templates)
    table = np.stack(columns, axis=1).ravel()
    return sparse.csr_array((np.ones(n * k), table, np.arange(0, n * k + 1, k)), shape=(n, width))
