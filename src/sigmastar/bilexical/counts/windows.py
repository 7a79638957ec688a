"""Words and the words around them: co-occurrence counts in a window, one pass, memory bounded by the counts.

    counts[w, c] = #{(i, j): x_i = w, x_j = c, 0 < |i - j| <= window, within one sentence}

or, `sided`, the same for j < i and for j > i apart: twice as many columns, those of the left first.
Each word has room for the smaller of the number of contexts and of all the neighbours it can have: so the
whole never exceeds what a dense table of the frequent words and a list of the neighbours of the others take.
Section 5 of Madhyastha et al. (2014) uses a window of 10 and the 2,000 most frequent words as contexts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sigmastar.bilexical.kernels import (
    CodedText,
    WindowCells,
    count_windows,
    distinct_contexts,
    gather_contexts,
)
from sigmastar.core.arrays import Int32s, Int64s


@dataclass(frozen=True, eq=False)
class WindowCounter:
    """Counts that grow sentence by sentence; `add` may be called as often as there is text.

    frequencies[w] bounds how often word w will be met; contexts are the words of code < n_contexts.
    """

    window: int
    n_contexts: int
    sided: bool
    table: WindowCells

    @classmethod
    def of(cls, frequencies: Int64s, n_contexts: int, window: int, sided: bool = False) -> WindowCounter:
        """An empty counter for words of known frequencies."""
        if window < 1:
            raise ValueError(f"window={window} must be 1 or more words to each side")
        n_contexts = min(n_contexts, len(frequencies))
        n_columns = n_contexts * (2 if sided else 1)
        neighbours = 2 * window * frequencies.astype(np.int64)
        starts = np.zeros(len(frequencies) + 1, dtype=np.int64)
        np.cumsum(np.minimum(neighbours, n_columns) + 1, out=starts[1:])  # one cell nobody reads
        cells, filled = np.zeros(starts[-1], dtype=np.int32), np.zeros_like(starts[1:])
        return cls(window, n_contexts, sided, WindowCells(starts, neighbours >= n_columns, cells, filled))

    @property
    def n_columns(self) -> int:
        """Contexts, those of either side counted apart where they are."""
        return self.n_contexts * (2 if self.sided else 1)

    def add(self, codes: Int32s, offsets: Int64s) -> None:
        """Count the sentences `codes[offsets[i]:offsets[i + 1]]`; a code of -1 only takes its place."""
        is_context = (codes >= 0) & (codes < self.n_contexts)
        # Neighbours that are no contexts are written too, to a cell that nobody reads: a branch that goes
        # either way at random would cost more than the write.
        left = np.where(is_context, codes, np.int32(self.n_columns))
        right = np.where(is_context, codes + np.int32(self.n_contexts), left) if self.sided else left
        count_windows(CodedText(codes, left, right, offsets), self.window, self.n_columns, self.table)

    def counts(self) -> sparse.csr_array:
        """What was counted so far, words by contexts."""
        lengths = distinct_contexts(self.table, self.n_columns)
        row_starts = np.concatenate([[0], np.cumsum(lengths)])
        columns = np.empty(row_starts[-1], dtype=np.int32)
        values = np.empty(row_starts[-1])
        gather_contexts(self.table, self.n_columns, row_starts, columns, values)
        matrix = sparse.csr_array((values, columns, row_starts), shape=(len(lengths), self.n_columns))
        matrix.sort_indices()
        return matrix
