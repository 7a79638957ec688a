"""Words and the words around them: co-occurrence counts in a window, one pass, memory bounded by the counts.

    counts[w, c] = #{(i, j): x_i = w, x_j = c, 0 < |i - j| <= window, within one sentence}

or, `sided`, the same for j < i and for j > i apart: twice as many columns, those of the left first.
Each word owns a stretch of one flat array, as long as the smaller of the number of contexts and of all
the neighbours it can have. A frequent word keeps a cell a context there, a rare one the list of its
neighbours: so the whole never exceeds what a dense table of the frequent words and a list of the
neighbours of the others take. Section 5 of Madhyastha et al. (2014) uses a window of 10 and the 2,000
most frequent words as contexts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sigmastar.core.jit import kernel

Codes = NDArray[np.int32]
Offsets = NDArray[np.int64]
Array = NDArray[np.float64]

OUTSIDE = -1
"""The code of a word that is counted neither as a word nor as a context; it still takes its place."""


@dataclass(frozen=True, eq=False)
class WindowCounter:
    """Counts that grow sentence by sentence; `add` may be called as often as there is text.

    frequencies[w] bounds how often word w will be met; contexts are the words of code < n_contexts.
    """

    window: int
    n_contexts: int
    sided: bool
    starts: Offsets
    dense: NDArray[np.bool_]
    cells: NDArray[np.int32]
    filled: Offsets

    @classmethod
    def of(
        cls, frequencies: NDArray[np.int64], n_contexts: int, window: int, sided: bool = False
    ) -> WindowCounter:
        """An empty counter for words of known frequencies."""
        if window < 1:
            raise ValueError(f"window={window} must be 1 or more words to each side")
        n_contexts = min(n_contexts, len(frequencies))
        n_columns = n_contexts * (2 if sided else 1)
        neighbours = 2 * window * frequencies.astype(np.int64)
        starts = np.zeros(len(frequencies) + 1, dtype=np.int64)
        np.cumsum(np.minimum(neighbours, n_columns) + 1, out=starts[1:])  # one cell nobody reads
        cells, filled = np.zeros(starts[-1], dtype=np.int32), np.zeros_like(starts[1:])
        return cls(window, n_contexts, sided, starts, neighbours >= n_columns, cells, filled)

    @property
    def n_columns(self) -> int:
        return self.n_contexts * (2 if self.sided else 1)

    def add(self, codes: Codes, offsets: Offsets) -> None:
        """Count the sentences `codes[offsets[i]:offsets[i + 1]]`."""
        is_context = (codes >= 0) & (codes < self.n_contexts)
        # Neighbours that are no contexts are written too, to a cell that nobody reads: a branch that goes
        # either way at random would cost more than the write.
        left = np.where(is_context, codes, np.int32(self.n_columns))
        right = np.where(is_context, codes + np.int32(self.n_contexts), left) if self.sided else left
        _count(
            codes,
            left,
            right,
            offsets,
            self.window,
            self.n_columns,
            self.starts,
            self.dense,
            self.cells,
            self.filled,
        )

    def counts(self) -> sparse.csr_array:
        """What was counted so far, words by contexts."""
        lengths = _distinct(self.starts, self.dense, self.cells, self.filled, self.n_columns)
        row_starts = np.concatenate([[0], np.cumsum(lengths)])
        columns = np.empty(row_starts[-1], dtype=np.int32)
        values = np.empty(row_starts[-1])
        _gather(self.starts, self.dense, self.cells, self.filled, self.n_columns, row_starts, columns, values)
        shape = (len(self.filled), self.n_columns)
        matrix = sparse.csr_array((values, columns, row_starts), shape=shape)
        matrix.sort_indices()
        return matrix


def window_counts(
    codes: Codes, offsets: Offsets, n_words: int, n_contexts: int, window: int, sided: bool = False
) -> sparse.csr_array:
    """Counts of a corpus at once; see `WindowCounter` for text that comes in pieces."""
    frequencies = np.bincount(codes[codes >= 0], minlength=n_words)
    counter = WindowCounter.of(frequencies, n_contexts, window, sided)
    counter.add(codes, offsets)
    return counter.counts()


@kernel
def _count(
    codes: Codes,
    left: Codes,
    right: Codes,
    offsets: Offsets,
    window: int,
    n_columns: int,
    starts: Offsets,
    dense: NDArray[np.bool_],
    cells: NDArray[np.int32],
    filled: Offsets,
) -> None:
    """`left` and `right` hold the column of each word as a neighbour on that side."""
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
def _distinct(
    starts: Offsets, dense: NDArray[np.bool_], cells: NDArray[np.int32], filled: Offsets, n_columns: int
) -> Offsets:
    """How many contexts each word was met with."""
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
def _gather(
    starts: Offsets,
    dense: NDArray[np.bool_],
    cells: NDArray[np.int32],
    filled: Offsets,
    n_columns: int,
    row_starts: Offsets,
    columns: NDArray[np.int32],
    values: Array,
) -> None:
    """Write the rows one after another; contexts of rare words in the order in which they were met."""
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
