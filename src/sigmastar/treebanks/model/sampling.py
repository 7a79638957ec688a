"""Trees drawn from a latent grammar, from the root down; weights below zero count as zero."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sigmastar.treebanks.data.binary import PHRASE
from sigmastar.treebanks.model.binarized_grammar import Member
from sigmastar.trees.data.tree import Tree

Array = NDArray[np.float64]

_MOST_NODES = 20_000


@dataclass(frozen=True, eq=False)
class TreeSampler:
    """Draws trees; what it needs of a symbol and state is worked out when first met."""

    member: Member

    def sample(self, rng: np.random.Generator) -> Tree:
        """One tree; a draw that grows beyond all measure is given up and drawn anew."""
        while True:
            tree = self._drawn(rng)
            if tree is not None:
                return tree

    def _drawn(self, rng: np.random.Generator) -> Tree | None:
        grammar = self.member.grammar
        state = _choice(grammar.roots, rng)
        symbol = int(np.searchsorted(grammar.state_at, state, side="right")) - 1
        waiting: list[tuple[int, int] | None] = [(symbol, state - int(grammar.state_at[symbol]))]
        opened: list[int] = []
        done: list[list[Tree | str]] = [[]]  # children of the phrases that are open
        budget = _MOST_NODES
        while waiting:
            node = waiting.pop()
            if node is None:
                children = done.pop()
                done[-1].append(self._labelled(opened.pop(), tuple(children)))
                continue
            budget -= 1
            if budget < 0:
                return None
            a, x = node
            if a < self.member.symbols.n_leaves:
                done[-1].append(self._labelled(a, (self._word(a, x, rng),)))
                continue
            if self.member.symbols.kind[a] == PHRASE:
                opened.append(a)
                done.append([])
                waiting.append(None)
            left, right = self._children(a, x, rng)
            waiting += [right, left]
        tree = done[0][0]
        return tree if isinstance(tree, Tree) else None

    def _labelled(self, symbol: int, children: tuple[Tree | str, ...]) -> Tree:
        chain = self.member.labels[int(self.member.symbols.label[symbol])]
        tree = Tree(chain[-1], children)
        for label in reversed(chain[:-1]):
            tree = Tree(label, (tree,))
        return tree

    def _children(self, a: int, x: int, rng: np.random.Generator) -> tuple[tuple[int, int], tuple[int, int]]:
        grammar = self.member.grammar
        rules = self._rules[a]
        tables = [np.maximum(grammar.tensor(rule)[:, :, x], 0.0) for rule in rules]
        rule = _choice(np.array([table.sum() for table in tables]), rng)
        table = tables[rule]
        y, z = divmod(_choice(table.ravel(), rng), table.shape[1])
        _, b, c = grammar.rules[rules[rule]].tolist()
        return (b, y), (c, z)

    @cached_property
    def _rules(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for rule, a in enumerate(self.member.grammar.rules[:, 0].tolist()):
            found.setdefault(a, []).append(rule)
        return found

    def _word(self, a: int, z: int, rng: np.random.Generator) -> str:
        words, weights = self._words[a]
        return words[_choice(weights[:, z], rng)]

    @cached_property
    def _words(self) -> dict[int, tuple[list[str], Array]]:
        """For every leaf symbol its words, and how often each has each state."""
        lexicon, forest = self.member.stages[-1].lexicon, self.member.forest
        texts = list(forest.words)
        node = np.repeat(np.arange(len(forest.above)), np.diff(forest.starts))
        found = {}
        for a in range(len(forest.tags)):
            pairs = np.flatnonzero((forest.symbols == a) & (node < len(texts)))
            rows = [lexicon.values[lexicon.offsets[p] : lexicon.offsets[p + 1]] for p in pairs.tolist()]
            found[a] = [texts[node[p]] for p in pairs.tolist()], np.stack(rows)
        return found


def _choice(weights: Array, rng: np.random.Generator) -> int:
    running = np.cumsum(np.maximum(weights, 0.0))
    if running[-1] <= 0:
        return int(rng.integers(len(weights)))
    return int(np.searchsorted(running, rng.random() * running[-1], side="right"))
