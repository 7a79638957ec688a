"""Head automata on tensors give what the compiled kernels give, and what a sum over all trees gives."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: make test-torch installs it")

from sigmastar.dependency.gpu.heads import TorchHeads  # noqa: E402

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
N_SYMBOLS = 3


def automata(rng: np.random.Generator, m: int) -> tuple[Any, Any, Any]:
    n_sorts = 2 * N_SYMBOLS + 1
    operators = rng.uniform(0, 0.4 / m, (n_sorts, N_SYMBOLS, m, m))
    return rng.dirichlet(np.ones(m), n_sorts), rng.uniform(0.1, 1, (n_sorts, m)), operators


def projective(heads: tuple[int, ...]) -> bool:
    arcs = [(min(h, m), max(h, m)) for m, h in enumerate(heads, 1)]
    return not any(a < c < b < d for a, b in arcs for c, d in arcs) and all(
        _reaches_root(m, heads) for m in range(1, len(heads) + 1)
    )


def _reaches_root(word: int, heads: tuple[int, ...]) -> bool:
    for _ in heads:
        word = heads[word - 1] if word else 0
    return word == 0


def weight(heads: tuple[int, ...], words: Any, arrays: tuple[Any, Any, Any]) -> float:
    initial, final, operators = arrays
    total = 1.0
    for head in range(len(words) + 1):
        for direction in (0, 1) if head else (1,):
            sort = 2 * words[head - 1] + direction if head else 2 * N_SYMBOLS
            below = [m for m, h in enumerate(heads, 1) if h == head and (m > head) == (direction == 1)]
            state = initial[sort]
            for m in sorted(below, key=lambda m: abs(m - head)):
                state = state @ operators[sort, words[m - 1]]
            total *= float(state @ final[sort])
    return total


@pytest.mark.parametrize(("precision", "limit"), [("float64", 1e-10), ("float32", 1e-4)])
@pytest.mark.parametrize("device", DEVICES)
def test_marginals_are_sums_over_trees(device: str, precision: str, limit: float) -> None:
    rng = np.random.default_rng(0)
    arrays = automata(rng, 2)
    lengths = [3, 1, 4, 3, 2]
    codes = rng.integers(0, N_SYMBOLS, sum(lengths)).astype(np.int32)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    logs, arcs = TorchHeads(*arrays, device=device, precision=precision).marginals(codes, offsets)
    for number, length in enumerate(lengths):
        words = codes[offsets[number] : offsets[number + 1]]
        z, expected = 0.0, np.zeros((length + 1, length + 1))
        for heads in product(range(length + 1), repeat=length):
            if projective(heads):
                p = weight(heads, words, arrays)
                z += p
                for m, h in enumerate(heads, 1):
                    expected[h, m] += p
        assert logs[number] == pytest.approx(np.log(z), abs=limit)
        assert np.abs(arcs[number] - expected / z).max() < limit


@pytest.mark.parametrize("device", DEVICES)
def test_the_compiled_kernels_give_the_same(device: str) -> None:
    pytest.importorskip("numba", reason="the compiled kernels need numba")
    from sigmastar.dependency.kernels.inside_outside import Automata, sentence_marginals

    rng = np.random.default_rng(1)
    initial, final, operators = automata(rng, 4)
    words = rng.integers(0, N_SYMBOLS, 25).astype(np.int32)
    compiled = Automata(np.full(len(initial), 4, np.int32), initial, final, operators)
    root = np.concatenate([[N_SYMBOLS], words]).astype(np.int32)
    _, log, expected = sentence_marginals(root, compiled, np.ones((26, 26)), np.ones(26))
    (found,), (arcs,) = TorchHeads(initial, final, operators, device=device).marginals(
        words, np.array([0, 25])
    )
    assert found == pytest.approx(log, abs=1e-9)
    assert np.abs(arcs - expected).max() < 1e-9


@pytest.mark.parametrize("device", DEVICES)
def test_what_leaves_the_range_of_float32_is_done_again(device: str) -> None:
    rng = np.random.default_rng(2)
    arrays = automata(rng, 2)
    words = rng.integers(0, N_SYMBOLS, 60).astype(np.int32)
    narrow = TorchHeads(*arrays, device=device, precision="float32")
    logs, arcs = narrow.marginals(words, np.array([0, 60]), np.full(N_SYMBOLS, 1e-3))
    assert np.isfinite(logs).all()
    assert arcs[0].sum(axis=0)[1:] == pytest.approx(np.ones(60), abs=1e-6)


@pytest.mark.skipif("cuda" not in DEVICES, reason="the kernels in Triton need a GPU")
@pytest.mark.parametrize(("precision", "limit"), [("float64", 1e-10), ("float32", 1e-4)])
@pytest.mark.parametrize("n_states", [1, 3, 10, 17])
def test_the_kernels_in_triton_give_the_same(n_states: int, precision: str, limit: float) -> None:
    rng = np.random.default_rng(3)
    arrays = automata(rng, n_states)
    fused, plain = (TorchHeads(*arrays, device="cuda", precision=precision) for _ in range(2))
    assert fused.fused is not None
    plain.fused = None
    lengths = np.array([1, 2, 3, 31, 32, 33, *[40] * 3000, 70])  # more than there are programs
    codes, offsets = rng.integers(0, N_SYMBOLS, lengths.sum()), np.concatenate([[0], np.cumsum(lengths)])
    found, expected = (one.marginals(codes.astype(np.int32), offsets) for one in (fused, plain))
    assert np.abs(found[0] - expected[0]).max() < 10 * limit
    for ours, theirs in zip(found[1], expected[1], strict=True):
        assert np.abs(ours - theirs).max() < limit


def test_what_the_kernels_in_triton_do_not_take_is_done_by_the_plain_version() -> None:
    from sigmastar.dependency.gpu.fused import MOST_STATES, is_fusible

    many = TorchHeads(*automata(np.random.default_rng(4), MOST_STATES + 1), device=DEVICES[-1])
    assert many.fused is None
    assert not is_fusible(TorchHeads(*automata(np.random.default_rng(4), 2), device="cpu"))
