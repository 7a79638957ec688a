"""Compiled loops: neighbours in windows of text, and pairs of scores in the right order.

Windows. Each word owns a stretch of one flat array. A frequent word keeps one cell per context there, a rare
one the list of its neighbours.

Pairs. Scores are sorted once per row; walking up, every good entry wins against the others of its class that
were met below it, and half against those that tie with it: n log n instead of good x others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sigmastar.core.arrays import Flags, Floats, Int32s, Int64s
from sigmastar.core.jit import kernel


class WindowCells(NamedTuple):
    """Neighbours of words: `cells[starts[w]:starts[w + 1]]` belongs to word w."""

    starts: Int64s
    dense: Flags  # of each word, whether it has one cell per column
    cells: Int32s
    filled: Int64s  # of each word that is not dense, the length of its list


class CodedText(NamedTuple):
    """Words in codes, with the column of each as a neighbour on the left and on the right."""

    codes: Int32s
    left: Int32s
    right: Int32s
    offsets: Int64s


@kernel
def count_windows(text: CodedText, window: int, n_columns: int, table: WindowCells) -> None:
    """Count the neighbours of every word within its sentence."""
    codes, left, right, offsets = text
    starts, dense, cells, filled = table
    for sentence in range(len(offsets) - 1):
        first, last = offsets[sentence], offsets[sentence + 1]
        for i in range(first, last):
            word = codes[i]
            if word < 0:
                continue
            start = starts[word]
            low, high = max(first, i - window), min(last, i + window + 1)
            if dense[word]:
                for j in range(low, i):
                    cells[start + left[j]] += 1
                for j in range(i + 1, high):
                    cells[start + right[j]] += 1
            else:
                at = start + filled[word]
                for j in range(low, i):
                    cells[at] = left[j]
                    at += left[j] < n_columns
                for j in range(i + 1, high):
                    cells[at] = right[j]
                    at += right[j] < n_columns
                filled[word] = at - start


@kernel
def distinct_contexts(table: WindowCells, n_columns: int) -> Int64s:
    """How many contexts each word was met with."""
    starts, dense, cells, filled = table
    lengths = np.zeros(len(filled), dtype=np.int64)
    seen = np.full(n_columns, -1, dtype=np.int64)
    for word in range(len(filled)):
        if dense[word]:
            for at in range(starts[word], starts[word] + n_columns):
                lengths[word] += cells[at] != 0
        else:
            for at in range(starts[word], starts[word] + filled[word]):
                if seen[cells[at]] != word:
                    seen[cells[at]] = word
                    lengths[word] += 1
    return lengths


@kernel
def gather_contexts(
    table: WindowCells, n_columns: int, row_starts: Int64s, columns: Int32s, values: Floats
) -> None:
    """Write the rows one after another; contexts of rare words in the order in which they were met."""
    starts, dense, cells, filled = table
    place = np.full(n_columns, -1, dtype=np.int64)
    for word in range(len(filled)):
        at = row_starts[word]
        if dense[word]:
            for context in range(n_columns):
                if cells[starts[word] + context]:
                    columns[at], values[at] = context, cells[starts[word] + context]
                    at += 1
        else:
            for cell in range(starts[word], starts[word] + filled[word]):
                context = cells[cell]
                if place[context] < row_starts[word]:
                    place[context], columns[at], values[at] = at, context, 0.0
                    at += 1
                values[place[context]] += 1.0


@kernel
def compare_pairs(scores: Floats, compatible: Flags, classes: Int64s) -> tuple[Floats, Floats]:
    """For each head: pairs of a compatible and another modifier of one class that were won, and all."""
    n_heads, n_modifiers = scores.shape
    won, judged = np.zeros(n_heads), np.zeros(n_heads)
    n_classes = 0
    for number in classes:
        n_classes = max(n_classes, number + 1)
    for head in range(n_heads):
        order = np.argsort(scores[head])
        below, good = np.zeros(n_classes), np.zeros(n_classes)  # others met so far; compatible ones
        at = 0
        while at < n_modifiers:
            end = at
            while end < n_modifiers and scores[head, order[end]] == scores[head, order[at]]:
                end += 1
            tied_good, tied_other = np.zeros(n_classes), np.zeros(n_classes)
            for place in range(at, end):
                if compatible[head, order[place]]:
                    tied_good[classes[order[place]]] += 1
                else:
                    tied_other[classes[order[place]]] += 1
            for c in range(n_classes):
                won[head] += tied_good[c] * (below[c] + 0.5 * tied_other[c])
                below[c] += tied_other[c]
                good[c] += tied_good[c]
            at = end
        for c in range(n_classes):
            judged[head] += good[c] * below[c]
    return won, judged
