"""Singular vectors of sparse blocks, and k-means, on tensors."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sigmastar.core.arrays import Floats, Int64s
from sigmastar.core.torch_device import chosen_device, import_torch, on_device

if TYPE_CHECKING:
    import torch

_NARROWEST, _WIDEST = 8, 32  # columns of a block: the fewer, the smaller the space that suffices
_MOST, _EXTRA = 16, 28  # the space has at most so many times the rank and some columns
_PASSES = 8
_KEPT, _LOST = 0.7, 1e-3  # parts of a column outside of the space: enough of it, and next to nothing
_GROWTH = 1.25  # of the space between two looks at what is in it
_PROBES = 3  # blocks that look for copies of singular values which the first block cannot reach


def sparse_svd(
    matrix: Any, rank: int, *, device: str = "auto", tolerance: float = 1e-7, seed: int = 0
) -> tuple[Floats, Floats, Floats]:
    """The leading singular triplets of a sparse matrix by a block Krylov space.

    Blocks are narrow: a space of so many columns then holds polynomials of a higher degree, and half the
    products give the same accuracy where singular values fall slowly. A block of b columns reaches b copies
    of a singular value; so once triplets stand still, fresh random blocks look for more.

    Parameters
    ----------
    matrix : scipy sparse matrix
        Rows by columns.
    rank : int
        Number of triplets.
    device : {"cpu", "cuda", "auto"}
        Where to work.
    tolerance : float
        Largest residual of a triplet, relative to the first singular value.
    seed : int
        Of the random block that the space begins with.

    Returns
    -------
    tuple of arrays
        Left vectors as columns, singular values, right vectors as rows.
    """
    where = chosen_device(device)
    if not 0 < rank <= min(matrix.shape):
        raise ValueError(f"rank {rank} of a matrix of {matrix.shape[0]} x {matrix.shape[1]}")
    found = krylov(_tensor(matrix, where), _tensor(matrix.T, where), rank, tolerance, seed)
    u, s, v = (part.cpu().numpy() for part in (found.left, found.values, found.right.T))
    return u, s, v


def _tensor(matrix: Any, where: torch.device) -> torch.Tensor:
    torch, rows = import_torch(), matrix.tocsr()
    parts = (
        torch.as_tensor(rows.indptr.astype(np.int64)),
        torch.as_tensor(rows.indices.astype(np.int64)),
        torch.as_tensor(rows.data.astype(np.float64)),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # "support is in beta state"
        return torch.sparse_csr_tensor(*parts, size=matrix.shape, check_invariants=False).to(where)


class Triplets(NamedTuple):
    """Left vectors and right vectors as columns, singular values; and what they took."""

    left: torch.Tensor
    values: torch.Tensor
    right: torch.Tensor
    n_columns: int  # of the space that they were found in
    n_products: int  # of vectors with the matrix or its transpose


class _Space:
    """An orthonormal basis of columns, their images, and the inner products of these, which grow."""

    _columns: torch.Tensor
    _images: torch.Tensor
    _pairs: torch.Tensor

    def __init__(
        self, forth: torch.Tensor, back: torch.Tensor, width: int, generator: torch.Generator
    ) -> None:
        self.forth, self.back, self.width, self.generator = forth, back, width, generator
        self.size = self.n_products = self.n_paired = 0
        self._grow(8 * width)

    def _grow(self, room: int) -> None:
        torch = import_torch()
        where = {"dtype": torch.float64, "device": self.forth.device}
        shapes = ((self.forth.shape[1], room), (self.forth.shape[0], room), (room, room))
        fresh = [torch.empty(shape, **where) for shape in shapes]
        if self.size:
            fresh[0][:, : self.size], fresh[1][:, : self.size] = self.basis, self.images
            fresh[2][: self.n_paired, : self.n_paired] = self._pairs[: self.n_paired, : self.n_paired]
        (self._columns, self._images, self._pairs), self.room = fresh, room

    @property
    def basis(self) -> torch.Tensor:
        return self._columns[:, : self.size]

    @property
    def images(self) -> torch.Tensor:
        return self._images[:, : self.size]

    def at_random(self) -> torch.Tensor:
        """A block that has a part in every direction."""
        self.n_products += self.width
        return self.back @ self._drawn(len(self.forth), self.width)

    def _drawn(self, *shape: int) -> torch.Tensor:
        torch = import_torch()
        where = {"dtype": torch.float64, "device": self.forth.device, "generator": self.generator}
        return torch.randn(shape, **where)

    def next(self) -> torch.Tensor:
        """The last block, once there and back."""
        last = self.images[:, -min(self.width, self.size) :]
        self.n_products += last.shape[1]
        return self.back @ last

    def add(self, block: torch.Tensor) -> None:
        """Make a block orthonormal, and orthogonal to all others."""
        block = _orthonormal(block[:, : min(self.forth.shape) - self.size])
        for number in range(_PASSES):  # at least twice, since once leaves rounding errors behind
            rest = block - self.basis @ (self.basis.T @ block)
            sizes = rest.norm(dim=0)
            if number and bool(sizes.min() < _LOST):  # the matrix leads nowhere else: somewhere at random
                rest = rest.where(sizes > _LOST, self._drawn(*rest.shape))
            block = _orthonormal(rest)
            if number and bool(sizes.min() > _KEPT):
                break
        block = block.contiguous()
        if self.size + block.shape[1] > self.room:
            self._grow(2 * self.room)
        end = self.size + block.shape[1]
        self._columns[:, self.size : end], self._images[:, self.size : end] = block, self.forth @ block
        self.size, self.n_products = end, self.n_products + block.shape[1]

    def within(self, rank: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Leading triplets of the matrix restricted to the basis, by the small square of its images."""
        fresh = self.images.T @ self.images[:, self.n_paired :]
        self._pairs[: self.size, self.n_paired : self.size] = fresh
        self._pairs[self.n_paired : self.size, : self.n_paired] = fresh[: self.n_paired].T
        self.n_paired = self.size
        squares, vectors = import_torch().linalg.eigh(self._pairs[: self.size, : self.size])
        chosen = vectors.flip(1)[:, :rank]
        values = squares.flip(0)[:rank].clamp_min(0).sqrt()
        left = self.images @ chosen
        return left / values.clamp_min(1e-300), values, self.basis @ chosen


