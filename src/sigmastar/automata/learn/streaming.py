"""Counts of a stream: symbols that are met late, and strings that are long ago.

A new symbol gets a class of its own, as the newest of a past and as the first of a future: it was never
met before, so that the counts so far are exact on the new classes. Forgetting multiplies every count by the
same factor; what is no whole number then is rounded up or down by chance, so that it is right on average.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sigmastar.automata.counts.on_classes import ContextCounts
from sigmastar.automata.counts.on_shards import Classes, StepCounts, with_gaps
from sigmastar.automata.data.contexts import ContextTrie
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.learn.fast import ContextBatches
from sigmastar.automata.learn.held_out import Held
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Array, Int64s

_MOST_CLASSES = 1 << 14


def opened(batches: ContextBatches, alphabet: Alphabet) -> ContextBatches:
    """The same counts over an alphabet that has more symbols behind the old ones."""
    if len(alphabet) == len(batches.kept.strings_like.alphabet):
        return batches
    tries = [tuple(_opened(trie, len(alphabet)) for trie in classes) for classes in batches.classes]
    classes = tuple((pasts, futures) for pasts, futures in tries)
    held = replace(batches.held, strings=_over(batches.held.strings, alphabet))
    kept = _renumbered(batches.kept, alphabet, classes[-1])
    whole = None if batches.whole is None else _renumbered(batches.whole, alphabet, classes[-1])
    return ContextBatches(kept, whole, held, classes)


def _over(strings: Strings, alphabet: Alphabet) -> Strings:
    return Strings(alphabet, strings.codes, strings.offsets)


def _opened(trie: ContextTrie, n_symbols: int) -> ContextTrie:
    """With a class for each new symbol, while there are not too many; the edge has another code then."""
    new = np.arange(trie.n_symbols, n_symbols, dtype=np.int32)
    new = new[: max(0, _MOST_CLASSES - trie.n_classes)]
    symbol = np.where(trie.symbol == trie.n_symbols, np.int32(n_symbols), trie.symbol)
    parent = np.concatenate([trie.parent, np.zeros(len(new), np.int32)])
    return ContextTrie(n_symbols, trie.direction, parent, np.concatenate([symbol, new]).astype(np.int32))


def _renumbered(counts: ContextCounts, alphabet: Alphabet, classes: Classes) -> ContextCounts:
    (pasts, futures), old = classes, counts.futures.n_classes
    past, future = np.divmod(counts.keys.astype(np.int64), old)
    step, after = np.divmod(counts.slice_keys.astype(np.int64), old)
    symbol, before = np.divmod(step, counts.pasts.n_classes)
    steps = (symbol * pasts.n_classes + before) * futures.n_classes + after
    size = pasts.n_classes * futures.n_classes
    return ContextCounts(
        _over(counts.strings_like, alphabet),
        pasts,
        futures,
        counts.n_strings,
        _fitting(past * futures.n_classes + future, size),
        counts.counts,
        _fitting(steps, size * len(alphabet)),
        counts.slice_counts,
        _longer(counts.ends, pasts.n_classes),
        _longer(counts.starts, futures.n_classes),
    )


def _fitting(keys: Int64s, n_keys: int) -> Array:
    return keys.astype(np.int32) if n_keys < 1 << 31 else keys


def _longer(counts: Int64s, size: int) -> Int64s:
    return np.concatenate([counts, np.zeros(size - len(counts), np.int64)])


def faded(batches: ContextBatches, factor: float, rng: np.random.Generator) -> ContextBatches:
    """Counts of strings that are worth only a part of what they were."""
    if not 0.0 < factor <= 1.0:
        raise ValueError(f"factor={factor} must be above 0 and at most 1")
    kept = _faded(batches.kept, factor, rng)
    whole = None if batches.whole is None else _faded(batches.whole, factor, rng)
    held = batches.held
    if held.are_whole:
        stays = np.flatnonzero(rng.random(len(held.strings)) < factor)
        held = Held.whole(held.strings.select(stays if len(stays) else [0]))
    return ContextBatches(kept, whole, held, batches.classes)


def _faded(counts: ContextCounts, factor: float, rng: np.random.Generator) -> ContextCounts:
    steps, ends, starts = (
        _rounded(array * factor, rng) for array in (counts.slice_counts, counts.ends, counts.starts)
    )
    stays = steps > 0
    part = StepCounts(
        np.array(max(int(starts.sum()), 1)),
        counts.slice_keys[stays],
        steps[stays].astype(counts.slice_counts.dtype),
        ends,
        starts,
        np.zeros(2, np.int64),
    )
    return with_gaps(part, counts.strings_like, (counts.pasts, counts.futures))


def _rounded(values: Array, rng: np.random.Generator) -> Int64s:
    """Whole numbers that are right on average."""
    return np.floor(values + rng.random(len(values))).astype(np.int64)
