"""What arcs weigh before anything decides, and what trained indicators of arcs and siblings make of them.

    d(h, e) = table[sort of h towards e, symbol of e, bin of |h - e|]

A table [head, modifier] of every sentence, flat; arcs that deterministic automata think improbable weigh
nothing, and nothing more is computed of them. Positions are as in `inside_outside`: 0 is the root, whose
sort is the last. A way to come to a modifier is an arc with the sibling next to it towards the head, or
with none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.jit import kernel, part
from sigmastar.dependency.kernels.arc_features import multiply_arcs
from sigmastar.dependency.kernels.inside_outside import Ways
from sigmastar.dependency.kernels.pruning import prune
from sigmastar.dependency.kernels.way_features import weigh_stops, weigh_ways
from sigmastar.dependency.model.head_automata import HeadAutomata
from sigmastar.dependency.model.vocabulary import Encoded

PRUNING = 3e-4
N_BINS = 7  # of distances


@dataclass(frozen=True, eq=False)
class ArcPrior:
    """What is known of arcs and trees beside the model that decides.

    Parameters
    ----------
    automata : HeadAutomata
        Deterministic ones (DET+F), which rule arcs out, and decide where nothing else can.
    frequencies : Floats
        Shares of the symbols, for the scale.
    distances : Floats or None
        Weights of distances: sort, symbol, bin.
    pruning : float
        Arcs whose marginals under `automata` are below it weigh nothing.
    single_root : bool
        Whether exactly one word hangs on the root.
    """

    automata: HeadAutomata
    frequencies: Floats
    distances: Floats | None = None
    pruning: float = PRUNING
    single_root: bool = True

    def __post_init__(self) -> None:
        n = len(self.automata.alphabet)
        shape = None if self.distances is None else self.distances.shape
        if self.frequencies.shape != (n,) or not (self.frequencies >= 0).all():
            raise ValueError(f"frequencies: {n} symbols have as many shares, none of them negative")
        if shape not in (None, (2 * n + 1, n, N_BINS)):
            raise ValueError(f"distances of shape {shape} do not fit {n} symbols")
        if self.distances is not None and not (np.isfinite(self.distances) & (self.distances > 0)).all():
            raise ValueError("distances: weights must be finite and above zero")
        if not 0.0 <= self.pruning < 1.0:
            raise ValueError(f"pruning={self.pruning} must be 0 or more, and below 1")
        _ = self.automata.first_and_rest

    @property
    def scales(self) -> Floats:
        """A factor for each symbol that keeps the weights of sentences near one."""
        return 1.0 / np.maximum(self.frequencies, 1e-4)

    def weights(self, sentences: Encoded, spared: Int64s | None = None, exact: bool = False) -> Floats:
        """Distances of arcs that are not improbable, or `spared` by their places; of all where `exact`."""
        at = sentences.squares
        weights = np.ones(at[-1])
        if self.distances is not None:
            multiply_distances(sentences.codes, sentences.offsets, self.distances, weights, at)
        if self.pruning > 0 and not exact:
            held = None if spared is None else weights[spared]
            prune(
                sentences.codes,
                sentences.offsets,
                self.automata.first_and_rest,
                weights,
                at,
                self.scales,
                self.pruning,
            )
            if spared is not None:
                weights[spared] = held
        return weights


@dataclass(frozen=True, eq=False)
class ArcScores:
    """Weights of arcs and of ways; head, sibling and modifier of ways, and where those of sentences begin."""

    weights: Floats
    ways: Ways
    siblings: Int32s
    way_starts: Int64s


def no_ways(weights: Floats) -> Ways:
    """Ways and stops that weigh nothing beside their arcs."""
    return Ways(np.zeros(len(weights), dtype=np.int64), np.zeros(0), np.zeros(0))


def score_arcs(sentences: Encoded, weights: Floats, theta: Floats) -> ArcScores:
    """Weights, which are changed, times those of trained indicators."""
    assert sentences.rows is not None
    multiply_arcs(sentences.rows, sentences.starts, theta, weights, sentences.squares)
    places, siblings, at = lay_ways(weights, sentences.offsets)
    of_ways = weigh_ways(sentences.rows, sentences.starts, at, siblings, theta)
    stops = weigh_stops(sentences.rows, sentences.starts, weights, sentences.squares, theta)
    return ArcScores(weights, Ways(places, of_ways, stops), siblings, at)


@part
def _bin(distance: int) -> int:
    """1, 2, 3, 4, 5 and 6, 7 to 10, more."""
    if distance <= 4:
        return distance - 1
    return 4 if distance <= 6 else 5 if distance <= 10 else 6


@part
def _sort(head: int, end: int, codes: Int32s, start: int, root: int) -> int:
    return root if head == 0 else 2 * codes[start + head - 1] + (1 if end > head else 0)


@kernel
def count_distances(codes: Int32s, heads: Int32s, offsets: Int64s, n_symbols: int) -> tuple[Floats, Floats]:
    """How often each bin is seen between head and modifier, and between two words, [sort, symbol, bin]."""
    root = 2 * n_symbols
    arcs, pairs = np.zeros((root + 1, n_symbols, N_BINS)), np.zeros((root + 1, n_symbols, N_BINS))
    for q in range(len(offsets) - 1):
        start = offsets[q]
        n = offsets[q + 1] - start
        for e in range(1, n + 1):
            symbol = codes[start + e - 1]
            for h in range(n + 1):
                if h == e:
                    continue
                sort, number = _sort(h, e, codes, start, root), _bin(abs(h - e))
                pairs[sort, symbol, number] += 1.0
                if heads[start + e - 1] == h:
                    arcs[sort, symbol, number] += 1.0
    return arcs, pairs


@kernel
def multiply_distances(codes: Int32s, offsets: Int64s, table: Floats, weights: Floats, at: Int64s) -> None:
    """Multiply the weights of all arcs, which lie flat, each sentence as [head, modifier] from `at` on."""
    root = len(table) - 1
    for q in range(len(offsets) - 1):
        start = offsets[q]
        n = offsets[q + 1] - start
        for h in range(n + 1):
            row = weights[at[q] + h * (n + 1) : at[q] + (h + 1) * (n + 1)]
            for e in range(1, n + 1):
                if h != e:
                    row[e] *= table[_sort(h, e, codes, start, root), codes[start + e - 1], _bin(abs(h - e))]


@kernel
def lay_ways(weights: Floats, offsets: Int64s) -> tuple[Int64s, Int32s, Int64s]:
    """Where the ways of each arc begin; head, sibling (0: none) and modifier of each; where sentences begin.

    Arcs that weigh nothing have none; the others have those of `Ways`. `weights` lies flat.
    """
    starts, at = np.zeros(len(weights), np.int64), np.zeros(len(offsets), np.int64)
    for again in range(2):
        ways = np.empty((at[-1], 3), np.int32)
        total = low = 0
        for q in range(len(offsets) - 1):
            n = offsets[q + 1] - offsets[q] + 1
            for h in range(n):
                for step in (-1, 1):
                    count, e = 0, h + step
                    while 0 < e < n:
                        place = low + h * n + e
                        if weights[place] != 0.0:
                            starts[place] = total
                            if again:
                                number, k = 0, h + step
                                while k != e:
                                    if weights[low + h * n + k] != 0.0:
                                        ways[total + number] = (h, k, e)
                                        number += 1
                                    k += step
                                ways[total + count] = (h, 0, e)
                            count += 1
                            total += count
                        e += step
            low += n * n
            at[q + 1] = total
    return starts, ways, at
