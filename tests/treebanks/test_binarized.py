"""Binarization on arrays against the same on trees."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles_treebank import random_tree
from sigmastar.treebanks.data.binarized import PHRASE, Binarization, BinaryPhrases, binarize
from sigmastar.treebanks.data.phrases import Phrases, phrases
from sigmastar.trees.data.binarize import GENERIC, Order, debinarize, head_outward, left, right
from sigmastar.trees.data.binarize import binarize as binarized_tree
from sigmastar.trees.data.tree import Tree, fold

ORDERS: dict[str, Order] = {"right": right, "left": left, "head": head_outward(GENERIC)}


def generic_heads(bank: Phrases) -> np.ndarray:
    """The head of every phrase by the rules that the function on trees follows."""
    starts, children = bank.children
    heads = np.zeros(len(bank.label), dtype=np.int32)
    for row in np.flatnonzero(np.diff(starts)).tolist():
        below = children[starts[row] : starts[row + 1]]
        names = [bank.labels[bank.label[child]][0] for child in below]
        heads[row] = GENERIC.head(bank.labels[bank.label[row]][-1], names)
    return heads


def binary_tree(bank: BinaryPhrases, node: int) -> Tree:
    """Nodes as a tree with the labels that `binarize` writes, chains of unary phrases opened."""
    symbol, labels = int(bank.symbol[node]), bank.phrases.labels
    chain = labels[bank.symbols.label[symbol]]
    if bank.word[node] >= 0:
        tree = Tree(chain[-1], (bank.phrases.words[bank.word[node]],))
    else:
        name = chain[-1]
        if bank.symbols.kind[symbol] > PHRASE:
            siblings = [labels[label][0] for label in bank.symbols.siblings[symbol].tolist() if label >= 0]
            name = "@" + "".join(f"{part}|" for part in [name, *siblings])[:-1]
        tree = Tree(name, tuple(binary_tree(bank, int(side[node])) for side in (bank.left, bank.right)))
    if bank.symbols.kind[symbol] <= PHRASE:
        for label in reversed(chain[:-1]):
            tree = Tree(label, (tree,))
    return tree


def without_siblings(tree: Tree) -> Tree:
    return fold(tree, lambda node, below: Tree(node.label.split("|")[0], tuple(below)))


def compare(trees: list[Tree], direction: str, horizontal: int) -> None:
    bank = phrases(trees)
    binary = binarize(bank, Binarization(direction, horizontal), generic_heads(bank))
    for tree, root in zip(trees, binary.roots.tolist(), strict=True):
        found = binary_tree(binary, root)
        expected = binarized_tree(tree, ORDERS[direction], horizontal)
        if direction == "head" and horizontal == 2:  # arrays remember siblings of one side alone
            assert without_siblings(found) == without_siblings(expected)
        else:
            assert found == expected
        assert debinarize(found) == tree


@pytest.mark.parametrize("direction", ORDERS)
@given(seed=st.integers(0, 10_000), horizontal=st.sampled_from([0, 1, 2]))
@settings(max_examples=30, deadline=None)
def test_arrays_and_trees_are_made_binary_alike(direction: str, seed: int, horizontal: int) -> None:
    rng = np.random.default_rng(seed)
    compare([random_tree(rng, int(rng.integers(1, 12))) for _ in range(4)], direction, horizontal)
