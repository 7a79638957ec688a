"""Weighted automata on tensors equal products by hand, and their expected moves sums over paths."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: make test-torch installs it")

from sigmastar.automata.gpu.weighted import TorchAutomaton  # noqa: E402

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
CODES = np.array([0, 1, 2, 2, 0, 1, 1, 0, 2], dtype=np.int32)
OFFSETS = np.array([0, 3, 3, 7, 8, 9])


def value(weights: Any, string: Any) -> float:
    state, transitions, final = weights
    for symbol in string:
        state = state @ transitions[symbol]
    return float(state @ final)


@pytest.mark.parametrize(("precision", "limit"), [("float64", 1e-12), ("float32", 1e-4)])
@pytest.mark.parametrize("device", DEVICES)
def test_values_of_signed_automata(device: str, precision: str, limit: float) -> None:
    rng = np.random.default_rng(0)
    weights = rng.standard_normal(4), rng.standard_normal((3, 4, 4)), rng.standard_normal(4)
    logs, signs = TorchAutomaton(*weights, device=device, precision=precision).log_value(CODES, OFFSETS)
    truth = [value(weights, CODES[a:b]) for a, b in pairwise(OFFSETS.tolist())]
    assert np.abs(signs * np.exp(logs) - truth).max() < limit * np.abs(truth).max()


@pytest.mark.parametrize("device", DEVICES)
def test_long_strings_stay_finite(device: str) -> None:
    rng = np.random.default_rng(1)
    weights = rng.random(4), 100 * rng.random((2, 4, 4)), rng.random(4)
    codes = rng.integers(0, 2, 10_000).astype(np.int32)
    logs, _ = TorchAutomaton(*weights, device=device).log_value(codes, np.array([0, 10_000]))
    assert 10_000 < logs[0] < 100_000


@pytest.mark.parametrize("device", DEVICES)
def test_expected_moves_are_sums_over_paths(device: str) -> None:
    rng, n = np.random.default_rng(2), 3
    weights = rng.random(n), rng.random((3, n, n)), rng.random(n)
    often = np.array([1.0, 2.0, 0.5, 3.0, 1.0])
    total, starts, moves, stops = TorchAutomaton(*weights, device=device).expect(CODES, OFFSETS, often)
    expected = [np.zeros_like(part) for part in weights]
    log_likelihood = 0.0
    for a, b, weight in zip(OFFSETS[:-1], OFFSETS[1:], often, strict=True):
        string = CODES[a:b]
        whole = value(weights, string)
        log_likelihood += weight * np.log(whole)
        for path in product(range(n), repeat=len(string) + 1):
            p = weights[0][path[0]] * weights[2][path[-1]]
            for x, i, j in zip(string, path[:-1], path[1:], strict=True):
                p *= weights[1][x, i, j]
            expected[0][path[0]] += weight * p / whole
            expected[2][path[-1]] += weight * p / whole
            for x, i, j in zip(string, path[:-1], path[1:], strict=True):
                expected[1][x, i, j] += weight * p / whole
    assert total == pytest.approx(log_likelihood, abs=1e-9)
    for found, truth in zip((starts, moves, stops), expected, strict=True):
        assert np.abs(found - truth).max() < 1e-9


@pytest.mark.parametrize("device", DEVICES)
def test_the_compiled_kernels_give_the_same(device: str) -> None:
    pytest.importorskip("numba", reason="the compiled kernels need numba")
    from sigmastar.automata.data.strings import Strings
    from sigmastar.automata.learn.em_steps import EMCorpus
    from sigmastar.automata.model.generators import make_automaton

    rng = np.random.default_rng(3)
    automaton = make_automaton(6, 4, rng)
    strings: Strings = automaton.sample(200, rng)
    ours = TorchAutomaton(*automaton.arrays, device=device)
    logs, signs = ours.log_value(strings.codes, strings.offsets)
    theirs = automaton.log_value(strings)
    assert np.abs(logs - theirs.log).max() < 1e-9
    assert (signs == theirs.sign).all()
    counts = EMCorpus(strings, 6).expect(automaton)
    total, *parts = ours.expect(strings.codes, strings.offsets)
    assert total == pytest.approx(counts.log_likelihood, rel=1e-9)
    for found, truth in zip(parts, (counts.initial, counts.transitions, counts.final), strict=True):
        assert np.abs(found - truth).max() < 1e-9 * len(strings)


def test_a_product_in_bfloat16_is_refused() -> None:
    with pytest.raises(ValueError, match="cancels digits"):
        TorchAutomaton(np.ones(1), np.ones((1, 1, 1)), np.ones(1), device="cpu", precision="bfloat16")
