"""The gaps and steps of a corpus, put into buckets by the classes of their pasts.

Classes come from tables, one look per gap: pasts are read forwards, futures backwards a string at a time, so
that the classes of a corpus are never held. A gap goes into the bucket of its past, a step that reads
symbol a in past r into bucket a R + r; what is kept of each is the class of the future after it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.core.arrays import Array, Int32s, Int64s
from sigmastar.core.integer_counts import minor_type
from sigmastar.core.jit import kernel, part


class ClassBuckets(NamedTuple):
    """Where buckets begin (with the end added), the futures in them, and the classes of edges."""

    gap_starts: Int64s
    gap_futures: Array
    step_starts: Int64s
    step_futures: Array
    ends: Int64s  # how many strings end in each past class
    starts: Int64s  # how many begin in each future class


class ClassTables(NamedTuple):
    """The class that follows each class on each symbol, and that at the edge, of pasts and of futures."""

    pasts: Int32s
    futures: Int32s
    past_edge: int
    future_edge: int


def bucket_classes(strings: Strings, tables: ClassTables) -> ClassBuckets:
    """The gaps and steps of a corpus of known symbols."""
    n_pasts, n_futures, of = len(tables.pasts), len(tables.futures), minor_type(len(tables.futures))
    n_steps = len(strings.alphabet) * n_pasts
    found = ClassBuckets(
        np.zeros(n_pasts + 2, np.int64),
        np.empty(strings.n_gaps, of),
        np.zeros(n_steps + 2, np.int64),
        np.empty(len(strings.codes), of),
        np.zeros(n_pasts, np.int64),
        np.zeros(n_futures, np.int64),
    )
    futures = np.empty(int(strings.lengths.max(initial=0)) + 1, of)
    _bucket_classes(strings.codes, strings.offsets, tables, found, futures)
    return found._replace(gap_starts=found.gap_starts[:-1], step_starts=found.step_starts[:-1])


@kernel
def _bucket_classes(
    codes: Int32s, offsets: Int64s, tables: ClassTables, found: ClassBuckets, futures: Array
) -> None:
    """`futures` has room for the classes in a string."""
    gaps, steps, n_pasts = found.gap_starts, found.step_starts, len(tables.pasts)
    _measure(codes, offsets, tables, found)
    for string in range(len(offsets) - 1):
        first, length = offsets[string], offsets[string + 1] - offsets[string]
        future, past = tables.future_edge, tables.past_edge
        futures[length] = future
        for at in range(length - 1, -1, -1):
            future = tables.futures[future, codes[first + at]]
            futures[at] = future
        found.starts[future] += 1
        for at in range(length + 1):
            found.gap_futures[gaps[past + 1]] = futures[at]
            gaps[past + 1] += 1
            if at < length:
                step = codes[first + at] * n_pasts + past
                found.step_futures[steps[step + 1]] = futures[at + 1]
                steps[step + 1] += 1
                past = tables.pasts[past, codes[first + at]]


@part
def _measure(codes: Int32s, offsets: Int64s, tables: ClassTables, found: ClassBuckets) -> None:
    """Where each bucket begins, one place behind its own: filling it then leaves where the next begins."""
    gaps, steps, n_pasts = found.gap_starts, found.step_starts, len(tables.pasts)
    for string in range(len(offsets) - 1):
        past = tables.past_edge
        for at in range(offsets[string], offsets[string + 1]):
            gaps[past + 2] += 1
            steps[codes[at] * n_pasts + past + 2] += 1
            past = tables.pasts[past, codes[at]]
        gaps[past + 2] += 1
        found.ends[past] += 1
    for bucket in range(2, len(gaps)):
        gaps[bucket] += gaps[bucket - 1]
    for bucket in range(2, len(steps)):
        steps[bucket] += steps[bucket - 1]
