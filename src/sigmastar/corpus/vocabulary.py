"""The vocabulary of a corpus: frequent words first, all others in one class."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.arrays import Flags, Int32s, Int64s
from sigmastar.corpus.words import Words, WordTable

_AT_ONCE = 1 << 16


class VocabularySettings(Protocol):
    """What a vocabulary is to be."""

    @property
    def min_count(self) -> int: ...
    @property
    def max_size(self) -> int | None: ...
    @property
    def unknown(self) -> str: ...
    @property
    def most_words(self) -> int: ...


@dataclass(frozen=True, eq=False)
class Chosen:
    """The words of the vocabulary, and what was found on the way to them."""

    words: Words
    unknown: int  # the code of words that are not in it; -1 where there are none
    found: dict[str, Any]
    table: WordTable

    def codes_of(self, words: Words) -> Int32s:
        """The codes of words of a shard."""
        codes = self.table.find(words)
        codes[codes < 0] = self.unknown
        return codes


def choose_words(parts: Iterable[Words], settings: VocabularySettings) -> Chosen:
    """The vocabulary of the words of all shards; ties go to what comes first in the order of bytes."""
    table, lost = WordTable(), _Lost()
    for words in parts:
        table.add(words)
        if len(table) > settings.most_words:
            table = lost.pruned(table.words, settings.most_words // 2)
    words = table.words
    kept = np.flatnonzero(words.counts >= settings.min_count)
    order = _by_frequency(words, kept)
    n_dropped = len(words) - len(order) + lost.n_words
    most = settings.max_size
    if most is not None and len(order) + (n_dropped > 0) > most:
        order = order[: max(most - 1, 0)]
        n_dropped = len(words) - len(order) + lost.n_words
    chosen = words.only(order)
    found = {
        "n_unknown_words": n_dropped,
        "n_unknown_tokens": int(words.counts.sum() - chosen.counts.sum()) + lost.n_tokens,
        "n_pruned_words": lost.n_words,
        "n_pruned_tokens": lost.n_tokens,
    }
    if not n_dropped:
        return Chosen(chosen, -1, found, WordTable(chosen))
    return _with_unknown(chosen, settings.unknown.encode(), found)


def _by_frequency(words: Words, numbers: Int64s) -> Int64s:
    """Numbers of words by falling count; ties by their bytes, of which eight tell most words apart."""
    keys = [_first_bytes(words, numbers[at : at + _AT_ONCE]) for at in range(0, len(numbers), _AT_ONCE)]
    first, falling = np.concatenate([*keys, np.zeros(0, np.uint64)]), -words.counts[numbers]
    order = np.lexsort((first, falling))
    is_tied = (np.diff(first[order]) == 0) & (np.diff(falling[order]) == 0)
    for begin, end in _runs(is_tied):
        order[begin:end] = sorted(order[begin:end], key=lambda k: words.spelled(int(numbers[k])))
    return np.asarray(numbers[order])


def _runs(is_tied: Flags) -> Iterator[tuple[int, int]]:
    edges = np.diff(np.concatenate([[0], is_tied.astype(np.int8), [0]]))
    begins, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    return zip(begins.tolist(), (ends + 1).tolist(), strict=True)


def _first_bytes(words: Words, numbers: Int64s) -> NDArray[np.uint64]:
    """The first eight bytes of words as numbers of the same order."""
    places = words.starts[numbers][:, None] + np.arange(8)
    inside = places < words.starts[numbers + 1][:, None]
    found = np.where(inside, words.text[np.where(inside, places, 0)], 0).astype(np.uint8)
    return np.ascontiguousarray(found).view(">u8")[:, 0].astype(np.uint64)


def _with_unknown(chosen: Words, name: bytes, found: dict[str, Any]) -> Chosen:
    """The unknown class at its place by frequency; a word of the same name is the class itself."""
    spelled = [chosen.spelled(k) for k in range(len(chosen))]
    counts = dict(zip(spelled, chosen.counts.tolist(), strict=True))
    counts[name] = counts.get(name, 0) + found["n_unknown_tokens"]
    ordered = sorted(counts, key=lambda word: (-counts[word], word))
    words = Words.of(ordered, [counts[word] for word in ordered])
    return Chosen(words, ordered.index(name), found, WordTable(words))


class _Lost:
    """Words that were forgotten because there were too many."""

    def __init__(self) -> None:
        self.n_words, self.n_tokens = 0, 0

    def pruned(self, words: Words, most: int) -> WordTable:
        """The most frequent words, as a table; ties at the cut are all forgotten, in any order."""
        cut = np.partition(words.counts, len(words) - most)[len(words) - most]
        kept = np.flatnonzero(words.counts > cut)
        self.n_words += len(words) - len(kept)
        self.n_tokens += int(words.counts.sum() - words.counts[kept].sum())
        return WordTable(words.only(kept))
