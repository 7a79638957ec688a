"""The gaps and steps of a corpus, put into buckets by the classes of their pasts.

Classes come from tables, one look per gap: pasts are read forwards, futures backwards a string at a time, so
that the classes of a corpus are never held. A gap goes into the bucket of its past, a step that reads
symbol a in past r into bucket a R + r; what is kept of each is the class of the future after it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sigmastar.core.arrays import Array, Int32s, Int64s
from sigmastar.core.jit import kernel, part


class ClassBuckets(NamedTuple):
    """Where buckets begin (with the end added), the futures in them, and the classes of edges."""

    gap_starts: Int64s
    gap_futures: Array
    step_starts: Int64s
    step_futures: Array
    ends: Int64s  # how many strings end in each past class
    starts: Int64s  # how many begin in each future class


@kernel
def bucket_classes(
    codes: Int32s,
    offsets: Int64s,
    past_table: Int32s,
    future_table: Int32s,
    past_edge: int,
    future_edge: int,
    n_steps: int,
    like: Array,
) -> ClassBuckets:
    """Futures are held in the type of `like`."""
    n_pasts, n_futures = len(past_table), len(future_table)
    gap_starts, step_starts, ends = _sizes(codes, offsets, past_table, past_edge, n_steps)
    gap_place, step_place = gap_starts.copy(), step_starts.copy()
    gap_futures = np.empty(gap_starts[-1], like.dtype)
    step_futures = np.empty(step_starts[-1], like.dtype)
    starts = np.zeros(n_futures, np.int64)
    longest = 0
    for string in range(len(offsets) - 1):
        longest = max(longest, offsets[string + 1] - offsets[string])
    futures = np.empty(longest + 1, like.dtype)
    for string in range(len(offsets) - 1):
        first, length = offsets[string], offsets[string + 1] - offsets[string]
        future, past = future_edge, past_edge
        futures[length] = future
        for at in range(length - 1, -1, -1):
            future = future_table[future, codes[first + at]]
            futures[at] = future
        starts[future] += 1
        for at in range(length + 1):
            gap_futures[gap_place[past]] = futures[at]
            gap_place[past] += 1
            if at < length:
                step = codes[first + at] * n_pasts + past
                step_futures[step_place[step]] = futures[at + 1]
                step_place[step] += 1
                past = past_table[past, codes[first + at]]
    return ClassBuckets(gap_starts, gap_futures, step_starts, step_futures, ends, starts)


@part
def _sizes(
    codes: Int32s, offsets: Int64s, past_table: Int32s, past_edge: int, n_steps: int
) -> tuple[Int64s, Int64s, Int64s]:
    """Where the buckets of gaps and steps begin, and how many strings end in each past class."""
    n_pasts = len(past_table)
    gaps, steps = np.zeros(n_pasts + 1, np.int64), np.zeros(n_steps + 1, np.int64)
    ends = np.zeros(n_pasts, np.int64)
    for string in range(len(offsets) - 1):
        past = past_edge
        for at in range(offsets[string], offsets[string + 1]):
            gaps[past + 1] += 1
            steps[codes[at] * n_pasts + past + 1] += 1
            past = past_table[past, codes[at]]
        gaps[past + 1] += 1
        ends[past] += 1
    return np.cumsum(gaps), np.cumsum(steps), ends
