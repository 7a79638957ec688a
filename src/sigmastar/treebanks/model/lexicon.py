"""A lexicon: which leaf symbols, in which states, a word may have, known or not.

    score(a, z, w) = P(a, z | w) / P(a, z)

so that a word of any frequency is near one, and P(w | a, z) = score * P(w). P(a, z | w) backs off from the
word to its signatures and on to all rare words, see `kernels.lexical`. Nothing in it knows a language.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.word_shapes import signatures
from sigmastar.treebanks.data.phrases import Ints, Longs
from sigmastar.treebanks.kernels.lexical import candidate_vectors, candidates, leaf_vectors

Array = NDArray[np.float64]
LEAST = 1e-3


@dataclass(frozen=True, eq=False)
class Leaves:
    """Candidates of the words of one sentence: symbols and their scores."""

    nodes: Longs  # of each word
    tags: Longs  # of each word, -1 where none was given or none fits
    begin: Longs  # of each word, and the end
    symbols: Ints
    scores: Array  # P(a | w) / P(a)


@dataclass(frozen=True, eq=False)
class LexicalForest:
    """Nodes of words, signatures and all else: what is counted, whatever the states are."""

    words: Mapping[str, int]  # known words, by their node
    shapes: Mapping[str, int]  # known signatures, by their node
    tag_names: tuple[str, ...]
    above: Ints  # of each node, -1 at the top
    starts: Longs  # where the pairs of each node begin
    symbols: Ints  # of each pair
    counts: Array  # of each pair
    totals: Array  # of each node
    tags: Ints  # of each leaf symbol
    strength: float = 5.0

    def node(self, word: str) -> int:
        """The node of a known word; of an unknown one that of its finest known signature."""
        found = self.words.get(word)
        if found is not None:
            return found
        return next((self.shapes[s] for s in signatures(word) if s in self.shapes), self.rare)

    @property
    def rare(self) -> int:
        """The node of all rare words: the last but one."""
        return len(self.above) - 2

    @cached_property
    def tag_codes(self) -> dict[str, int]:
        return {tag: number for number, tag in enumerate(self.tag_names)}

    @cached_property
    def frequencies(self) -> Array:
        """P(a) of every leaf symbol."""
        top = slice(self.starts[-2], self.starts[-1])
        result = np.zeros(len(self.tags))
        result[self.symbols[top]] = self.counts[top] / self.totals[-1]
        return result

    def log_frequency(self, word: str) -> float:
        """log P(w); unknown words share the probability of one word, over a vocabulary twice as large."""
        node = self.words.get(word)
        n = float(self.totals[-1]) + 1.0
        if node is not None:
            return float(np.log(self.totals[node] / n))
        return float(-np.log(n * (len(self.words) + 1.0)))

    def leaves(self, words: Sequence[str], tags: Sequence[str] | None = None, least: float = LEAST) -> Leaves:
        """What the words of a sentence may be; with tags, within the tag of each where it is known."""
        nodes = np.array([self.node(word) for word in words], dtype=np.int64)
        codes = np.full(len(words), -1, dtype=np.int64)
        if tags is not None:
            codes[:] = [self.tag_codes.get(tag, -1) for tag in tags]
        begin, symbols, scores, obeyed = candidates(
            nodes,
            codes,
            self.strength,
            least,
            self.above,
            self.starts,
            self.symbols,
            self.counts,
            self.totals,
            self.tags,
            self.frequencies,
        )
        return Leaves(nodes, obeyed, begin, symbols, scores)

    def to_parts(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        arrays = {
            name: getattr(self, name) for name in ("above", "starts", "symbols", "counts", "totals", "tags")
        }
        header = {
            "words": sorted(self.words, key=self.words.__getitem__),
            "shapes": sorted(self.shapes, key=self.shapes.__getitem__),
            "tag_names": list(self.tag_names),
            "strength": self.strength,
        }
        return arrays, header

    @classmethod
    def from_parts(cls, arrays: dict[str, NDArray[Any]], header: dict[str, Any]) -> LexicalForest:
        words = {word: number for number, word in enumerate(header["words"])}
        shapes = {shape: len(words) + number for number, shape in enumerate(header["shapes"])}
        return cls(
            words,
            shapes,
            tuple(header["tag_names"]),
            arrays["above"],
            arrays["starts"],
            arrays["symbols"],
            arrays["counts"],
            arrays["totals"],
            arrays["tags"],
            float(header["strength"]),
        )


@dataclass(frozen=True, eq=False)
class Lexicon:
    """A forest, and the values of the states of every pair: scores times counts."""

    forest: LexicalForest
    n_states: Longs  # of each leaf symbol
    values: Array

    @cached_property
    def offsets(self) -> Longs:
        """Where the values of each pair begin."""
        return np.concatenate([[0], np.cumsum(self.n_states[self.forest.symbols])])

    @cached_property
    def state_offsets(self) -> Longs:
        return np.concatenate([[0], np.cumsum(self.n_states)])

    def candidate_vectors(self, leaves: Leaves) -> tuple[Longs, Array]:
        """Where the vector of every candidate begins, and the vectors."""
        forest = self.forest
        return candidate_vectors(
            leaves.nodes,
            leaves.tags,
            leaves.begin,
            leaves.symbols,
            forest.strength,
            forest.above,
            forest.starts,
            forest.symbols,
            forest.counts,
            forest.totals,
            forest.tags,
            self.offsets,
            self.values,
            self.n_states,
        )

    def vectors(self, nodes: Longs, symbols: Ints) -> tuple[Array, Longs]:
        """The vectors of given symbols at given nodes, flat, and where each begins."""
        at = np.concatenate([[0], np.cumsum(self.n_states[symbols])])
        forest = self.forest
        found = leaf_vectors(
            nodes,
            symbols,
            forest.strength,
            forest.above,
            forest.starts,
            forest.symbols,
            forest.totals,
            self.offsets,
            self.values,
            at,
        )
        return found, at

    def grouped(self, groups: Longs, frequencies: Array, n_groups: Longs, totals: Array) -> Lexicon:
        """The lexicon of a grammar whose states were joined, see `LatentGrammar.grouped`.

        `frequencies` and `totals` are how often states and groups occur; leaf symbols come first in both.
        """
        symbols, sizes = self.forest.symbols, n_groups[: len(self.n_states)]
        offsets = np.concatenate([[0], np.cumsum(sizes[symbols])])
        state = flat_states(self.n_states, symbols)
        pair = np.repeat(np.arange(len(symbols)), self.n_states[symbols])
        sums = np.bincount(offsets[pair] + groups[state], self.values * frequencies[state], int(offsets[-1]))
        return Lexicon(self.forest, sizes, sums / np.maximum(totals[flat_states(sizes, symbols)], 1e-300))


def flat_states(n_states: Longs, symbols: Ints) -> Longs:
    """For the states of each of `symbols`, one after the other, their numbers among the states of all."""
    begin = (np.cumsum(n_states) - n_states)[symbols]
    sizes = n_states[symbols]
    inner = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.repeat(begin, sizes) + inner
