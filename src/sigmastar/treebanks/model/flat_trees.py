"""Flat trees, for sentences that a grammar cannot parse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sigmastar.treebanks.model.binarized_grammar import Member
from sigmastar.trees.data.tree import Tree


@dataclass(frozen=True)
class FlatTrees:
    """The most frequent root over the tags of the words."""

    member: Member

    def tags(self, words: Sequence[str], tags: Sequence[str] | None) -> list[str]:
        """The tags that were given, or the most probable tag of every word by itself."""
        if tags is not None:
            return list(tags)
        leaves = self.member.forest.leaves(words)
        weights = leaves.scores * self.member.forest.frequencies[leaves.symbols]
        best = [
            leaves.symbols[low + int(np.argmax(weights[low:high]))]
            for low, high in zip(leaves.begin[:-1], leaves.begin[1:], strict=True)
        ]
        return [self.member.labels[self.member.symbols.label[symbol]][-1] for symbol in best]

    def tree(self, words: Sequence[str], tags: Sequence[str]) -> Tree:
        children = [Tree(tag, (word,)) for tag, word in zip(tags, words, strict=True)]
        return Tree(self.member.labels[self._common_root()][0], tuple(children))

    def _common_root(self) -> int:
        symbols = self.member.symbols
        phrase = np.where(symbols.base >= 0, self.member.stages[0].grammar.roots, -1.0)
        phrase[: symbols.n_leaves] = -1.0
        return int(symbols.label[int(np.argmax(phrase))])
