"""Steps of expectation-maximization: plain, or over-relaxed.

    counts, log-likelihood = expect(model),    model' = maximize(counts)

A plain step goes from p to p_EM. An over-relaxed one goes further along the same way,

    p' prop. to p_EM (p_EM / p)^(pace - 1),        the pace growing while the likelihood grows,

and falls back to p_EM with a pace of 1 as soon as it does not (Salakhutdinov and Roweis 2003). A step is a
function from one position to the next: `em.Climb` repeats it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

import numpy as np

from sigmastar.core.arrays import Floats

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
