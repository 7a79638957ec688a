"""Parts of kernels: called from a kernel of another module, as families call them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sigmastar.core.adagrad import averaged, averaged_step, step, step_rows
from sigmastar.core.jit import kernel
from sigmastar.core.progress import silent, stage
from sigmastar.core.scaling import (
    add_numbers,
    add_scaled,
    cell_by_end,
    exponent_of,
    grown,
    normalize,
    power_of_two,
    rescale,
    rescale_number,
)
from sigmastar.treebanks.kernels.span_features import cell_by_width

seeds = st.integers(0, 10**6)


@kernel
def cells(n: int, by_width: bool) -> np.ndarray:
    found = np.zeros(n * (n + 1) // 2, np.int64)
    at = 0
    for i in range(n):
        for j in range(i + 1, n + 1):
            found[at] = cell_by_width(i, j, n) if by_width else cell_by_end(i, j)
            at += 1
    return found


@kernel
def scales(vector: np.ndarray, always: bool) -> int:
    return normalize(vector) if always else rescale(vector)


@kernel
def powers(exponents: np.ndarray) -> np.ndarray:
    found = np.empty(len(exponents))
    for k in range(len(exponents)):
        found[k] = power_of_two(exponents[k])
    return found


@kernel
def summed(first: np.ndarray, one: int, second: np.ndarray, two: int) -> int:
    return add_scaled(first, one, second, two)


@kernel
def sum_of(values: np.ndarray, exponents: np.ndarray) -> tuple[float, int]:
    total, exponent = 0.0, 0
    for k in range(len(values)):
        total, exponent = add_numbers(total, exponent, values[k], exponents[k])
        total, exponent = rescale_number(total, exponent)
    return total, exponent


@kernel
def filled(n: int) -> np.ndarray:
    numbers = np.zeros(1, np.int32)
    for k in range(n):
        numbers = grown(numbers, k + 1)
        numbers[k] = k
    return numbers[:n]


@kernel
def descend(weights: np.ndarray, squares: np.ndarray, slopes: np.ndarray, rate: float) -> float:
    total = 0.0
    for k in range(len(slopes)):
        total += step(weights, squares, (0, k), slopes[k], rate)
    return total


@kernel
def descend_rows(weights: np.ndarray, squares: np.ndarray, rows: np.ndarray, slopes: np.ndarray) -> None:
    step_rows(weights, squares, rows, slopes, 0.5, 0.1)


@kernel
def wander(slopes: np.ndarray, weights: np.ndarray, squares: np.ndarray, drift: np.ndarray) -> None:
    for time in range(len(slopes)):
        averaged_step(weights, squares, drift, 0, slopes[time], -0.3, float(time))


@pytest.mark.parametrize("by_width", [True, False])
def test_every_cell_has_a_number_of_its_own(by_width: bool) -> None:
    for n in range(1, 9):
        assert sorted(cells(n, by_width).tolist()) == list(range(n * (n + 1) // 2))


@given(seeds, st.integers(-900, 900))
def test_scaling_takes_out_a_power_of_two(seed: int, size: int) -> None:
    vector = np.ldexp(np.random.default_rng(seed).standard_normal(4), size)
    scaled = vector.copy()
    exponent = scales(scaled, True)
    assert 1.0 <= np.abs(scaled).max() < 2.0
    np.testing.assert_array_equal(np.ldexp(scaled, exponent), vector)
    rarely = vector.copy()
    assert (scales(rarely, False) == 0) == (1e-60 <= np.abs(vector).max() <= 1e60)


def test_zeros_stay_zeros() -> None:
    assert scales(np.zeros(3), True) == 0
    assert scales(np.zeros(3), False) == 0
    assert exponent_of(0.0) == 0


def test_powers_of_two() -> None:
    exponents = np.array([-2000, -1000, -3, 0, 7, 1000, 5000])
    wanted = [2.0 ** min(max(e, -1000), 1000) for e in exponents.tolist()]
    assert powers(exponents).tolist() == wanted


@given(seeds, st.integers(-300, 300), st.integers(-300, 300))
def test_sums_of_scaled_vectors(seed: int, one: int, two: int) -> None:
    first, second = np.random.default_rng(seed).random((2, 3))
    wanted = np.ldexp(first, one - max(one, two)) + np.ldexp(second, two - max(one, two))
    assert summed(first, one, second, two) == max(one, two)
    np.testing.assert_allclose(first, wanted)


def test_room_grows() -> None:
    assert filled(20).tolist() == list(range(20))


@given(seeds)
def test_a_step_of_each_weight(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights, squares, slopes = rng.random((1, 4)), rng.random((1, 4)) + 1.0, rng.standard_normal(4)
    sizes = squares[0] + slopes**2
    wanted = weights[0] - 0.3 * slopes / np.sqrt(sizes)
    change = wanted.sum() - weights.sum()
    assert descend(weights, squares, slopes, 0.3) == pytest.approx(change)
    np.testing.assert_allclose(weights[0], wanted)
    np.testing.assert_allclose(squares[0], sizes)


def test_rows_of_equal_slope() -> None:
    weights, squares = np.zeros((4, 2), np.float32), np.ones((4, 2), np.float32)
    descend_rows(weights, squares, np.array([1, 3]), np.array([0.05, 2.0]))
    assert weights[:, 0].tolist() == [0.0] * 4
    np.testing.assert_allclose(weights[:, 1], [0.0, -1 / np.sqrt(5), 0.0, -1 / np.sqrt(5)], rtol=1e-6)


@given(seeds)
def test_the_mean_of_all_times(seed: int) -> None:
    slopes = np.random.default_rng(seed).standard_normal(6)
    weights, squares, drift = np.zeros(1), np.ones(1), np.zeros(1)
    wander(slopes, weights, squares, drift)
    path = np.cumsum([0.3 * g / np.sqrt(1 + (slopes[: t + 1] ** 2).sum()) for t, g in enumerate(slopes)])
    np.testing.assert_allclose(weights[0], path[-1])
    np.testing.assert_allclose(averaged(weights, drift, 6.0)[0], path.mean())


def test_stages_of_progress() -> None:
    seen: list[tuple[str, float | None]] = []
    half = stage(lambda message, done=None: seen.append((message, done)), 0.5, 1.0)
    half("count")
    half("climb", 0.5)
    silent("nothing")
    assert seen == [("count", None), ("climb", 0.75)]


@given(seeds)
def test_numbers_of_any_size_are_added_one_by_one(seed):
    rng = np.random.default_rng(seed)
    values, exponents = rng.random(20), rng.integers(-900, 900, 20)
    mantissa, exponent = sum_of(values, exponents)
    top = int(exponents.max())
    wanted = float(np.ldexp(values, exponents - top).sum())
    assert np.ldexp(mantissa, exponent - top) == pytest.approx(wanted, rel=1e-12)


def test_a_product_of_thousands_keeps_its_logarithm():
    values, exponents = np.full(1, 3.0), np.full(1, 50_000)
    mantissa, exponent = sum_of(values, exponents)
    assert np.log(mantissa) + exponent * np.log(2.0) == pytest.approx(np.log(3.0) + 50_000 * np.log(2.0))


@kernel
def _times(number: float, factor: int) -> float:
    return number * factor


@kernel
def _five_times(number: float) -> float:
    return _times(number, 2) + _times(number, 3)


def test_constants_have_no_kernel_compiled_once_more() -> None:
    assert _five_times(1.5) == 7.5
    signatures: list[object] = getattr(_times, "signatures", [])  # none where kernels are Python functions
    assert len(signatures) <= 1
