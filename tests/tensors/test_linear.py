"""Singular vectors and clusters on tensors, beside SciPy and a plain k-means."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

torch = pytest.importorskip("torch", reason="PyTorch is not installed: make test-torch installs it")

from sigmastar.core import torch_krylov  # noqa: E402
from sigmastar.core.torch_krylov import krylov  # noqa: E402
from sigmastar.core.torch_linear import clusters, sparse_svd  # noqa: E402
from sigmastar.core.torch_sparse import SparseRows  # noqa: E402

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", [(300, 200), (150, 400), (40, 30)])
def test_singular_triplets(device: str, shape: tuple[int, int]) -> None:
    matrix = sparse.random_array(shape, density=0.05, rng=np.random.default_rng(0), format="csr")
    u, s, v = sparse_svd(matrix, 10, device=device, tolerance=1e-9)
    exact = np.linalg.svd(matrix.toarray())
    assert s == pytest.approx(exact[1][:10], rel=1e-9)
    assert np.abs(u.T @ u - np.eye(10)).max() < 1e-9
    assert np.abs(matrix @ v.T - u * s).max() < 1e-7


@pytest.mark.skipif(not torch.cuda.is_available(), reason="the kernel of products needs a GPU")
@pytest.mark.parametrize("width", [1, 16, 32, 100])
def test_pieces_of_rows_are_added_up(width: int) -> None:
    """Rows of none and of 900 numbers, which are several pieces; columns that fill no power of two."""
    rng = np.random.default_rng(2)
    lengths = np.array([0, 3, 900, 1, 256, 257, 0, 40])
    columns = np.concatenate([rng.choice(1000, n, replace=False) for n in lengths])
    starts = np.concatenate([[0], np.cumsum(lengths)])
    matrix = sparse.csr_array((rng.standard_normal(len(columns)), columns, starts), shape=(8, 1000))
    block = rng.standard_normal((1000, width))
    there = SparseRows(matrix, torch.device("cuda")) @ torch.as_tensor(block, device="cuda")
    assert there.cpu().numpy() == pytest.approx(matrix @ block, abs=1e-12)


@pytest.mark.parametrize("device", DEVICES)
def test_copies_of_singular_values_are_found_beyond_the_width_of_a_block(device: str) -> None:
    """Thirty copies of each, of which a block of 13 columns reaches 13; and spaces that lead nowhere."""
    block = sparse.random_array((60, 60), density=0.1, rng=np.random.default_rng(1))
    expected = np.repeat(np.linalg.svd(block.toarray())[1], 30)[:40]
    copies = sparse.kron(sparse.eye_array(30), block).tocsr()
    found = sparse_svd(copies, 40, device=device, tolerance=1e-4)[1]  # at 1e-7 rounding errors find them too
    assert found == pytest.approx(expected, abs=1e-6)
    assert sparse_svd(sparse.eye_array(200).tocsr(), 50, device=device)[1] == pytest.approx(np.ones(50))
    assert not sparse_svd(sparse.csr_array((50, 60)), 3, device=device)[1].any()


def test_narrow_blocks_need_fewer_products() -> None:
    """On a spectrum that falls slowly, as that of co-occurrences does; every triplet as exact."""
    rng, n = np.random.default_rng(0), 900
    rows, columns = ((n * rng.power(0.35, 16 * n)).astype(np.int64) for _ in range(2))
    matrix = sparse.csr_array((np.ones(16 * n), (rows, columns)), shape=(n, n))
    scale = [sparse.diags_array(1 / np.sqrt(np.maximum(matrix.sum(axis=k), 1))) for k in (1, 0)]
    matrix = (scale[0] @ matrix @ scale[1]).tocsr()
    forth, back = (SparseRows(side, torch.device("cpu")) for side in (matrix, matrix.T))
    narrow, wide = (krylov(forth, back, 30, 1e-7, width=width) for width in (None, 58))
    assert (narrow.values - wide.values).abs().max() < 1e-9
    assert narrow.n_products < 0.65 * wide.n_products
    assert narrow.n_columns < 0.65 * wide.n_columns


@pytest.mark.parametrize("device", DEVICES)
def test_clusters_are_found_and_centers_are_means(device: str) -> None:
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 4, 400)
    points = 10 * np.eye(4)[truth] + rng.standard_normal((400, 4))
    labels, centers = clusters(points, 4, device=device, seed=3)
    assert len({(a, b) for a, b in zip(truth.tolist(), labels.tolist(), strict=True)}) <= 6
    for k in range(4):
        assert centers[k] == pytest.approx(points[labels == k].mean(axis=0), abs=1e-4)


def test_every_cluster_has_a_point() -> None:
    points = np.concatenate([np.zeros((50, 2)), [[5.0, 5.0]]])
    labels, _ = clusters(points, 3, device="cpu")
    assert set(labels.tolist()) <= {0, 1, 2}
    with pytest.raises(ValueError, match="60 clusters of 51 points"):
        clusters(points, 60, device="cpu")


def test_triplets_that_are_not_found_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_krylov, "_MOST", 1)
    rng = np.random.default_rng(0)
    matrix = sparse.random_array((400, 300), density=0.1, rng=rng).tocsr()
    with pytest.raises(np.linalg.LinAlgError, match=r"20 singular triplets have a residual of .* fewer"):
        sparse_svd(matrix, 20, device="cpu", tolerance=1e-9)
