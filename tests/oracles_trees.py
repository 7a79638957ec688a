"""Slow twins for trees: straight from the definitions, by recursion over `Tree` objects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from sigmastar.trees.data.tree import Tree

HOLE = "*hole*"


def inside_vector(automaton, tree: Tree | str) -> np.ndarray:
    leaves, unary, binary = automaton.alphabet.ranks
    if isinstance(tree, str):
        return automaton.leaf[leaves.codes[tree]] if tree in leaves else np.zeros(automaton.n_states)
    below = [inside_vector(automaton, child) for child in tree.children]
    if len(below) == 1:
        return automaton.unary[unary.codes[tree.label]] @ below[0]
    return np.einsum("ijk,j,k->i", automaton.binary[binary.codes[tree.label]], *below)


def tree_value(automaton, tree: Tree | str) -> float:
    return float(automaton.root @ inside_vector(automaton, tree))


def subtrees(tree: Tree | str) -> Iterator[Tree | str]:
    yield tree
    if not isinstance(tree, str):
        for child in tree.children:
            yield from subtrees(child)


def contexts(tree: Tree | str, around: tuple = ()) -> Iterator[tuple[tuple, Tree | str]]:
    """Every node with the steps around it from the hole outward: (label, side, sibling)."""
    yield around, tree
    if isinstance(tree, str):
        return
    if len(tree.children) == 1:
        yield from contexts(tree.children[0], ((tree.label, 0, None), *around))
    else:
        left, right = tree.children
        yield from contexts(left, ((tree.label, 1, right), *around))
        yield from contexts(right, ((tree.label, 2, left), *around))


def context_counts(trees: list, height: int, anchored: bool) -> Counter:
    """How often each (context of up to `height` steps, subtree) is met."""
    met: Counter = Counter()
    for tree in trees:
        for around, inside in contexts(tree):
            for steps in range(height + 1):
                if steps <= len(around) and (not anchored or steps == len(around)):
                    met[around[:steps], inside] += 1
    return met
