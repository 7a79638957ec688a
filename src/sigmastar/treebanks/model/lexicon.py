"""A lexicon: which leaf symbols, in which states, a word may have, known or not.

    score(a, z, w) = P(a, z | w) / P(a, z)

so that a word of any frequency is near one, and P(w | a, z) = score * P(w). A leaf symbol is a tag t with the
unary phrases above it. What a word may be is decided in three steps,

    P(a, z | w) = P(t | w) P(a | w, t) P(z | w, a)

and each backs off by itself from the word to its signatures and on to all rare words, so that a rare reading
of a frequent word is smoothed as a rare word is. Nothing depends on the language.

The steps come from a forest of back-off nodes: word, signatures, rare words, all words.

    P(t | node)    = (c(t, node) + k/2 P(t | above)) / (c(node) + k/2),         at the top c / total
    P(a | node, t) = (c(a, node) + 4k P(a | above, t)) / (c(t, node) + 4k)
    P(z | node, a) = (c(a, z, node) + k P(z | above, a)) / (c(a, node) + k)

Words say much about their tags, and little about what stands above those.

Nodes hold (node, symbol) pairs, sorted by node; a pair owns the values of the states of its symbol, and any
linear function of the counts may stand in their place, signed ones too. A tag that is given has P(t | w) = 1.
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


_OF_TAGS, _OF_SYMBOLS = 0.5, 4.0  # how strong back-off of both is, in units of that of states


class _Tags(NamedTuple):
    """Room for what is known of every tag at a word."""

    shares: Floats  # P(t | w)
    totals: Floats  # c(t, node)
    weights: Floats  # of P(a | above, t)


@part
def _back_off(forest: ForestArrays, node: int) -> float:
    """k, zero at the top."""
    return forest.strength if forest.above[node] >= 0 else 0.0


@part
def _tag_shares(forest: ForestArrays, node: int, tag: int, shares: Floats) -> None:
    """Fill P(t | node) for all tags; of one that is given it is one."""
    shares[:] = 0.0
    if tag >= 0:
        shares[tag] = 1.0
        return
    weight, at = 1.0, node
    while at >= 0:
        k = _OF_TAGS * _back_off(forest, at)
        whole = forest.totals[at] + k
        if whole > 0.0:
            for pair in range(forest.starts[at], forest.starts[at + 1]):
                shares[forest.tags[forest.symbols[pair]]] += weight / whole * forest.counts[pair]
            weight *= k / whole
        at = forest.above[at]


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


@part
def _shares(forest: ForestArrays, node: int, tag: int, tags: _Tags, shares: Floats) -> float:
    """Fill P(a | node) for all leaf symbols, within a tag that is given; the largest of them."""
    _tag_shares(forest, node, tag, tags.shares)
    shares[:], tags.weights[:] = 0.0, 1.0
    at, symbols = node, forest.symbols
    while at >= 0:
        low, high, k = forest.starts[at], forest.starts[at + 1], _OF_SYMBOLS * _back_off(forest, at)
        tags.totals[:] = 0.0
        for pair in range(low, high):
            tags.totals[forest.tags[symbols[pair]]] += forest.counts[pair]
        for pair in range(low, high):
            t = forest.tags[symbols[pair]]
            if tags.shares[t] > 0.0 and forest.counts[pair] > 0.0:
                weight = tags.shares[t] * tags.weights[t] / (tags.totals[t] + k)
                shares[symbols[pair]] += weight * forest.counts[pair]
        for t in range(len(tags.weights)):
            if tags.totals[t] > 0.0:
                tags.weights[t] *= k / (tags.totals[t] + k)
        at = forest.above[at]
    return float(shares.max())


@part
def _room(forest: ForestArrays) -> _Tags:
    n_tags = forest.tags.max() + 1
    return _Tags(np.zeros(n_tags), np.zeros(n_tags), np.zeros(n_tags))


@kernel
def candidates(
    forest: ForestArrays, nodes: Int64s, word_tags: Int64s, least: float, frequencies: Floats
) -> tuple[Int64s, Int32s, Floats, Int64s]:
    """Candidates of every word: where they begin, symbols, P(a | w) / P(a); and the tag that was obeyed."""
    n_symbols, n, room = len(frequencies), len(nodes), _room(forest)
    shares, begin, obeyed = np.zeros(n_symbols), np.zeros(n + 1, np.int64), word_tags.copy()
    found, scores = np.zeros(n * n_symbols, np.int32), np.zeros(n * n_symbols)
    m = 0
    for i in range(n):
        most = _shares(forest, nodes[i], obeyed[i], room, shares)
        if most <= 0.0:  # a tag that no word below this one ever had
            obeyed[i] = -1
            most = _shares(forest, nodes[i], -1, room, shares)
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


@kernel
def leaf_shares(forest: ForestArrays, leaf_nodes: Int64s, leaf_symbols: Int32s) -> Floats:
    """P(a | node) of every (node, symbol) asked for; those of one node in a row cost little more than one."""
    shares, room, found = np.zeros(len(forest.tags)), _room(forest), np.zeros(len(leaf_nodes))
    for i in range(len(leaf_nodes)):
        if i == 0 or leaf_nodes[i] != leaf_nodes[i - 1]:
            _shares(forest, leaf_nodes[i], -1, room, shares)
        found[i] = shares[leaf_symbols[i]]
    return found


class WordLeaves(NamedTuple):
    """Nodes of words with a symbol each, P(a | w), and where the vector of each begins."""

    nodes: Int64s
    symbols: Int32s
    shares: Floats
    at: Int64s


@kernel
def leaf_vectors(forest: ForestArrays, leaves: WordLeaves, states: StateValues) -> Floats:
    """P(a | w) P(z | w, a) / P(a, z) of the states of every leaf, flat."""
    result, offsets = np.zeros(leaves.at[-1]), states.offsets
    for i in range(len(leaves.nodes)):
        node, a, weight, at = leaves.nodes[i], leaves.symbols[i], leaves.shares[i], leaves.at[i]
        while node >= 0:
            low, high = forest.starts[node], forest.starts[node + 1]
            pair = low + np.searchsorted(forest.symbols[low:high], a)
            if pair < high and forest.symbols[pair] == a and forest.counts[pair] > 0.0:
                k = _back_off(forest, node)
                factor = weight / (forest.counts[pair] + k)
                for z in range(offsets[pair + 1] - offsets[pair]):
                    result[at + z] += factor * states.values[offsets[pair] + z]
                weight *= k / (forest.counts[pair] + k)
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

    def shares(self, nodes: Int64s, symbols: Int32s) -> Floats:
        """P(a | w) of a symbol at each of some nodes."""
        return leaf_shares(self.arrays, nodes, symbols)

    def way_up(self, nodes: Int64s, symbols: Int32s) -> tuple[Int64s, Floats]:
        """[row, level]: the pairs that the vector of a symbol at a node is a sum over, and their weights.

        -1 where a node on the way up does not have the symbol; the weight is zero there.
        """
        wanted, owner = len(self.tags), np.repeat(np.arange(len(self.above)), np.diff(self.starts))
        keys, at, weight = owner * wanted + self.symbols, nodes, self.shares(nodes, symbols)
        pairs, weights = list[Int64s](), list[Floats]()
        while (at >= 0).any():
            here = np.maximum(at, 0)
            key = here * wanted + symbols
            place = np.minimum(np.searchsorted(keys, key), len(keys) - 1)
            known = (at >= 0) & (keys[place] == key) & (self.counts[place] > 0)
            back = np.where(self.above[here] >= 0, self.strength, 0.0)
            total = np.maximum(self.counts[place] + back, 1e-300)
            pairs.append(np.where(known, place, -1))
            weights.append(np.where(known, weight / total, 0.0))
            weight = np.where(known, weight * back / total, weight)
            at = np.where(at >= 0, self.above[here], -1)
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
        nodes = np.repeat(leaves.nodes, np.diff(leaves.begin))
        shares = leaves.scores * self.forest.frequencies[leaves.symbols]
        vectors, at = self._vectors(nodes, leaves.symbols, shares)
        return at, vectors

    def vectors(self, nodes: Int64s, symbols: Int32s) -> tuple[Floats, Int64s]:
        """The vectors of given symbols at given nodes, flat, and where each begins."""
        return self._vectors(nodes, symbols, self.forest.shares(nodes, symbols))

    def _vectors(self, nodes: Int64s, symbols: Int32s, shares: Floats) -> tuple[Floats, Int64s]:
        at = np.concatenate([[0], np.cumsum(self.n_states[symbols])])
        return leaf_vectors(self.forest.arrays, WordLeaves(nodes, symbols, shares, at), self._states), at

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
