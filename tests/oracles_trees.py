"""Slow twins for trees: straight from the definitions, by recursion over `Tree` objects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from sigmastar.trees.data.tree import Tree

HOLE = "*hole*"


def inside_vector(automaton, tree: Tree | str) -> np.ndarray:
    if isinstance(tree, str):
        leaves = automaton.alphabet.leaves
        return automaton.leaf[leaves.codes[tree]] if tree in leaves else np.zeros(automaton.n_states)
    result = automaton.by_rank[len(tree.children)][
        automaton.alphabet.ranks[len(tree.children)].codes[tree.label]
    ]
    for child in reversed(tree.children):
        result = np.tensordot(result, inside_vector(automaton, child), 1)
    return result


def tree_value(automaton, tree: Tree | str) -> float:
    return float(automaton.root @ inside_vector(automaton, tree))


def subtrees(tree: Tree | str) -> Iterator[Tree | str]:
    yield tree
    if not isinstance(tree, str):
        for child in tree.children:
            yield from subtrees(child)


def contexts(tree: Tree | str, around: tuple = ()) -> Iterator[tuple[tuple, Tree | str]]:
    """Every node with the steps around it from the hole outward: (label, position, siblings)."""
    yield around, tree
    if isinstance(tree, str):
        return
    for position, child in enumerate(tree.children):
        others = tuple(other for at, other in enumerate(tree.children) if at != position)
        yield from contexts(child, ((tree.label, position, others), *around))


def context_counts(trees: list, height: int, anchored: bool) -> Counter:
    """How often each (context of up to `height` steps, subtree) is met."""
    met: Counter = Counter()
    for tree in trees:
        for around, inside in contexts(tree):
            for steps in range(height + 1):
                if steps <= len(around) and (not anchored or steps == len(around)):
                    met[around[:steps], inside] += 1
    return met
