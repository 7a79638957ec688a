"""Lexicons of treebanks: words count for themselves, and where they are rare for what they look like."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.word_shapes import signatures
from sigmastar.treebanks.data.binarized import BinaryPhrases
from sigmastar.treebanks.model.lexicon import LexicalForest, Lexicon, add_posteriors, flat_states

RARE = 10  # signatures are counted on words that occur at most so often
ACROSS = 0.05  # of the probability of a word is shared among all states of a symbol


@dataclass(frozen=True, eq=False)
class LexicalCounts:
    """A forest, and which of its pairs every leaf of the treebank counts for."""

    forest: LexicalForest
    leaves: Int64s  # nodes of the treebank
    symbols: Int32s  # of each leaf
    words: Int64s  # the node of the forest of each leaf
    pairs: Int64s  # the row of `levels` of each leaf
    levels: Int64s  # [word pair, level]: pairs of the forest, -1 for none

    @property
    def rows(self) -> tuple[Int64s, Int32s]:
        """The node of the forest and the symbol of each row of `levels`."""
        first = np.unique(self.pairs, return_index=True)[1]
        return self.words[first], self.symbols[first]


def count_lexicon(bank: BinaryPhrases, rare: int = RARE, strength: float = 5.0) -> LexicalCounts:
    """The forest of a treebank."""
    leaves = np.flatnonzero(bank.word >= 0)
    word, symbol = bank.word[leaves].astype(np.int64), bank.symbol[leaves].astype(np.int64)
    n_symbols = bank.symbols.n_leaves
    nodes = _Nodes.of(bank.phrases.words, bank.phrases.word_counts, rare)
    distinct, row = np.unique(word * n_symbols + symbol, return_inverse=True)
    path = nodes.paths[distinct // n_symbols]
    keys = np.where(path >= 0, path * n_symbols + (distinct % n_symbols)[:, None], -1)
    pairs, inverse = np.unique(np.append(keys.ravel(), -1), return_inverse=True)
    levels, pairs = inverse[:-1].reshape(keys.shape) - 1, pairs[1:]
    used = levels >= 0
    amounts = np.broadcast_to(np.bincount(row)[:, None], levels.shape)
    counts = np.asarray(np.bincount(levels[used], amounts[used], len(pairs)), dtype=np.float64)
    totals = np.asarray(np.bincount(pairs // n_symbols, counts, len(nodes.above)), dtype=np.float64)
    names, tags = _tags(bank)
    forest = LexicalForest(
        words={text: number for number, text in enumerate(bank.phrases.words)},
        shapes=nodes.shapes,
        tag_names=names,
        above=nodes.above,
        starts=np.searchsorted(pairs, np.arange(len(nodes.above) + 1) * n_symbols),
        symbols=(pairs % n_symbols).astype(np.int32),
        counts=counts,
        totals=totals,
        tags=tags,
        strength=strength,
    )
    return LexicalCounts(forest, leaves, symbol.astype(np.int32), word, row, levels)


@dataclass(frozen=True, eq=False)
class _Nodes:
    """The forest: words, then signatures, then rare words, then all words."""

    shapes: dict[str, int]
    above: Int32s
    paths: Int64s  # [word, level]: the nodes that an occurrence of a word counts for, -1 for none

    @classmethod
    def of(cls, words: tuple[str, ...], frequency: Int64s, rare: int) -> _Nodes:
        shapes: dict[str, int] = {}
        is_rare = (frequency <= rare).tolist()
        for word, counted in zip(words, is_rare, strict=True):
            if counted:
                for shape in signatures(word):
                    shapes.setdefault(shape, len(words) + len(shapes))
        last_rare, last = len(words) + len(shapes), len(words) + len(shapes) + 1
        above = np.full(last + 1, last_rare, dtype=np.int32)
        above[last_rare], above[last] = last, -1
        paths = np.full((len(words), 7), -1, dtype=np.int64)
        for number, (word, counted) in enumerate(zip(words, is_rare, strict=True)):
            known = [shapes[shape] for shape in signatures(word) if shape in shapes]
            for lower, upper in zip([number, *known], [*known, last_rare], strict=True):
                above[lower] = upper
            paths[number, 0], paths[number, 6] = number, last
            if counted:
                paths[number, 1:6] = [*known, last_rare]
        return cls(shapes, above, paths)


def _tags(bank: BinaryPhrases) -> tuple[tuple[str, ...], Int32s]:
    """The tags, and that of every leaf symbol: the last label of its chain."""
    labels, symbols = bank.phrases.labels, bank.symbols
    names = [labels[label][-1] for label in symbols.label[: symbols.n_leaves].tolist()]
    table = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return tuple(table), np.array([table[name] for name in names], dtype=np.int32)


def plain_lexicon(counts: LexicalCounts) -> Lexicon:
    """One state per symbol."""
    forest = counts.forest
    one = np.ones(len(forest.tags), dtype=np.int64)
    return Lexicon(forest, one, forest.counts / forest.frequencies[forest.symbols])


def state_lexicon(
    counts: LexicalCounts, n_states: Int64s, posteriors: Floats, at: Int64s, across: float = ACROSS
) -> Lexicon:
    """Scores from the posteriors of states at every leaf, flat, that of leaf i beginning at `at[i]`."""
    forest = counts.forest
    offsets = np.concatenate([[0], np.cumsum(n_states[forest.symbols])])
    sums = add_posteriors(counts.pairs, counts.levels, offsets, posteriors, at, int(offsets[-1]))
    pair = np.repeat(np.arange(len(forest.symbols)), np.diff(offsets))
    state = flat_states(n_states, forest.symbols)
    frequency = np.zeros(int(n_states.sum()))
    top = slice(offsets[forest.starts[-2]], None)
    frequency[state[top]] = sums[top] + 1e-9
    share = frequency / np.repeat(
        np.add.reduceat(frequency, np.cumsum(n_states) - n_states), n_states
    )  # P(z | a)
    mixed = (1 - across) * sums + across * forest.counts[pair] * share[state]
    return Lexicon(forest, n_states, mixed * forest.totals[-1] / frequency[state])
