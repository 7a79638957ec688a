"""Climbing the likelihood: one driver of expectation-maximization for all families.

    counts, log-likelihood = expect(model),    model' = maximize(counts)

A plain step goes from p to p_EM. An over-relaxed one goes further along the same way,

    p' prop. to p_EM (p_EM / p)^(pace - 1),        the pace growing while the likelihood grows,

and falls back to p_EM with a pace of 1 as soon as it does not (Salakhutdinov and Roweis 2003). A step is a
function from one position to the next; a `Climb` repeats it. Held-out data decide which model is kept and
when to stop. A climb is a value: running it gives a new one, which can be compared with others and run on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

import numpy as np

from sigmastar.core.arrays import Floats
from sigmastar.core.errors import InputError
from sigmastar.core.progress import Measure, Point, Progress, report, silent

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
    "require_seen",
]

_FEW_STATES = 40  # which any data may be tried with
_WEIGHTS_PER_SYMBOL = 100  # that was seen: more are beyond any doubt


def require_seen(n_states: int, n_symbols: int, n_seen: int, work: str, remedy: str = "") -> None:
    """Refuse more states than the data can tell apart: EM itself would climb on for hours and say nothing.

    Parameters
    ----------
    n_states, n_symbols : int
        Sizes: a model has `n_states * (n_states + n_symbols)` weights at least.
    n_seen : int
        How many symbols the data hold, ends of strings included.
    work : str
        What it is, as in "EM with 3000 states".
    remedy : str
        What to do beside using fewer states.
    """
    n_weights = n_states * (n_states + n_symbols)
    if n_states <= _FEW_STATES or n_weights <= _WEIGHTS_PER_SYMBOL * n_seen:
        return
    enough = int((n_symbols**2 / 4 + n_seen) ** 0.5 - n_symbols / 2)  # as many weights as symbols
    raise InputError(
        f"{work} has {n_weights:,} weights or more, and the data {n_seen:,} symbols, which cannot tell "
        f"so many states apart; use at most {max(enough, 1)} states{remedy}"
    )


Model = TypeVar("Model")
Counts = TypeVar("Counts")
Extrapolate = Callable[[Model, Model, float], Model]
"""From the model before a step, the one after it and a pace: a model beyond the latter."""


@dataclass(frozen=True, eq=False)
class Problem(Generic[Model, Counts]):
    """What a family brings: the two halves of a step, and how models are judged."""

    expect: Callable[[Model], tuple[Counts, float]]  # expected counts, and the log-likelihood of all items
    maximize: Callable[[Counts], Model]
    n_items: float = 1.0  # log-likelihoods are reported per item
    held_out: Callable[[Model], float] | None = None  # a score per held-out item; None: nothing is held out
    name: str = "EM"


@dataclass(frozen=True, eq=False)
class Position(Generic[Model]):
    """Where a climb stands."""

    model: Model  # the one that counts are taken under next
    safe: Model  # the one that the last step led to; the same, or `model` lies beyond it
    reached: float = -np.inf  # the log-likelihood before the last step
    pace: float = 1.0


Step = Callable[[Problem[Model, Counts], Position[Model]], tuple[Position[Model], Model, float]]
"""The next position, the model that counts were taken under, and its log-likelihood."""


def plain(problem: Problem[Model, Counts], at: Position[Model]) -> tuple[Position[Model], Model, float]:
    """One step of expectation-maximization."""
    counts, log_likelihood = problem.expect(at.model)
    found = problem.maximize(counts)
    return Position(found, found, log_likelihood), at.model, log_likelihood


def hastened(extrapolate: Extrapolate[Model], pace: float) -> Step[Model, Counts]:
    """Steps that always go further than their own, by one pace: quick, but nothing guards the likelihood.

    Parameters
    ----------
    extrapolate
        How models are extrapolated and normalized: see `extrapolation`.
    pace
        Above 1; near 3 the climb may diverge.

    Returns
    -------
    Step
        To be handed to `Climb.begin`. The last model of a run is not extrapolated.
    """

    def advance(problem: Problem[Model, Counts], at: Position[Model]) -> tuple[Position[Model], Model, float]:
        found, before, log_likelihood = plain(problem, at)
        return replace(found, model=extrapolate(at.model, found.safe, pace)), before, log_likelihood

    return advance


def relaxed(
    extrapolate: Extrapolate[Model], growth: float = 1.2, largest: float = 6.0
) -> Step[Model, Counts]:
    """Over-relaxed steps whose pace adapts: the likelihood of the models that are kept never decreases.

    Parameters
    ----------
    extrapolate
        How models are extrapolated and normalized: see `extrapolation`.
    growth, largest
        What the pace is multiplied by after each step, and its limit.

    Returns
    -------
    Step
        To be handed to `Climb.begin`.
    """

    def advance(problem: Problem[Model, Counts], at: Position[Model]) -> tuple[Position[Model], Model, float]:
        counts, log_likelihood = problem.expect(at.model)
        if not log_likelihood >= at.reached and at.model is not at.safe:
            at = Position(at.safe, at.safe, at.reached)
            counts, log_likelihood = problem.expect(at.model)
        safe = problem.maximize(counts)
        beyond = extrapolate(at.model, safe, at.pace) if at.pace > 1.0 else safe
        pace = min(at.pace * growth, largest)
        return Position(beyond, safe, log_likelihood, pace), at.model, log_likelihood

    return advance


def geometric(old: Floats, new: Floats, pace: float, longest: float = 3.0) -> Floats:
    """new (new / old)^(pace - 1), not normalized.

    Parameters
    ----------
    old, new
        Probabilities before and after a step; where one of them is zero, `new` stays.
    pace
        1 gives `new`.
    longest
        The largest logarithm by which a number may grow beyond `new`.

    Returns
    -------
    Floats
        Numbers of the shape of `new`.
    """
    both = (new > 0) & (old > 0)
    ratio = np.divide(new, old, out=np.ones_like(new), where=both)
    logs = np.log(ratio, out=np.zeros_like(ratio), where=ratio > 0)
    return np.where(both, new * np.exp(np.clip((pace - 1.0) * logs, -50.0, longest)), new)


def extrapolation(
    arrays: Callable[[Model], Sequence[Floats]],
    rebuild: Callable[[Model, Sequence[Floats]], Model],
    longest: float = 3.0,
) -> Extrapolate[Model]:
    """Extrapolate the arrays of a model geometrically.

    Parameters
    ----------
    arrays
        The parameters of a model.
    rebuild
        From the model after the step and extrapolated arrays, which it normalizes, to a model.
    longest
        As of `geometric`.

    Returns
    -------
    Extrapolate
        To be handed to `relaxed` or `hastened`.
    """

    def extrapolate(old: Model, new: Model, pace: float) -> Model:
        pairs = zip(arrays(old), arrays(new), strict=True)
        return rebuild(new, [geometric(a, b, pace, longest) for a, b in pairs])

    return extrapolate


def iterate(
    problem: Problem[Model, Counts], model: Model, n_iterations: int, step: Step[Model, Counts] = plain
) -> Model:
    """The model after some iterations, without a judgement of any."""
    position = Position(model, model)
    for _ in range(n_iterations):
        position = step(problem, position)[0]
    return position.safe


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
    curve: object = field(
        default_factory=object
    )  # stays the same as the climb goes on: its curve in pictures

    @classmethod
    def begin(
        cls, problem: Problem[Model, Counts], model: Model, step: Step[Model, Counts] = plain
    ) -> Climb[Model, Counts]:
        """A climb that has not moved yet."""
        return cls(problem, step, Position(model, model), model, model)

    @property
    def name(self) -> str:
        return self.problem.name

    @property
    def latest(self) -> Model:
        """The model after the last iteration."""
        return self.position.safe

    @property
    def n_iterations(self) -> int:
        return len(self.log_likelihoods)

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
        self._measured(Measure.CLIMB, len(logs), logs[-1])
        return replace(self, position=position, evaluated=evaluated, log_likelihoods=logs)

    def _measured(self, what: Measure, iteration: int, value: float) -> None:
        report(Point(what, iteration, value, self.curve, self.name))

    def _checked(self, stopping: Stopping) -> Climb[Model, Counts]:
        judge = self.problem.held_out
        score = self.log_likelihoods[-1] if judge is None else judge(self.latest)
        if judge is not None:
            self._measured(Measure.HELD_OUT, self.n_iterations, score)
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


@dataclass(frozen=True)
class Monitor:
    """How an ascent went, by the names of hmmlearn, and whether it ended by itself."""

    history: tuple[float, ...]
    iter: int
    converged: bool

    @classmethod
    def of(cls, log_likelihoods: Iterable[float], max_iter: int) -> Monitor:
        """From the log-likelihood before each iteration, and the most iterations that there could be."""
        history = tuple(log_likelihoods)
        return cls(history, len(history), len(history) < max_iter)


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
