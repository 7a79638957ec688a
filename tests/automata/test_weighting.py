from __future__ import annotations

import numpy as np
import pytest

from sigmastar.automata.counts.bases import SUBSTRING, all_up_to
from sigmastar.automata.counts.block_smoothing import count_weights, exact_blocks, scale_by_counts
from sigmastar.automata.counts.on_basis import count_strings
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.alphabet import Alphabet, string_signature
from sigmastar.core.recover import Blocks, factorize_blocks, recover

AB = Alphabet("ab")
SAMPLE = Strings.of(["abba", "ba", "a", "bab", ""], alphabet=AB)


def blocks_of_matrix(matrix: np.ndarray) -> Blocks:
    signature = string_signature(AB)
    stop, symbol = signature.operations
    slices = {stop: matrix[None, :, 0], symbol: np.array([matrix, matrix])}
    return Blocks(signature, {"string": matrix}, slices, {"string": matrix[0]})


def test_a_scaled_table_has_largest_singular_value_one(rng: np.random.Generator) -> None:
    table = rng.random((6, 5))
    scaled = scale_by_counts(blocks_of_matrix(table)).matrices["string"]
    np.testing.assert_allclose(scaled, table / np.sqrt(np.outer(table.sum(axis=1), table.sum(axis=0))))
    assert np.linalg.svdvals(scaled)[0] == pytest.approx(1.0)


def test_sparse_blocks_are_scaled_like_dense_ones() -> None:
    blocks = count_strings(SAMPLE, all_up_to(AB, 2), SUBSTRING).blocks()
    scaled = scale_by_counts(blocks)
    weights = count_weights(blocks)
    d_o, d_i = weights.outside["string"], weights.inside["string"]
    matrix = blocks.matrices["string"].toarray()
    np.testing.assert_allclose(scaled.matrices["string"].toarray(), d_o[:, None] * matrix * d_i)
    stop, symbol = blocks.signature.operations
    np.testing.assert_allclose(
        scaled.slices[symbol].toarray(), d_o[None, :, None] * blocks.slices[symbol].toarray() * d_i
    )
    np.testing.assert_allclose(scaled.slices[stop], blocks.slices[stop] * d_o)
    np.testing.assert_allclose(scaled.roots["string"], blocks.roots["string"] * d_i)


def test_empty_rows_keep_a_finite_weight() -> None:
    table = np.array([[4.0, 0.0], [0.0, 0.0], [1.0, 0.0]])
    weights = count_weights(blocks_of_matrix(table))
    np.testing.assert_allclose(weights.outside["string"], [0.5, 1.0, 1.0])
    np.testing.assert_allclose(weights.inside["string"], [5**-0.5, 5**-0.5])
    nothing = count_weights(blocks_of_matrix(np.zeros((2, 2))))
    np.testing.assert_allclose(nothing.outside["string"], 1.0)


def test_a_pseudo_count_tempers_rare_rows() -> None:
    weights = count_weights(blocks_of_matrix(np.diag([8.0, 0.0])), pseudo_count=1.0, power=1.0)
    np.testing.assert_allclose(weights.outside["string"], [1 / 9, 1.0])


def test_scaling_leaves_the_function_and_changes_the_truncation(rng: np.random.Generator) -> None:
    truth = WeightedAutomaton(AB, rng.random(3), rng.random((2, 3, 3)) / 6, rng.random(3))
    blocks = exact_blocks(all_up_to(AB, 3), truth.initial, truth.transitions, truth.final)
    fresh = Strings.of(["abababbab", "bbbbbbbbb"], alphabet=AB)

    def values(blocks: Blocks, n_states: int) -> np.ndarray:
        return WeightedAutomaton.of_operators(recover(blocks, factorize_blocks(blocks, n_states))).value(
            fresh
        )

    np.testing.assert_allclose(values(scale_by_counts(blocks), 3), truth.value(fresh), rtol=1e-9)
    assert not np.allclose(values(scale_by_counts(blocks), 2), values(blocks, 2), rtol=1e-4)
