"""Races: many candidates, few of which are worth all the work.

Every runner runs a leg, the leaders run the next one (successive halving). A runner is anything with a score
that can be run further: a climb of `em`, or another kind of refinement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, Self, TypeVar

import numpy as np

from sigmastar.core.progress import Measure, Point, Progress, report, silent
from sigmastar.core.resources import Mapper

Keep = Callable[[Sequence[float]], list[int]]
"""From scores to the numbers of those that go on, the best first."""


class Runner(Protocol):
    """What can be run further, and compared."""

    @property
    def score(self) -> float: ...

    def run(self, n_iterations: int, /) -> Self: ...


AnyRunner = TypeVar("AnyRunner", bound=Runner)


@dataclass(frozen=True)
class Leg:
    """So many iterations for each that is still in the race, and who goes on after them."""

    n_iterations: int
    keep: Keep


def leading(n_runners: int, gap: float = np.inf) -> Keep:
    """The best few, unless they trail the leader by more than `gap`.

    Examples
    --------
    >>> leading(2, 1.0)([0.5, 3.0, 2.5])
    [1, 2]
    """

    def keep(scores: Sequence[float]) -> list[int]:
        order = _ranked(scores)
        return [k for k in order[:n_runners] if scores[k] >= scores[order[0]] - gap]

    return keep


def _ranked(scores: Sequence[float]) -> list[int]:
    """The best first; of equals the earlier one."""
    return sorted(range(len(scores)), key=lambda k: -scores[k] if scores[k] == scores[k] else np.inf)


def race(
    runners: Iterable[AnyRunner],
    legs: Iterable[Leg],
    *,
    enough: float = np.inf,
    run: Mapper = map,
    progress: Progress = silent,
) -> list[AnyRunner]:
    """Every runner after the race; those in the lead have gone further than the others.

    Parameters
    ----------
    runners
        At the start.
    legs
        One after the other, until one runner is left.
    enough
        A score at which the race ends at once.
    run
        How the runners of one leg are run.
    progress
        Called before every leg.

    Returns
    -------
    list
        In the order of `runners`; `winner` gives the best.
    """
    everyone, curves = list(runners), object()
    going = list(range(len(everyone)))
    for number, leg in enumerate(legs, 1):
        progress(f"race of {len(going)} starts, leg {number}")
        moved = run(lambda k, n=leg.n_iterations: everyone[k].run(n) if n else everyone[k], going)
        for k, runner in zip(going, moved, strict=False):
            everyone[k] = runner
            report(Point(Measure.START, number, runner.score, (curves, k), _name(runner, k)))
            if runner.score >= enough:
                return everyone
        going = [going[k] for k in leg.keep([everyone[k].score for k in going])]
        if len(going) == 1:
            break
    return everyone


def _name(runner: Runner, k: int) -> str:
    """What pictures call a start; runners may have names."""
    name = getattr(runner, "name", "")
    return f"start {k + 1}, {name}" if name else f"start {k + 1}"


def winner(runners: Sequence[AnyRunner]) -> AnyRunner:
    """The runner with the highest score; of equals the first."""
    return runners[_ranked([runner.score for runner in runners])[0]]
