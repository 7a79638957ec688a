"""What arcs weigh before anything decides, and what trained indicators make of them.

    d(h, e) = table[sort of h towards e, symbol of e, bin of |h - e| and of the strongest barrier between]

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
from sigmastar.dependency.kernels.grandparents import Factors, Links, Sums, link_arcs, sum_trees
from sigmastar.dependency.kernels.pruning import prune
from sigmastar.dependency.kernels.way_features import weigh_grands, weigh_stops, weigh_ways
from sigmastar.dependency.model.head_automata import HeadAutomata
from sigmastar.dependency.model.vocabulary import Encoded

PRUNING = 3e-4
N_DISTANCES = 7  # bins of them
N_BARRIERS = 4  # classes of symbols, by how few arcs lead over them
N_BINS = N_DISTANCES * N_BARRIERS


@dataclass(frozen=True, eq=False)
class Distances:
    """What arcs weigh by how far they reach and what they lead over.

    Parameters
    ----------
    table : Floats
        Weights: sort, symbol, bin.
    barriers : Int64s
        The class of each symbol: the larger, the fewer arcs lead over it.
    """

    table: Floats
    barriers: Int64s

    def __post_init__(self) -> None:
        n, shape = len(self.barriers), self.table.shape
        if shape != (2 * n + 1, n, N_BINS):
            raise ValueError(f"distances of shape {shape} do not fit {n} symbols")
        if not (np.isfinite(self.table) & (self.table > 0)).all():
            raise ValueError("distances: weights must be finite and above zero")
        if not ((self.barriers >= 0) & (self.barriers < N_BARRIERS)).all():
            raise ValueError(f"barriers: classes must be from 0 to {N_BARRIERS - 1}")

    @property
    def arrays(self) -> tuple[Floats, Int64s]:
        """What kernels read."""
        return self.table, self.barriers


@dataclass(frozen=True, eq=False)
class ArcPrior:
    """What is known of arcs and trees beside the model that decides.

    Parameters
    ----------
    automata : HeadAutomata
        Deterministic ones (DET+F), which rule arcs out, and decide where nothing else can.
    frequencies : Floats
        Shares of the symbols, for the scale.
    distances : Distances or None
        Weights of distances.
    pruning : float
        Arcs whose marginals under `automata` are below it weigh nothing.
    single_root : bool
        Whether exactly one word hangs on the root.
    """

    automata: HeadAutomata
    frequencies: Floats
    distances: Distances | None = None
    pruning: float = PRUNING
    single_root: bool = True

    def __post_init__(self) -> None:
        n = len(self.automata.alphabet)
        if self.frequencies.shape != (n,) or not (self.frequencies >= 0).all():
            raise ValueError(f"frequencies: {n} symbols have as many shares, none of them negative")
        if self.distances is not None and len(self.distances.barriers) != n:
            raise ValueError(f"barriers: {n} symbols have as many classes")
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
            multiply_distances(sentences.codes, sentences.offsets, *self.distances.arrays, weights, at)
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
    """Weights of all parts of trees; of ways head, sibling, modifier, and where those of sentences begin."""

    factors: Factors
    links: Links
    siblings: Int32s
    way_starts: Int64s

    def sums(self, offsets: Int64s) -> Sums:
        """What all trees of the sentences weigh, and the expectations of their parts."""
        return sum_trees(offsets, self.links, self.factors)


def score_arcs(sentences: Encoded, weights: Floats, theta: Floats) -> ArcScores:
    """Weights, which are changed, times those of trained indicators."""
    assert sentences.rows is not None
    rows, starts = sentences.rows, sentences.starts
    multiply_arcs(rows, starts, theta, weights, sentences.squares)
    places, siblings, at = lay_ways(weights, sentences.offsets)
    links = link_arcs(weights, sentences.offsets)
    of_ways = weigh_ways(rows, starts, at, siblings, theta)
    stops = weigh_stops(rows, starts, weights, sentences.squares, theta)
    grands = weigh_grands(rows, starts, links, theta)
    return ArcScores(Factors(weights, places, of_ways, stops, grands), links, siblings, at)


@part
def _bin(distance: int, barrier: int) -> int:
    """Distances 1, 2, 3, 4, 5 and 6, 7 to 10, more; in each of them the classes of barriers."""
    if distance <= 4:
        return N_BARRIERS * (distance - 1) + barrier
    return N_BARRIERS * (4 if distance <= 6 else 5 if distance <= 10 else 6) + barrier


@part
def _sort(head: int, end: int, codes: Int32s, start: int, root: int) -> int:
    return root if head == 0 else 2 * codes[start + head - 1] + (1 if end > head else 0)


@kernel
def count_distances(codes: Int32s, heads: Int32s, offsets: Int64s, barriers: Int64s) -> tuple[Floats, Floats]:
    """How often each bin is seen between head and modifier, and between two words, [sort, symbol, bin]."""
    n_symbols = len(barriers)
    root = 2 * n_symbols
    arcs, pairs = np.zeros((root + 1, n_symbols, N_BINS)), np.zeros((root + 1, n_symbols, N_BINS))
    for q in range(len(offsets) - 1):
        start = offsets[q]
        n = offsets[q + 1] - start
        for h in range(n + 1):
            for step in (-1, 1):
                e, barrier = h + step, 0
                while 0 < e <= n:
                    symbol = codes[start + e - 1]
                    sort, number = _sort(h, e, codes, start, root), _bin(abs(h - e), barrier)
                    pairs[sort, symbol, number] += 1.0
                    if heads[start + e - 1] == h:
                        arcs[sort, symbol, number] += 1.0
                    barrier = max(barrier, barriers[symbol])
                    e += step
    return arcs, pairs


@kernel
def count_crossings(codes: Int32s, heads: Int32s, offsets: Int64s, rates: Floats) -> tuple[Floats, Floats]:
    """How many arcs lead over each symbol, and how many would if `rates` of distances alone decided."""
    n_symbols = codes.max() + 1
    found, expected = np.zeros(n_symbols), np.zeros(n_symbols)
    for q in range(len(offsets) - 1):
        start = offsets[q]
        n = offsets[q + 1] - start
        for h in range(n + 1):
            for step in (-1, 1):
                last, total = 1 if step < 0 else n, 0.0
                e = last
                while (e - h) * step > 0:
                    expected[codes[start + e - 1]] += total
                    total += rates[min(abs(e - h), len(rates) - 1)]
                    e -= step
        for e in range(1, n + 1):
            h = heads[start + e - 1]
            for k in range(min(h, e) + 1, max(h, e)):
                found[codes[start + k - 1]] += 1.0
    return found, expected


@kernel
def multiply_distances(
    codes: Int32s, offsets: Int64s, table: Floats, barriers: Int64s, weights: Floats, at: Int64s
) -> None:
    """Multiply the weights of all arcs, which lie flat, each sentence as [head, modifier] from `at` on."""
    root = len(table) - 1
    for q in range(len(offsets) - 1):
        start = offsets[q]
        n = offsets[q + 1] - start
        for h in range(n + 1):
            row = weights[at[q] + h * (n + 1) : at[q] + (h + 1) * (n + 1)]
            for step in (-1, 1):
                e, barrier = h + step, 0
                while 0 < e <= n:
                    symbol = codes[start + e - 1]
                    row[e] *= table[_sort(h, e, codes, start, root), symbol, _bin(abs(h - e), barrier)]
                    barrier = max(barrier, barriers[symbol])
                    e += step


@kernel
def lay_ways(weights: Floats, offsets: Int64s) -> tuple[Int64s, Int32s, Int64s]:
    """Where the ways of each arc begin; head, sibling (0: none) and modifier of each; where sentences begin.

    Arcs that weigh nothing have none; the others have their siblings, from the nearest to the head on, then
    none. `weights` lies flat.
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
