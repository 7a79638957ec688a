"""Climbing the likelihood: one driver of expectation-maximization for all families.

    counts, log-likelihood = expect(model),    model' = maximize(counts)

Steps are those of `em_steps`. Held-out data decide which model is kept and when to stop. A climb is a value:
running it gives a new one, which can be compared with others and run on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Generic

import numpy as np

from sigmastar.core.em_steps import (
    Counts,
    Model,
    Position,
    Problem,
    Step,
    extrapolation,
    geometric,
    hastened,
    iterate,
    plain,
    relaxed,
)
from sigmastar.core.progress import Progress, silent

__all__ = [
    "NEVER",
    "USUAL",
    "Climb",
    "Deadline",
    "Position",
    "Problem",
    "Seeds",
    "Step",
    "Stopping",
    "best_of",
    "by_absolute",
    "by_relative",
    "extrapolation",
    "geometric",
    "hastened",
    "iterate",
    "plain",
    "relaxed",
]

Threshold = Callable[[float], float]
"""From the best score so far to the one that counts as better."""


def by_absolute(tolerance: float) -> Threshold:
    """Better by a number of nats per item."""
    return lambda best: best + tolerance


def by_relative(tolerance: float) -> Threshold:
    """Better by a share of the score itself."""
    return lambda best: best + tolerance * abs(best) if np.isfinite(best) else best


@dataclass(frozen=True)
class Stopping:
    """When a climb ends: after `patience` checks, one in `every` iterations, none of which was better."""

    better: Threshold = field(default_factory=lambda: by_absolute(1e-4))
    every: int = 3
    patience: int = 3


USUAL = Stopping()
NEVER = Stopping(by_absolute(-np.inf), patience=1 << 62)
"""As many iterations as are asked for; with held-out data the best model is still the one that is kept."""


@dataclass(frozen=True)
class Deadline:
    """A moment in processor time of this process: other processes on the machine do not hasten it."""

    at: float
    clock: Callable[[], float] = time.process_time

    @classmethod
    def after(cls, seconds: float, clock: Callable[[], float] = time.process_time) -> Deadline:
        """So many seconds of processor time from now."""
        return cls(clock() + seconds, clock)

    def passed(self) -> bool:
        return self.clock() > self.at


@dataclass(frozen=True, eq=False)
class Climb(Generic[Model, Counts]):
    """A climb in progress."""

    problem: Problem[Model, Counts]
    step: Step[Model, Counts]
    position: Position[Model]
    best: Model  # by held-out data at the checks; where nothing is held out, the latest
    evaluated: Model  # the one that the last of `log_likelihoods` belongs to
    score: float = -np.inf  # of the best model: held-out, or else the last log-likelihood per item
    log_likelihoods: tuple[float, ...] = ()  # per item, of the model before each iteration
    misses: int = 0
    finished: bool = False

    @classmethod
    def begin(
        cls, problem: Problem[Model, Counts], model: Model, step: Step[Model, Counts] = plain
    ) -> Climb[Model, Counts]:
        """A climb that has not moved yet."""
        return cls(problem, step, Position(model, model), model, model)

    @property
    def latest(self) -> Model:
        """The model after the last iteration."""
        return self.position.safe

    @property
    def n_iterations(self) -> int:
        return len(self.log_likelihoods)

    @property
    def is_held_out(self) -> bool:
        """Whether `score` is evidence from data that were not learnt from."""
        return self.problem.held_out is not None

    def run(
        self,
        n_iterations: int,
        stopping: Stopping = USUAL,
        deadline: Deadline | None = None,
        progress: Progress = silent,
    ) -> Climb[Model, Counts]:
        """Go on.

        Parameters
        ----------
        n_iterations
            At most so many more; the last one is always checked.
        stopping
            When to end before that. A climb that ended so is not run any further.
        deadline
            The processor time after which the iteration at hand is the last.
        progress
            Called after every iteration.

        Returns
        -------
        Climb
            The climb after these iterations; this one stays as it is.
        """
        climb = self
        for count in range(1, n_iterations + 1):
            if climb.finished:
                break
            climb = climb._advanced()
            logs = climb.log_likelihoods
            message = f"{climb.problem.name}, iteration {len(logs)}, log-likelihood {logs[-1]:.4f}"
            progress(message, count / n_iterations)
            late = deadline is not None and deadline.passed()
            if count % stopping.every == 0 or count == n_iterations or late:
                climb = climb._checked(stopping)
            if late:
                break
        return climb

    def _advanced(self) -> Climb[Model, Counts]:
        position, evaluated, log_likelihood = self.step(self.problem, self.position)
        logs = (*self.log_likelihoods, log_likelihood / self.problem.n_items)
        return replace(self, position=position, evaluated=evaluated, log_likelihoods=logs)

    def _checked(self, stopping: Stopping) -> Climb[Model, Counts]:
        judge = self.problem.held_out
        score = self.log_likelihoods[-1] if judge is None else judge(self.latest)
        misses = 0 if score > stopping.better(self.score) else self.misses + 1
        best = self.latest if judge is None or score > self.score else self.best
        top = max(self.score, score) if score == score else self.score
        finished = misses >= stopping.patience
        return replace(self, best=best, score=top, misses=misses, finished=finished)


@dataclass(frozen=True, eq=False)
class Seeds(Generic[Model, Counts]):
    """The best of several climbs, how many there were, and the iterations of all together."""

    best: Climb[Model, Counts]
    n_seeds: int
    n_iterations: int


def best_of(climbs: Iterable[Climb[Model, Counts]], deadline: Deadline | None = None) -> Seeds[Model, Counts]:
    """The climb with the highest score.

    Parameters
    ----------
    climbs
        Each run already; a generator runs them one at a time.
    deadline
        After it no further climb is asked for.

    Returns
    -------
    Seeds
        The first of the best.
    """
    done: list[Climb[Model, Counts]] = []
    for climb in climbs:
        done.append(climb)
        if deadline is not None and deadline.passed():
            break
    if not done:
        raise ValueError("there is no climb to choose from; use n_seeds>=1")
    best = max(done, key=lambda climb: climb.score)
    return Seeds(best, len(done), sum(climb.n_iterations for climb in done))
