"""Leading singular triplets of a sparse matrix on a device: a Krylov space of narrow blocks.

With an orthonormal basis Q of A'A X, (A'A)^2 X, .. for a random block X, the eigenvectors y of the small
square Q' A'A Q give right vectors Q y. Products with a block give the next one and, as their parts along the
basis, the columns of the square, so that nothing but the basis is kept. One pass over the basis makes the
rest of a product orthogonal to it up to rounding errors, which are as small as the rest is large: half of
the digits suffice, and are looked after.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sigmastar.core.torch_device import import_torch
from sigmastar.core.torch_sparse import SparseRows

if TYPE_CHECKING:
    import torch

_NARROWEST, _WIDEST, _BLOCKS = 16, 32, 6  # columns of a block, a part of the rank: few need a smaller space
_MOST, _EXTRA = 24, 28  # the space has at most so many times the rank and some columns
_PASSES = 8
_KEPT, _LOST = 0.7, 1e-3  # parts of a column outside of the space: enough of it, and next to nothing
_STEEP = 1e-6  # of the pivots of a block, and of them and its part in the space: below it, more care is taken
_ASKEW = 1e-9  # the largest product of a column with those before it; half of the digits would do
_FIRST, _LEAST, _GREATEST = 6, 1.1, 1.5  # the first look, in ranks, and growth of the space between two
_BESIDE = 10  # one more triplet per so many: where one of these moves, one of the leading may be missing
_PROBES = 3  # blocks that look for copies of singular values which the first block cannot reach
_FAR, _DOUBLINGS = 0.8, 5  # what these find is next to nothing if below this part; a bound by so high a power


class Triplets(NamedTuple):
    """Left vectors and right vectors as columns, singular values; and what they took."""

    left: torch.Tensor
    values: torch.Tensor
    right: torch.Tensor
    residual: float  # the largest, relative to the first singular value
    n_columns: int  # of the space that they were found in
    n_products: int  # of vectors with the matrix or its transpose


class _Space:
    """An orthonormal basis of columns that grows by blocks, and the square of the matrix within it."""

    _columns: torch.Tensor
    _square: torch.Tensor

    def __init__(
        self, forth: SparseRows, back: SparseRows, width: int, generator: torch.Generator, is_careful: bool
    ) -> None:
        self.forth, self.back, self.width, self.generator = forth, back, width, generator
        self.is_careful = is_careful
        self.trouble = import_torch().zeros((), dtype=import_torch().int32, device=forth.device)
        self.size = self.n_products = self.room = 0
        self._grow(8 * width)

    def _grow(self, room: int) -> None:
        torch, old = import_torch(), (self.basis, self.square) if self.size else ()
        shapes = ((self.forth.shape[1], room), (room, room))
        self._columns, self._square = (
            new(shape, dtype=torch.float64, device=self.forth.device)
            for new, shape in zip((torch.empty, torch.zeros), shapes, strict=True)
        )
        self.room = room
        for new, part in zip((self._columns, self._square), old, strict=False):
            new[: part.shape[0], : part.shape[1]] = part

    @property
    def basis(self) -> torch.Tensor:
        return self._columns[:, : self.size]

    @property
    def square(self) -> torch.Tensor:
        return self._square[: self.size, : self.size]

    def _drawn(self, *shape: int) -> torch.Tensor:
        torch = import_torch()
        where = {"dtype": torch.float64, "device": self.forth.device, "generator": self.generator}
        return torch.randn(shape, **where)

    def at_random(self) -> torch.Tensor:
        """A block that has a part in every direction, made orthogonal to the basis."""
        self.n_products += self.width
        return self._apart(self.back @ self._drawn(self.forth.shape[0], self.width))

    def add(self, block: torch.Tensor) -> None:
        """Add an orthonormal block that is orthogonal to all others."""
        end = self.size + block.shape[1]
        if end > self.room:
            self._grow(2 * self.room)
        self._columns[:, self.size : end] = block
        self.last, self.size = block, end

    def multiply(self) -> torch.Tensor:
        """The last block once there and back, as a column of the square; and the block that comes next."""
        torch, self.image = import_torch(), self.back @ (self.forth @ self.last)
        width = self.last.shape[1]
        self.n_products += 2 * width
        parts = self._square[: self.size, self.size - width : self.size]
        along = self.basis.T @ self.image
        rest = torch.addmm(self.image, self.basis, along, alpha=-1)
        block = _orthonormal(rest, self.trouble, along.norm())
        parts.copy_(along)
        is_last = self.size + width > min(self.forth.shape)
        if is_last or (self.is_careful and bool(self.trouble)):
            block = self._apart(self.image)
            if self.is_careful:
                self.trouble.zero_()
        self._square[self.size - width : self.size, : self.size] = parts.T
        return block

    def _apart(self, block: torch.Tensor) -> torch.Tensor:
        """A block with as many columns as there is room for, orthogonal to the basis, with all care."""
        block = _surely_orthonormal(block[:, : min(self.forth.shape) - self.size])
        for number in range(_PASSES if block.shape[1] else 0):  # twice at least: one leaves rounding errors
            rest = block - self.basis @ (self.basis.T @ block)
            sizes = rest.norm(dim=0)
            if number and bool(sizes.min() < _LOST):  # the matrix leads nowhere else: somewhere at random
                rest = rest.where(sizes > _LOST, self._drawn(*rest.shape))
            block = _surely_orthonormal(rest)
            if number and bool(sizes.min() > _KEPT):
                break
        return block.contiguous()

    def is_askew(self, block: torch.Tensor) -> bool:
        """Whether a block that comes next has lost its right angles to the basis; never with all care."""
        return not self.is_careful and not bool((self.basis.T @ block).abs().max() < _ASKEW)

    def most_beyond(self, size: int) -> float:
        """A bound on the largest eigenvalue of the square of the columns behind the first `size`."""
        torch, power = import_torch(), self.square[size:, size:]
        scale = power.diagonal().sum().clamp_min(1e-300)
        power = power / scale
        for _ in range(_DOUBLINGS):
            power = power @ power
        return float(scale * torch.trace(power).clamp_min(0) ** (0.5**_DOUBLINGS))

    def within(self, rank: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Leading eigenvalues of the square, roots of them, and their eigenvectors as columns."""
        squares, vectors = import_torch().linalg.eigh(self.square)
        return squares.flip(0)[:rank].clamp_min(0).sqrt(), vectors.flip(1)[:, :rank]


