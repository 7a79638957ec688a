"""Strings with what a black box told at each of their gaps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sigmastar.automata.data.strings import PrefixTrie, Strings, joined
from sigmastar.automata.kernels.values import gap_nodes
from sigmastar.core.arrays import Array, Indices
from sigmastar.distil.kernels import SoftTrie
from sigmastar.distil.questions import Questions


@dataclass(frozen=True, eq=False)
class Asked:
    """A corpus, and a row per gap: the distribution that the black box gave there."""

    strings: Strings
    rows: Array  # gaps x outcomes

    def __len__(self) -> int:
        return len(self.strings)

    def select(self, indices: Indices) -> Asked:
        """Some of the strings."""
        lengths = self.strings.lengths[indices] + 1
        begins = (self.strings.offsets[:-1] + np.arange(len(self)))[indices]
        ends = np.cumsum(lengths)
        gaps = np.arange(ends[-1] if len(ends) else 0) + np.repeat(begins - (ends - lengths), lengths)
        return Asked(self.strings.select(indices), self.rows[gaps])

    def on_trie(self, dtype: type = np.float64) -> tuple[PrefixTrie, SoftTrie]:
        """Every distinct prefix once, weighted by how often it occurs."""
        trie = PrefixTrie.of(self.strings)
        nodes = gap_nodes(trie.parent, trie.string_node, self.strings.offsets)
        targets: Array = np.empty((trie.n_nodes, self.rows.shape[1]), dtype)
        targets[nodes] = self.rows
        weights: Array = np.bincount(nodes, minlength=trie.n_nodes).astype(dtype)
        return trie, SoftTrie(trie.parent, trie.symbol, trie.level_starts, targets, weights)

    def batches(self, n_gaps: int, rng: np.random.Generator) -> Iterator[SoftTrie]:
        """The strings in random order, cut into pieces."""
        order = rng.permutation(len(self))
        sums = np.cumsum(self.strings.lengths[order] + 1)
        n_pieces = max(1, int(np.ceil(sums[-1] / n_gaps)))
        cuts = np.searchsorted(sums, np.linspace(0, sums[-1], n_pieces + 1)[1:-1])
        for piece in np.split(order, cuts):
            if len(piece):
                yield self.select(piece).on_trie(np.float32)[1]


def ask(questions: Questions, strings: Strings) -> Asked:
    """Ask at every prefix of some strings."""
    trie = PrefixTrie.of(strings)
    told = questions.along(trie)
    return possible(Asked(strings, told[gap_nodes(trie.parent, trie.string_node, strings.offsets)]))


def possible(asked: Asked) -> Asked:
    """Strings cut before the first symbol that cannot follow: what is told behind it means nothing."""
    outcomes = asked.strings.outcomes
    ends = outcomes == len(asked.strings.alphabet)
    impossible = (asked.rows[np.arange(len(outcomes)), outcomes] <= 0.0) & ~ends
    if not impossible.any():
        return asked
    string = np.repeat(np.arange(len(asked)), asked.strings.lengths + 1)
    begins = (asked.strings.offsets[:-1] + np.arange(len(asked)))[string]
    before = np.cumsum(impossible) - impossible
    cut = before - before[begins] > 0  # an impossible symbol was read
    codes = outcomes[~cut & ~ends & ~impossible].astype(np.int32)
    lengths = np.bincount(string[~cut], minlength=len(asked)) - 1
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return Asked(Strings(asked.strings.alphabet, codes, offsets), asked.rows[~cut])


def together(parts: Sequence[Asked]) -> Asked:
    """Several corpora as one."""
    strings = parts[0].strings
    for part in parts[1:]:
        strings = joined(strings, part.strings)
    return Asked(strings, np.concatenate([part.rows for part in parts]))
