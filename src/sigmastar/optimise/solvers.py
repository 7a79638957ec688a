"""Minimize loss(W) + penalty(W) over matrices: first-order methods behind one interface.

    fobos   W <- prox(W - s_t grad loss(W)), s_t = c / sqrt(t)       Duchi and Singer (2009): as the paper
    fista   the same from a point with momentum, the step found by doubling and halving, the momentum
            dropped where the objective rises                          Beck and Teboulle (2009);
                                                                       O'Donoghue and Candes (2015)

`factored` (in its own file) replaces W by a product of two thin matrices. Each solver reports the same
`SolverStep` to `watch` after every step, and stops where that returns True; the best W is the last one given.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import numpy as np

from sigmastar.core.arrays import Floats
from sigmastar.core.progress import Measure, report
from sigmastar.core.progress import Point as Measured
from sigmastar.optimise.proximal import Penalty

Point = TypeVar("Point")


class Loss(Protocol):
    """A smooth function of a matrix."""

    @property
    def shape(self) -> tuple[int, int]: ...

    def value_and_gradient(self, matrix: Floats) -> tuple[float, Floats]: ...

    def value(self, matrix: Floats) -> float: ...


@dataclass(frozen=True)
class SolverStep:
    """Where a solver stands after a step."""

    iteration: int
    objective: float
    cpu_seconds: float
    weights: tuple[Floats, ...]  # the matrix, or the two factors of it


Watch = Callable[[SolverStep], bool]
"""Called after every step; True stops the solver."""


@dataclass(frozen=True, eq=False)
class Solution:
    """Where a solver stopped, and the way there."""

    matrix: Floats
    objectives: tuple[float, ...]
    cpu_seconds: tuple[float, ...]

    @property
    def objective(self) -> float:
        return self.objectives[-1]


@dataclass
class Trace:
    """What is noted on the way."""

    watch: Watch | None = None
    tolerance: float = 0.0
    objectives: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    begin: float = field(default_factory=time.process_time)
    curve: object = field(default_factory=object)  # of this run, in pictures

    def done(self, objective: float, *weights: Floats) -> bool:
        """Note a step; whether it was the last."""
        self.objectives.append(objective)
        report(Measured(Measure.DESCENT, len(self.objectives), objective, self.curve))
        self.seconds.append(time.process_time() - self.begin)
        step = SolverStep(len(self.objectives), objective, self.seconds[-1], weights)
        return (self.watch is not None and self.watch(step)) or self._still()

    def _still(self) -> bool:
        """Whether five steps together gained less than the tolerance, relative to the objective."""
        if len(self.objectives) < 6 or not self.tolerance:
            return False
        gain = self.objectives[-6] - self.objectives[-1]
        return abs(gain) <= self.tolerance * max(abs(self.objectives[-1]), 1e-12)

    def solution(self, matrix: Floats) -> Solution:
        return Solution(matrix, tuple(self.objectives), tuple(self.seconds))


def fobos(
    loss: Loss,
    penalty: Penalty,
    n_iterations: int = 200,
    step: float = 1.0,
    start: Floats | None = None,
    tolerance: float = 0.0,
    watch: Watch | None = None,
) -> Solution:
    """Forward-backward splitting with steps that fall as 1 / sqrt(t)."""
    matrix = np.zeros(loss.shape) if start is None else start
    trace = Trace(watch, tolerance)
    _, gradient = loss.value_and_gradient(matrix)
    for t in range(1, n_iterations + 1):
        size = step / math.sqrt(t)
        matrix, penalized = penalty.prox(matrix - size * gradient, size)
        value, gradient = loss.value_and_gradient(matrix)
        if trace.done(value + penalized, matrix):
            break
    return trace.solution(matrix)


def fista(
    loss: Loss,
    penalty: Penalty,
    n_iterations: int = 200,
    step: float = 1.0,
    start: Floats | None = None,
    tolerance: float = 1e-6,
    watch: Watch | None = None,
) -> Solution:
    """Accelerated proximal gradient with restart; the step grows by a fifth and halves where it must."""
    trace, sizes = Trace(watch, tolerance), [step]

    def descend(ahead: Floats) -> tuple[Floats, float]:
        found, objective, sizes[0] = _descend(loss, penalty, ahead, 1.2 * sizes[0])
        return found, objective

    begin = np.zeros(loss.shape) if start is None else start
    return trace.solution(accelerated(descend, begin, _beyond, n_iterations, trace.done))


def accelerated(
    descend: Callable[[Point], tuple[Point, float]],
    start: Point,
    beyond: Callable[[Point, Point, float], Point],
    n_iterations: int,
    done: Callable[[float, Point], bool],
) -> Point:
    """Nesterov's momentum around any descent, dropped where the objective rises.

    Parameters
    ----------
    descend
        From a point to a better one and the objective there.
    start
        The first point.
    beyond
        `beyond(new, old, momentum)` is new + momentum (new - old).
    n_iterations
        At most so many.
    done
        Called with every objective and point; whether that was the last.

    Returns
    -------
    Point
        The last one.
    """
    here = ahead = start
    momentum, best = 1.0, math.inf
    for _ in range(n_iterations):
        found, objective = descend(ahead)
        if objective > best:  # carried too far: once more from the last point, without momentum
            momentum = 1.0
            found, objective = descend(here)
        following = (1.0 + math.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        ahead = beyond(found, here, (momentum - 1.0) / following)
        here, momentum, best = found, following, min(best, objective)
        if done(objective, here):
            break
    return here


def _beyond(new: Floats, old: Floats, momentum: float) -> Floats:
    return np.asarray(new + momentum * (new - old))


def _descend(loss: Loss, penalty: Penalty, point: Floats, step: float) -> tuple[Floats, float, float]:
    """A proximal step from `point`, short enough for the quadratic bound to hold."""
    value, gradient = loss.value_and_gradient(point)
    while True:
        found, penalized = penalty.prox(point - step * gradient, step)
        change = found - point
        bound = value + float(np.vdot(gradient, change)) + float(np.vdot(change, change)) / (2.0 * step)
        reached = loss.value(found)
        if reached <= bound + 1e-12 * abs(value) or step < 1e-12:
            return found, reached + penalized, step
        step /= 2.0
