"""Singular vectors of sparse blocks, and k-means, on tensors."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from sigmastar.core.arrays import Floats, Int64s
from sigmastar.core.torch_device import chosen_device, import_torch, on_device

if TYPE_CHECKING:
    import torch

_EXTRA = 28  # columns of a block beyond the rank
_MOST_BLOCKS = 16
_EVERY = 4


def sparse_svd(
    matrix: Any, rank: int, *, device: str = "auto", tolerance: float = 1e-7, seed: int = 0
) -> tuple[Floats, Floats, Floats]:
    """The leading singular triplets of a sparse matrix by a block Krylov space.

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
    torch, where = import_torch(), chosen_device(device)
    if not 0 < rank <= min(matrix.shape):
        raise ValueError(f"rank {rank} of a matrix of {matrix.shape[0]} x {matrix.shape[1]}")
    forth, back = _tensor(matrix, where), _tensor(matrix.T, where)
    width = min(rank + _EXTRA, *matrix.shape)
    generator = torch.Generator(where).manual_seed(seed)
    block = torch.randn((matrix.shape[0], width), dtype=torch.float64, device=where, generator=generator)
    found = _krylov(forth, back, back @ block, rank, tolerance)
    u, s, v = (part.cpu().numpy() for part in found)
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


def _krylov(
    forth: torch.Tensor, back: torch.Tensor, block: torch.Tensor, rank: int, tolerance: float
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Grow an orthonormal basis of columns until the leading triplets within it stand still."""
    torch, limit = import_torch(), min(forth.shape)
    last = basis = _orthonormal(block)
    images = forth @ basis
    for number in range(1, _MOST_BLOCKS + 1):
        is_whole = basis.shape[1] >= limit
        if (
            is_whole or number == _MOST_BLOCKS or number % _EVERY == 0
        ):  # seldom: it takes as long as three blocks
            left, values, right = _within(basis, images, rank)
            residual = (back @ left - right * values).norm(dim=0).max()
            if is_whole or residual <= tolerance * values[0]:
                break
        fresh = back @ images[:, -last.shape[1] :]
        for _ in range(2):  # once more, since once leaves rounding errors behind
            fresh = fresh - basis @ (basis.T @ fresh)
        last = _orthonormal(fresh)[:, : limit - basis.shape[1]]
        basis = torch.cat([basis, last], dim=1)
        images = torch.cat([images, forth @ last], dim=1)
    return left, values, right.T


def _within(
    basis: torch.Tensor, images: torch.Tensor, rank: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Leading triplets of the matrix restricted to the basis, by the small square of its images."""
    squares, vectors = import_torch().linalg.eigh(images.T @ images)
    chosen = vectors.flip(1)[:, :rank]
    values = squares.flip(0)[:rank].clamp_min(0).sqrt()
    left = images @ chosen
    return left / values.clamp_min(1e-300), values, basis @ chosen


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
