"""N-grams of a corpus with their counts: sorted tables of shards, merged in a tree, within a budget.

An n-gram is one number, its codes as digits to the base of the vocabulary. N-grams lie inside of strings.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from sigmastar.core.arrays import Array, Int64s
from sigmastar.core.engines import Engine, Here
from sigmastar.core.errors import InputError
from sigmastar.core.integer_counts import Keys, Longs, add, pruned, tally
from sigmastar.core.progress import Progress, silent
from sigmastar.corpus.reading import Shard, StringCorpus, opened

_ENTRY = 64  # bytes of an entry while parts are merged
_AT_ONCE = 1 << 20  # symbols
_MOST_BITS = 62


class NgramCounts(NamedTuple):
    """Sorted numbers of n-grams with their counts, and how many of them, and how often met, were pruned."""

    keys: Keys
    counts: Keys
    lost: Int64s


def count_ngrams(
    corpus: StringCorpus,
    order: int,
    engine: Engine | None = None,
    budget: int = 1 << 30,
    progress: Progress = silent,
) -> NgramCounts:
    """Count the n-grams of one order.

    Parameters
    ----------
    corpus : StringCorpus
        The corpus.
    order : int
        Their length.
    engine : Engine or None
        Where shards are counted; None: here.
    budget : int
        Bytes that a table may take; the rarest n-grams are pruned beyond it.
    progress : callable
        Told how much is done.

    Returns
    -------
    NgramCounts
        The same for any number of shards and workers, where nothing was pruned.
    """
    n_words = max(corpus.manifest.n_words, 2)
    most = int(_MOST_BITS / np.log2(n_words))
    if not 1 <= order <= most:
        raise InputError(
            f"order {order} over {n_words} words has no room in {_MOST_BITS} bits; use at most {most}, or "
            "build the corpus with fewer words (--max-words)",
            file=str(corpus.folder),
        )
    task = partial(_count_shard, str(corpus.folder), corpus.manifest.digest, order, budget)
    where: Engine = Here() if engine is None else engine
    found: NgramCounts = where.run(task, range(corpus.n_shards), partial(merged, budget=budget), progress)
    return found


def spelled(keys: Array, order: int, n_words: int) -> Array:
    """The codes of n-grams, one row each."""
    digits = n_words ** np.arange(order - 1, -1, -1, dtype=np.int64)
    return np.asarray(keys)[:, None] // digits % n_words


def _count_shard(folder: str, digest: str, order: int, budget: int, number: int) -> NgramCounts:
    corpus = opened(folder, digest)
    shard, n_words = corpus.shard(number), max(corpus.manifest.n_words, 2)
    edges = range(0, max(len(shard.codes), 1), _AT_ONCE)
    task = partial(_count_piece, shard, order, n_words)
    found: NgramCounts = Here().run(task, edges, partial(merged, budget=budget))
    return found


def _count_piece(shard: Shard, order: int, n_words: int, begin: int) -> NgramCounts:
    """Of n-grams that begin in a piece: their last symbols may lie behind it, but in the same string."""
    end = min(begin + _AT_ONCE, len(shard.codes))
    codes = shard.codes[begin : min(end + order - 1, len(shard.codes))].astype(np.int64)
    keys: Longs = np.zeros(max(len(codes) - order + 1, 0), np.int64)
    for part in _shifted(codes, order):
        keys = keys * n_words + part
    strings = np.searchsorted(shard.offsets, np.arange(begin, begin + len(keys)), side="right")
    inside = np.arange(begin, begin + len(keys)) + order <= shard.offsets[strings]
    return NgramCounts(*tally(keys[inside]), np.zeros(2, np.int64))


def _shifted(codes: Int64s, order: int) -> Iterator[Int64s]:
    n = max(len(codes) - order + 1, 0)
    return (codes[shift : shift + n] for shift in range(order))


def merged(first: NgramCounts, second: NgramCounts, budget: int) -> NgramCounts:
    """Of two parts, without what the budget has no room for."""
    found, lost = pruned(add(first[:2], second[:2]), budget // _ENTRY)
    return NgramCounts(*found, first.lost + second.lost + lost)
