"""What the recursions over sentences read and fill: automata, weights, items, derivatives."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.jit import fast_kernel

LEFT, RIGHT = 0, 1
MOST_RESTARTS = 30


class Automata(NamedTuple):
    """The arrays of all head automata, padded to the largest number of states."""

    n_states: Int32s  # sorts
    initial: Floats  # sorts x states
    final: Floats  # sorts x states
    operators: Floats  # sorts x symbols x states x states


class Ways(NamedTuple):
    """Weights of ways to come to a modifier, from each sibling nearer to the head, then from none; of stops.

    Those of the arc from h to e begin at `starts[h, e]`, its siblings from the nearest to the head on. A stop
    lies at the last modifier; column 0: there is none to the left; the diagonal: there is none to the right.
    Where `weights` is empty all are one.
    """

    starts: Int64s  # head, modifier
    weights: Floats
    stops: Floats  # head, last modifier


class Sentence(NamedTuple):
    """What the passes read; position 0 is the root, codes[0] the number of symbols."""

    codes: Int32s
    weights: Floats  # head, modifier
    ways: Ways
    scales: Floats  # positions; they change where values leave a safe range


class Items(NamedTuple):
    """Values of items, or derivatives by them."""

    states: Floats  # P: head, end, state
    ended: Floats  # P . final: head, end
    halves: Floats  # t: direction, head, end
    halves_by_end: Floats  # direction, end, head
    pairs: Floats  # S: both ways round


class Siblings(NamedTuple):
    """The modifiers of each head and direction whose items are there, from the nearest on."""

    words: Int32s  # direction, head, number
    counts: Int32s  # direction, head


class Chart(NamedTuple):
    """All that the passes fill."""

    items: Items
    slopes: Items
    siblings: Siblings
    vector: Floats  # room for a vector of states
    marginals: Floats  # of arcs: head, modifier
    expected: Floats  # of ways
    stopped: Floats  # expected stops: head, last modifier


class Marginals(NamedTuple):
    """Signs and logarithms of Z; marginals of arcs, of ways, and of stops."""

    signs: Floats
    logs: Floats
    arcs: Floats
    ways: Floats
    stops: Floats


@fast_kernel
def room(n: int, n_states: int) -> Items:
    """Items of a sentence of n words."""
    one, two = (n + 1, n + 1), (2, n + 1, n + 1)
    states = np.empty((n + 1, n + 1, n_states))  # where there are arcs they are set
    return Items(states, np.zeros(one), np.zeros(two), np.zeros(two), np.zeros(one))


@fast_kernel
def dot(one: Floats, two: Floats) -> float:
    """The inner product of two short vectors."""
    total = 0.0
    for s in range(len(one)):
        total += one[s] * two[s]
    return total
