"""Leading singular triples of large sparse matrices: block Lanczos, a few vectors at a time.

    M^T M X_j = X_{j-1} B_{j-1}^T + X_j D_j + X_{j+1} B_j,      T = tridiagonal of the blocks D and B
    T Z = Z diag(s^2),      V = [X_1 .. X_m] Z,      |M^T M v - s^2 v| = |B_m z's last block|

(Golub and Underwood, 1977). A product with a block reads the matrix once for all its vectors, in panels of
columns whose part of the block stays near the processor. Rounding makes blocks lose the directions that have
converged, so that each new block is made orthogonal to all before it. A copy of them in single precision
serves for that, at half the traffic of memory, which this step takes its time for: vectors are orthogonal to
1e-7 then, and values as far from exact, until one Rayleigh-Ritz step (`core.sparse_svd`) mends both.

The space grows until the residuals of all wanted triples are below `_CLOSE` of the largest value.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from sigmastar.core.arrays import Floats, Int32s
from sigmastar.core.jit import kernel

BLOCK = 8
_CLOSE = 1e-8
_LEAST = 1e-10  # of a block, beside what it was before its past was taken out: nothing is left of it
_FAR = 0.1  # of the largest share: columns that are far from dependent
_MOST, _MORE = 6, 20  # dimensions per triple, and blocks beside them
_WIDTH = 6000  # columns of a panel: 384 KB of a block
_ROWS = 4096  # of all blocks side by side


class Ritz(NamedTuple):
    """Approximate eigenvectors of M^T M in a space, their values' roots, and their residuals over these."""

    turn: Floats
    values: Floats
    residuals: Floats


def block_lanczos(matrix: sparse.csr_array, n_states: int) -> tuple[Floats, Floats, Floats]:
    """Leading singular values, largest first, right vectors, orthonormal to single precision, and images."""
    space = _Space(matrix, _MOST * n_states + _MORE * BLOCK)
    for size in _sizes(n_states):
        if not space.grow(size):
            break
        found = space.ritz(n_states)
        if found.residuals.max() <= _CLOSE * found.values[0]:
            _require_few_alike(found.values)
            right = space.turned(found.turn)
            return found.values, right, space.forth.times_all(right)
    raise np.linalg.LinAlgError("blocks of vectors did not converge")


def _require_few_alike(values: Floats) -> None:
    """As many equal values as a block has vectors may be some of more: a space holds no more of them."""
    if (values[: 1 - BLOCK] - values[BLOCK - 1 :] <= _CLOSE * values[0]).any():
        raise np.linalg.LinAlgError("as many equal values as a block has vectors")


def _sizes(n_states: int) -> Iterator[int]:
    """Dimensions after which residuals are looked at: 2.5, 3, 3.2, 3.4 .. per triple, and some."""
    yield 5 * n_states // 2 + 2 * BLOCK
    for fifth in count(15):
        yield fifth * max(n_states, BLOCK) // 5


