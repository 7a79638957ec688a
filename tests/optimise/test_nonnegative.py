"""Non-negative least squares against scipy, extreme points of clouds with known vertices."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls

from sigmastar.optimise.proximal import nonnegative_least_squares, successive_projection

SEEDS = st.integers(0, 2**32 - 1)


@given(SEEDS, st.integers(1, 6), st.integers(0, 5))
def test_residuals_are_the_smallest(seed, n_atoms, n_targets):
    rng = np.random.default_rng(seed)
    atoms = rng.normal(size=(n_atoms, n_atoms + 2))
    targets = rng.normal(size=(n_targets, n_atoms + 2))
    found = nonnegative_least_squares(atoms, targets, n_steps=3000)
    assert found.shape == (n_targets, n_atoms)
    assert (found >= 0).all()
    for row, target in zip(found, targets, strict=True):
        _, smallest = nnls(atoms.T, target)
        assert np.linalg.norm(row @ atoms - target) <= smallest + 1e-4


@given(SEEDS, st.integers(1, 6))
def test_mixes_of_well_separated_atoms_are_found(seed, n_atoms):
    rng = np.random.default_rng(seed)
    atoms = np.eye(n_atoms, n_atoms + 1) + 0.1 * rng.random((n_atoms, n_atoms + 1))
    mixes = rng.dirichlet(np.ones(n_atoms), size=4) * (rng.random((4, n_atoms)) < 0.7)
    np.testing.assert_allclose(nonnegative_least_squares(atoms, mixes @ atoms), mixes, atol=1e-6)


def test_atoms_that_are_zero_do_not_divide_by_zero():
    assert np.isfinite(nonnegative_least_squares(np.zeros((2, 3)), np.ones((1, 3)))).all()


@given(SEEDS, st.integers(1, 6))
def test_the_vertices_of_a_cloud_are_found(seed, n_vertices):
    """Points inside the simplex of independent vertices are never longer than the longest vertex."""
    rng = np.random.default_rng(seed)
    vertices = np.eye(n_vertices, n_vertices + 2) + 0.2 * rng.random((n_vertices, n_vertices + 2))
    inner = rng.dirichlet(np.ones(n_vertices), size=20) * 0.95
    order = rng.permutation(n_vertices + 20)
    points = np.vstack([vertices, inner @ vertices])[order]
    found = successive_projection(points, n_vertices)
    assert sorted(order[found]) == list(range(n_vertices))


def test_fewer_points_where_the_cloud_spans_less():
    line = np.outer([1.0, 3.0, 2.0], [1.0, 1.0])
    assert successive_projection(line, 2).tolist() == [1]
    assert len(successive_projection(np.zeros((3, 2)), 2)) == 0
    points = np.eye(2)
    successive_projection(points, 2)
    assert (points == np.eye(2)).all()
