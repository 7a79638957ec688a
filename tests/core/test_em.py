"""The driver of EM on a mixture of two coins, where every step can be written down."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sigmastar.core.em import (
    NEVER,
    Climb,
    Deadline,
    Problem,
    Stopping,
    best_of,
    by_absolute,
    by_relative,
    extrapolation,
    geometric,
    hastened,
    iterate,
    relaxed,
)

seeds = st.integers(0, 10**6)
Coins = tuple[np.ndarray, np.ndarray]  # shares of the coins, and P(heads) of each


@dataclass(frozen=True)
class Tosses:
    """Heads of ten tosses of a coin that was drawn from two."""

    heads: np.ndarray
    added: float = 0.1  # to the heads and to the tails of each coin

    def posterior(self, model: Coins) -> tuple[np.ndarray, float]:
        shares, heads = model
        joint = shares * heads ** self.heads[:, None] * (1 - heads) ** (10 - self.heads[:, None])
        return joint / joint.sum(axis=1, keepdims=True), float(np.log(joint.sum(axis=1)).sum())

    def maximize(self, posterior: np.ndarray) -> Coins:
        sizes = posterior.sum(axis=0)
        return sizes / sizes.sum(), (self.heads @ posterior + self.added) / (10 * sizes + 2 * self.added)

    def problem(self) -> Problem[Coins, np.ndarray]:
        return Problem(self.posterior, self.maximize, len(self.heads))


def tossed(seed: int, n: int = 40) -> Tosses:
    rng = np.random.default_rng(seed)
    return Tosses(rng.binomial(10, np.where(rng.random(n) < 0.4, 0.35, 0.6)))


START: Coins = (np.array([0.5, 0.5]), np.array([0.4, 0.5]))


def rebuilt(_: Coins, arrays: list[np.ndarray]) -> Coins:  # type: ignore[type-arg]
    shares, heads = arrays
    return shares / shares.sum(), np.clip(heads, 1e-3, 1 - 1e-3)


BEYOND = extrapolation(lambda model: model, rebuilt)  # type: ignore[arg-type, var-annotated]


@given(seeds)
def test_plain_steps(seed: int) -> None:
    tosses, model, logs = tossed(seed), START, []
    for _ in range(4):
        posterior, log = tosses.posterior(model)
        before, model = model, tosses.maximize(posterior)
        logs.append(log / 40)
    climb = Climb.begin(tosses.problem(), START).run(4, NEVER)
    assert climb.log_likelihoods == pytest.approx(logs)
    np.testing.assert_allclose(climb.latest[1], model[1])
    np.testing.assert_allclose(climb.evaluated[1], before[1])
    np.testing.assert_allclose(iterate(tosses.problem(), START, 4)[1], model[1])
    assert climb.best is climb.latest


@given(seeds, st.integers(1, 6))
def test_a_climb_goes_on_where_it_stopped(seed: int, n: int) -> None:
    tosses = tossed(seed)
    for step in (relaxed(BEYOND), hastened(BEYOND, 1.5)):
        whole = Climb.begin(tosses.problem(), START, step).run(n + 3, NEVER)
        first = Climb.begin(tosses.problem(), START, step).run(n, NEVER)
        parts = first.run(3, NEVER)
        assert parts.log_likelihoods == whole.log_likelihoods
        assert first.n_iterations == n
        np.testing.assert_array_equal(parts.latest[1], whole.latest[1])


@given(seeds)
def test_relaxed_steps_never_lead_down_and_lead_faster(seed: int) -> None:
    tosses = replace(tossed(seed), added=0.0)
    slow, fast = (
        Climb.begin(tosses.problem(), START, step).run(30, NEVER).log_likelihoods
        for step in (relaxed(BEYOND, growth=1.0), relaxed(BEYOND))
    )
    assert min(np.diff(fast)) > -1e-9
    assert fast[-1] >= slow[-1] - 1e-3


def test_bad_steps_are_taken_back() -> None:
    tosses = tossed(1)
    wild = relaxed(lambda old, new, pace: (new[0], np.array([0.01, 0.99])))
    climb = Climb.begin(tosses.problem(), START, wild).run(20, NEVER)
    plain = Climb.begin(tosses.problem(), START).run(20, NEVER)
    assert climb.log_likelihoods == pytest.approx(plain.log_likelihoods)


def test_pace_of_one_is_the_plain_step() -> None:
    old, new = np.array([0.2, 0.8, 0.0]), np.array([0.5, 0.0, 0.5])
    np.testing.assert_allclose(geometric(old, new, 1.0), new)
    np.testing.assert_allclose(geometric(old, new, 2.0), [0.5 * 2.5, 0.0, 0.5])
    assert geometric(np.array([1e-9]), np.array([1.0]), 2.0)[0] == pytest.approx(np.exp(3.0))
    assert geometric(np.array([1e-9]), np.array([1.0]), 2.0, np.inf)[0] == pytest.approx(1e9)


class Counter:
    """A problem whose model is a number that each step raises; held-out scores are looked up."""

    def __init__(self, scores: list[float]) -> None:
        self.scores = scores

    def problem(self, held_out: bool = True) -> Problem[int, int]:
        judge = (lambda model: self.scores[model]) if held_out else None
        return Problem(lambda model: (model, self.scores[model]), lambda count: count + 1, 1.0, judge)


def test_the_best_by_held_out_data_is_kept() -> None:
    counter = Counter([0.0, 1.0, 5.0, 2.0, 1.0, 0.5, 9.0])
    climb = Climb.begin(counter.problem(), 0).run(6, Stopping(by_absolute(0.0), every=1, patience=2))
    assert (climb.best, climb.score, climb.n_iterations) == (2, 5.0, 4)
    assert climb.finished
    assert climb.run(5) is climb


def test_checks_every_few_iterations_and_at_the_end() -> None:
    counter = Counter([0.0, 9.0, 1.0, 2.0, 9.0, 3.0])
    climb = Climb.begin(counter.problem(), 0).run(5, Stopping(every=3))
    assert (climb.best, climb.score) == (5, 3.0)


@pytest.mark.parametrize(
    ("better", "n"), [(by_absolute(0.5), 3), (by_relative(0.2), 3), (by_absolute(0.01), 5)]
)
def test_small_gains_end_a_climb(better: object, n: int) -> None:
    counter = Counter([-4.0, -2.0, -1.8, -1.7, -1.695, -1.69])
    stopping = Stopping(better, every=1, patience=1)  # type: ignore[arg-type]
    climb = Climb.begin(counter.problem(held_out=False), 0).run(5, stopping)
    assert climb.n_iterations == n
    assert climb.evaluated == n - 1


def test_nan_and_nothing_are_no_progress() -> None:
    counter = Counter([0.0, -np.inf, np.nan, np.nan, np.nan, np.nan])
    climb = Climb.begin(counter.problem(), 0).run(5, Stopping(every=1, patience=2))
    assert climb.n_iterations == 2
    assert climb.best == 0


def test_a_deadline_in_processor_time() -> None:
    ticks = iter(range(100))
    deadline = Deadline.after(2.5, lambda: float(next(ticks)))
    climb = Climb.begin(Counter([0.0] * 50).problem(), 0).run(40, NEVER, deadline)
    assert climb.n_iterations == 3
    assert climb.score == 0.0
    assert not Deadline.after(60.0).passed()


def test_the_best_of_several_seeds() -> None:
    problem = Counter([0.0, 1.0, 3.0, 2.0, 7.0]).problem()
    climbs = (Climb.begin(problem, start).run(1) for start in (0, 1, 2))
    found = best_of(climbs)
    assert (found.best.best, found.n_seeds, found.n_iterations) == (2, 3, 3)
    late = best_of((Climb.begin(problem, start).run(1) for start in (0, 1)), Deadline(-1.0))
    assert (late.best.best, late.n_seeds) == (1, 1)
    with pytest.raises(ValueError, match="n_seeds"):
        best_of([])


def test_progress_is_reported() -> None:
    seen: list[tuple[str, float | None]] = []
    problem = replace(Counter([0.0] * 5).problem(), name="EM of coins")
    Climb.begin(problem, 0).run(2, progress=lambda message, done=None: seen.append((message, done)))
    assert seen == [
        ("EM of coins, iteration 1, log-likelihood 0.0000", 0.5),
        ("EM of coins, iteration 2, log-likelihood 0.0000", 1.0),
    ]
