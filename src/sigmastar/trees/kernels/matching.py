"""Which of a table of insides hangs below every node of a corpus, and which outsides are around it.

Both tables are closed: an inside is a symbol over earlier insides, an outside is an earlier outside with
one node more around its hole. So a node is looked up by the numbers of its children, or of its parent and
siblings, by binary search among rows that are sorted lexicographically.
"""

from __future__ import annotations

import numpy as np

from sigmastar.core.arrays import Int64s
from sigmastar.core.jit import kernel, part
from sigmastar.trees.data.ranked import Nodes


@part
def _found(table: Int64s, row: Int64s) -> int:
    """The place of a row in a sorted table, -1 for none."""
    low, high = 0, len(table)
    while low < high:
        middle, column = (low + high) // 2, 0
        while column < len(row) and table[middle, column] == row[column]:
            column += 1
        if column == len(row):
            return middle
        if table[middle, column] < row[column]:
            low = middle + 1
        else:
            high = middle
    return -1


@kernel
def node_heights(nodes: Nodes) -> Int64s:
    """Steps from every node down to its deepest leaf; children stand before parents."""
    heights = np.zeros(len(nodes.rank), np.int64)
    for node in range(len(heights)):
        for at in range(nodes.first[node], nodes.first[node + 1]):
            heights[node] = max(heights[node], heights[nodes.children[at]] + 1)
    return heights


@kernel
def match_insides(nodes: Nodes, table: Int64s, numbers: Int64s) -> Int64s:
    """The number of the inside at every node, -1 where the table lacks it."""
    rank, symbol, first, children = nodes
    found, row = np.full(len(rank), -1, np.int64), np.zeros(table.shape[1], np.int64)
    for node in range(len(rank)):
        fits = symbol[node] >= 0 and rank[node] <= len(row) - 2
        if fits:
            row[:] = -1
            row[0], row[1] = rank[node], symbol[node]
            for k in range(rank[node]):
                row[2 + k] = found[children[first[node] + k]]
                fits = fits and row[2 + k] >= 0
        if fits:
            at = _found(table, row)
            found[node] = numbers[at] if at >= 0 else -1
    return found


@kernel
def match_outsides(nodes: Nodes, insides: Int64s, outer: Int64s, table: Int64s, numbers: Int64s) -> Int64s:
    """From the outsides of some height around every node to those one step higher around its children."""
    rank, symbol, first, children = nodes
    found, row = np.full(len(rank), -1, np.int64), np.zeros(table.shape[1], np.int64)
    for node in range(len(rank)):
        if outer[node] < 0 or symbol[node] < 0 or rank[node] > len(row) - 2:
            continue
        below = children[first[node] : first[node + 1]]
        n_missing, missing = 0, -1
        for k in range(len(below)):
            if insides[below[k]] < 0:
                n_missing, missing = n_missing + 1, k
        for k in range(len(below)):
            if n_missing > 1 or (n_missing == 1 and k != missing):
                continue
            row[:] = -1
            row[0] = rank[node] * (rank[node] - 1) // 2 + k
            row[1], row[2] = symbol[node], outer[node]
            for other in range(len(below)):
                if other != k:
                    row[3 + other - (other > k)] = insides[below[other]]
            at = _found(table, row)
            found[below[k]] = numbers[at] if at >= 0 else -1
    return found
