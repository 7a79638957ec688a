"""Unary rules that go in a circle, NP -> VP -> NP: groups of non-terminals that are summed at once.

Non-terminals that rewrite to each other by unary rules are a *loop*, a strongly connected component. With
U[A, B] = p(A -> B) within a loop, and b the values of a span without these rules,

    v = b + U v = (I - U)^-1 b         all derivations of the span, however often they go round
    v = max over simple paths          the best one: no weight is above 1, so that going round never helps

The other unary rules lead from one group to another, and never back. In the order of their children, each
group is finished before it is rewritten. A non-terminal that cannot leave its loop has no finite derivation:
its value is 0.

The kernels take the values of the loops on one span at once, and their outsides. For a forest they take all
unary rules of a span: between one loop and the next in order, then the loop.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from graphlib import TopologicalSorter
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from sigmastar.core.arrays import Array, Floats, Int32s
from sigmastar.core.jit import kernel

_STUCK = 1e-12  # probability to leave below which a non-terminal cannot

Triple = tuple[int, int, int]
"""A unary rule: left side, child and event, as codes."""


class UnaryRules(NamedTuple):
    """Unary rules as the kernels read them; `*_start` are offsets into the arrays that follow them."""

    left: Int32s  # of the rules between groups, in the order in which they are used
    child: Int32s
    event: Int32s
    loop_before: Int32s  # of each loop the place in that order before which it is summed
    loop_start: Int32s
    loop_symbol: Int32s
    inner_start: Int32s  # the rules within each loop
    inner_left: Int32s
    inner_child: Int32s
    inner_event: Int32s
    matrix_start: Int32s
    matrix: Floats  # of each loop (I - U)^-1 or its maximum over paths, children first: [B, A]


def arranged(rules: Sequence[Triple], n_symbols: int, first: Sequence[bool]) -> UnaryRules:
    """Unary rules in order; those whose child has the flag `first` (it is in no loop) go to the front."""
    group, order = _groups(rules, n_symbols)
    place = {code: number for number, code in enumerate(order)}
    sizes = Counter(group)
    turning = {group[left] for left, child, _ in rules if left == child}
    loops = [code for code in order if sizes[code] > 1 or code in turning]
    between = [rule for rule in rules if group[rule[0]] != group[rule[1]]]
    between.sort(key=lambda rule: (not first[rule[1]], place[group[rule[1]]]))
    keys = [-1 if first[child] else place[group[child]] for _, child, _ in between]
    members = [[symbol for symbol in range(n_symbols) if group[symbol] == code] for code in loops]
    inner = [[rule for rule in rules if group[rule[0]] == group[rule[1]] == code] for code in loops]
    return UnaryRules(
        *columns(between),
        np.searchsorted(np.array(keys, int), [place[code] for code in loops]).astype(np.int32),
        _offsets([len(row) for row in members]),
        np.array([symbol for row in members for symbol in row], np.int32),
        _offsets([len(row) for row in inner]),
        *columns([rule for row in inner for rule in row]),
        _offsets([len(row) ** 2 for row in members]),
        np.full(sum(len(row) ** 2 for row in members), np.nan),
    )


def with_weights(rules: UnaryRules, weights: Floats, best: bool) -> UnaryRules:
    """The same rules with the matrices of their loops under these weights."""
    made = []
    for loop in range(len(rules.loop_before)):
        symbols = rules.loop_symbol[rules.loop_start[loop] : rules.loop_start[loop + 1]]
        inner = slice(rules.inner_start[loop], rules.inner_start[loop + 1])
        steps = np.zeros((len(symbols), len(symbols)))
        left, child = (np.searchsorted(symbols, row[inner]) for row in (rules.inner_left, rules.inner_child))
        steps[left, child] = weights[rules.inner_event[inner]]
        made.append((_best_paths(steps) if best else _sum_of_paths(steps)).T.ravel())
    return rules._replace(matrix=np.concatenate([np.empty(0), *made]))


def _sum_of_paths(steps: Floats) -> Floats:
    """(I - U)^-1 on the non-terminals that can leave, the identity on the others."""
    leaves = 1.0 - steps.sum(axis=1) > _STUCK
    for _ in range(len(steps)):
        leaves = leaves | (steps @ leaves > 0)
    return np.asarray(np.linalg.inv(np.eye(len(steps)) - steps * leaves[:, None]))


def _best_paths(steps: Floats) -> Floats:
    """The largest product along a path between any two, by Floyd and Warshall."""
    best = np.maximum(steps, np.eye(len(steps)))
    for middle in range(len(steps)):
        best = np.maximum(best, np.outer(best[:, middle], best[middle]))
    return best


def _groups(rules: Sequence[Triple], n_symbols: int) -> tuple[list[int], list[int]]:
    """The group of each symbol, and the groups, each after all that it rewrites to."""
    left, child, _ = columns(rules)
    graph = coo_array((np.ones(len(left)), (left, child)), shape=(n_symbols, n_symbols))
    count, labels = connected_components(graph, connection="strong")
    below: dict[int, set[int]] = {code: set() for code in range(count)}
    for above, under in zip(labels[left].tolist(), labels[child].tolist(), strict=True):
        if above != under:
            below[above].add(under)
    return labels.tolist(), list(TopologicalSorter(below).static_order())


def columns(rows: Sequence[Triple]) -> tuple[Int32s, Int32s, Int32s]:
    """The three columns of a table, each contiguous."""
    table = np.array(rows, np.int32).reshape(-1, 3).T
    return table[0].copy(), table[1].copy(), table[2].copy()


def _offsets(sizes: Sequence[int]) -> Int32s:
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int32)


Unary = Any  # pcfg.data.unary_loops.UnaryRules: numba knows named tuples by their fields
Rules = Any  # pcfg.data.rule_trie.ChartRules


@kernel
def close_loop(loop: int, unary: Unary, values: Floats, first: int, stride: int, best: bool) -> None:
    """Sum, or maximize, over all paths of a loop; the value of a symbol is at first + symbol * stride."""
    symbols = unary.loop_symbol[unary.loop_start[loop] : unary.loop_start[loop + 1]]
    size, row = len(symbols), unary.matrix_start[loop]
    made = np.zeros(size)
    for child in range(size):
        value = values[first + symbols[child] * stride]
        if value > 0.0:
            for above in range(size):
                product = unary.matrix[row + above] * value
                made[above] = max(made[above], product) if best else made[above] + product
        row += size
    for above in range(size):
        values[first + symbols[above] * stride] = made[above]


@kernel
def open_loop(
    loop: int,
    unary: Unary,
    weights: Floats,
    values: Floats,
    outer: Floats,
    first: int,
    stride: int,
    counts: Floats,
) -> None:
    """Outsides through all paths of a loop, in place, and the expected uses of its rules."""
    symbols = unary.loop_symbol[unary.loop_start[loop] : unary.loop_start[loop + 1]]
    size, row = len(symbols), unary.matrix_start[loop]
    made, any_above = np.zeros(size), False
    for above in range(size):
        any_above = any_above or outer[first + symbols[above] * stride] > 0.0
    if not any_above:
        return
    for child in range(size):
        for above in range(size):
            made[child] += unary.matrix[row + above] * outer[first + symbols[above] * stride]
        row += size
    for child in range(size):
        outer[first + symbols[child] * stride] = made[child]
    for at in range(unary.inner_start[loop], unary.inner_start[loop + 1]):
        share = weights[unary.inner_event[at]] * outer[first + unary.inner_left[at] * stride]
        counts[unary.inner_event[at]] += share * values[first + unary.inner_child[at] * stride]


@kernel
def add_unaries(
    i: int, j: int, width: int, rules: Rules, weights: Floats, ends: Array, values: Floats
) -> None:
    """Unary rules on a span, bottom up; those that only make single words are left out of longer ones."""
    first, unary = i * len(rules.first) * width + j, rules.unary
    begin, bit = 0 if j == i + 1 else rules.n_lexical_unary, 1 << j
    for loop in range(len(unary.loop_before) + 1):
        end = unary.loop_before[loop] if loop < len(unary.loop_before) else len(unary.left)
        for at in range(begin, end):
            weight = weights[unary.event[at]]
            if ends[i, unary.child[at]] & bit and weight > 0.0:
                ends[i, unary.left[at]] |= bit
                values[first + unary.left[at] * width] += weight * values[first + unary.child[at] * width]
        begin = end
        if loop < len(unary.loop_before):
            close_loop(loop, unary, values, first, width, False)
            for symbol in unary.loop_symbol[unary.loop_start[loop] : unary.loop_start[loop + 1]]:
                if values[first + symbol * width] > 0.0:
                    ends[i, symbol] |= bit


@kernel
def rewrite_outside(
    i: int, j: int, width: int, rules: Rules, weights: Floats, values: Floats, outer: Floats, counts: Floats
) -> None:
    """Unary rules on a span, top down."""
    first, unary = i * len(rules.first) * width + j, rules.unary
    end, least = len(unary.left), 0 if j == i + 1 else rules.n_lexical_unary
    for loop in range(len(unary.loop_before) - 1, -2, -1):
        begin = unary.loop_before[loop] if loop >= 0 else least
        for at in range(end - 1, begin - 1, -1):
            share = weights[unary.event[at]] * outer[first + unary.left[at] * width]
            if share > 0.0:
                outer[first + unary.child[at] * width] += share
                counts[unary.event[at]] += share * values[first + unary.child[at] * width]
        end = begin
        if loop >= 0:
            open_loop(loop, unary, weights, values, outer, first, width, counts)
