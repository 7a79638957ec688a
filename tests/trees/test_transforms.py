from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sigmastar.core.errors import InputError
from sigmastar.trees.data.binarize import (
    ENGLISH,
    GENERIC,
    binarize,
    debinarize,
    head_outward,
    left,
    right,
)
from sigmastar.trees.data.brackets import parse_brackets, read_brackets
from sigmastar.trees.data.transforms import (
    collapse,
    composed,
    expand,
    tags,
    with_root,
    without_empty,
    without_functions,
    without_root,
    without_traces,
)
from sigmastar.trees.data.tree import Tree, fold

labels = st.text("ABN-$,", min_size=1, max_size=3)
trees = st.recursive(
    st.builds(lambda label, word: Tree(label, (word,)), labels, labels),
    lambda inner: st.builds(
        lambda label, below: Tree(label, tuple(below)),
        labels,
        st.lists(st.one_of(inner, labels), min_size=1, max_size=5),
    ),
    max_leaves=14,
)
orders = st.sampled_from([right, left, head_outward(), head_outward(ENGLISH)])


def one(text: str) -> Tree:
    (tree,) = parse_brackets(text)
    return tree


@given(trees, orders, st.integers(0, 3), st.integers(1, 3))
def test_binarised_trees_are_binary_and_come_back(tree, order, horizontal, vertical):
    binary = binarize(tree, order, horizontal, vertical)
    assert all(len(node.children) <= 2 for node in binary.nodes())
    assert list(binary.words()) == list(tree.words())
    assert debinarize(binary) == tree


@given(trees, st.booleans())
def test_chains_collapse_and_come_back(tree, preterminals):
    short = collapse(tree, preterminals)
    assert expand(short) == tree
    for node in short.nodes():
        only = node.children[0]
        if len(node.children) == 1 and not isinstance(only, str):
            assert not preterminals
            assert isinstance(only.children[0], str)


def test_markovisation_as_drawn_by_hand():
    tree = one("(S (VP (V a) (N b) (P c) (Q d)) (. .))")
    assert str(binarize(tree, right, 2, 2)) == (
        "(S (VP^S (V a) (@VP^S|V (N b) (@VP^S|N|V (P c) (Q d)))) (. .))"
    )
    assert str(binarize(tree, left, 1)) == "(S (VP (@VP|Q (@VP|P (V a) (N b)) (P c)) (Q d)) (. .))"
    headed = binarize(one("(NP (DT a) (JJ b) (NN c) (PP d) (PP e))"), head_outward(ENGLISH))
    assert str(headed) == "(NP (DT a) (@NP (JJ b) (@NP (@NP (NN c) (PP d)) (PP e))))"


def test_traces_and_functions_go():
    tree = one("( (S-1 (NP-SBJ=2 (-NONE- *T*-1)) (VP (VB go) (ADVP|PRT (RB on))) (-LRB- -LRB-)) )")
    clean = composed(without_traces, without_functions)(tree)
    assert str(clean) == "(S (VP (VB go) (ADVP (RB on))) (-LRB- -LRB-))"
    assert tags(clean) == ["VB", "RB", "-LRB-"]
    nothing = one("(S (NP (-NONE- *)))")
    assert without_empty([nothing, tree]) == [without_traces(tree)]
    with pytest.raises(InputError, match="nothing but empty"):
        without_traces(nothing)


def test_roots():
    tree = one("(S (X a))")
    assert with_root(with_root(tree)) == Tree("TOP", (tree,))
    assert without_root(Tree("", (with_root(tree),))) == tree


def test_labels_that_hold_marks_are_refused():
    with pytest.raises(InputError, match="binarization"):
        binarize(one("(S (@X a) (B b) (C c))"))
    with pytest.raises(InputError, match="marks chains"):
        collapse(one("(S::X a)"))
    with pytest.raises(ValueError, match="horizontal"):
        binarize(one("(S a)"), horizontal=-1)


@pytest.mark.parametrize(
    ("label", "children", "head"),
    [
        ("NP", "DT JJ NN NNS PP", 3),
        ("NP", "NP PP", 0),
        ("NP", "NP , NP", 0),
        ("VP", "MD RB VP", 0),
        ("VP", "TO VP", 0),
        ("S", "NP VP .", 1),
        ("PP", "IN NP", 0),
        ("SBAR", "IN S", 0),
        ("XYZ", "A B ,", 1),
        ("NP", ", :", 1),
    ],
)
def test_english_heads(label, children, head):
    assert ENGLISH.head(label, children.split()) == head


def test_generic_heads():
    assert GENERIC.head("NP", ["DT", "NN", "."]) == 1


def test_deep_trees_need_no_stack():
    tree = Tree("X", ("w",))
    for _ in range(5_000):
        tree = Tree("X", (tree, Tree("Y", ("v",)), Tree("Z", ("u",))))
    again = debinarize(binarize(tree, left, 1, 2))
    assert sum(1 for _ in again.nodes()) == 15_001
    assert fold(again, lambda node, below: sum(1 if isinstance(b, str) else b for b in below)) == 10_001


def test_the_real_treebank_comes_back(data_folder):
    raw = read_brackets(data_folder / "ptb_sample" / "wsj-dev.mrg")
    clean = [without_functions(tree) for tree in without_empty(raw)]
    assert sum(len(tags(tree)) for tree in clean) == 6327
    for tree in clean:
        assert expand(debinarize(binarize(collapse(tree), head_outward(ENGLISH), 1, 2))) == tree
