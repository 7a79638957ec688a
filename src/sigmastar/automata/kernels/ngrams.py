"""All n-grams of a corpus by counting sorts: nothing is compared, and nothing is looked for.

Contexts are refined level by level, each gap going from its context to the one with a symbol more. What
follows contexts is then counted from the deepest level up: an item is a gap whose context ends there, or an
entry (context, outcome) of the level below under the parent of its context. Items of one context and outcome
are one entry, whose number of items is the count of Kneser-Ney: occurrences, or distinct extensions.
"""

from __future__ import annotations

import numpy as np

from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.jit import kernel, part


@part
def _sort_by(values: Int32s, first: int, starts: Int64s, items: Int32s, ordered: Int32s) -> None:
    """Items in the order of their values, which begin at `first`; items of one value stay in order."""
    for value in range(len(starts)):
        starts[value] = 0
    for at in range(len(items)):
        starts[values[items[at]] - first + 1] += 1
    for value in range(1, len(starts)):
        starts[value] += starts[value - 1]
    for at in range(len(items)):
        value = values[items[at]] - first
        ordered[starts[value]] = items[at]
        starts[value] += 1


@kernel
def refine(
    symbols: Int32s, edge: int, begin: int, end: int, node_of: Int32s, active: Int32s, made: Int32s
) -> tuple[int, int]:
    """Move gaps from nodes `begin` .. `end - 1` to new ones by a symbol more, numbered from `end`.

    `symbols` holds the symbol of each gap, `made` has room for parents and symbols of the new nodes. The
    numbers of new nodes, and of gaps that stay active: those whose symbol is not the edge.
    """
    n, n_new, n_active = len(active), 0, 0
    ordered = np.empty(n, np.int32)
    _sort_by(symbols, 0, np.empty(edge + 2, np.int64), active, ordered)
    _sort_by(node_of, begin, np.empty(end - begin + 1, np.int64), ordered.copy(), ordered)
    last_node, last_symbol = -1, -1
    for at in range(n):
        gap = ordered[at]
        node, symbol = node_of[gap], symbols[gap]
        if node != last_node or symbol != last_symbol:
            made[0, n_new], made[1, n_new] = node, symbol
            n_new += 1
            last_node, last_symbol = node, symbol
        node_of[gap] = end + n_new - 1
        if symbol != edge:
            active[n_active] = gap
            n_active += 1
    return n_new, n_active


@kernel
def merge_items(nodes: Int32s, outcomes: Int32s, totals: Int32s, begin: int, end: int, width: int) -> Int32s:
    """Entries of the nodes `begin` .. `end - 1`, sorted: node, outcome, total, number of items."""
    n = len(nodes)
    items, ordered = np.arange(n).astype(np.int32), np.empty(n, np.int32)
    _sort_by(outcomes, 0, np.empty(width + 1, np.int64), items, ordered)
    _sort_by(nodes, begin, np.empty(end - begin + 1, np.int64), ordered, items)
    n_entries = 0
    for at in range(n):
        same = at > 0 and nodes[items[at]] == nodes[items[at - 1]]
        n_entries += not (same and outcomes[items[at]] == outcomes[items[at - 1]])
    found, entry = np.zeros((4, n_entries), np.int32), -1
    for at in range(n):
        item = items[at]
        if at == 0 or nodes[item] != found[0, entry] or outcomes[item] != found[1, entry]:
            entry += 1
            found[0, entry], found[1, entry] = nodes[item], outcomes[item]
        found[2, entry] += totals[item]
        found[3, entry] += 1
    return found


@kernel
def numbers_of_counts(row_starts: Int64s, depth: Int32s, counts: Int32s, numbers: Int64s) -> None:
    """How many entries of each depth (rows) were counted once, twice, .. as often as there are columns."""
    for context in range(len(depth)):
        for at in range(row_starts[context], row_starts[context + 1]):
            if 0 < counts[at] <= numbers.shape[1]:
                numbers[depth[context], counts[at] - 1] += 1


@kernel
def discounted_rows(
    row_starts: Int64s, depth: Int32s, counts: Int32s, discounts: Floats, own: Floats, backoff: Floats
) -> None:
    """Shares of the entries of contexts after discounts (depths x counts up to a last), and what is left."""
    most = discounts.shape[1] - 1
    for context in range(len(depth)):
        begin, end, total = row_starts[context], row_starts[context + 1], 0
        for at in range(begin, end):
            total += counts[at]
        kept = 0.0
        for at in range(begin, end):
            taken = discounts[depth[context], min(counts[at], most)]
            own[at] = max(counts[at] - taken, 0.0) / max(total, 1)
            kept += own[at]
        backoff[context] = 1.0 - kept if total > 0 else 1.0