def krylov(
    forth: SparseRows, back: SparseRows, rank: int, tolerance: float, seed: int = 0, width: int | None = None
) -> Triplets:
    """Grow a basis until the leading triplets within it stand still, and nothing is found beside them.

    The processor does not wait for what it asked of the device: whether all blocks were fit for Cholesky's
    way is looked at with the triplets, and where they were not, all is done again with more care.

    Parameters
    ----------
    forth, back : SparseRows
        The matrix and its transpose.
    rank, tolerance, seed
        As of `sparse_svd`.
    width : int or None
        Columns of a block; None: a sixth of the rank, from 16 to 32.

    Returns
    -------
    Triplets
        With the number of products that they took.
    """
    torch, limit = import_torch(), min(forth.shape)
    width = min(width or min(max(rank // _BLOCKS, _NARROWEST), _WIDEST), limit)
    found = None
    for is_careful in (False, True):
        generator = torch.Generator(forth.device).manual_seed(seed)
        found = found or _grown(_Space(forth, back, width, generator, is_careful), rank, tolerance)
    assert found is not None
    return found


def _grown(space: _Space, rank: int, tolerance: float) -> Triplets | None:
    """The triplets, or None where a space that does not take care had trouble."""
    width, limit = space.width, min(space.forth.shape)
    most = min(_MOST * (rank + _EXTRA), limit)
    look, before = min(max(_FIRST * rank, 4 * width), most), _Look(rank, 1.0)
    still: tuple[torch.Tensor, torch.Tensor] | None = None  # values and vectors of a look that found them so
    space.add(space.at_random())
    while True:
        block = space.multiply()
        if space.size < look:
            space.add(block)
            continue
        if bool(space.trouble) or space.is_askew(block):
            return None
        if still is not None and space.most_beyond(len(still[1])) < _FAR * float(still[0][-1]) ** 2:
            return _triplets(space, *still)
        values, vectors = space.within(rank + rank // _BESIDE)
        residuals = _residuals(space, block, values, vectors)
        values, vectors = values[:rank], vectors[:, :rank]
        found = _Look(space.size, float(residuals[:rank].max()))
        stands = found.residual <= tolerance and bool(residuals.max() <= tolerance**0.5)
        if space.size >= most or (
            stands and still is not None and bool((values - still[0]).max() <= tolerance * values[0])
        ):
            return _triplets(space, values, vectors)
        if stands:
            block, look = space.at_random(), min(space.size + (_PROBES + 1) * width, most)
            still = values, vectors
        else:
            look, before, still = min(_next_look(found, before, tolerance), most), found, None
        space.add(block)


class _Look(NamedTuple):
    size: int
    residual: float


def _residuals(
    space: _Space, block: torch.Tensor, values: torch.Tensor, vectors: torch.Tensor
) -> torch.Tensor:
    """Residuals relative to the first value, by what the last block leads to."""
    outside = (block.T @ space.image) @ vectors[-space.last.shape[1] :]
    first = values[0].clamp_min(1e-300)
    return outside.norm(dim=0) / values.clamp_min(1e-12 * first) / first


def _next_look(found: _Look, before: _Look | None, tolerance: float) -> int:
    """The size at which the residual will be small enough if it goes on to fall as it does."""
    growth = _GREATEST
    if before is not None and found.residual < before.residual:
        rate = np.log(before.residual / found.residual) / (found.size - before.size)
        growth = 1 + np.log(2 * found.residual / tolerance) / (rate * found.size)
    return int(found.size * min(max(growth, _LEAST), _GREATEST))


def _triplets(space: _Space, values: torch.Tensor, vectors: torch.Tensor) -> Triplets:
    right = space.basis[:, : len(vectors)] @ vectors
    left = (space.forth @ right) / values.clamp_min(1e-300)
    residual = (space.back @ left - right * values).norm(dim=0).max() / values[0].clamp_min(1e-300)
    return Triplets(left, values, right, float(residual), space.size, space.n_products)


def _orthonormal(
    block: torch.Tensor, trouble: torch.Tensor, taken: torch.Tensor | None = None
) -> torch.Tensor:
    """An orthonormal block by Cholesky's root of its inner products.

    Pivots far below the largest, or far below the norm of what was `taken` away, are noted as trouble.
    """
    torch, gram = import_torch(), block.T @ block
    taken = trouble.double() if taken is None else taken
    if block.device.type == "cuda":
        from sigmastar.core.triton_kernels import lower_root

        width, inverse = len(gram), torch.empty_like(gram)
        size = max(16, 1 << (width - 1).bit_length())
        lower_root[(1,)](gram, inverse, trouble, taken, _STEEP, width=width, block=size, num_warps=2)
        return block @ inverse.T
    root, failed = torch.linalg.cholesky_ex(gram)
    pivots = root.diagonal()
    is_steep = ~(pivots.min() > _STEEP * torch.maximum(pivots.max(), taken))
    trouble |= (failed > 0) | is_steep
    eye = torch.eye(len(root), dtype=root.dtype, device=root.device)
    return block @ torch.linalg.solve_triangular(root, eye, upper=False).T


def _surely_orthonormal(block: torch.Tensor) -> torch.Tensor:
    torch = import_torch()
    if not block.shape[1]:
        return block
    trouble = torch.zeros((), dtype=torch.int32, device=block.device)
    found = _orthonormal(block, trouble)
    return torch.linalg.qr(block)[0] if bool(trouble) else found
