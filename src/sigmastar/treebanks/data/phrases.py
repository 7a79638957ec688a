"""Treebanks as flat arrays: one row a phrase, unary chains collapsed, traces and functions gone.

Trees become rows in preorder. A chain of single children, S -> VP -> VB -> run, is one row whose label is
the chain ("S", "VP", "VB"): what is left has words at its leaves and two or more children elsewhere. Leaves
are chains that end in a tag. Only the walk over `Tree` objects is Python; the rest is arithmetic on arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sigmastar.core.arrays import Flags, Int32s, Int64s
from sigmastar.core.errors import InputError
from sigmastar.core.jit import kernel
from sigmastar.trees.data.brackets import TRACE, plain_label
from sigmastar.trees.data.tree import Tree


@dataclass(frozen=True, eq=False)
class Phrases:
    """All trees of a treebank: rows in preorder, those of one tree together."""

    labels: tuple[tuple[str, ...], ...]  # chains, from the top down
    words: tuple[str, ...]
    label: Int32s  # of every row
    parent: Int32s  # row, -1 for roots
    word: Int32s  # -1 for phrases above several words
    starts: Int64s  # the first row of every tree, and the end

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def n_words(self) -> int:
        return len(self.leaf_rows)

    @cached_property
    def children(self) -> tuple[Int64s, Int32s]:
        """Where the children of every row begin, and their rows, from left to right."""
        inner = np.flatnonzero(self.parent >= 0)
        order = inner[np.argsort(self.parent[inner], kind="stable")]
        counts = np.bincount(self.parent[inner], minlength=len(self.label))
        return np.concatenate([[0], np.cumsum(counts)]), order.astype(np.int32)

    @cached_property
    def word_counts(self) -> Int64s:
        return np.bincount(self.word[self.word >= 0], minlength=len(self.words))

    @cached_property
    def leaf_rows(self) -> Int64s:
        """The rows of words, in the order of the text."""
        return np.flatnonzero(self.word >= 0)

    @cached_property
    def spans(self) -> tuple[Int64s, Int64s]:
        """The first word of every row, counted in its sentence, and the word behind its last."""
        return _spans(self.parent, self.word, self.starts)


LONGEST_CHAIN = 100
"""Labels in a unary chain, at most: each chain that occurs is a symbol of its own."""


def phrases(trees: Iterable[Tree | str], plain: bool = True) -> Phrases:
    """Rows of trees; with `plain`, traces, functions and what is empty without them are left out.

    Parameters
    ----------
    trees : iterable of Tree
        Every word has a tag of its own.
    plain : bool
        Whether labels are made plain and traces are left out.

    Returns
    -------
    Phrases
        One row per phrase, unary chains collapsed.
    """
    raw = _Walk()
    for number, tree in enumerate(trees, 1):
        raw.add(tree, number)
    return raw.collapsed(plain)


class _Walk:
    """Every node and word in preorder, as numbers."""

    def __init__(self) -> None:
        self.labels: dict[str, int] = {}
        self.words: dict[str, int] = {}
        self.code: list[int] = []  # of labels; of words -1 - code
        self.parent: list[int] = []
        self.starts = [0]

    def add(self, tree: Tree | str, number: int) -> None:
        labels, words, code, parent = self.labels, self.words, self.code, self.parent
        if isinstance(tree, str):
            raise InputError(f"tree {number}: {tree!r} is a word, no tree; write (TAG {tree})")
        waiting: list[tuple[Tree | str, int]] = [(tree, -1)]
        while waiting:
            node, above = waiting.pop()
            parent.append(above)
            if isinstance(node, str):
                code.append(-1 - words.setdefault(node, len(words)))
                continue
            at = len(code)
            code.append(labels.setdefault(node.label, len(labels)))
            children = node.children
            if len(children) == 1:
                waiting.append((children[0], at))
            else:
                if any(isinstance(child, str) for child in children):
                    raise InputError(
                        f"tree {number}: a word stands beside other children of {node.label!r}; "
                        "give every word a tag of its own, as in (DT the), or use --bare-words XX"
                    )
                waiting.extend([(child, at) for child in reversed(children)])
        self.starts.append(len(code))

    def collapsed(self, plain: bool) -> Phrases:
        code, parent = np.array(self.code, dtype=np.int64), np.array(self.parent, dtype=np.int64)
        names = [plain_label(name) if plain else name for name in self.labels]
        table = {name: number for number, name in enumerate(dict.fromkeys(names))}
        label = np.array([table[name] for name in names] or [0])[np.maximum(code, 0)]
        dead = np.array([plain and name == TRACE for name in self.labels] or [False])
        n_children, only = _living(code, parent, dead)
        open_ = (code >= 0) & (n_children == 1) & (code[only] >= 0)
        height = _heights(open_, only)
        self._require_short(height)
        chains, label = _chains(list(table), label, height, only)
        rows = (code >= 0) & (n_children > 0)
        single = rows & (n_children == 1)
        rows[only[single]] = False  # the lower parts of chains
        at = np.cumsum(rows) - 1
        bottom = _bottoms(only, n_children, code)
        above = np.where(parent >= 0, parent, 0)
        top = _tops(parent, n_children, rows)
        kept = np.flatnonzero(rows)
        words = code[bottom[kept]]
        used, number = np.unique(np.minimum(words, 0), return_inverse=True)  # those of traces are gone
        texts = list(self.words)
        known = tuple(texts[-1 - c] for c in used[::-1].tolist() if c < 0)
        owner = np.where(parent[kept] >= 0, at[top[above[kept]]], -1)
        ends = np.concatenate([[0], np.cumsum(rows)])[np.array(self.starts)]
        starts = np.concatenate([[0], ends[1:][np.diff(ends) > 0]])  # trees without words are gone
        return Phrases(
            chains,
            known,
            label[kept].astype(np.int32),
            owner.astype(np.int32),
            np.where(words < 0, len(known) - 1 - number, -1).astype(np.int32),
            starts.astype(np.int64),
        )

    def _require_short(self, height: Int64s) -> None:
        """Raise `InputError` at a chain whose labels no parser could tell apart."""
        longest = int(height.max(initial=0)) + 1
        if longest > LONGEST_CHAIN:
            number = int(np.searchsorted(self.starts, int(np.argmax(height)), side="right"))
            raise InputError(
                f"tree {number}: {longest} labels stand in a row, each the only child of the one above; "
                f"{LONGEST_CHAIN} at most can be: leave repeated ones out"
            )


@kernel
def _spans(parent: Int32s, word: Int32s, starts: Int64s) -> tuple[Int64s, Int64s]:
    begin, end = np.zeros(len(word), np.int64), np.zeros(len(word), np.int64)
    for tree in range(len(starts) - 1):
        count = 0
        for row in range(starts[tree], starts[tree + 1]):
            begin[row] = count
            count += word[row] >= 0
            end[row] = count
        for row in range(starts[tree + 1] - 1, starts[tree], -1):
            end[parent[row]] = max(end[parent[row]], end[row])
    return begin, end


@kernel
def _living(code: Int64s, parent: Int64s, dead: Flags) -> tuple[Int64s, Int64s]:
    """How many children with words each node has, and the last of them in preorder; words count as one."""
    count, only = np.zeros(len(code), np.int64), np.full(len(code), -1, np.int64)
    for node in range(len(code) - 1, -1, -1):
        if code[node] >= 0 and dead[code[node]]:
            count[node] = 0
        elif code[node] < 0:
            count[node] = 1
        if count[node] > 0 and parent[node] >= 0:
            count[parent[node]] += 1
            only[parent[node]] = node
    return count, only


@kernel
def _bottoms(only: Int64s, count: Int64s, code: Int64s) -> Int64s:
    """The word or branching node at the end of each chain."""
    bottom = np.arange(len(code))
    for node in range(len(code) - 1, -1, -1):
        if code[node] >= 0 and count[node] == 1:
            bottom[node] = bottom[only[node]]
    return bottom


@kernel
def _tops(parent: Int64s, count: Int64s, rows: Flags) -> Int64s:
    """The row that each node is part of."""
    top = np.arange(len(parent))
    for node in range(len(parent)):
        if not rows[node] and parent[node] >= 0:
            top[node] = top[parent[node]]
    return top


def _chains(
    names: Sequence[str], label: Int64s, height: Int64s, only: Int64s
) -> tuple[tuple[tuple[str, ...], ...], Int64s]:
    """The chain that begins at each node, as a number, and the chains."""
    chains: list[tuple[str, ...]] = [(name,) for name in names]
    label = label.copy()
    for step in range(1, int(height.max(initial=0)) + 1):
        nodes = np.flatnonzero(height == step)
        keys, inverse = np.unique(label[nodes] * (1 << 32) + label[only[nodes]], return_inverse=True)
        label[nodes] = len(chains) + inverse
        chains += [chains[key >> 32] + chains[key & 0xFFFFFFFF] for key in keys.tolist()]
    return tuple(chains), label


@kernel
def _heights(open_: Flags, only: Int64s) -> Int64s:
    height = np.zeros(len(open_), np.int64)
    for node in range(len(open_) - 1, -1, -1):
        if open_[node]:
            height[node] = height[only[node]] + 1
    return height
