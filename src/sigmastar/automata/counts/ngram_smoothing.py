"""Smoothed next-symbol distributions from counts on a trie of pasts.

    Witten-Bell     p(y | v) = (c(v, y) + t(v) p(y | parent)) / (c(v) + t(v)),   t(v) distinct outcomes
                    or that number several times, where counts say little
    Kneser-Ney      p(y | v) = max(c(v, y) - D, 0) / c(v) + (what is left) p(y | parent)

In Kneser-Ney an inner context counts in how many of its extensions an outcome was seen, not how
often; D = n1 / (n1 + 2 n2) for each depth, from the numbers of outcomes counted once and twice. The modified
form has three discounts per depth, of counts 1, 2 and above (Chen and Goodman, 1999).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sigmastar.automata.data.contexts import ContextTrie
from sigmastar.automata.data.strings import Strings, require_known
from sigmastar.core.arrays import Flags, Floats, Int32s, Int64s
from sigmastar.core.integer_counts import tally
from sigmastar.core.jit import kernel

_TABLE_LIMIT = 1 << 22  # cells of a table of contexts and outcomes


@dataclass(frozen=True, eq=False)
class NextCounts:
    """How often each outcome (a symbol, or the end, coded last) follows each context, extensions included."""

    trie: ContextTrie
    context: Int64s
    outcome: Int64s
    count: Int64s

    @classmethod
    def of_classes(cls, trie: ContextTrie, context: Int64s, outcome: Int64s, count: Int64s) -> NextCounts:
        """From counts on disjoint classes: every context also counts what its extensions count."""
        width = trie.n_symbols + 1
        if width * trie.n_classes <= _TABLE_LIMIT:
            table = np.zeros((trie.n_classes, width), np.int64)
            np.add.at(table, (context, outcome), count)
            _count_extensions(trie.parent, table)
            context, outcome = np.nonzero(table)
            return cls(trie, context, outcome, table[context, outcome])
        keys, counts = [context * width + outcome], [count]
        while len(moving := np.flatnonzero(context)):  # one step towards the root a round
            context, outcome, count = (
                trie.parent[context[moving]].astype(np.int64),
                outcome[moving],
                count[moving],
            )
            keys.append(context * width + outcome)
            counts.append(count)
        every, totals = tally(np.concatenate(keys), np.concatenate(counts))
        return cls(trie, every // width, every % width, totals)

    @classmethod
    def of(cls, strings: Strings, trie: ContextTrie) -> NextCounts:
        keys, counts = tally(
            require_known(strings).outcomes + trie.classify(strings) * np.int64(trie.n_symbols + 1)
        )
        width = trie.n_symbols + 1
        return cls.of_classes(trie, keys // width, keys % width, counts)


@kernel
def _count_extensions(parent: Int32s, table: Int64s) -> None:
    for node in range(len(parent) - 1, 0, -1):
        for outcome in range(table.shape[1]):
            table[parent[node], outcome] += table[node, outcome]


@dataclass(frozen=True, eq=False)
class Backoff:
    """Rows of a back-off model: the `own` values of the outcomes of each context, and its back-off weight."""

    row_starts: Int64s
    outcomes: Int32s
    own: Floats
    backoff: Floats


Smoothing = Callable[[NextCounts], Backoff]


def witten_bell(counts: NextCounts, strength: float = 1.0) -> Backoff:
    """Witten-Bell smoothing: the more outcomes a context has, the more it leaves to the shorter one.

    Parameters
    ----------
    counts : NextCounts
        How often outcomes follow contexts.
    strength : float
        How often each outcome of a context counts for the shorter one.

    Returns
    -------
    Backoff
        Rows of the back-off model.
    """
    context, count, n = counts.context, counts.count, counts.trie.n_classes
    total = np.bincount(context, count, n)
    distinct = strength * np.bincount(context, minlength=n)
    denominator = np.where(total > 0, total + distinct, 1.0)
    return _rows(counts, count / denominator[context], np.where(total > 0, distinct / denominator, 1.0))


def kneser_ney(counts: NextCounts) -> Backoff:
    """Interpolated Kneser-Ney smoothing, with one discount per depth.

    Parameters
    ----------
    counts : NextCounts
        How often outcomes follow contexts.

    Returns
    -------
    Backoff
        Rows of the back-off model.
    """
    return _discounted(counts, _discounts)


def modified_kneser_ney(counts: NextCounts) -> Backoff:
    """Interpolated Kneser-Ney smoothing, with a discount per depth for each of the counts 1, 2, and above.

    Parameters
    ----------
    counts : NextCounts
        How often outcomes follow contexts.

    Returns
    -------
    Backoff
        Rows of the back-off model.
    """
    return _discounted(counts, _three_discounts)


def _discounted(counts: NextCounts, discounts: Callable[[Int32s, Int64s, int], Floats]) -> Backoff:
    """Kneser-Ney smoothing by a table of discounts, depths by counts up to 3 or more."""
    trie, context, n = counts.trie, counts.context, counts.trie.n_classes
    count = np.where(_is_inner(trie)[context], _extensions(counts), counts.count)
    depth = trie.depth[context]
    discount = discounts(depth, count, int(trie.depth.max()) + 1)[depth, np.minimum(count, 3)]
    total = np.maximum(np.bincount(context, count, n), 1)
    distinct = np.bincount(context, count > 0, n)
    own = np.maximum(count - discount, 0.0) / total[context]
    leftover = 1.0 - np.bincount(context, own, n)
    return _rows(counts, own, np.where(distinct > 0, leftover, 1.0))


def _is_inner(trie: ContextTrie) -> Flags:
    inner = np.zeros(trie.n_classes, dtype=bool)
    inner[trie.parent[1:]] = True
    return inner


def _extensions(counts: NextCounts) -> Int64s:
    """In how many one-symbol extensions of each context its outcome was seen."""
    width = counts.trie.n_symbols + 1
    below = counts.context > 0
    seen = counts.trie.parent[counts.context[below]].astype(np.int64) * width + counts.outcome[below]
    keys, numbers = np.unique(seen, return_counts=True)
    at = np.searchsorted(keys, counts.context * width + counts.outcome)
    at = np.minimum(at, max(len(keys) - 1, 0))
    found = (
        keys[at] == counts.context * width + counts.outcome if len(keys) else np.zeros(len(at), dtype=bool)
    )
    return np.where(found, numbers[at] if len(keys) else 0, 0)


def _discounts(depth: Int32s, count: Int64s, size: int) -> Floats:
    """Absolute discounts per depth; one half where too little was seen to estimate them."""
    once, twice = (np.bincount(depth[count == k], minlength=size).astype(float) for k in (1, 2))
    estimate = np.divide(once, once + 2 * twice, out=np.full(size, 0.5), where=once + twice > 0)
    return np.repeat(np.clip(estimate, 0.1, 0.95)[:, None], 4, axis=1)


def _three_discounts(depth: Int32s, count: Int64s, size: int) -> Floats:
    """Discounts of counts 1, 2, and above: k - (k + 1) Y n_k+1 / n_k, with Y = n1 / (n1 + 2 n2).

    Where one of these numbers is zero, or a discount is not between 0 and its count, one discount serves all.
    """
    numbers = np.stack([np.bincount(depth[count == k], minlength=size) for k in (1, 2, 3, 4)], axis=1)
    table = _discounts(depth, count, size)
    k = np.arange(1, 4)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = numbers[:, :1] / (numbers[:, :1] + 2 * numbers[:, 1:2])
        three = k - (k + 1) * share * numbers[:, 1:] / numbers[:, :3]
    sound = ((three > 0) & (three < k)).all(axis=1)
    table[sound, 1:] = three[sound]
    return table


def _rows(counts: NextCounts, own: Floats, backoff: Floats) -> Backoff:
    row_starts = np.searchsorted(counts.context, np.arange(counts.trie.n_classes + 1))
    return Backoff(row_starts, counts.outcome.astype(np.int32), own, backoff)
