from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from sigmastar.core import factors as svd
from sigmastar.core import sparse_svd
from sigmastar.core.factors import dense_svd, factorize
from sigmastar.core.sparse_svd import Matrix, Triples, arpack_svd, iterative_svd, propack_svd

SOLVERS = [dense_svd, propack_svd, arpack_svd, iterative_svd]
every_solver = pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.__name__)


def decaying(rng: np.random.Generator, rows: int = 300, columns: int = 250) -> np.ndarray:
    left, right = (np.linalg.qr(rng.standard_normal((size, 30)))[0] for size in (rows, columns))
    return left * 0.7 ** np.arange(30) @ right.T


def sparse_block(rng: np.random.Generator, rows: int = 400, columns: int = 300) -> sparse.csr_array:
    return sparse.random_array((rows, columns), density=0.05, rng=rng).tocsr()


@every_solver
@pytest.mark.parametrize("make", [decaying, sparse_block])
def test_solvers_agree(solver: svd.Solver, make, rng: np.random.Generator) -> None:
    matrix = make(rng)
    found, expected = factorize(matrix, 12, solver), factorize(matrix, 12, dense_svd)
    np.testing.assert_allclose(found.singular_values, expected.singular_values, rtol=1e-9)
    np.testing.assert_allclose(found.left, expected.left, atol=1e-6)  # signs too
    np.testing.assert_allclose(found.right, expected.right, atol=1e-6)


@every_solver
def test_transposed_blocks(solver: svd.Solver, rng: np.random.Generator) -> None:
    matrix = decaying(rng)
    np.testing.assert_allclose(
        factorize(np.ascontiguousarray(matrix.T), 5, solver).singular_values, 0.7 ** np.arange(5), rtol=1e-9
    )


def test_factors_multiply_to_the_block_and_invert_each_other(rng: np.random.Generator) -> None:
    matrix = decaying(rng)
    factors = factorize(matrix, 30)
    np.testing.assert_allclose(factors.outside @ factors.inside, matrix, atol=1e-12)
    np.testing.assert_allclose(factors.outside_inverse @ factors.outside, np.eye(30), atol=1e-9)
    np.testing.assert_allclose(factors.inside @ factors.inside_inverse, np.eye(30), atol=1e-9)


def test_leading_is_the_factorisation_with_fewer_states(rng: np.random.Generator) -> None:
    matrix = decaying(rng)
    whole, part = factorize(matrix, 20).leading(7), factorize(matrix, 7)
    np.testing.assert_allclose(whole.left, part.left, atol=1e-9)
    np.testing.assert_allclose(whole.right, part.right, atol=1e-9)
    with pytest.raises(ValueError, match="not among the 1 to 20"):
        factorize(matrix, 20).leading(21)


def test_signs_do_not_depend_on_the_solver_or_the_sign_of_its_vectors(rng: np.random.Generator) -> None:
    def flipping(matrix: Matrix, n_states: int) -> Triples:
        left, values, right = dense_svd(matrix, n_states)
        signs = np.where(np.arange(n_states) % 2, -1.0, 1.0)
        return left * signs, values, right * signs

    matrix = decaying(rng)
    np.testing.assert_array_equal(factorize(matrix, 6, flipping).right, factorize(matrix, 6, dense_svd).right)
    factors = factorize(matrix, 6)
    assert (factors.right[np.argmax(np.abs(factors.right), axis=0), range(6)] > 0).all()


@pytest.mark.parametrize("repeats", [1, 3, 20])
def test_repeated_singular_values_are_all_found(repeats: int, rng: np.random.Generator) -> None:
    """A language in separate parts has the same singular value many times over."""
    part = sparse.random_array((40, 40), density=0.4, rng=rng)
    matrix = sparse.csr_array(sparse.block_diag([part] * repeats + [0.01 * part] * 6))
    found, expected = factorize(matrix, 10, iterative_svd), factorize(matrix, 10, dense_svd)
    np.testing.assert_allclose(found.singular_values, expected.singular_values, rtol=1e-9)


def test_wrong_values_of_propack_are_noticed() -> None:
    identity = sparse.eye_array(300).tocsr()
    np.testing.assert_allclose(factorize(identity, 5).singular_values, 1.0)


def test_the_fall_back_when_propack_does_not_converge(
    monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    def failing(matrix: Matrix, n_states: int) -> Triples:
        raise np.linalg.LinAlgError("singular triplets did not converge")

    matrix = sparse_block(rng)
    expected = factorize(matrix, 4, dense_svd).singular_values
    monkeypatch.setattr(sparse_svd, "propack_svd", failing)
    np.testing.assert_allclose(factorize(matrix, 4).singular_values, expected)


def test_the_same_block_gives_the_same_factors(rng: np.random.Generator) -> None:
    matrix = sparse_block(rng)
    for solver in SOLVERS:
        np.testing.assert_array_equal(factorize(matrix, 9, solver).left, factorize(matrix, 9, solver).left)


def test_small_blocks_are_solved_densely_and_large_ones_are_not() -> None:
    assert svd.choose_solver(np.ones((150, 5000)), 10) is dense_svd
    assert svd.choose_solver(np.ones((1500, 1500)), 600) is dense_svd
    assert svd.choose_solver(np.ones((1500, 1500)), 100) is iterative_svd


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_more_states_than_the_rank_are_refused(kind, rng: np.random.Generator) -> None:
    matrix = rng.standard_normal((400, 5)) @ rng.standard_normal((5, 300))
    with pytest.raises(
        ValueError, match=r"n_states=9 exceeds block rank 5; use n_states<=5 or a larger basis"
    ):
        factorize(kind(matrix), 9)
    assert factorize(kind(matrix), 5).n_states == 5


@pytest.mark.parametrize("n_states", [0, 4])
def test_more_states_than_the_basis_are_refused(n_states: int) -> None:
    with pytest.raises(ValueError, match="3 outsides x 5 insides; use 1 <= n_states <= 3"):
        factorize(np.ones((3, 5)), n_states)


@pytest.mark.parametrize("size", [10, 300])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_blocks_without_numbers_are_refused(kind, size: int) -> None:
    with pytest.raises(ValueError, match="the block is zero"):
        factorize(kind(np.zeros((size, size))), 2)
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="NaN or infinite"):
            factorize(kind(np.diag(np.full(size, bad))), 2)
