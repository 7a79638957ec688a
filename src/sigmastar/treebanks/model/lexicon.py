"""A lexicon: which leaf symbols, in which states, a word may have, known or not.

    score(a, z, w) = P(a, z | w) / P(a, z)

so that a word of any frequency is near one, and P(w | a, z) = score * P(w). P(a, z | w) backs off from the
word to its signatures and on to all rare words. Nothing depends on the language.

Scores come from a forest of back-off nodes: word, signatures, rare words, all words.

    P(a, z | node) = (c(a, z, node) + k P(a, z | above)) / (c(node) + k),     at the top c / total

Nodes hold (node, symbol) pairs, sorted by node; a pair owns the values of the states of its symbol, and any
linear function of the counts may stand in their place, signed ones too. With a tag given, every level is
taken within the symbols of that tag.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sigmastar.core.arrays import Array, Floats, Int32s, Int64s
from sigmastar.core.jit import kernel, part
from sigmastar.core.stored_parts import (
    Parts,
    between,
    distinct_texts,
    floats,
    indices,
    rises_within,
    row_starts,
)
from sigmastar.core.word_signatures import signatures
from sigmastar.treebanks.kernels.plain_chart import LeafItems


class ForestArrays(NamedTuple):
    """A forest as kernels take it; see `LexicalForest`."""

    above: Int32s
    starts: Int64s
    symbols: Int32s
    counts: Floats
    totals: Floats
    tags: Int32s
    strength: float


@part
def _total(forest: ForestArrays, node: int, tag: int) -> float:
    if tag < 0:
        return float(forest.totals[node])
    total = 0.0
    for pair in range(forest.starts[node], forest.starts[node + 1]):
        if forest.tags[forest.symbols[pair]] == tag:
            total += forest.counts[pair]
    return total


@kernel
def add_posteriors(
    pairs: Int64s, levels: Int64s, offsets: Int64s, vectors: Floats, at: Int64s, size: int
) -> Floats:
    """Sum the vectors of words over their pairs and those above: `levels` [word pair, level], -1 for none."""
    values = np.zeros(size)
    for i in range(len(pairs)):
        for level in range(levels.shape[1]):
            pair = levels[pairs[i], level]
            if pair >= 0:
                low = offsets[pair]
                for z in range(offsets[pair + 1] - low):
                    values[low + z] += vectors[at[i] + z]
    return values


@kernel
def _shares(forest: ForestArrays, node: int, tag: int, shares: Floats) -> float:
    """Fill P(a | node) for all leaf symbols; the largest of them."""
    shares[:] = 0.0
    weight, at, symbols = 1.0, node, forest.symbols
    while at >= 0:
        total = _total(forest, at, tag)
        k = forest.strength if forest.above[at] >= 0 else 0.0
        if total + k > 0.0:
            factor = weight / (total + k)
            for pair in range(forest.starts[at], forest.starts[at + 1]):
                if tag < 0 or forest.tags[symbols[pair]] == tag:
                    shares[symbols[pair]] += factor * forest.counts[pair]
            weight *= k / (total + k)
        at = forest.above[at]
    return float(shares.max())


@kernel
def candidates(
    forest: ForestArrays, nodes: Int64s, word_tags: Int64s, least: float, frequencies: Floats
) -> tuple[Int64s, Int32s, Floats, Int64s]:
    """Candidates of every word: where they begin, symbols, P(a | w) / P(a); and the tag that was obeyed."""
    n_symbols, n = len(frequencies), len(nodes)
    shares, begin, obeyed = np.zeros(n_symbols), np.zeros(n + 1, np.int64), word_tags.copy()
    found, scores = np.zeros(n * n_symbols, np.int32), np.zeros(n * n_symbols)
    m = 0
    for i in range(n):
        most = _shares(forest, nodes[i], obeyed[i], shares)
        if most <= 0.0:  # a tag that no word below this one ever had
            obeyed[i] = -1
            most = _shares(forest, nodes[i], -1, shares)
        for a in range(n_symbols):
            if shares[a] > 0.0 and shares[a] >= least * most:
                found[m], scores[m] = a, shares[a] / frequencies[a]
                m += 1
        begin[i + 1] = m
    return begin, found[:m], scores[:m], obeyed


class StateValues(NamedTuple):
    """The values of the states of every pair, flat, where those of each begin, and the states of symbols."""

    values: Floats
    offsets: Int64s
    n_states: Int64s


class WordCandidates(NamedTuple):
    """Nodes and tags of words, where the candidates of each begin, and their symbols."""

    nodes: Int64s
    tags: Int64s
    begin: Int64s
    symbols: Int32s


@kernel
def candidate_vectors(
    forest: ForestArrays, words: WordCandidates, states: StateValues
) -> tuple[Int64s, Floats]:
    """Where the vector of every candidate begins, and the vectors."""
    begin, found, symbols = words.begin, words.symbols, forest.symbols
    at = np.zeros(len(found) + 1, np.int64)
    for m in range(len(found)):
        at[m + 1] = at[m] + states.n_states[found[m]]
    vectors = np.zeros(at[-1])
    for i in range(len(words.nodes)):
        node, weight = words.nodes[i], 1.0
        while node >= 0:
            total = _total(forest, node, words.tags[i])
            k = forest.strength if forest.above[node] >= 0 else 0.0
            if total + k > 0.0:
                factor, pair, high = weight / (total + k), forest.starts[node], forest.starts[node + 1]
                for m in range(begin[i], begin[i + 1]):  # both are sorted by symbol
                    while pair < high and symbols[pair] < found[m]:
                        pair += 1
                    if pair < high and symbols[pair] == found[m]:
                        for z in range(at[m + 1] - at[m]):
                            vectors[at[m] + z] += factor * states.values[states.offsets[pair] + z]
                weight *= k / (total + k)
            node = forest.above[node]
    return at, vectors


@kernel
def leaf_vectors(
    forest: ForestArrays, leaf_nodes: Int64s, leaf_symbols: Int32s, states: StateValues, at: Int64s
) -> Floats:
    """The vector of every (node, symbol) asked for, flat, beginning at `at`."""
    result, offsets = np.zeros(at[-1]), states.offsets
    for i in range(len(leaf_nodes)):
        node, a, weight = leaf_nodes[i], leaf_symbols[i], 1.0
        while node >= 0:
            k = forest.strength if forest.above[node] >= 0 else 0.0
            factor = weight / max(forest.totals[node] + k, 1e-300)
            low, high = forest.starts[node], forest.starts[node + 1]
            pair = low + np.searchsorted(forest.symbols[low:high], a)
            if pair < high and forest.symbols[pair] == a:
                for z in range(offsets[pair + 1] - offsets[pair]):
                    result[at[i] + z] += factor * states.values[offsets[pair] + z]
            weight *= k / max(forest.totals[node] + k, 1e-300)
            node = forest.above[node]
    return result


LEAST = 1e-3
_DEEPEST = 10  # steps from a word to the top


@dataclass(frozen=True, eq=False)
class Leaves:
    """Candidates of the words of one sentence: symbols and their scores."""

    nodes: Int64s  # of each word
    tags: Int64s  # of each word, -1 where none was given or none fits
    begin: Int64s  # of each word, and the end
    symbols: Int32s
    scores: Floats  # P(a | w) / P(a)

    @property
    def items(self) -> LeafItems:
        """The candidates as charts take them."""
        return LeafItems(self.begin, self.symbols, self.scores)


@dataclass(frozen=True, eq=False)
class LexicalForest:
    """Nodes of words, signatures and all else: what is counted, whatever the states are."""

    words: Mapping[str, int]  # known words, by their node
    shapes: Mapping[str, int]  # known signatures, by their node
    tag_names: tuple[str, ...]
    above: Int32s  # of each node, -1 at the top
    starts: Int64s  # where the pairs of each node begin
    symbols: Int32s  # of each pair
    counts: Floats  # of each pair
    totals: Floats  # of each node
    tags: Int32s  # of each leaf symbol
    strength: float = 5.0

    def node(self, word: str) -> int:
        """The node of a known word; of an unknown one that of its finest known signature."""
        found = self.words.get(word)
        if found is not None:
            return found
        return next((self.shapes[s] for s in signatures(word) if s in self.shapes), self.rare)

    @cached_property
    def arrays(self) -> ForestArrays:
        """The same as kernels take it."""
        return ForestArrays(
            self.above, self.starts, self.symbols, self.counts, self.totals, self.tags, self.strength
        )

    @property
    def rare(self) -> int:
        """The node of all rare words: the last but one."""
        return len(self.above) - 2

    @cached_property
    def tag_codes(self) -> dict[str, int]:
        return {tag: number for number, tag in enumerate(self.tag_names)}

    @cached_property
    def frequencies(self) -> Floats:
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
        return self.leaves_of(nodes, codes, least)

    def leaves_of(self, nodes: Int64s, tags: Int64s, least: float = LEAST) -> Leaves:
        """What words of given nodes may be, within their tags where those are not -1."""
        begin, symbols, scores, obeyed = candidates(self.arrays, nodes, tags, least, self.frequencies)
        return Leaves(nodes, obeyed, begin, symbols, scores)

    def way_up(self, nodes: Int64s, symbols: Int32s) -> tuple[Int64s, Floats]:
        """[row, level]: the pairs that the vector of a symbol at a node is a sum over, and their weights.

        -1 where a node on the way up does not have the symbol; the weight is zero there.
        """
        wanted, owner = len(self.tags), np.repeat(np.arange(len(self.above)), np.diff(self.starts))
        keys, at, weight = owner * wanted + self.symbols, nodes, np.ones(len(nodes))
        pairs, weights = list[Int64s](), list[Floats]()
        while (at >= 0).any():
            here = np.maximum(at, 0)
            back = np.where(self.above[here] >= 0, self.strength, 0.0)
            total = np.maximum(self.totals[here] + back, 1e-300)
            key = here * wanted + symbols
            place = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
            known = (at >= 0) & (keys[place] == key)
            pairs.append(np.where(known, place, -1))
            weights.append(np.where(known, weight / total, 0.0))
            weight, at = weight * back / total, np.where(at >= 0, self.above[here], -1)
        return np.stack(pairs, axis=1), np.stack(weights, axis=1)

    PARTS: ClassVar[Parts] = Parts(
        header={
            "words": distinct_texts,
            "shapes": distinct_texts,
            "tag_names": distinct_texts,
            "strength": between(0.0, 1e9),
        },
        sizes={"words": "words", "shapes": "shapes", "tag_names": "tag_names"},
        arrays={
            "above": indices("nodes", of="nodes", least=-1),
            "starts": row_starts("nodes", of="pairs"),
            "symbols": indices("pairs", of="leaves"),
            "counts": floats("pairs", least=0.0),
            "totals": floats("nodes", least=0.0),
            "tags": indices("leaves", of="tag_names"),
        },
    )

    def to_parts(self) -> tuple[dict[str, Array], dict[str, Any]]:
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
    def from_parts(cls, arrays: dict[str, Array], header: dict[str, Any]) -> LexicalForest:
        sizes = cls.PARTS.check(arrays, header)
        if sizes["nodes"] != sizes["words"] + sizes["shapes"] + 2:
            raise ValueError("the forest of words must have a node per word and signature, and two more")
        words = {word: number for number, word in enumerate(header["words"])}
        shapes = {shape: len(words) + number for number, shape in enumerate(header["shapes"])}
        parts = {name: arrays[name] for name in ("above", "starts", "symbols", "counts", "totals", "tags")}
        tags, strength = tuple(header["tag_names"]), float(header["strength"])
        found = cls(words, shapes, tags, **parts, strength=strength)
        found._check()
        return found

    def _check(self) -> None:
        """Raise `ValueError` where kernels would run in circles: files may be damaged."""
        upward = self.above
        if self.above[-1] != -1 or not self.totals[-1] > 0:
            raise ValueError("above must end at the last node, and that must have a count")
        for _ in range(_DEEPEST):
            upward = np.where(upward >= 0, self.above[upward], -1)
        if (upward >= 0).any():
            raise ValueError("above must lead from every node to the last one")
        if not rises_within(self.symbols, self.starts):
            raise ValueError("symbols must rise within each node")


@dataclass(frozen=True, eq=False)
class Lexicon:
    """A forest, and the values of the states of every pair: scores times counts."""

    forest: LexicalForest
    n_states: Int64s  # of each leaf symbol
    values: Floats

    @cached_property
    def offsets(self) -> Int64s:
        """Where the values of each pair begin."""
        return np.concatenate([[0], np.cumsum(self.n_states[self.forest.symbols])])

    @cached_property
    def _states(self) -> StateValues:
        return StateValues(self.values, self.offsets, self.n_states)

    def candidate_vectors(self, leaves: Leaves) -> tuple[Int64s, Floats]:
        """Where the vector of every candidate begins, and the vectors."""
        words = WordCandidates(leaves.nodes, leaves.tags, leaves.begin, leaves.symbols)
        return candidate_vectors(self.forest.arrays, words, self._states)

    def vectors(self, nodes: Int64s, symbols: Int32s) -> tuple[Floats, Int64s]:
        """The vectors of given symbols at given nodes, flat, and where each begins."""
        at = np.concatenate([[0], np.cumsum(self.n_states[symbols])])
        return leaf_vectors(self.forest.arrays, nodes, symbols, self._states, at), at

    def grouped(self, groups: Int64s, frequencies: Floats, n_groups: Int64s, totals: Floats) -> Lexicon:
        """The lexicon of a grammar whose states were joined, see `LatentGrammar.grouped`.

        `frequencies` and `totals` are how often states and groups occur; leaf symbols come first in both.
        """
        symbols, sizes = self.forest.symbols, n_groups[: len(self.n_states)]
        offsets = np.concatenate([[0], np.cumsum(sizes[symbols])])
        state = flat_states(self.n_states, symbols)
        pair = np.repeat(np.arange(len(symbols)), self.n_states[symbols])
        sums = np.bincount(offsets[pair] + groups[state], self.values * frequencies[state], int(offsets[-1]))
        return Lexicon(self.forest, sizes, sums / np.maximum(totals[flat_states(sizes, symbols)], 1e-300))


def flat_states(n_states: Int64s, symbols: Int32s) -> Int64s:
    """For the states of each of `symbols`, one after the other, their numbers among the states of all."""
    begin = (np.cumsum(n_states) - n_states)[symbols]
    sizes = n_states[symbols]
    inner = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.repeat(begin, sizes) + inner
