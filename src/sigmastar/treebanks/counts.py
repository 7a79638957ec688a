"""Which child of a phrase is its head, chosen from the treebank alone.

Every phrase of label X is explained by one of its children: child label c with probability theta(c | X),

    likelihood = product over phrases of sum over their children i of theta(label(i) | X)

EM drives theta towards the few labels that account for all expansions of X, which are its heads: IN for PP,
verbs for VP. Tags are told apart by their first letter alone, which most tag sets choose alike for one word
class (NN, NNS; VBD, VBZ), so that rare tags follow frequent ones. Among children of equal theta the head is
the first or the last one, wherever heads of that label stand more often. No language is assumed.

Features of inside and outside trees, phi and psi of Cohen et al. (2012), section 6.1.

A template is a function from all nodes of a binarized treebank to one whole number each; two nodes of one
symbol with the same number share an indicator feature. To add a feature, write a template and pass it in
`inside` or `outside`. Indicators are kept as a table [node, template] of numbers that count from 0 within
each symbol, weighted so that a frequent feature does not drown the rare ones (`core.views`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.em import Problem, iterate
from sigmastar.core.views import GroupedIndicators, grouped_indicators
from sigmastar.core.word_signatures import signatures
from sigmastar.treebanks.data.binarized import BinaryPhrases
from sigmastar.treebanks.data.phrases import Phrases

_ROUNDS = 20


@dataclass(frozen=True)
class HeadChoice:
    """theta by the labels of phrase and child; and the chains whose head is the last of equal children."""

    theta: Mapping[tuple[str, str], float]
    from_right: frozenset[tuple[str, ...]]

    def heads(self, bank: Phrases) -> Int32s:
        """For every row the number of its head among its children, from 0; 0 for words."""
        children = _Children.of(bank)
        weights = np.array([self.theta.get(pair, 0.0) for pair in children.pairs] or [0.0])[children.pair]
        side = np.array([-1 if chain in self.from_right else 1 for chain in bank.labels])
        order = np.lexsort((children.position * side[bank.label[children.owner]], -weights, children.owner))
        parents = np.unique(children.owner)
        first = order[np.searchsorted(children.owner[order], parents)]
        heads = np.zeros(len(bank.label), dtype=np.int32)
        heads[parents] = children.position[first]
        return heads

    def to_header(self) -> dict[str, Any]:
        """As model files keep it."""
        theta = [[*pair, value] for pair, value in self.theta.items()]
        return {"theta": theta, "from_right": [list(chain) for chain in sorted(self.from_right)]}

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> HeadChoice:
        theta = {(above, below): float(value) for above, below, value in header["theta"]}
        return cls(theta, frozenset(tuple(chain) for chain in header["from_right"]))


def choose_heads(bank: Phrases) -> HeadChoice:
    """theta by EM, and the sides.

    Parameters
    ----------
    bank : Phrases
        The treebank.

    Returns
    -------
    HeadChoice
        For this treebank and others with its labels.
    """
    children = _Children.of(bank)
    upper = np.unique([above for above, _ in children.pairs], return_inverse=True)[1]
    theta = iterate(_problem(children, upper, len(bank.label)), np.ones(len(children.pairs)), _ROUNDS)
    n_children = np.bincount(children.owner, minlength=len(bank.label))[children.owner]
    place = children.position / np.maximum(n_children - 1, 1) - 0.5
    total = np.bincount(bank.label[children.owner], theta[children.pair] * place, minlength=len(bank.labels))
    from_right = frozenset(bank.labels[label] for label in np.flatnonzero(total > 0).tolist())
    return HeadChoice(dict(zip(children.pairs, theta.tolist(), strict=True)), from_right)


def _problem(children: _Children, upper: Int64s, n_rows: int) -> Problem[Floats, Floats]:
    """Counts are the sums of the posteriors of children; theta is their share among those of the phrase."""

    def expect(theta: Floats) -> tuple[Floats, float]:
        weights = theta[children.pair]
        total = np.bincount(children.owner, weights, minlength=n_rows)
        counts = np.bincount(children.pair, weights / total[children.owner], minlength=len(theta))
        return counts.astype(np.float64), float(np.log(total[total > 0]).sum())

    def maximize(counts: Floats) -> Floats:
        return np.asarray(counts / np.bincount(upper, counts)[upper])

    return Problem(expect, maximize, name="heads")


@dataclass(frozen=True, eq=False)
class _Children:
    """All children of all phrases, by pairs of labels."""

    owner: Int64s  # the row of the phrase
    position: Int64s  # among its children, from 0
    pairs: list[tuple[str, str]]
    pair: Int64s

    @classmethod
    def of(cls, bank: Phrases) -> _Children:
        starts, children = bank.children
        owner = np.repeat(np.arange(len(bank.label)), np.diff(starts))
        upper, lower = _names(bank, top=False), _names(bank, top=True)
        keys = bank.label[owner].astype(np.int64) << 32 | bank.label[children]
        distinct, place = np.unique(keys, return_inverse=True)
        named = [(upper[key >> 32], lower[key & 0xFFFFFFFF]) for key in distinct.tolist()]
        number = {name: k for k, name in enumerate(dict.fromkeys(named))}
        pair = np.array([number[name] for name in named] or [0])[place]
        return cls(owner, np.arange(len(children)) - starts[:-1][owner], list(number), pair)


def _names(bank: Phrases, top: bool) -> list[str]:
    """The end of each chain that matters: as a child its top, of a tag its first letter; else its bottom."""
    is_leaf = np.zeros(len(bank.labels), dtype=bool)
    is_leaf[bank.label[bank.word >= 0]] = True
    return [
        chain[-1][0] if top and leaf and len(chain) == 1 else chain[0 if top else -1]
        for chain, leaf in zip(bank.labels, is_leaf.tolist(), strict=True)
    ]


Template = Callable[["Nodes"], Int64s]

DAMPING = 5.0


@dataclass(frozen=True, eq=False)
class Nodes:
    """What templates look at: columns with one number per node, -1 where there is none."""

    bank: BinaryPhrases
    tags: Int32s  # of leaf symbols: a number of the last label of the chain

    @cached_property
    def symbol(self) -> Int64s:
        return self.bank.symbol.astype(np.int64)

    @cached_property
    def rule(self) -> Int64s:
        """The rule at each node; at leaves a number of its own for each symbol."""
        return np.where(self.bank.rule >= 0, self.bank.rule, len(self.bank.rules) + self.symbol)

    @cached_property
    def leaf_tag(self) -> Int64s:
        """The tag of every leaf, by node; -1 elsewhere."""
        symbol = self.bank.symbol
        return np.where(self.bank.word >= 0, self.tags[np.minimum(symbol, len(self.tags) - 1)], -1)

    @cached_property
    def head_tag(self) -> Int64s:
        return self.leaf_tag[self.bank.head]

    @cached_property
    def head_word(self) -> Int64s:
        return self.bank.word[self.bank.head].astype(np.int64)

    @cached_property
    def sibling(self) -> Int64s:
        """The other child of the parent, -1 at roots."""
        parent = self.bank.parent
        above = np.maximum(parent, 0)
        left, right = self.bank.left[above], self.bank.right[above]
        return np.where(parent < 0, -1, left + right - np.arange(len(parent)))

    @cached_property
    def is_right(self) -> Int64s:
        right = self.bank.right[np.maximum(self.bank.parent, 0)]
        found: Int64s = (right == np.arange(len(right))).astype(np.int64)
        return found

    @cached_property
    def sentence_tags(self) -> tuple[Int64s, Int64s, Int64s]:
        """Tags of all words in the order of the text; where each node's sentence begins; where it ends."""
        lengths = self.bank.end[self.bank.roots].astype(np.int64)
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        tree = np.repeat(np.arange(len(lengths)), np.diff(self.bank.starts))
        leaves = np.flatnonzero(self.bank.word >= 0)
        tags = np.empty(offsets[-1], dtype=np.int64)
        tags[offsets[tree[leaves]] + self.bank.begin[leaves]] = self.leaf_tag[leaves]
        return tags, offsets[tree], offsets[tree + 1]

    def tag_at(self, position: Int64s) -> Int64s:
        """The tag at a place of each node's sentence, -1 beyond its ends."""
        tags, low, high = self.sentence_tags
        place = low + position
        inside = (place >= low) & (place < high)
        return np.where(inside, tags[np.clip(place, 0, len(tags) - 1)], -1)

    @cached_property
    def shapes(self) -> list[Int64s]:
        """The signatures of every leaf's word, from the finest; -1 elsewhere."""
        table: dict[str, int] = {}
        words = self.bank.phrases.words
        rows = np.array([[table.setdefault(s, len(table)) for s in signatures(w)] for w in words])
        return [np.where(self.bank.word >= 0, rows[self.bank.word, level], -1) for level in range(4)]


