"""Brute-force twins of the kernels of transducers: all alignments, one by one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np


def alignments(x: tuple, y: tuple, units: set) -> Iterator[tuple]:
    """All sequences of units that spell (x, y)."""
    if not x and not y:
        yield ()
    for p, q in product(range(len(x) + 1), range(len(y) + 1)):
        unit = (tuple(x[:p]), tuple(y[:q]))
        if p + q and unit in units:
            for rest in alignments(x[p:], y[q:], units):
                yield (unit, *rest)


def readings(x: tuple, units: list, longest: int) -> Iterator[tuple]:
    """All sequences of at most `longest` units whose input sides spell x."""
    if not x:
        yield ()
    if longest:
        for unit in units:
            if tuple(x[: len(unit[0])]) == unit[0]:
                for rest in readings(x[len(unit[0]) :], units, longest - 1):
                    yield (unit, *rest)


def expected_unit_counts(pairs: list, theta: dict) -> tuple[dict, list]:
    """Expected counts of units under a bag of them, and log P of each pair."""
    counts: dict = dict.fromkeys(theta, 0.0)
    logs = []
    for x, y in pairs:
        weighted = [(pi, np.prod([theta[u] for u in pi])) for pi in alignments(x, y, set(theta))]
        total = sum(weight for _, weight in weighted)
        logs.append(np.log(total) if total else -np.inf)
        for pi, weight in weighted:
            for unit in pi:
                counts[unit] += weight / total
    return counts, logs


def chain_probability(string: tuple, firsts, moves) -> float:
    """The sum over substates of a refined chain: `moves(a, z, b, z')` from the edge to the edge."""
    edge = len(firsts) - 2
    path = (edge, *string, edge)
    total = 0.0
    for substates in product(*(range(firsts[a + 1] - firsts[a]) for a in path)):
        steps = zip(path, substates, path[1:], substates[1:], strict=False)
        total += np.prod([moves(a, z, b, w) for a, z, b, w in steps])
    return total
