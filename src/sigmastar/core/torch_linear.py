"""Singular vectors of sparse blocks, and k-means, on tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sigmastar.core.arrays import Floats, Int64s
from sigmastar.core.torch_device import chosen_device, import_torch, on_device
from sigmastar.core.torch_krylov import krylov
from sigmastar.core.torch_sparse import SparseRows

if TYPE_CHECKING:
    import torch

_ROUNDING = 1e-6


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

    Raises
    ------
    numpy.linalg.LinAlgError
        Where a space of thousands of columns does not hold the triplets to the tolerance.
    """
    where = chosen_device(device)
    if not 0 < rank <= min(matrix.shape):
        raise ValueError(f"rank {rank} of a matrix of {matrix.shape[0]} x {matrix.shape[1]}")
    found = krylov(SparseRows(matrix, where), SparseRows(matrix.T, where), rank, tolerance, seed)
    if not found.residual <= max(10.0 * tolerance, _ROUNDING):
        raise np.linalg.LinAlgError(
            f"{rank} singular triplets have a residual of {found.residual:.1e} in {found.n_columns} columns, "
            f"not {tolerance:.0e}; ask for fewer of them, or for a larger tolerance"
        )
    u, s, v = (part.cpu().numpy() for part in (found.left, found.values, found.right.T))
    return u, s, v


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
