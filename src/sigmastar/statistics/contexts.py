"""Statistics on disjoint context classes.

At every gap j of the corpus let r(j) be the class of its past and c(j) that of its future. Then

    H[r, c]   = #{j: r(j) = r, c(j) = c}
    H_a[r, c] = #{j: r(j) = r, x_j = a, c(j + 1) = c}
    stop[r]   = #{j at the end of a string: r(j) = r},     root[c] = #{j at a start: c(j) = c} / #strings

are blocks of strings like any other, but their rows and columns do not overlap, so scaling them by
the square root of their counts (canonical correlation) is sound: on overlapping bases it is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sigmastar.statistics.blocks import Blocks, SparseTensor
from sigmastar.statistics.tallies import Keys, add, subtract, tally_pairs
from sigmastar.structures.contexts import ContextTrie
from sigmastar.structures.signature import string_signature
from sigmastar.structures.strings import Strings, require_known

Longs = NDArray[np.int64]

_GAPS_AT_ONCE = 1 << 19


@dataclass(frozen=True, eq=False)
class ContextCounts:
    """Counts on a pair of context tries; counts of shards of a corpus add up exactly."""

    strings_like: Strings  # an empty corpus that carries the alphabet
    pasts: ContextTrie
    futures: ContextTrie
    n_strings: int
    keys: Keys  # sorted positions (past, future) with counts
    counts: Keys
    slice_keys: Keys  # sorted positions (symbol, past, future) with counts
    slice_counts: Keys
    ends: Longs  # how many strings end in each past class
    starts: Longs  # how many strings begin in each future class

    @classmethod
    def of(cls, strings: Strings, pasts: ContextTrie, futures: ContextTrie) -> ContextCounts:
        """Counted piece by piece, so that the classes of all gaps are never held at once."""
        pieces = iter(strings.pieces(_GAPS_AT_ONCE))
        total = cls._of_piece(next(pieces, strings), pasts, futures)
        for piece in pieces:
            total = total + cls._of_piece(piece, pasts, futures)
        return total

    @classmethod
    def _of_piece(cls, strings: Strings, pasts: ContextTrie, futures: ContextTrie) -> ContextCounts:
        past, future = pasts.classify(require_known(strings)), futures.classify(strings)
        first_gaps = strings.offsets[:-1] + np.arange(len(strings))
        last_gaps = strings.offsets[1:] + np.arange(len(strings))
        n_pasts, n_futures, n_symbols = pasts.n_classes, futures.n_classes, len(strings.alphabet)
        before = np.delete(past, last_gaps).astype(_narrowest(n_symbols * n_pasts))
        before += strings.codes.astype(before.dtype) * n_pasts
        return cls(
            Strings(strings.alphabet, strings.codes[:0], strings.offsets[:1]),
            pasts,
            futures,
            len(strings),
            *tally_pairs(past, future, n_pasts, n_futures),
            *tally_pairs(before, np.delete(future, first_gaps), n_symbols * n_pasts, n_futures),
            np.bincount(past[last_gaps], minlength=n_pasts),
            np.bincount(future[first_gaps], minlength=n_futures),
        )

    def __add__(self, other: ContextCounts) -> ContextCounts:
        return self._merged(other, 1)

    def __sub__(self, other: ContextCounts) -> ContextCounts:
        """The counts without those of some of their strings."""
        return self._merged(other, -1)

    def _merged(self, other: ContextCounts, sign: int) -> ContextCounts:
        if self.pasts is not other.pasts or self.futures is not other.futures:
            raise ValueError("counts on different context classes cannot be added")
        merge = add if sign > 0 else subtract
        return ContextCounts(
            self.strings_like,
            self.pasts,
            self.futures,
            self.n_strings + sign * other.n_strings,
            *merge((self.keys, self.counts), (other.keys, other.counts)),
            *merge((self.slice_keys, self.slice_counts), (other.slice_keys, other.slice_counts)),
            self.ends + sign * other.ends,
            self.starts + sign * other.starts,
        )

    def coarsened(self, pasts: ContextTrie, futures: ContextTrie) -> ContextCounts:
        """The counts on coarser classes, whose tries are parts of these."""
        if pasts is self.pasts and futures is self.futures:
            return self
        past, future = self.pasts.classes_in(pasts), self.futures.classes_in(futures)
        n_symbols, n_pasts, n_futures = len(self.strings_like.alphabet), pasts.n_classes, futures.n_classes
        majors, minors = np.divmod(self.keys, self.futures.n_classes)
        steps, following = np.divmod(self.slice_keys, self.futures.n_classes)
        symbols, before = np.divmod(steps, self.pasts.n_classes)
        before = symbols * n_pasts + past[before]
        return ContextCounts(
            self.strings_like,
            pasts,
            futures,
            self.n_strings,
            *tally_pairs(past[majors], future[minors], n_pasts, n_futures, self.counts),
            *tally_pairs(before, future[following], n_symbols * n_pasts, n_futures, self.slice_counts),
            np.bincount(past, self.ends, n_pasts).astype(np.int64),
            np.bincount(future, self.starts, n_futures).astype(np.int64),
        )

    @property
    def past_counts(self) -> Longs:
        """How many gaps lie in each past class."""
        return np.bincount(self.keys // self.futures.n_classes, self.counts, self.pasts.n_classes).astype(
            np.int64
        )

    @property
    def future_counts(self) -> Longs:
        return np.bincount(self.keys % self.futures.n_classes, self.counts, self.futures.n_classes).astype(
            np.int64
        )

    def next_symbols(self) -> tuple[Longs, Longs, Longs]:
        """Sorted (past class, next symbol, count) entries; the end of string is symbol `len(alphabet)`."""
        width = len(self.strings_like.alphabet) + 1
        symbol, past = np.divmod(self.slice_keys // self.futures.n_classes, self.pasts.n_classes)
        enders = np.flatnonzero(self.ends)
        keys, counts = tally_pairs(
            np.concatenate([past, enders]),
            np.concatenate([symbol, np.full(len(enders), width - 1)]),
            self.pasts.n_classes,
            width,
            np.concatenate([self.slice_counts, self.ends[enders]]),
        )
        return keys // np.int64(width), keys % np.int64(width), counts.astype(np.int64)

    def blocks(self) -> Blocks:
        alphabet = self.strings_like.alphabet
        signature = string_signature(alphabet)
        stop, symbol = signature.operations
        shape = (self.pasts.n_classes, self.futures.n_classes)
        past, future = np.divmod(self.keys, shape[1])
        row_starts = np.searchsorted(past, np.arange(shape[0] + 1))
        matrix = sparse.csr_array((self.counts.astype(float), future, row_starts), shape=shape)
        steps, future = np.divmod(self.slice_keys, shape[1])
        coordinates = np.array([*np.divmod(steps, shape[0]), future])
        slices = SparseTensor((len(alphabet), *shape), coordinates, self.slice_counts.astype(float))
        return Blocks(
            signature,
            {"string": matrix},
            {stop: self.ends[None].astype(float), symbol: slices},
            {"string": self.starts / self.n_strings},
        )


def correlation_scaled(counts: ContextCounts) -> Blocks:
    """Blocks scaled so that their singular values are canonical correlations; the first is 1."""
    outside = 1.0 / np.sqrt(np.maximum(counts.past_counts, 1))
    inside = 1.0 / np.sqrt(np.maximum(counts.future_counts, 1))
    return counts.blocks().weighted({"string": outside}, {"string": inside})


def _narrowest(n_values: int) -> type[np.signedinteger[Any]]:
    return np.int32 if n_values < 1 << 31 else np.int64
