"""What the recursions over head automata read and fill: see `eisner`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Codes = NDArray[np.int32]
Longs = NDArray[np.int64]


class Automata(NamedTuple):
    """The arrays of all head automata, padded to the largest number of states."""

    n_states: Codes  # sorts
    initial: Array  # sorts x states
    final: Array  # sorts x states
    operators: Array  # sorts x symbols x states x states


class Ways(NamedTuple):
    """Weights of the ways to come to a modifier: from each sibling nearer to the head, then from none.

    Those of the arc from h to e begin at `starts[h, e]`, its siblings from the nearest to the head on.
    Where `weights` is empty all are one.
    """

    starts: Longs  # head, modifier
    weights: Array


class Sentence(NamedTuple):
    """What the passes read; position 0 is the root, codes[0] the number of symbols."""

    codes: Codes
    classes: Codes
    weights: Array  # class, head, modifier
    stops: Array  # class, direction, head
    ways: Ways


class Items(NamedTuple):
    """Values of items, or derivatives by them."""

    states: Array  # P: head, end, state
    ended: Array  # P . final: head, end
    halves: Array  # t: direction, head, end
    halves_by_end: Array  # direction, end, head
    pairs: Array  # S: both ways round


class Siblings(NamedTuple):
    """The modifiers of each head and direction whose items are there, from the nearest on."""

    words: Codes  # direction, head, number
    counts: Codes  # direction, head
