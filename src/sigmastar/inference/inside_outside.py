"""Inside and outside on a chart, for rules of any length, with unary and lexical rules.

Right sides are read from left to right along a trie (`structures.rule_trie`). For a span (i, j):

    prefix(i, j, u.B) = sum over k of prefix(i, k, u) inside(k, j, B)       prefix(i, j, B) = inside(i, j, B)
    inside(i, j, A)   = sum over rules A -> u of p(A -> u) prefix(i, j, u)  + unary and lexical rules

The outside pass runs the same steps backwards. Values of a span are kept times 2 ** -exponent, the
largest in [1, 2), so that strings of any length stay finite; outsides are divided by the probability of the
string and multiplied by 2 ** exponent, so that outside x inside is a posterior. With `best` sums become
maxima. Only nodes and symbols that occur in a span are visited, and only nodes that the next word can
continue are kept for longer spans.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sigmastar.jit import kernel

Array = NDArray[np.float64]
Integers = NDArray[Any]
Rules = Any  # structures.rule_trie.ChartRules: numba knows named tuples by their fields


@kernel
def _cell(i: int, j: int) -> int:
    return j * (j - 1) // 2 + i


@kernel
def _power(exponent: int) -> float:
    return float(np.ldexp(1.0, min(max(exponent, -1060), 1020)))


@kernel
def _grown(numbers: Any, size: int) -> Any:
    larger = np.empty(size, numbers.dtype)
    larger[: len(numbers)] = numbers
    return larger


@kernel
def _startable(codes: Integers, rules: Rules) -> NDArray[np.bool_]:
    """Which symbols the word after each position can begin; none after the last."""
    found = np.zeros((len(codes) + 1, len(rules.first)), np.bool_)
    for i in range(len(codes)):
        if codes[i] >= 0:
            if rules.word_symbol[codes[i]] >= 0:
                found[i] |= rules.left_corner[:, rules.word_symbol[codes[i]]]
            for at in range(rules.lexical_start[codes[i]], rules.lexical_start[codes[i] + 1]):
                found[i] |= rules.left_corner[:, rules.lexical_left[at]]
    return found


@kernel
def _goes_on(node: int, startable: NDArray[np.bool_], j: int, rules: Rules) -> bool:
    """Whether a symbol that may follow a node can begin at the next word."""
    for at in range(rules.edge_start[node], rules.edge_start[node + 1]):
        if startable[j, rules.edge_symbol[at]]:
            return True
    return False


@kernel
def inside_chart(
    codes: Integers, rules: Rules, weights: Array, best: bool
) -> tuple[Array, Integers, Integers, Integers, Integers, Integers, Array]:
    """Insides, exponents, active symbols and their number, pool bounds, pool nodes and pool values."""
    n, n_symbols, n_nodes = len(codes), len(rules.first), len(rules.goto)
    n_cells = n * (n + 1) // 2
    inside = np.zeros((n_cells, n_symbols))
    exponents = np.zeros(n_cells, np.int64)
    active = np.empty((n_cells, n_symbols), np.int32)
    n_active = np.zeros(n_cells, np.int32)
    # pool[bounds[c, 0] : bounds[c, 1]] are nodes that go on, up to bounds[c, 2] those that only complete
    bounds = np.zeros((n_cells, 3), np.int64)
    pool_node, pool_value = np.empty(64 * n_cells + 64, np.int32), np.empty(64 * n_cells + 64)
    scratch, stamp, touched = np.zeros(n_nodes), np.full(n_nodes, -1, np.int64), np.empty(n_nodes, np.int32)
    startable = _startable(codes, rules)
    used = 0
    for j in range(1, n + 1):
        for i in range(j - 1, -1, -1):
            cell = _cell(i, j)
            values = inside[cell]
            n_touched, exponent = 0, -(2**40)
            for k in range(i + 1, j):
                if n_active[_cell(k, j)] and bounds[_cell(i, k), 0] < bounds[_cell(i, k), 1]:
                    exponent = max(exponent, exponents[_cell(i, k)] + exponents[_cell(k, j)])
            for k in range(i + 1, j):
                left, right = _cell(i, k), _cell(k, j)
                if n_active[right] == 0 or bounds[left, 0] == bounds[left, 1]:
                    continue
                factor = _power(exponents[left] + exponents[right] - exponent)
                for place in range(bounds[left, 0], bounds[left, 1]):
                    node, value = pool_node[place], pool_value[place] * factor
                    begin, end = rules.edge_start[node], rules.edge_start[node + 1]
                    by_edges = end - begin <= n_active[right]
                    for at in range(end - begin if by_edges else n_active[right]):
                        symbol = rules.edge_symbol[begin + at] if by_edges else active[right, at]
                        target = rules.goto[node, symbol]
                        product = value * inside[right, symbol] if target >= 0 else 0.0
                        if product > 0.0:
                            if stamp[target] != cell:
                                stamp[target] = cell
                                scratch[target] = 0.0
                                touched[n_touched] = target
                                n_touched += 1
                            if best:
                                scratch[target] = max(scratch[target], product)
                            else:
                                scratch[target] += product
            if j == i + 1:
                exponent = 0
                if codes[i] >= 0:
                    if rules.word_symbol[codes[i]] >= 0:
                        values[rules.word_symbol[codes[i]]] = 1.0
                    for at in range(rules.lexical_start[codes[i]], rules.lexical_start[codes[i] + 1]):
                        values[rules.lexical_left[at]] += weights[rules.lexical_event[at]]
            for t in range(n_touched):
                node = touched[t]
                for at in range(rules.complete_start[node], rules.complete_start[node + 1]):
                    value = weights[rules.complete_event[at]] * scratch[node]
                    left_side = rules.complete_left[at]
                    values[left_side] = max(values[left_side], value) if best else values[left_side] + value
            for at in range(0 if j == i + 1 else rules.n_lexical_unary, len(rules.unary_left)):
                value = weights[rules.unary_event[at]] * values[rules.unary_child[at]]
                left_side = rules.unary_left[at]
                values[left_side] = max(values[left_side], value) if best else values[left_side] + value
            largest, count = 0.0, 0
            for symbol in range(n_symbols):
                if values[symbol] > 0.0:
                    active[cell, count] = symbol
                    count += 1
                    largest = max(largest, values[symbol])
            for t in range(n_touched):
                largest = max(largest, scratch[touched[t]])
            n_active[cell] = count
            bounds[cell] = used
            if largest == 0.0:
                continue
            shift = int(np.floor(np.log2(largest)))
            exponents[cell] = exponent + shift
            factor = _power(-shift)
            values *= factor
            if used + n_touched + count > len(pool_node):
                size = 2 * (used + n_touched + count)
                pool_node, pool_value = _grown(pool_node, size), _grown(pool_value, size)
            for going_on in (True, False):
                for t in range(n_touched):
                    node = touched[t]
                    if _goes_on(node, startable, j, rules) == going_on:
                        pool_node[used], pool_value[used] = node, scratch[node] * factor
                        used += 1
                if going_on:
                    for at in range(count):
                        node = rules.first[active[cell, at]]
                        if node >= 0 and _goes_on(node, startable, j, rules):
                            pool_node[used], pool_value[used] = node, values[active[cell, at]]
                            used += 1
                    bounds[cell, 1] = used
            bounds[cell, 2] = used
    return inside, exponents, active, n_active, bounds, pool_node, pool_value


@kernel
def _add_counts(
    codes: Integers, rules: Rules, weights: Array, chart: Any, multiplicity: float, counts: Array
) -> None:
    """Add the expected events of one string, which has a derivation, to `counts`."""
    inside, exponents, active, n_active, bounds, pool_node, pool_value = chart
    n, n_nodes = len(codes), len(rules.goto)
    outside = np.zeros_like(inside)
    pool_outside = np.zeros(bounds[:, 2].max())
    scratch, stamp = np.zeros(n_nodes), np.full(n_nodes, -1, np.int64)
    top = _cell(0, n)
    outside[top, rules.start] = multiplicity / inside[top, rules.start]
    for j in range(n, 0, -1):
        for i in range(j):
            cell = _cell(i, j)
            if n_active[cell] == 0 and bounds[cell, 0] == bounds[cell, 2]:
                continue
            outer, values = outside[cell], inside[cell]
            for place in range(bounds[cell, 0], bounds[cell, 1]):
                if rules.node_parent[pool_node[place]] < 0:
                    outer[rules.node_symbol[pool_node[place]]] += pool_outside[place]
            lowest = 0 if j == i + 1 else rules.n_lexical_unary
            for at in range(len(rules.unary_left) - 1, lowest - 1, -1):
                above = outer[rules.unary_left[at]]
                if above > 0.0:
                    share = weights[rules.unary_event[at]] * above
                    outer[rules.unary_child[at]] += share
                    counts[rules.unary_event[at]] += share * values[rules.unary_child[at]]
            if j == i + 1:
                for at in range(rules.lexical_start[codes[i]], rules.lexical_start[codes[i] + 1]):
                    event = rules.lexical_event[at]
                    # the weight was added before the values were scaled
                    share = weights[event] * _power(-exponents[cell])
                    counts[event] += share * outer[rules.lexical_left[at]]
                continue
            live = False
            for place in range(bounds[cell, 0], bounds[cell, 2]):
                node, value = pool_node[place], pool_value[place]
                for at in range(rules.complete_start[node], rules.complete_start[node + 1]):
                    above = outer[rules.complete_left[at]]
                    if above > 0.0:
                        share = weights[rules.complete_event[at]] * above
                        pool_outside[place] += share
                        counts[rules.complete_event[at]] += share * value
                if pool_outside[place] > 0.0:
                    live = True
                    scratch[node] = pool_outside[place]
                    stamp[node] = cell
            if not live:
                continue
            for k in range(i + 1, j):
                left, right = _cell(i, k), _cell(k, j)
                if n_active[right] == 0 or bounds[left, 0] == bounds[left, 1]:
                    continue
                factor = _power(exponents[left] + exponents[right] - exponents[cell])
                for place in range(bounds[left, 0], bounds[left, 1]):
                    node = pool_node[place]
                    begin, end = rules.edge_start[node], rules.edge_start[node + 1]
                    by_edges = end - begin <= n_active[right]
                    gathered = 0.0
                    for at in range(end - begin if by_edges else n_active[right]):
                        symbol = rules.edge_symbol[begin + at] if by_edges else active[right, at]
                        target = rules.goto[node, symbol]
                        if target >= 0 and stamp[target] == cell and inside[right, symbol] > 0.0:
                            share = scratch[target] * factor
                            gathered += share * inside[right, symbol]
                            outside[right, symbol] += share * pool_value[place]
                    pool_outside[place] += gathered


@kernel
def expected_events(
    codes: Integers, offsets: Integers, multiplicities: Array, rules: Rules, weights: Array
) -> tuple[Array, Array]:
    """Log-probability of each string, and the expected counts of events in all, as heavy as given."""
    n_strings = len(offsets) - 1
    logs, counts = np.full(n_strings, -np.inf), np.zeros(len(weights))
    for s in range(n_strings):
        string = codes[offsets[s] : offsets[s + 1]]
        if len(string) == 0:
            continue
        chart = inside_chart(string, rules, weights, False)
        top = _cell(0, len(string))
        if chart[0][top, rules.start] > 0.0:
            logs[s] = np.log(chart[0][top, rules.start]) + chart[1][top] * np.log(2.0)
            if multiplicities[s] > 0.0:
                _add_counts(string, rules, weights, chart, multiplicities[s], counts)
    return logs, counts


@kernel
def log_insides(codes: Integers, offsets: Integers, rules: Rules, weights: Array, best: bool) -> Array:
    """The log-probability of each string, or that of its best derivation."""
    logs = np.full(len(offsets) - 1, -np.inf)
    for s in range(len(logs)):
        string = codes[offsets[s] : offsets[s + 1]]
        if len(string):
            chart = inside_chart(string, rules, weights, best)
            top = _cell(0, len(string))
            logs[s] = np.log(chart[0][top, rules.start]) + chart[1][top] * np.log(2.0)
    return logs