class _Space:
    """The blocks found so far, also in single precision, and T."""

    def __init__(self, matrix: sparse.csr_array, most: int) -> None:
        whole = matrix.astype(np.float64, copy=False)
        self.forth, self.back = _Panels.of(whole.tocsc()), _Panels.of(whole.T)
        n = matrix.shape[1]
        self.most, self.size = min(most, n // BLOCK * BLOCK - BLOCK), 0
        self.rough = np.empty((n, self.most), np.float32, order="F")
        self.moments, self.last = np.zeros((self.most, self.most)), np.zeros((BLOCK, BLOCK))
        random = np.random.default_rng(0).standard_normal((n, BLOCK))  # same block, same model
        self.blocks, self.block = list[Floats](), _orthonormal(random)[0]

    def grow(self, size: int) -> bool:
        """Add blocks up to a size; False where there is no room for them."""
        while self.size < size:
            if self.size + BLOCK > self.most:
                return False
            self._step()
        return True

    def _step(self) -> None:
        begin, end, block = self.size, self.size + BLOCK, self.block
        for k in range(BLOCK):
            self.rough[:, begin + k] = block[:, k]
        image = self.back.times(self.forth.times(block))
        whole = np.linalg.norm(image)
        if self.blocks:
            image -= self.blocks[-1] @ self.last.T
            self.moments[begin - BLOCK : begin, begin:end] = self.last.T
            self.moments[begin:end, begin - BLOCK : begin] = self.last
        inner = block.T @ image
        image -= block @ inner
        self.moments[begin:end, begin:end] = (inner + inner.T) / 2
        known = self.rough[:, :end]
        shares = known.T @ image.astype(np.float32)
        image -= (shares.T @ known.T).T
        if not np.linalg.norm(image) > _LEAST * whole:
            raise np.linalg.LinAlgError("the blocks of vectors span all that the matrix can reach")
        self.blocks.append(block)
        self.block, self.last = _orthonormal(image)
        self.size = end

    def turned(self, turn: Floats) -> Floats:
        """All blocks times a matrix; some rows of them stand side by side at a time."""
        found = np.empty((len(self.block), turn.shape[1]))
        for begin in range(0, len(found), _ROWS):
            rows = slice(begin, begin + _ROWS)
            found[rows] = np.hstack([block[rows] for block in self.blocks]) @ turn
        return found

    def ritz(self, n_states: int) -> Ritz:
        top = (self.size - n_states, self.size - 1)
        squares, vectors = linalg.eigh(self.moments[: self.size, : self.size], subset_by_index=top)
        values = np.sqrt(np.maximum(squares[::-1], 0.0))
        turn = np.ascontiguousarray(vectors[:, ::-1])
        residuals = np.linalg.norm(self.last @ turn[-BLOCK:], axis=0)
        return Ritz(turn, values, residuals / np.maximum(values, 1e-300))


class _Rows(NamedTuple):
    """Some columns of a sparse matrix, by rows, with small integers."""

    first: int
    starts: Int32s
    columns: NDArray[np.uint16]
    entries: Floats


class _Panels(NamedTuple):
    """A sparse matrix in panels of columns: what a panel reads of a block stays near the processor."""

    n_rows: int
    panels: list[_Rows]

    @classmethod
    def of(cls, matrix: sparse.csc_array) -> _Panels:
        firsts = range(0, matrix.shape[1], _WIDTH)
        return cls(matrix.shape[0], [_panel(matrix, first) for first in firsts])

    def times(self, block: Floats) -> Floats:
        found = np.zeros((self.n_rows, BLOCK))
        for panel in self.panels:
            add_product(panel, block, found)
        return found

    def times_all(self, vectors: Floats) -> Floats:
        """Of any number of vectors."""
        found = np.empty((self.n_rows, vectors.shape[1]))
        for begin in range(0, vectors.shape[1], BLOCK):
            some = vectors[:, begin : begin + BLOCK]
            block = np.zeros((len(vectors), BLOCK))
            block[:, : some.shape[1]] = some
            found[:, begin : begin + BLOCK] = self.times(block)[:, : some.shape[1]]
        return found


def _panel(matrix: sparse.csc_array, first: int) -> _Rows:
    rows = matrix[:, first : first + _WIDTH].tocsr()
    return _Rows(first, rows.indptr.astype(np.int32), rows.indices.astype(np.uint16), rows.data)


def _orthonormal(block: Floats) -> tuple[Floats, Floats]:
    """An orthonormal basis of a block, by Cholesky factors; and the block in this basis."""
    whole, is_near = np.eye(BLOCK), False
    while not is_near:  # one round takes digits away as columns depend on each other: then there are two
        factor = np.linalg.cholesky(block.T @ block)
        block, whole = block @ np.linalg.inv(factor).T, factor.T @ whole
        is_near = bool(factor.diagonal().min() > _FAR * factor.diagonal().max())
    return np.ascontiguousarray(block), whole


@kernel
def add_product(rows: _Rows, block: Floats, found: Floats) -> None:
    """Add a sparse matrix times eight vectors; the eight sums of a row stay in registers.

    Sums keep their order: where they may be taken in any, eight entries are read at a time, one number here
    and one there, and a product takes twice as long.
    """
    first, starts, columns, entries = rows
    for row in range(len(starts) - 1):
        begin, end = starts[row], starts[row + 1]
        if begin == end:
            continue
        a = b = c = d = e = f = g = h = 0.0
        for at in range(begin, end):
            entry, line = entries[at], block[first + np.int64(columns[at])]
            a += entry * line[0]
            b += entry * line[1]
            c += entry * line[2]
            d += entry * line[3]
            e += entry * line[4]
            f += entry * line[5]
            g += entry * line[6]
            h += entry * line[7]
        line = found[row]
        line[0] += a
        line[1] += b
        line[2] += c
        line[3] += d
        line[4] += e
        line[5] += f
        line[6] += g
        line[7] += h