def krylov(
    forth: torch.Tensor,
    back: torch.Tensor,
    rank: int,
    tolerance: float,
    seed: int = 0,
    width: int | None = None,
) -> Triplets:
    """Grow a basis until the leading triplets within it stand still, and nothing is found beside them.

    Parameters
    ----------
    forth, back : sparse tensors
        The matrix and its transpose.
    rank, tolerance, seed
        As of `sparse_svd`.
    width : int or None
        Columns of a block; None: a third of the rank, from 8 to 32.

    Returns
    -------
    Triplets
        With the number of products that they took.
    """
    torch, limit = import_torch(), min(forth.shape)
    width = width or min(max(rank // 3, _NARROWEST), _WIDEST)
    generator = torch.Generator(forth.device).manual_seed(seed)
    space, most = _Space(forth, back, min(width, limit), generator), min(_MOST * (rank + _EXTRA), limit)
    look, known = min(max(2 * rank, 4 * width), most), None
    space.add(space.at_random())
    while True:
        while space.size < look:
            space.add(space.next())
        left, values, right = space.within(rank)
        residual = (back @ left - right * values).norm(dim=0).max()
        if space.size >= most:
            break
        look = min(int(_GROWTH * space.size), most)
        if residual <= tolerance * values[0]:
            if known is not None and bool((values - known).max() <= tolerance * values[0]):
                break
            known, look = values, min(space.size + _PROBES * width, most)
            space.add(space.at_random())
    return Triplets(left, values, right, space.size, space.n_products)


def _orthonormal(block: torch.Tensor) -> torch.Tensor:
    """An orthonormal basis: Cholesky's twice, which is products alone, or Householder's where that fails."""
    torch, found = import_torch(), block
    for _ in range(2):
        root, failed = torch.linalg.cholesky_ex(found.T @ found)
        if bool(failed):
            found = torch.linalg.qr(block)[0]
            break
        found = torch.linalg.solve_triangular(root, found.T, upper=False).T
    return found


def clusters(
    points: Floats, n_clusters: int, *, device: str = "auto", n_rounds: int = 20, seed: int = 0
) -> tuple[Int64s, Floats]:
    """k-means: the cluster of each point, and the centers.

    Parameters
    ----------
    points : array
        Points by dimensions.
    n_clusters : int
        Number of clusters; an empty one takes the point that is farthest from its center.
    device : {"cpu", "cuda", "auto"}
        Where to work.
    n_rounds : int
        Most rounds.
    seed : int
        Of the points that are the first centers.

    Returns
    -------
    tuple of arrays
        Cluster of each point, and clusters by dimensions.
    """
    torch, where = import_torch(), chosen_device(device)
    data = on_device(points, where, torch.float32)
    if not 0 < n_clusters <= len(data):
        raise ValueError(f"{n_clusters} clusters of {len(data)} points")
    chosen = np.random.default_rng(seed).choice(len(data), n_clusters, replace=False)
    centers = data[torch.as_tensor(chosen, device=where)]
    labels = torch.full((len(data),), -1, dtype=torch.int64, device=where)
    for _ in range(n_rounds):
        before, (labels, distances) = labels, _nearest(data, centers)
        if bool((labels == before).all()):
            break
        centers = _centers(data, labels, distances, centers)
    return labels.cpu().numpy(), centers.double().cpu().numpy()


def _nearest(data: torch.Tensor, centers: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    torch = import_torch()
    sizes, piece = (centers * centers).sum(dim=1), max((1 << 28) // len(centers), 1)
    found = [(sizes - 2 * part @ centers.T).min(dim=1) for part in data.split(piece)]
    labels = torch.cat([part.indices for part in found])
    return labels, torch.cat([part.values for part in found]) + (data * data).sum(dim=1)


def _centers(
    data: torch.Tensor, labels: torch.Tensor, distances: torch.Tensor, old: torch.Tensor
) -> torch.Tensor:
    torch = import_torch()
    sums = torch.zeros_like(old).index_add_(0, labels, data)
    sizes = torch.bincount(labels, minlength=len(old))
    empty = (sizes == 0).nonzero().ravel()
    means = sums / sizes.clamp_min(1)[:, None]
    if len(empty):
        means[empty] = data[distances.topk(len(empty)).indices]
    return means
