"""Treebanks in arrays: what goes in comes out, however it was made binary."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles_treebank import random_tree
from sigmastar.core.errors import InputError
from sigmastar.treebanks.counts import choose_heads
from sigmastar.treebanks.data.binarized import DIRECTIONS, PHRASE, Binarization, BinaryPhrases, binarize
from sigmastar.treebanks.data.phrases import Phrases, phrases
from sigmastar.trees.data.brackets import parse_brackets
from sigmastar.trees.data.tree import Tree


def chain(labels: tuple[str, ...], children: tuple[Tree | str, ...]) -> Tree:
    tree = Tree(labels[-1], children)
    for label in reversed(labels[:-1]):
        tree = Tree(label, (tree,))
    return tree


def tree_of(bank: Phrases, number: int) -> Tree:
    """A tree back from its rows."""
    starts, children = bank.children

    def build(row: int) -> Tree:
        labels = bank.labels[bank.label[row]]
        if bank.word[row] >= 0:
            return chain(labels, (bank.words[bank.word[row]],))
        return chain(labels, tuple(build(int(c)) for c in children[starts[row] : starts[row + 1]]))

    return build(int(bank.starts[number]))


def debinarised(bank: BinaryPhrases, number: int) -> Tree:
    """A tree back from binary nodes: those of intermediate symbols vanish."""

    def parts(node: int) -> list[Tree]:
        symbol = bank.symbol[node]
        labels = bank.phrases.labels[bank.symbols.label[symbol]]
        if bank.word[node] >= 0:
            return [chain(labels, (bank.phrases.words[bank.word[node]],))]
        below = parts(int(bank.left[node])) + parts(int(bank.right[node]))
        return [chain(labels, tuple(below))] if bank.symbols.kind[symbol] == PHRASE else below

    return parts(int(bank.roots[number]))[0]


@given(st.integers(0, 10_000), st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_rows_hold_the_trees(seed: int, n_words: int) -> None:
    rng = np.random.default_rng(seed)
    trees = [random_tree(rng, n_words) for _ in range(3)]
    bank = phrases(trees)
    assert [tree_of(bank, number) for number in range(len(bank))] == trees


@given(
    st.integers(0, 10_000),
    st.sampled_from(DIRECTIONS),
    st.sampled_from([0, 1, 2]),
    st.sampled_from([1, 2]),
)
@settings(max_examples=60, deadline=None)
def test_every_binarisation_can_be_undone(seed: int, direction: str, horizontal: int, vertical: int) -> None:
    rng = np.random.default_rng(seed)
    trees = [random_tree(rng, int(rng.integers(1, 12))) for _ in range(4)]
    bank = phrases(trees)
    binary = binarize(bank, Binarization(direction, horizontal, vertical), choose_heads(bank).heads(bank))
    assert [debinarised(binary, number) for number in range(len(binary))] == trees
    inner = np.flatnonzero(binary.left >= 0)
    assert (binary.left[inner] < inner).all()  # children before parents
    assert (binary.right[inner] < inner).all()
    assert (binary.begin[inner] == binary.begin[binary.left[inner]]).all()
    assert (binary.end[binary.left[inner]] == binary.begin[binary.right[inner]]).all()
    assert (binary.end[inner] == binary.end[binary.right[inner]]).all()
    assert (binary.rules[binary.rule[inner], 0] == binary.symbol[inner]).all()
    assert ((binary.begin <= binary.begin[binary.head]) & (binary.begin[binary.head] < binary.end)).all()


def test_traces_functions_and_what_is_empty_without_them_are_left_out() -> None:
    text = "( (S (NP-SBJ-1 (DT the) (NN cat)) (VP (VBD sat) (NP (-NONE- *T*-1)) (-LRB- -LRB-))) )"
    text += "(S (-NONE- *))"
    bank = phrases(parse_brackets(text))
    assert len(bank) == 1
    assert str(tree_of(bank, 0)) == "(S (NP (DT the) (NN cat)) (VP (VBD sat) (-LRB- -LRB-)))"
    assert "*T*-1" not in bank.words
    kept = phrases(parse_brackets(text), plain=False)
    assert str(tree_of(kept, 0)).startswith("(S (NP-SBJ-1")


def test_a_word_beside_other_children_is_refused_with_the_number_of_its_tree() -> None:
    with pytest.raises(InputError, match="tree 2: a word stands beside other children of 'NP'"):
        phrases(parse_brackets("(X (Y z)) (S (NP the (NN cat)))"))


def test_symbols_remember_siblings_and_parents() -> None:
    bank = phrases(parse_brackets("(S (NP (D a) (A b) (N c)) (V d))"))
    binary = binarize(bank, Binarization("right", 1, 2), choose_heads(bank).heads(bank))
    names = {binary.symbols.name(symbol, bank.labels) for symbol in range(len(binary.symbols))}
    assert names == {"D", "A", "N", "V", "@NP|D^S", "NP^S", "S"}


def test_heads_are_what_explains_all_expansions() -> None:
    text = "(PP (IN of) (NP (N x) (N y)))(PP (IN in) (S (V x) (N z)))(PP (IN at) (X (V x) (V z)))"
    bank = phrases(parse_brackets(text))
    heads = choose_heads(bank).heads(bank)
    rows = [row for row in range(len(bank.label)) if bank.labels[bank.label[row]] == ("PP",)]
    assert [heads[row] for row in rows] == [0, 0, 0]


@pytest.mark.parametrize("wrong", [{"direction": "up"}, {"horizontal": 3}, {"vertical": 0}])
def test_unknown_binarisations_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="must be"):
        Binarization(**wrong)  # type: ignore[arg-type]
