"""Statistics of head automata: the pasts and futures of modifier sequences, counted together.

    H_s[o, i]   = sum over gaps of sort s of count * past_o * future_i
    H_s,x[o, i] = the same over gaps with modifier x after them: past before x, future after it
    stop        = pasts at the ends,      root = futures at the beginnings, per sequence

Pasts and futures are bags of indicators. The paper's bigrams (algorithm 1 of Luque et al. 2012: START, the
symbols, STOP) are the last and the next symbol; longer views add the last and next two and how many
modifiers there are. Each indicator is divided by the square root of its count, which leaves the
function the same and keeps frequent indicators from ruling the truncation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from sigmastar.core.alphabet import Alphabet, Operation, Signature, Sort, head_signature
from sigmastar.core.arrays import Floats, Int64s
from sigmastar.core.integer_counts import totals
from sigmastar.core.recover import Blocks, Slices, SparseTensor
from sigmastar.dependency.data.sequences import Gaps, head_sorts

Views = Callable[[Gaps], tuple[list[Int64s], list[Int64s]]]
"""Columns of indicators for the past and for the future of every gap."""

LENGTH_BINS = np.array([0, 1, 2, 3, 5])
MOST_INDICATORS = 150  # of a sort
LEAST_COUNT = 2.0  # of an indicator
_FEW = 50.0  # gaps of a sort


def bigram_views(gaps: Gaps) -> tuple[list[Int64s], list[Int64s]]:
    """The last and the next symbol: the statistics of the paper."""
    return [gaps.symbols_after(0)], [gaps.symbols_after(1)]


def rich_views(gaps: Gaps) -> tuple[list[Int64s], list[Int64s]]:
    """Also the last two and the next two symbols, and how many modifiers stand before and after."""
    width = len(gaps.sequences.alphabet) + 1
    past = gaps.symbols_after(0)
    future = gaps.symbols_after(1)
    return (
        [past, past * width + gaps.symbols_after(-1), _bins(gaps.place)],
        [future, future * width + gaps.symbols_after(2), _bins(gaps.remaining)],
    )


def _bins(lengths: Int64s) -> Int64s:
    return np.searchsorted(LENGTH_BINS, lengths)


@dataclass(frozen=True, eq=False)
class Indicators:
    """For every gap and view the number of its indicator within its sort (-1: too rare), with counts."""

    numbers: Int64s  # gaps x views
    sizes: Int64s  # sorts
    starts: Int64s  # where the indicators of a sort begin
    counts: Floats

    @classmethod
    def of(
        cls, gaps: Gaps, views: list[Int64s], most: int = MOST_INDICATORS, least_count: float = LEAST_COUNT
    ) -> Indicators:
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
        ordered = np.zeros(starts[-1])
        ordered[starts[sorts[kept]] + rank[kept]] = counts[kept]
        return cls(numbers, sizes, starts, ordered)

    @cached_property
    def scales(self) -> Floats:
        """What the indicators are multiplied by."""
        return np.asarray(1.0 / np.sqrt(self.counts))

    def counts_of(self, sort: int) -> Floats:
        return self.counts[self.starts[sort] : self.starts[sort + 1]]

    def scales_of(self, sort: int) -> Floats:
        return self.scales[self.starts[sort] : self.starts[sort + 1]]

    def sums(self, gaps: Gaps, table: Floats) -> Floats:
        """For every gap the sum of the rows of its indicators in a table of all indicators."""
        padded = np.vstack([table, np.zeros((1, table.shape[1]))])
        places = self.starts[gaps.sort][:, None] + self.numbers
        return np.asarray(padded[np.where(self.numbers >= 0, places, len(table))].sum(axis=1))


def count_heads(gaps: Gaps, views: Views = rich_views) -> Blocks:
    """The blocks of all sorts that occur, each over the modifiers that it has."""
    pasts, futures = (Indicators.of(gaps, view) for view in views(gaps))
    n_sorts, alphabet = gaps.sequences.n_sorts, gaps.sequences.alphabet
    names = head_sorts(alphabet)
    totals = np.bincount(gaps.sort[gaps.place == 0], gaps.weight[gaps.place == 0], minlength=n_sorts)
    moving = np.flatnonzero(gaps.after < len(alphabet))
    slices = _grouped(gaps, pasts, futures, moving, moving + 1)
    matrices = count_pairs(gaps, pasts, futures)
    present = [sort for sort in range(n_sorts) if len(slices[sort][1]) and matrices[sort].any()]
    modifiers = {
        names[sort]: Alphabet(alphabet.decode(np.unique(slices[sort][0][0]).tolist())) for sort in present
    }
    signature = head_signature(modifiers)
    starts, ends = np.flatnonzero(gaps.place == 0), np.flatnonzero(gaps.remaining == 0)
    root_rows, stop_rows = _rows(gaps, futures, starts), _rows(gaps, pasts, ends)
    return Blocks(
        signature,
        {names[s]: matrices[s] * pasts.scales_of(s)[:, None] * futures.scales_of(s) for s in present},
        {
            operation: piece
            for s in present
            for operation, piece in _pieces(
                signature, names[s], slices[s], stop_rows[s], (pasts.scales_of(s), futures.scales_of(s))
            )
        },
        {names[s]: root_rows[s] * futures.scales_of(s) / totals[s] for s in present},
    )


def count_pairs(gaps: Gaps, pasts: Indicators, futures: Indicators) -> list[Floats]:
    """For every sort how often each indicator of the past and of the future hold together."""
    everywhere = np.arange(len(gaps.sort))
    entries = _grouped(gaps, pasts, futures, everywhere, everywhere)
    matrices = [np.zeros(shape) for shape in zip(pasts.sizes, futures.sizes, strict=True)]
    for matrix, ((_, past, future), counts) in zip(matrices, entries, strict=True):
        matrix[past, future] = counts
    return matrices


Entries = tuple[Int64s, Floats]
"""Coordinates (symbol after the gap, past, future) in rising order, and their counts."""


def _grouped(
    gaps: Gaps, pasts: Indicators, futures: Indicators, before: Int64s, behind: Int64s
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
    distinct, counts = totals(pairs[good], weights.ravel()[good])
    coordinates = np.array(
        [distinct // (n_past * n_future) % n_symbols, distinct // n_future % n_past, distinct % n_future]
    )
    sorts = distinct // (n_past * n_future * n_symbols)
    ends = np.searchsorted(sorts, np.arange(gaps.sequences.n_sorts + 1))
    return [(coordinates[:, low:high], counts[low:high]) for low, high in pairwise(ends.tolist())]


def _rows(gaps: Gaps, indicators: Indicators, chosen: Int64s) -> list[Floats]:
    """How often each indicator holds at the chosen gaps, for every sort."""
    numbers = indicators.numbers[chosen]
    places = indicators.starts[gaps.sort[chosen]][:, None] + numbers
    weights = np.broadcast_to(gaps.weight[chosen][:, None], numbers.shape)[numbers >= 0]
    row = np.bincount(places[numbers >= 0], weights, minlength=len(indicators.counts))
    return np.split(row, indicators.starts[1:-1])


def _pieces(
    signature: Signature, name: Sort, entries: Entries, stop_row: Floats, scales: tuple[Floats, Floats]
) -> list[tuple[Operation, Slices]]:
    """The slices of the two operations of a sort."""
    stop, modifier = (signature.operation((kind, name)) for kind in ("stop", "modifier"))
    of_pasts, of_futures = scales
    (symbols, past, future), counts = entries
    _, codes = np.unique(symbols, return_inverse=True)
    tensor = SparseTensor(
        (len(modifier.alphabet), len(of_pasts), len(of_futures)),
        np.array([codes, past, future]),
        counts * of_pasts[past] * of_futures[future],
    )
    return [(stop, (stop_row * of_pasts)[None]), (modifier, tensor)]


def exact_blocks(alphabet: Alphabet, automata: list[tuple[Floats, Floats, Floats]]) -> Blocks:
    """The blocks of bigram views that endless data would give, from known automata.

    Parameters
    ----------
    alphabet : Alphabet
        The symbols.
    automata : list of triples
        Initial vector, operators and final vector of every sort.

    Returns
    -------
    Blocks
        With F_x = initial (I - A)^-1 A_x and B_x = A_x (I - A)^-1 final, A the sum of all operators, the
        entries F_x B_y; initial and final themselves belong to the beginning and the end.
    """
    names = head_sorts(alphabet)
    signature = head_signature(dict.fromkeys(names, alphabet))
    matrices, slices, roots = {}, {}, {}
    for name, (initial, operators, final) in zip(names, automata, strict=True):
        endless = np.linalg.inv(np.eye(len(initial)) - operators.sum(axis=0))
        pasts = np.vstack([initial @ endless @ operators, initial[None]])
        futures = np.vstack([operators @ endless @ final, final[None]]).T
        matrices[name], roots[name] = pasts @ futures, initial @ futures
        slices[signature.operation(("stop", name))] = (pasts @ final)[None]
        slices[signature.operation(("modifier", name))] = pasts @ operators @ futures
    return Blocks(signature, matrices, slices, roots)
