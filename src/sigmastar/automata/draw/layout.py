"""Where the states, arrows and labels of a drawn automaton go: plain geometry.

States stand on an ellipse, in the order that keeps heavy arrows short. An arrow bends to the left
of its direction, so that an arrow and its return do not meet; a loop stands outside the ellipse.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sigmastar.core.arrays import Floats, Int64s

RADIUS = 25.0  # of a state
HEAD = 9.0  # length of an arrow head


@dataclass(frozen=True, eq=False)
class Curve:
    """A cubic Bezier curve by its four points."""

    points: Floats  # 4 x 2

    def at(self, time: float) -> Floats:
        weights = [(1 - time) ** 3, 3 * time * (1 - time) ** 2, 3 * time**2 * (1 - time), time**3]
        return np.asarray(np.array(weights) @ self.points)

    @property
    def box(self) -> Box:
        path = np.array([self.at(time) for time in np.linspace(0, 1, 9)])
        return Box(*path.min(axis=0).tolist(), *path.max(axis=0).tolist())

    @property
    def direction_at_end(self) -> Floats:
        return unit(self.points[3] - self.points[2])


@dataclass(frozen=True)
class Box:
    """A rectangle that a label or a state covers."""

    left: float
    top: float
    right: float
    bottom: float

    @classmethod
    def around(cls, centre: Floats, width: float, height: float) -> Box:
        x, y = float(centre[0]), float(centre[1])
        return cls(x - width / 2, y - height / 2, x + width / 2, y + height / 2)

    def overlap(self, other: Box) -> float:
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.bottom, other.bottom) - max(self.top, other.top)
        return max(width, 0.0) * max(height, 0.0)


def circle_order(weights: Floats, first: int, n_starts: int = 8) -> list[int]:
    """An order of the states around a circle, from `first`, that keeps heavy arrows short.

    The best of several descents, each from another shuffle (the same ones every time).
    """
    symmetric = weights + weights.T
    others = np.delete(np.arange(len(weights)), first)
    shuffles = np.random.default_rng(0)
    starts = [others, *(shuffles.permutation(others) for _ in range(n_starts - 1))]
    found = [_descended(np.append(first, start), symmetric) for start in starts]
    return [int(state) for state in min(found, key=lambda order: _length(order, symmetric))]


def _length(order: Int64s, symmetric: Floats) -> float:
    """sum_ij weight_ij * steps between i and j along the circle."""
    n = len(order)
    apart = np.abs(np.arange(n)[:, None] - np.arange(n))
    return float((symmetric[np.ix_(order, order)] * np.minimum(apart, n - apart)).sum())


def _descended(order: Int64s, symmetric: Floats) -> Int64s:
    """Swap two states or reverse a run while that shortens the whole; the first state stays."""
    best, improved = _length(order, symmetric), True
    while improved:
        improved = False
        for i in range(1, len(order)):
            for j in range(i + 1, len(order)):
                for candidate in (_swapped(order, i, j), _reversed(order, i, j)):
                    length = _length(candidate, symmetric)
                    if length < best * (1 - 1e-9):
                        order, best, improved = candidate, length, True
    return order


def _swapped(order: Int64s, i: int, j: int) -> Int64s:
    candidate = order.copy()
    candidate[[i, j]] = candidate[[j, i]]
    return candidate


def _reversed(order: Int64s, i: int, j: int) -> Int64s:
    return np.concatenate([order[:i], order[i : j + 1][::-1], order[j + 1 :]])


def ellipse(n: int) -> tuple[Floats, Floats]:
    """Positions of n states from the left, clockwise, around the origin; and the way out at each."""
    if n == 1:
        return np.zeros((1, 2)), np.array([[-1.0, 0.0]])
    angles = np.pi + 2 * np.pi * np.arange(n) / n
    way = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    reach = np.array([max(130.0, 31.0 * n), max(105.0, 23.0 * n)])
    return way * reach, way


def arrow(start: Floats, end: Floats) -> Curve:
    """From the rim of one state to the rim of another, bent to the left."""
    across = end - start
    distance = float(np.hypot(*across))
    side = np.array([across[1], -across[0]]) / distance
    bend = side * (0.11 * distance + 8)
    first, second = start + across * 0.3 + bend, start + across * 0.7 + bend
    leave = start + unit(first - start) * (RADIUS + 1)
    arrive = end + unit(second - end) * (RADIUS + 2)
    return Curve(np.array([leave, first, second, arrive]))


def loop(centre: Floats, way: Floats) -> Curve:
    """From a state to itself, outside."""
    left, right = turned(way, -0.42), turned(way, 0.42)
    leave, arrive = centre + left * (RADIUS + 1), centre + right * (RADIUS + 2)
    far = RADIUS + 66
    return Curve(np.array([leave, centre + turned(way, -0.5) * far, centre + turned(way, 0.5) * far, arrive]))


def beyond(curve: Curve, way: Floats, width: float, height: float) -> Floats:
    """Where a label stands outside a loop."""
    room = min(half / max(abs(part), 1e-9) for half, part in zip((width / 2, height / 2), way, strict=True))
    aslant = 2 * abs(float(way[0] * way[1]))  # there the shoulder of the loop stands beside its tip
    return np.asarray(curve.at(0.5) + way * (room + 4 + 9 * aslant))


def place_label(curve: Curve, width: float, height: float, taken: list[Box]) -> Floats:
    """The point on the curve, near its middle if it can be, where a label covers least."""
    times = (0.5, 0.44, 0.56, 0.38, 0.62, 0.32, 0.68, 0.26, 0.74)

    def cost(time: float) -> float:
        box = Box.around(curve.at(time), width, height)
        return sum(box.overlap(other) for other in taken) + 40 * abs(time - 0.5)

    return curve.at(min(times, key=cost))


def unit(vector: Floats) -> Floats:
    return np.asarray(vector / max(float(np.hypot(*vector)), 1e-12))


def turned(vector: Floats, angle: float) -> Floats:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([c * vector[0] - s * vector[1], s * vector[0] + c * vector[1]])