def at(values: Int64s, nodes: NDArray[np.integer]) -> Int64s:
    """Values at other nodes, -1 where there is no such node."""
    return np.where(nodes >= 0, values[np.maximum(nodes, 0)], -1)


def joined(first: Int64s, second: Int64s) -> Int64s:
    """One number for two."""
    return (first + 1) * (int(second.max(initial=0)) + 2) + second + 1


def _bin(widths: Int64s) -> Int64s:
    return np.digitize(widths, [1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50])


def _parent(nodes: Nodes, steps: int = 1) -> Int64s:
    found = nodes.bank.parent.astype(np.int64)
    for _ in range(steps - 1):
        found = at(nodes.bank.parent.astype(np.int64), found)
    return found


INSIDE: Mapping[str, Template] = MappingProxyType(
    {
        "bias": lambda n: np.zeros(len(n.symbol), np.int64),
        "rule": lambda n: n.rule,
        "left": lambda n: at(n.symbol, n.bank.left),
        "right": lambda n: at(n.symbol, n.bank.right),
        "rule and left rule": lambda n: joined(n.rule, at(n.rule, n.bank.left)),
        "rule and right rule": lambda n: joined(n.rule, at(n.rule, n.bank.right)),
        "head tag": lambda n: n.head_tag,
        "head word": lambda n: n.head_word,
        "width": lambda n: _bin(n.bank.end.astype(np.int64) - n.bank.begin),
        "first tag": lambda n: n.tag_at(n.bank.begin.astype(np.int64)),
        "last tag": lambda n: n.tag_at(n.bank.end.astype(np.int64) - 1),
        "last 3": lambda n: n.shapes[0],
        "last 2": lambda n: n.shapes[1],
        "shape": lambda n: n.shapes[3],
    }
)
"""The default phi."""

