"""Expected events of a string, from its chart of insides (`inside_chart`) read from the longest span down.

Outsides are divided by the probability of the string and multiplied by 2 ** exponent of their span, so that
outside x inside is a posterior:

    outside(k, j, B) += prefix(i, k, u) outside(i, j, u.B)
    outside(i, k, u) += inside(k, j, B) outside(i, j, u.B)
    count(A -> u)    += p(A -> u) prefix(i, j, u) outside(i, j, A)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.jit import kernel, part

Array = NDArray[np.float64]
Integers = NDArray[Any]
Rules = Any  # structures.rule_trie.ChartRules: numba knows named tuples by their fields


@part
def _cell(i: int, j: int) -> int:
    return j * (j - 1) // 2 + i


@part
def _power(exponent: int) -> float:
    return float(np.ldexp(1.0, min(max(exponent, -1060), 1020)))


@part
def _rewrite_outside(
    first_unary: int, rules: Rules, weights: Array, values: Array, outer: Array, counts: Array
) -> None:
    """Unary rules of a span, top down."""
    for at in range(len(rules.unary_left) - 1, first_unary - 1, -1):
        above = outer[rules.unary_left[at]]
        if above > 0.0:
            share = weights[rules.unary_event[at]] * above
            outer[rules.unary_child[at]] += share
            counts[rules.unary_event[at]] += share * values[rules.unary_child[at]]


@part
def _count_words(code: int, scale: float, rules: Rules, weights: Array, outer: Array, counts: Array) -> None:
    for at in range(rules.lexical_start[code], rules.lexical_start[code + 1]):
        event = rules.lexical_event[at]
        counts[event] += scale * weights[event] * outer[rules.lexical_left[at]]


@part
def _uncomplete(
    nodes: Integers, values: Array, rules: Rules, weights: Array, outer: Array, outside: Array, counts: Array
) -> bool:
    """Add what left sides give to the outsides of whole right sides; whether any node has one."""
    live = False
    for place in range(len(nodes)):
        for at in range(rules.complete_start[nodes[place]], rules.complete_start[nodes[place] + 1]):
            above = outer[rules.complete_left[at]]
            if above > 0.0:
                share = weights[rules.complete_event[at]] * above
                outside[place] += share
                counts[rules.complete_event[at]] += share * values[place]
        live = live or outside[place] > 0.0
    return live


@part
def _split_outside(
    i: int, j: int, rules: Rules, chart: Any, outside: Array, pool_outside: Array, scratch: Any
) -> None:
    """Hand the outsides of the nodes of a span down to both sides of its splits."""
    inside, exponents, active, n_active, bounds, pool_node, pool_value = chart
    above, stamp = scratch
    cell = _cell(i, j)
    for place in range(bounds[cell, 0], bounds[cell, 2]):
        above[pool_node[place]], stamp[pool_node[place]] = pool_outside[place], cell
    for k in range(i + 1, j):
        left, right = _cell(i, k), _cell(k, j)
        if n_active[right] == 0 or bounds[left, 0] == bounds[left, 1]:
            continue
        factor = _power(exponents[left] + exponents[right] - exponents[cell])
        for place in range(bounds[left, 0], bounds[left, 1]):
            node, gathered = pool_node[place], 0.0
            begin, end = rules.edge_start[node], rules.edge_start[node + 1]
            by_edges = end - begin <= n_active[right]
            for at in range(end - begin if by_edges else n_active[right]):
                symbol = rules.edge_symbol[begin + at] if by_edges else active[right, at]
                target = rules.goto[node, symbol]
                if target >= 0 and stamp[target] == cell and inside[right, symbol] > 0.0:
                    share = above[target] * factor
                    gathered += share * inside[right, symbol]
                    outside[right, symbol] += share * pool_value[place]
            pool_outside[place] += gathered


@kernel
def add_chart_counts(
    codes: Integers, rules: Rules, weights: Array, chart: Any, multiplicity: float, counts: Array
) -> None:
    """Add the expected events of one string, which has a derivation, to `counts`."""
    inside, exponents, _, _, bounds, pool_node, pool_value = chart
    n, n_nodes = len(codes), len(rules.goto)
    outside, pool_outside = np.zeros_like(inside), np.zeros(bounds[:, 2].max())
    scratch = (np.zeros(n_nodes), np.full(n_nodes, -1, np.int64))
    outside[_cell(0, n), rules.start] = multiplicity / inside[_cell(0, n), rules.start]
    for j in range(n, 0, -1):
        for i in range(j):
            cell = _cell(i, j)
            outer, values = outside[cell], inside[cell]
            begin, going, end = bounds[cell]
            for place in range(begin, going):
                if rules.node_parent[pool_node[place]] < 0:
                    outer[rules.node_symbol[pool_node[place]]] += pool_outside[place]
            first_unary = 0 if j == i + 1 else rules.n_lexical_unary
            _rewrite_outside(first_unary, rules, weights, values, outer, counts)
            if j == i + 1:  # the weights of words were added before the values were scaled
                _count_words(codes[i], _power(-exponents[cell]), rules, weights, outer, counts)
            elif _uncomplete(
                pool_node[begin:end],
                pool_value[begin:end],
                rules,
                weights,
                outer,
                pool_outside[begin:end],
                counts,
            ):
                _split_outside(i, j, rules, chart, outside, pool_outside, scratch)
