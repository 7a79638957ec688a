"""Blocks of head automata from the pasts and futures of modifier sequences.

    H_s[o, i]   = sum over gaps of sort s of count * past_o * future_i
    H_s,x[o, i] = the same over gaps with modifier x after them: past before x, future after it
    stop        = pasts at the ends,      root = futures at the beginnings, a sequence

Pasts and futures are bags of indicators. The paper's bigrams (algorithm 1 of Luque et al. 2012: START, the
symbols, STOP) are the last and the next symbol; longer views add the last and next two and how many
modifiers there are. Each indicator is divided by the square root of its count, which leaves the
function the same and keeps frequent indicators from ruling the truncation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.alphabet import Alphabet
from sigmastar.core.blocks import Blocks, Slices, SparseTensor
from sigmastar.core.signature import Operation, Signature, Sort, head_signature
from sigmastar.dependency.data.gaps import Array, Gaps, Integers
from sigmastar.dependency.data.sequences import head_sorts

Views = Callable[[Gaps], tuple[list[Integers], list[Integers]]]
"""Columns of indicators for the past and for the future of every gap."""

LENGTH_BINS = np.array([0, 1, 2, 3, 5])
_FEW = 50.0  # gaps of a sort


def bigram_views(gaps: Gaps) -> tuple[list[Integers], list[Integers]]:
    """The last and the next symbol: the statistics of the paper."""
    return [gaps.symbols_after(0)], [gaps.symbols_after(1)]


def rich_views(gaps: Gaps) -> tuple[list[Integers], list[Integers]]:
    """Also the last two and the next two symbols, and how many modifiers stand before and after."""
    width = len(gaps.sequences.alphabet) + 1
    past = gaps.symbols_after(0)
    future = gaps.symbols_after(1)
    return (
        [past, past * width + gaps.symbols_after(-1), _bins(gaps.place)],
        [future, future * width + gaps.symbols_after(2), _bins(gaps.remaining)],
    )


def _bins(lengths: Integers) -> Integers:
    return np.searchsorted(LENGTH_BINS, lengths)


@dataclass(frozen=True, eq=False)
class Indicators:
    """For every gap and view the number of its indicator within its sort (-1: too rare), with scales."""

    numbers: NDArray[np.int64]  # gaps x views
    sizes: NDArray[np.int64]  # sorts
    starts: NDArray[np.int64]  # where a sort's scales begin
    scales: Array

    @classmethod
    def of(cls, gaps: Gaps, views: list[Integers], most: int, least_count: float) -> Indicators:
        """Of each sort the `most` frequent indicators; rarer than `least_count` only where data are few."""
        n_gaps, n_views, n_sorts = len(gaps.sort), len(views), gaps.sequences.n_sorts
        span = max(int(view.max(initial=0)) for view in views) + 1
        keys = ((gaps.sort[:, None] * n_views + np.arange(n_views)) * span + np.stack(views, axis=1)).ravel()
        distinct, inverse = np.unique(keys, return_inverse=True)
        counts = np.bincount(inverse, np.repeat(gaps.weight, n_views))
        sorts = distinct // (n_views * span)
        order = np.lexsort((-counts, sorts))
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order)) - np.searchsorted(sorts, np.arange(n_sorts))[sorts[order]]
        amounts = np.bincount(gaps.sort, gaps.weight, minlength=n_sorts)
        kept = (rank < most) & ((counts >= least_count) | (amounts <= _FEW)[sorts])
        numbers = np.where(kept, rank, -1)[inverse].reshape(n_gaps, n_views)
        sizes = np.bincount(sorts[kept], minlength=n_sorts)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        scales = np.zeros(starts[-1])
        scales[starts[sorts[kept]] + rank[kept]] = 1.0 / np.sqrt(counts[kept])
        return cls(numbers, sizes, starts, scales)

    def of_sort(self, sort: int) -> Array:
        return self.scales[self.starts[sort] : self.starts[sort + 1]]


def count_heads(gaps: Gaps, views: Views = rich_views, most: int = 150, least_count: float = 2.0) -> Blocks:
    """The blocks of all sorts that occur, each over the modifiers that it has."""
    pasts, futures = (Indicators.of(gaps, view, most, least_count) for view in views(gaps))
    n_sorts, alphabet = gaps.sequences.n_sorts, gaps.sequences.alphabet
    names = head_sorts(alphabet)
    totals = np.bincount(gaps.sort[gaps.place == 0], gaps.weight[gaps.place == 0], minlength=n_sorts)
    moving = np.flatnonzero(gaps.after < len(alphabet))
    slices = _grouped(gaps, pasts, futures, moving, moving + 1)
    everywhere = np.arange(len(gaps.sort))
    matrices = _grouped(gaps, pasts, futures, everywhere, everywhere)
    present = [sort for sort in range(n_sorts) if len(slices[sort][1]) and len(matrices[sort][1])]
    modifiers = {
        names[sort]: Alphabet(alphabet.decode(np.unique(slices[sort][0][0]).tolist())) for sort in present
    }
    signature = head_signature(modifiers)
    starts, ends = np.flatnonzero(gaps.place == 0), np.flatnonzero(gaps.remaining == 0)
    root_rows, stop_rows = _rows(gaps, futures, starts), _rows(gaps, pasts, ends)
    return Blocks(
        signature,
        {names[s]: _matrix(matrices[s], pasts.of_sort(s), futures.of_sort(s)) for s in present},
        {
            operation: piece
            for s in present
            for operation, piece in _pieces(signature, names[s], slices[s], stop_rows[s], pasts, futures, s)
        },
        {names[s]: root_rows[s] * futures.of_sort(s) / totals[s] for s in present},
    )


Entries = tuple[NDArray[np.int64], Array]
"""Coordinates (symbol after the gap, past, future) in rising order, and their counts."""


def _grouped(
    gaps: Gaps, pasts: Indicators, futures: Indicators, before: Integers, behind: Integers
) -> list[Entries]:
    """Counts of (symbol, past of gap `before`, future of gap `behind`) for every sort."""
    past, future = pasts.numbers[before], futures.numbers[behind]
    n_past, n_future = int(pasts.sizes.max()) + 1, int(futures.sizes.max()) + 1
    symbols = gaps.after[before] if before is not behind else np.zeros(len(before), dtype=np.int64)
    n_symbols = len(gaps.sequences.alphabet) + 1
    keys = gaps.sort[before] * n_symbols + symbols
    pairs = ((keys[:, None, None] * n_past + past[:, :, None]) * n_future + future[:, None, :]).ravel()
    good = ((past >= 0)[:, :, None] & (future >= 0)[:, None, :]).ravel()
    weights = np.broadcast_to(
        gaps.weight[before][:, None, None], (len(before), past.shape[1], future.shape[1])
    )
    distinct, inverse = np.unique(pairs[good], return_inverse=True)
    counts = np.bincount(inverse, weights.ravel()[good]).astype(np.float64)
    coordinates = np.array(
        [distinct // (n_past * n_future) % n_symbols, distinct // n_future % n_past, distinct % n_future]
    )
    sorts = distinct // (n_past * n_future * n_symbols)
    ends = np.searchsorted(sorts, np.arange(gaps.sequences.n_sorts + 1))
    return [(coordinates[:, low:high], counts[low:high]) for low, high in pairwise(ends.tolist())]


def _rows(gaps: Gaps, indicators: Indicators, chosen: Integers) -> list[Array]:
    """How often each indicator holds at the chosen gaps, for every sort."""
    numbers = indicators.numbers[chosen]
    places = indicators.starts[gaps.sort[chosen]][:, None] + numbers
    weights = np.broadcast_to(gaps.weight[chosen][:, None], numbers.shape)[numbers >= 0]
    row = np.bincount(places[numbers >= 0], weights, minlength=len(indicators.scales))
    return np.split(row, indicators.starts[1:-1])


def _matrix(entries: Entries, past_scales: Array, future_scales: Array) -> Array:
    (_, past, future), counts = entries
    matrix = np.zeros((len(past_scales), len(future_scales)))
    matrix[past, future] = counts * past_scales[past] * future_scales[future]
    return matrix


def _pieces(
    signature: Signature, name: Sort, entries: Entries, stop_row: Array,
    pasts: Indicators, futures: Indicators, sort: int,
) -> list[tuple[Operation, Slices]]:  # fmt: skip
    """The slices of the two operations of a sort."""
    stop, modifier = (signature.operation((kind, name)) for kind in ("stop", "modifier"))
    past_scales, future_scales = pasts.of_sort(sort), futures.of_sort(sort)
    (symbols, past, future), counts = entries
    _, codes = np.unique(symbols, return_inverse=True)
    tensor = SparseTensor(
        (len(modifier.alphabet), len(past_scales), len(future_scales)),
        np.array([codes, past, future]),
        counts * past_scales[past] * future_scales[future],
    )
    return [(stop, (stop_row * past_scales)[None]), (modifier, tensor)]