OUTSIDE: Mapping[str, Template] = MappingProxyType(
    {
        "bias": lambda n: np.zeros(len(n.symbol), np.int64),
        "parent": lambda n: joined(at(n.symbol, _parent(n)), n.is_right),
        "parent rule": lambda n: joined(at(n.rule, _parent(n)), n.is_right),
        "sibling head tag": lambda n: joined(at(n.head_tag, n.sibling), n.is_right),
        "sibling rule": lambda n: joined(at(n.rule, n.sibling), n.is_right),
        "parent head tag": lambda n: at(n.head_tag, _parent(n)),
        "grandparent": lambda n: joined(at(n.symbol, _parent(n, 2)), at(n.symbol, _parent(n))),
        "great-grandparent": lambda n: at(n.symbol, _parent(n, 3)),
        "previous tag": lambda n: n.tag_at(n.bank.begin.astype(np.int64) - 1),
        "next tag": lambda n: n.tag_at(n.bank.end.astype(np.int64)),
        "words before": lambda n: _bin(n.bank.begin.astype(np.int64)),
        "words after": lambda n: _bin(n.sentence_tags[2] - n.sentence_tags[1] - n.bank.end),
    }
)
"""The default psi. Whether a node is a root shows in "parent"."""


def indicators(
    nodes: Nodes, templates: Mapping[str, Template], damping: float = DAMPING
) -> GroupedIndicators:
    """The features of every node, numbered within its symbol.

    Parameters
    ----------
    nodes : Nodes
        See `nodes_of`.
    templates : mapping
        From names to functions from nodes to whole numbers from -1 up.
    damping : float
        Added to the counts that features are weighted by.

    Returns
    -------
    GroupedIndicators
        A view of the nodes of every symbol.
    """
    codes = np.stack([template(nodes) for template in templates.values()], axis=1)
    return grouped_indicators(nodes.symbol, codes, len(nodes.bank.symbols), damping)


def nodes_of(bank: BinaryPhrases) -> Nodes:
    """The view of a treebank that templates take."""
    table: dict[str, int] = {}
    labels, symbols = bank.phrases.labels, bank.symbols
    tags = [
        table.setdefault(labels[label][-1], len(table))
        for label in symbols.label[: symbols.n_leaves].tolist()
    ]
    return Nodes(bank, np.array(tags, dtype=np.int32))
