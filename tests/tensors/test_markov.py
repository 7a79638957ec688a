"""Hidden Markov models on tensors equal sums over all paths, on every device and in every precision."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: make test-torch installs it")

from sigmastar.automata.gpu.lanes import lanes_of  # noqa: E402
from sigmastar.automata.gpu.markov import TorchMarkov, _MarkedPass, _Pass, _Totals  # noqa: E402

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
PRECISIONS = {"float64": 1e-9, "float32": 2e-5, "bfloat16": 3e-2}


def model(rng: np.random.Generator, n: int, n_symbols: int) -> tuple[Any, ...]:
    rows: Any = lambda *shape: rng.dirichlet(np.ones(shape[-1]), size=shape[:-1])  # noqa: E731
    return rows(n), rows(n, n), rows(n, n_symbols), rng.uniform(0.1, 0.5, n)


def corpus(rng: np.random.Generator, n_symbols: int, lengths: list[int]) -> tuple[Any, Any]:
    codes = rng.integers(0, n_symbols, sum(lengths)).astype(np.int32)
    return codes, np.concatenate([[0], np.cumsum(lengths)])


def by_paths(weights: tuple[Any, ...], string: Any) -> tuple[float, Any, Any, Any, Any]:
    """Probability and expected counts of a string by a sum over all paths."""
    initial, transition, emission, stop = weights
    n, total = len(initial), 0.0
    counts = [np.zeros_like(part) for part in (initial, transition, emission, stop)]
    for path in product(range(n), repeat=len(string) + 1):
        p = initial[path[0]] * stop[path[-1]]
        for a, b, x in zip(path[:-1], path[1:], string, strict=True):
            p *= (1 - stop[a]) * emission[a, x] * transition[a, b]
        total += p
        counts[0][path[0]] += p
        counts[3][path[-1]] += p
        for a, b, x in zip(path[:-1], path[1:], string, strict=True):
            counts[1][a, b] += p
            counts[2][a, x] += p
    return total, *(part / total for part in counts)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("device", DEVICES)
def test_probabilities_and_counts_are_sums_over_paths(device: str, precision: str) -> None:
    rng = np.random.default_rng(0)
    weights = model(rng, 3, 4)
    codes, offsets = corpus(rng, 4, [3, 0, 5, 1, 3, 2])
    found = [by_paths(weights, codes[a:b]) for a, b in pairwise(offsets.tolist())]
    tensor, limit = TorchMarkov(*weights, device=device, precision=precision), PRECISIONS[precision]
    logs = tensor.log_probability(codes, offsets)
    assert np.abs(logs - np.log([p for p, *_ in found])).max() < limit
    counts = tensor.expect(codes, offsets)
    assert abs(counts.log_likelihood - logs.sum()) < 10 * limit
    parts = (counts.initial, counts.transition, counts.emission, counts.stop)
    for number, part in enumerate(parts, 1):
        assert np.abs(part - sum(row[number] for row in found)).max() < 10 * limit


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("device", DEVICES)
def test_posteriors_are_sums_over_paths(device: str, precision: str) -> None:
    rng = np.random.default_rng(5)
    weights = model(rng, 3, 4)
    codes, offsets = corpus(rng, 4, [3, 0, 5, 1, 3, 2])
    tensor = TorchMarkov(*weights, device=device, precision=precision)
    found = tensor.posteriors(codes, offsets)
    for begin, end in pairwise(offsets.tolist()):
        for place in range(begin, end):  # how probable a state is: what a copy of the symbol there counts
            alone = codes[begin:end].copy()
            alone[place - begin] = 4
            more = np.concatenate([weights[2], weights[2][:, codes[place], None]], axis=1)
            _, _, _, emission, _ = by_paths((weights[0], weights[1], more, weights[3]), alone)
            assert np.abs(found[place] - emission[:, 4]).max() < PRECISIONS[precision]


@pytest.mark.parametrize("device", DEVICES)
def test_posteriors_of_impossible_strings_are_zero(device: str) -> None:
    weights = (np.array([1.0, 0.0]), np.eye(2), np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0.5, 0.5]))
    codes, offsets = np.array([0, 0, 1], dtype=np.int32), np.array([0, 1, 3])
    found = TorchMarkov(*weights, device=device).posteriors(codes, offsets)
    assert found.tolist() == [[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize("device", DEVICES)
def test_long_strings_stay_finite(device: str) -> None:
    rng = np.random.default_rng(1)
    weights = model(rng, 5, 3)
    codes, offsets = corpus(rng, 3, [20_000])
    tensor = TorchMarkov(*weights, device=device, precision="float64")
    counts = tensor.expect(codes, offsets)
    assert np.isfinite(counts.log_likelihood)
    assert counts.transition.sum() == pytest.approx(20_000, rel=1e-9)
    assert counts.emission.sum(axis=0) == pytest.approx(np.bincount(codes), rel=1e-9)


@pytest.mark.parametrize("device", DEVICES)
def test_strings_that_do_not_fit_are_walked_twice(device: str) -> None:
    """With room for 7 symbols, then for all: the same counts and posteriors."""
    rng = np.random.default_rng(5)
    tensor = TorchMarkov(*model(rng, 5, 4), device=device, precision="float64")
    codes, offsets = corpus(rng, 4, [61, 3, 0, 16, 1, 8])
    few, many = (tensor._expect(codes, offsets, size) for size in (7, 1000))
    for name in ("log_likelihood", "initial", "transition", "emission", "stop"):
        np.testing.assert_allclose(getattr(few, name), getattr(many, name), rtol=1e-10, atol=1e-12)
    few_rows, many_rows = (tensor._posteriors(codes, offsets, size) for size in (7, 1000))
    np.testing.assert_allclose(few_rows, many_rows, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("device", DEVICES)
def test_marks_serve_lanes_that_end_at_different_steps(device: str) -> None:
    rng = np.random.default_rng(6)
    tensor = TorchMarkov(*model(rng, 4, 3), device=device, precision="float64")
    codes, offsets = corpus(rng, 3, [30, 29, 17, 6, 5, 1, 0])
    (lanes,) = lanes_of(codes, offsets, tensor.device, 1000)
    plain, marked = _Pass(tensor, lanes, keep=True), _MarkedPass(tensor, lanes)
    assert len(marked.pieces) == 5  # six steps each
    sums = []
    for done in (plain, marked):
        totals = _Totals(tensor)
        done.backward(done.forward(), totals)
        sums.append(
            torch.cat(
                [part.ravel() for part in (totals.initial, totals.stop, totals.pairs, totals.by_symbol)]
            )
        )
    torch.testing.assert_close(*sums, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("device", DEVICES)
def test_impossible_strings_count_nothing(device: str) -> None:
    weights = (np.array([1.0, 0.0]), np.eye(2), np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0.5, 0.5]))
    codes, offsets = np.array([0, 0, 1], dtype=np.int32), np.array([0, 1, 3])
    tensor = TorchMarkov(*weights, device=device, precision="float64")
    assert np.isneginf(tensor.log_probability(codes, offsets)).tolist() == [False, True]
    counts = tensor.expect(codes, offsets)
    assert counts.stop.sum() == pytest.approx(1.0)
    assert counts.emission.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_lanes_hold_every_symbol_once(size: int) -> None:
    rng = np.random.default_rng(2)
    codes, offsets = corpus(rng, 9, [4, 0, 2, 7, 2, 1])
    met = {}
    for lanes in lanes_of(codes, offsets, "cpu", size):
        for lane, string in enumerate(lanes.strings.tolist()):
            length = sum(k > lane for k in lanes.active)
            met[string] = lanes.symbols[:length, lane].tolist()
    assert met == {i: codes[offsets[i] : offsets[i + 1]].tolist() for i in range(6)}


@pytest.mark.skipif(not torch.cuda.is_available(), reason="the fused kernels need a GPU")
@pytest.mark.parametrize(
    ("n_states", "precision"), [(64, "float32"), (20, "float32"), (64, "bfloat16"), (128, "bfloat16")]
)
def test_fused_kernels_equal_the_plain_ones(n_states: int, precision: str) -> None:
    rng = np.random.default_rng(3)
    weights = model(rng, n_states, 50)
    codes, offsets = corpus(rng, 50, [30] * 100 + [12] * 7 + [0] * 3)
    exact = TorchMarkov(*weights, device="cuda", precision="float64")
    fused = TorchMarkov(*weights, device="cuda", precision=precision, fused=True)
    limit = 1e-4 if precision == "float32" else 0.15
    assert np.abs(fused.log_probability(codes, offsets) - exact.log_probability(codes, offsets)).max() < limit
    assert np.abs(fused.posteriors(codes, offsets) - exact.posteriors(codes, offsets)).max() < limit
    ours, theirs = fused.expect(codes, offsets), exact.expect(codes, offsets)
    for name in ("initial", "transition", "emission", "stop"):
        assert np.abs(getattr(ours, name) - getattr(theirs, name)).sum() < limit * getattr(theirs, name).sum()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="the kernels between products need a GPU")
@pytest.mark.parametrize(("n_states", "precision"), [(200, "float32"), (300, "bfloat16"), (5, "float32")])
def test_kernels_of_rows_equal_the_plain_ones(n_states: int, precision: str) -> None:
    rng = np.random.default_rng(4)
    weights = model(rng, n_states, 50)
    codes, offsets = corpus(rng, 50, [30, 30, 12, 0, 7, 7, 1] * 10)
    exact = TorchMarkov(*weights, device="cuda", precision="float64").expect(codes, offsets)
    ours = TorchMarkov(*weights, device="cuda", precision=precision, fused=False).expect(codes, offsets)
    limit = 1e-4 if precision == "float32" else 0.05
    assert abs(ours.log_likelihood - exact.log_likelihood) < limit * abs(exact.log_likelihood)
    for name in ("initial", "transition", "emission", "stop"):
        found, truth = getattr(ours, name), getattr(exact, name)
        assert np.abs(found - truth).sum() < limit * truth.sum()
