"""Gaussian hidden Markov models, against the definition and against the truth."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from cli.calls import fail, succeed
from sigmastar import GaussianHMM, InputError, load
from sigmastar.continuous import GaussianHmm, Series, read_series
from sigmastar.continuous.data import written_series
from sigmastar.continuous.learn import begin
from sigmastar.core.arrays import Floats


def drawn(rng: np.random.Generator, n: int, k: int, d: int, kind: str) -> GaussianHmm:
    roots = np.eye(d) + 0.3 * rng.standard_normal((n, k, d, d))
    covariances = roots @ np.swapaxes(roots, -1, -2) + 0.1 * np.eye(d)
    if kind == "diag":
        covariances = np.ascontiguousarray(np.diagonal(covariances, axis1=-2, axis2=-1))
    rows = [rng.dirichlet(np.ones(m), size=n) for m in (n, k)]
    return GaussianHmm(rng.dirichlet(np.ones(n)), *rows, 2.0 * rng.standard_normal((n, k, d)), covariances)


def density(model: GaussianHmm, state: int, row: Floats) -> float:
    total = 0.0
    for k, weight in enumerate(model.weights[state]):
        around = model.covariances[state, k]
        matrix = np.diag(around) if model.kind == "diag" else around
        away = row - model.means[state, k]
        scale = np.sqrt(np.linalg.det(2 * np.pi * matrix))
        total += weight * np.exp(-0.5 * away @ np.linalg.inv(matrix) @ away) / scale
    return float(total)


def paths(model: GaussianHmm, rows: Floats) -> dict[tuple[int, ...], float]:
    """The weight of every path of states."""
    weights = {}
    for path in itertools.product(range(model.n_states), repeat=len(rows)):
        weight = model.initial[path[0]]
        for state, target in itertools.pairwise(path):
            weight *= model.transition[state, target]
        for state, row in zip(path, rows, strict=True):
            weight *= density(model, state, row)
        weights[path] = float(weight)
    return weights


@pytest.mark.parametrize("kind", ["diag", "full"])
@pytest.mark.parametrize("seed", range(4))
def test_inference_is_the_sum_over_all_paths(kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = drawn(rng, 3, 1 + seed % 2, 2, kind)
    series = Series.of([rng.standard_normal((length, 2)) for length in (4, 1, 3)])
    found, (states, best) = model.expect(series), model.best_states(series)
    moves, at = np.zeros((3, 3)), 0
    for number, rows in enumerate(series):
        weights = paths(model, rows)
        total, (top, heaviest) = sum(weights.values()), max(weights.items(), key=lambda item: item[1])
        assert found.logs[number] == pytest.approx(np.log(total), abs=1e-9)
        assert best[number] == pytest.approx(np.log(heaviest), abs=1e-9)
        assert tuple(states[at : at + len(rows)].tolist()) == top
        shares = np.zeros((len(rows), 3))
        for path, weight in weights.items():
            shares[np.arange(len(rows)), list(path)] += weight / total
            for pair in itertools.pairwise(path):
                moves[pair] += weight / total
        np.testing.assert_allclose(found.posteriors[at : at + len(rows)], shares, atol=1e-9)
        at += len(rows)
    np.testing.assert_allclose(found.moves, moves, atol=1e-9)
    np.testing.assert_allclose(found.components.sum(axis=1), 1.0)


def test_one_fit_finds_the_truth() -> None:
    truth = drawn(np.random.default_rng(5), 4, 1, 3, "full")
    train, fresh = (truth.sample(40, np.random.default_rng(seed), 60) for seed in (0, 1))
    model = GaussianHMM(n_states=4).fit(train)
    gap = truth.log_probability(fresh).sum() - model.score_samples(fresh).sum()
    assert gap / len(fresh.values) < 0.03
    assert model.log_likelihoods_[-1] >= model.log_likelihoods_[0]


def test_ten_overlapping_states_are_found_by_exchanges() -> None:
    """Clusters alone end .05 nats per row below: two states share what is one, one holds what is two."""
    rng = np.random.default_rng(4)
    moves = 0.4 * rng.dirichlet(np.full(10, 0.5), size=10) + 0.6 * np.eye(10)
    means = 0.8 * rng.standard_normal((10, 1, 6))
    roots = np.eye(6) + 0.3 * rng.standard_normal((10, 1, 6, 6))
    covariances = roots @ np.swapaxes(roots, -1, -2) + 0.05 * np.eye(6)
    truth = GaussianHmm(np.full(10, 0.1), moves, np.ones((10, 1)), means, covariances)
    series = truth.sample(40, np.random.default_rng(104), 100)
    best = begin(series, truth).run(200).log_likelihoods[-1]
    assert GaussianHMM(n_states=10).fit(series).log_likelihoods_[-1] > best - 1e-3


def test_mixtures_fit_what_one_gaussian_cannot() -> None:
    rng = np.random.default_rng(0)
    two = np.where(rng.random(800) < 0.5, -4.0, 4.0) + rng.standard_normal(800)
    one, mixed = (GaussianHMM(n_states=1, n_components=k, max_iter=60).fit([two]) for k in (1, 2))
    assert mixed.score([two]) > one.score([two]) + 0.3
    assert sorted(np.sign(mixed.means_[0, :, 0]).tolist()) == [-1.0, 1.0]


def test_states_lengths_and_criteria(tmp_path: Path) -> None:
    truth = drawn(np.random.default_rng(1), 2, 1, 2, "full")
    series = truth.sample(6, np.random.default_rng(0), 30)
    model = GaussianHMM(n_states=2, covariance="diag", max_iter=5).fit(series.values, series.lengths)
    again = GaussianHMM(n_states=2, covariance="diag", max_iter=5).fit(list(series))
    np.testing.assert_array_equal(model.means_, again.means_)
    assert [len(row) for row in model.predict(series)] == [30] * 6
    assert np.allclose(model.predict_proba(series)[0].sum(axis=1), 1.0)
    free = 1 + 2 + 2 * 4
    total = model.score_samples(series).sum()
    assert model.aic(series) == pytest.approx(-2 * total + 2 * free)
    assert model.bic(series) == pytest.approx(-2 * total + free * np.log(180))
    model.save(tmp_path / "model.sigma")
    assert load(tmp_path / "model.sigma").score(series) == model.score(series)
    history = model.monitor_.history
    assert history == tuple(model.log_likelihoods_)
    assert (model.monitor_.iter, model.monitor_.converged) == (len(history), len(history) < 5)
    warm = GaussianHMM(n_states=2, max_iter=2, warm_start=True).fit(series)
    first = warm.log_likelihoods_[-1]
    assert warm.fit(series).log_likelihoods_[0] >= first


class _Frame:
    """What is seen of a table of numbers, as pandas has them."""

    columns = ("x", "y")

    def __init__(self, values: Floats) -> None:
        self.values = values

    def to_numpy(self) -> Floats:
        return self.values


def test_a_table_of_numbers_is_an_array() -> None:
    rows = np.random.default_rng(0).standard_normal((60, 2))
    model = GaussianHMM(n_states=2, max_iter=3).fit(_Frame(rows), [20, 40])
    assert model.score(_Frame(rows), [20, 40]) == model.score(rows, [20, 40])
    assert len(model.predict(_Frame(rows))) == 1


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (np.zeros((4, 2)), "4 rows are too few"),  # one array is one series
        ([[1.0, np.nan]] * 5, "holds NaN"),
        ([np.zeros((5, 2)), np.zeros((5, 3))], "vectors of 2 and 3 numbers"),
        ([["a", "b"]], "must hold numbers"),
        ([[1.0]], "too few"),
    ],
)
def test_bad_input_is_refused(data: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        GaussianHMM().fit(data)


def test_files_and_commands(tmp_path: Path) -> None:
    truth = drawn(np.random.default_rng(2), 2, 1, 2, "full")
    file, model = tmp_path / "rows.csv", tmp_path / "rows.sigma"
    series = truth.sample(3, np.random.default_rng(0), 40)
    file.write_text("x,y\n" + "\n".join(written_series(series)) + "\n")
    read = read_series(file)
    np.testing.assert_allclose(read.values, series.values, rtol=1e-8)
    assert read.offsets.tolist() == [0, 40, 80, 120]
    succeed("learn", "series", file, "--states", "2", "-q", "-o", model)
    assert len(succeed("score", model, file).split()) == 3
    lines = succeed("predict", model, file).split("\n")
    assert lines[40] == ""
    assert set(lines[:40]) <= {"0", "1"}
    assert '"probabilities"' in succeed("predict", model, file, "--json")
    assert succeed("sample", model, "-n", "2", "--length", "3").count(",") == 6
    assert "log_density" in succeed("evaluate", model, file)
    assert "gaussian-hmm" in succeed("show", model)
    file.write_text("1,2\n3\n")
    assert "rows.csv:2: 1 numbers, where lines above have 2" in fail("score", model, file)
    file.write_text("1,2,3\n")
    assert "rows have 3 numbers; the model was learned from 2" in fail("score", model, file)


def test_strings_in_place_of_numbers_are_told_with_what_takes_them(tmp_path: Path) -> None:
    (tmp_path / "strings.txt").write_text("a b\nb a\n")
    with pytest.raises(
        InputError, match=r"strings.txt:2: 'b a' is no row of numbers; .* `sigmastar learn auto"
    ):
        read_series(tmp_path / "strings.txt")
