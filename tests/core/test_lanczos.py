"""Blocks of vectors against the whole decomposition, and what they do where they cannot converge."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from sigmastar.core import lanczos, sparse_svd
from sigmastar.core.factors import dense_svd, factorize
from sigmastar.core.lanczos import block_lanczos
from sigmastar.core.sparse_svd import Matrix, Triples, iterative_svd, lanczos_svd


def counts(rng: np.random.Generator, rows: int, columns: int, density: float = 0.05) -> sparse.csr_array:
    """Roots of counts whose rows and columns are as frequent as Zipf has it."""
    sizes = [1.0 / np.arange(1, size + 1) ** 0.7 for size in (rows, columns)]
    found = sparse.random_array((rows, columns), density=density, rng=rng).tocsr()
    return sparse.csr_array(found.multiply(sizes[0][:, None]).multiply(sizes[1]).tocsr())


@pytest.mark.parametrize("shape", [(700, 500), (450, 900)])
@pytest.mark.parametrize("n_states", [1, 20, 61])
def test_the_triples_are_those_of_the_whole_decomposition(
    shape: tuple[int, int], n_states: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lanczos, "_WIDTH", 130)  # several panels
    matrix = counts(rng, *shape)
    found, expected = factorize(matrix, n_states, lanczos_svd), factorize(matrix, n_states, dense_svd)
    np.testing.assert_allclose(found.singular_values, expected.singular_values, rtol=1e-12)
    np.testing.assert_allclose(found.left, expected.left, atol=1e-6)
    np.testing.assert_allclose(found.right, expected.right, atol=1e-6)
    np.testing.assert_allclose(found.left.T @ found.left, np.eye(n_states), atol=1e-13)


def test_products_with_panels(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    matrix, vectors = counts(rng, 90, 60), rng.standard_normal((60, 19))
    for width in (7, 60, 100):
        monkeypatch.setattr(lanczos, "_WIDTH", width)
        found = lanczos._Panels.of(matrix.tocsc()).times_all(vectors)
        np.testing.assert_allclose(found, matrix @ vectors, atol=1e-13)


@pytest.mark.parametrize("n_states", [10, 50])
def test_values_that_come_more_often_than_a_block_has_vectors(
    n_states: int, rng: np.random.Generator
) -> None:
    part = sparse.random_array((40, 40), density=0.4, rng=rng)
    matrix = sparse.csr_array(sparse.block_diag([part] * 20 + [0.01 * part] * 6))
    with pytest.raises(np.linalg.LinAlgError, match="as many equal values as a block has vectors"):
        block_lanczos(matrix, n_states)


def test_what_has_no_more_directions_is_left_to_other_solvers(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_LARGE", "_MANY"):
        monkeypatch.setattr(sparse_svd, name, 1)
    matrix = sparse.csr_array(rng.standard_normal((400, 5)) @ rng.standard_normal((5, 300)))
    with pytest.raises(np.linalg.LinAlgError):
        block_lanczos(matrix, 9)
    assert factorize(matrix, 5, iterative_svd).n_states == 5
    identity = sparse.eye_array(300).tocsr()
    np.testing.assert_allclose(factorize(identity, 5, iterative_svd).singular_values, 1.0)


def test_large_sparse_blocks_are_solved_so(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[int] = []

    def noted(matrix: Matrix, n_states: int) -> Triples:
        called.append(n_states)
        return lanczos_svd(matrix, n_states)

    monkeypatch.setattr(sparse_svd, "lanczos_svd", noted)
    matrix = counts(rng, 5000, 4500, 1e-3)
    found = iterative_svd(matrix, 50)
    assert called == [50]
    np.testing.assert_allclose(matrix @ found[2], found[0] * found[1], atol=1e-9 * found[1][0])
