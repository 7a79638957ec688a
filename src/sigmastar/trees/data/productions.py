"""Trees of productions.

As a tree of productions, a node is the rule that it is rewritten by:

    (S (NP she) (VP runs))   becomes   TOP -> S [ S -> NP VP [ NP -> she, VP -> runs ] ]

Over productions, a grammar whose non-terminals have hidden states is a weighted tree automaton: two parts fit
together where they share a non-terminal (Balle, Quattoni and Carreras 2014, "Production Parse Trees").
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Int64s
from sigmastar.core.errors import InputError
from sigmastar.trees.data.ranked import RankedAlphabet, RankedTrees
from sigmastar.trees.data.tree import Tree

TOP = "TOP"


def production_trees(
    trees: Iterable[Tree], alphabet: RankedAlphabet | None = None, allow_unknown: bool = False
) -> RankedTrees:
    """Binary trees over tagged words as trees over `(a, x)`, `(a, b, c)` and, on top, `(TOP, a)`.

    Parameters
    ----------
    trees : iterable of Tree
        Binary ones over tagged words.
    alphabet : RankedAlphabet, optional
        The codes to use; those of the productions found if none is given.
    allow_unknown : bool
        Whether productions that `alphabet` lacks become -1; else they are an error.

    Returns
    -------
    RankedTrees
        Productions in place of labels and words.

    Examples
    --------
    >>> found = production_trees([Tree("S", (Tree("A", ("a",)), Tree("B", ("b",))))])
    >>> found.alphabet.binary.symbols, found.alphabet.leaves.symbols
    ((('S', 'A', 'B'),), (('A', 'a'), ('B', 'b')))
    """
    plain = RankedTrees.of(trees)
    _require_form(plain)
    found = _rewritten(plain)
    return found if alphabet is None else found.recoded(alphabet, allow_unknown)


def _require_form(trees: RankedTrees) -> None:
    _require_binary(trees)
    child_rank = np.where(trees.left >= 0, trees.rank[trees.left], -1)
    right_rank = np.where(trees.right >= 0, trees.rank[trees.right], -1)
    chain = (trees.rank == 1) & (child_rank != 0)
    bare = (trees.rank == 2) & ((child_rank == 0) | (right_rank == 0))
    for wrong, problem, remedy in (
        (chain, "has a single phrase below it", "collapse chains first (sigmastar.trees.collapse)"),
        (bare, "has a word among two children", "give every word a tag"),
    ):
        if wrong.any():
            node = int(np.flatnonzero(wrong)[0])
            number = int(np.searchsorted(trees.ends, node, side="right")) + 1
            name = trees.alphabet.ranks[trees.rank[node]].symbols[trees.symbol[node]]
            raise InputError(f"tree {number}: {name!r} {problem}; {remedy}")
    if (trees.rank[trees.roots] == 0).any():
        raise InputError("a word without a tag is no tree; write (TAG word)")


def _require_binary(trees: RankedTrees) -> None:
    wide = np.flatnonzero(trees.rank > 2)
    if len(wide):
        node = int(wide[0])
        number = int(np.searchsorted(trees.ends, node, side="right")) + 1
        name, size = trees.alphabet.ranks[trees.rank[node]].symbols[trees.symbol[node]], trees.rank[node]
        raise InputError(f"tree {number}: {name!r} has {size} children, two at most can be; binarize it")


def _rewritten(trees: RankedTrees) -> RankedTrees:
    leaves, unary, binary = trees.alphabet.ranks[:3]
    names = list(dict.fromkeys([*map(str, unary), *map(str, binary)]))
    codes = {name: code for code, name in enumerate(names)}
    label = np.zeros(trees.n_nodes, np.int64)  # of nodes that are no words
    for arity, symbols in ((1, unary), (2, binary)):
        nodes = np.flatnonzero(trees.rank == arity)
        label[nodes] = np.array([codes[str(name)] for name in symbols] or [0])[trees.symbol[nodes]]
    kept = np.flatnonzero(trees.rank > 0)
    n_before = np.searchsorted(trees.ends, kept, side="right")  # a root more for each tree before
    place = np.zeros(trees.n_nodes, np.int64)
    place[kept] = np.arange(len(kept)) + n_before
    size = len(kept) + len(trees)
    tops = place[trees.roots] + 1
    rank = np.ones(size, np.int32)
    tags, phrases = kept[trees.rank[kept] == 1], kept[trees.rank[kept] == 2]
    rank[place[tags]], rank[place[phrases]] = 0, 2
    first = np.cumsum(rank) - rank
    children = np.zeros(int(rank.sum()), np.int32)
    for side, child in enumerate((trees.left, trees.right)):
        children[first[place[phrases]] + side] = place[child[phrases]]
    children[first[tops]] = place[trees.roots]
    symbol, n = np.zeros(size, np.int32), len(names)
    words = trees.symbol[trees.left[tags]]
    symbol[place[tags]], lexical = _coded(label[tags] * len(leaves) + words)
    pairs = label[trees.left[phrases]] * n + label[trees.right[phrases]]
    symbol[place[phrases]], rules = _coded(label[phrases] * n * n + pairs)
    symbol[tops], tops_of = _coded(label[trees.roots])
    alphabet = RankedAlphabet(
        Alphabet((names[key // len(leaves)], leaves.symbols[key % len(leaves)]) for key in lexical.tolist()),
        Alphabet((TOP, names[key]) for key in tops_of.tolist()),
        Alphabet((names[key // (n * n)], names[key // n % n], names[key % n]) for key in rules.tolist()),
    )
    ends = np.searchsorted(kept, trees.ends) + np.arange(1, len(trees) + 1)
    return RankedTrees(alphabet, rank, symbol, children, ends)


def _coded(keys: Int64s) -> tuple[NDArray[np.int32], Int64s]:
    distinct, position = np.unique(keys, return_inverse=True)
    return position.astype(np.int32).ravel(), distinct
