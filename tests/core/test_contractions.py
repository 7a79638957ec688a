"""Contractions of sparse tensors, and their place in recovering operators, against dense ones."""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from automata.random_automata import SEEDS
from sigmastar.core import recover
from sigmastar.core.alphabet import Alphabet, OperatorModel, Term, string_signature, tree_signature
from sigmastar.core.recover import WIDE, Blocks, FlatTensor, SparseTensor, contract_groups, project

SHAPES = st.lists(st.integers(1, 4), min_size=2, max_size=4).map(tuple)


def sparse_and_dense(rng, shape, share=0.4) -> tuple[SparseTensor, np.ndarray]:
    dense = rng.normal(size=shape) * (rng.random(shape) < share)
    keys = np.flatnonzero(dense)
    return SparseTensor.of_keys(shape, keys, dense.ravel()[keys]), dense


@given(SEEDS, st.integers(0, 4), st.integers(1, 3), st.integers(1, 3))
def test_groups_are_contracted_one_by_one(seed, n_groups, n_states, width):
    rng = np.random.default_rng(seed)
    starts = np.append(0, np.cumsum(rng.integers(0, 4, size=n_groups)))
    index = rng.integers(0, 5, size=starts[-1])
    matrix, tails = rng.normal(size=(5, n_states)), rng.normal(size=(starts[-1], width))
    found = contract_groups(starts, index, matrix, tails)
    assert found.shape == (n_groups, n_states * width)
    for group in range(n_groups):
        rows = range(starts[group], starts[group + 1])
        expected = sum((np.outer(matrix[index[r]], tails[r]) for r in rows), np.zeros((n_states, width)))
        np.testing.assert_allclose(found[group].reshape(n_states, width), expected, atol=1e-12)


@given(SEEDS, SHAPES)
def test_sparse_slices_project_as_dense_ones(seed, shape):
    rng = np.random.default_rng(seed)
    tensor, dense = sparse_and_dense(rng, shape)
    np.testing.assert_array_equal(tensor.toarray(), dense)
    inverses = [rng.normal(size=(size, rng.integers(1, 4))) for size in shape[1:]]
    np.testing.assert_allclose(project(tensor, inverses), project(dense, inverses), atol=1e-12)


@given(SEEDS, SHAPES, st.integers(1, 5))
def test_flat_tensors_project_piece_by_piece(seed, shape, n_entries):
    """Counts as they are, weighted along the axes on the way, in pieces that cut anywhere."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(1, 9, shape) * (rng.random(shape) < 0.4)
    keys = np.flatnonzero(counts).astype(np.int32)
    flat = FlatTensor(shape, keys, counts.ravel()[keys].astype(np.int32), (None,) * len(shape))
    weights = [None, *(rng.random(size) + 0.5 for size in shape[1:])]
    scaled = flat.scaled([None] * len(shape)).scaled(weights)
    dense = counts * reduce(np.multiply, np.ix_(np.ones(shape[0]), *weights[1:]))
    np.testing.assert_allclose(scaled.toarray(), dense)
    np.testing.assert_allclose(sum((p.toarray() for p in scaled.pieces(n_entries)), np.zeros(shape)), dense)
    inverses = [rng.normal(size=(size, rng.integers(1, 4))) for size in shape[1:]]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recover, "_ENTRIES_AT_ONCE", n_entries)
        found = project(scaled, inverses)
    np.testing.assert_allclose(found, project(dense.astype(float), inverses), atol=1e-12)


@pytest.mark.parametrize("size", [WIDE - 1, WIDE, 3 * WIDE])
def test_wide_groups_are_products_of_matrices(rng, size):
    index, matrix, tails = (
        rng.integers(0, 5, 2 * size),
        rng.normal(size=(5, 3)),
        rng.normal(size=(2 * size, size)),
    )
    found = contract_groups(np.array([0, size, 2 * size]), index, matrix, tails)
    for group, rows in enumerate((slice(0, size), slice(size, None))):
        np.testing.assert_allclose(found[group].reshape(3, size), matrix[index[rows]].T @ tails[rows])


def test_nothing_projects_to_zero():
    empty = SparseTensor.of_keys((2, 3, 3), np.empty(0, np.int64), np.empty(0))
    assert not project(empty, [np.ones((3, 2))] * 2).any()
    none = SparseTensor.of_keys((0, 3, 3), np.empty(0, np.int64), np.empty(0))
    assert project(none, [np.ones((3, 2))] * 2).shape == (0, 2, 2)


@given(SEEDS, SHAPES)
def test_scaling_goes_along_the_axes(seed, shape):
    rng = np.random.default_rng(seed)
    tensor, dense = sparse_and_dense(rng, shape)
    weights = [None if rng.random() < 0.3 else rng.normal(size=size) for size in shape]
    expected = dense
    for axis, weight in enumerate(weights):
        if weight is not None:
            expected = expected * weight.reshape([-1 if a == axis else 1 for a in range(len(shape))])
    np.testing.assert_allclose(tensor.scaled(weights).toarray(), expected, atol=1e-12)
    np.testing.assert_array_equal(tensor.toarray(), dense)


def test_weighted_blocks_scale_outsides_and_insides(rng):
    signature = string_signature(Alphabet("ab"))
    stop, symbol = signature.operations
    slices, dense = sparse_and_dense(rng, (2, 3, 4))
    matrix, stops, root = rng.normal(size=(3, 4)), rng.normal(size=(1, 3)), rng.normal(size=4)
    blocks = Blocks(signature, {"string": matrix}, {stop: stops, symbol: slices}, {"string": root})
    outside, inside = rng.random(3), rng.random(4)
    weighted = blocks.weighted({"string": outside}, {"string": inside})
    np.testing.assert_allclose(weighted.matrices["string"], outside[:, None] * matrix * inside)
    np.testing.assert_allclose(weighted.slices[symbol].toarray(), outside[:, None] * dense * inside)
    np.testing.assert_allclose(weighted.slices[stop], stops * outside)
    np.testing.assert_allclose(weighted.roots["string"], root * inside)
    assert blocks.weighted({}, {}).matrices["string"] is matrix


def test_terms_are_evaluated_bottom_up(rng):
    signature = tree_signature(Alphabet("xy"), Alphabet(""), Alphabet("f"))
    leaf, binary = signature.operations
    leaves, fork, root = rng.normal(size=(2, 3)), rng.normal(size=(1, 3, 3, 3)), rng.normal(size=3)
    model = OperatorModel(signature, {"tree": root}, {leaf: leaves, binary: fork})
    tree = Term(binary, 0, (Term(leaf, 0), Term(binary, 0, (Term(leaf, 1), Term(leaf, 0)))))
    inner = np.einsum("ijk,j,k->i", fork[0], leaves[1], leaves[0])
    expected = np.einsum("i,ijk,j,k->", root, fork[0], leaves[0], inner)
    assert model.n_states("tree") == 3
    assert model.value(tree) == pytest.approx(expected)
    turned = model.change_basis({"tree": rng.normal(size=(3, 3))})
    assert turned.value(tree) == pytest.approx(expected)
    assert not np.allclose(turned.roots["tree"], root)
