"""Lifted arcs that relations tell of: undone exactly where relations tell heads apart; always trees."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sigmastar.core.errors import InputError
from sigmastar.dependency.data.projectivity import lift_with_marks, projective_sentences, undo_lifts
from sigmastar.dependency.data.treebank import DependencyTreebank, words_without_root
from sigmastar.dependency.learn.parser import Recipe, learn_parser


def random_trees(rng: np.random.Generator, n_trees: int, n_relations: int | None) -> DependencyTreebank:
    """Trees of any shape; each word has a relation of its own where no number is given."""
    heads, relations = [], []
    for n in rng.integers(1, 12, n_trees).tolist():
        order = rng.permutation(n) + 1
        tree = np.zeros(n, dtype=int)
        for place, word in enumerate(order.tolist()):
            tree[word - 1] = order[rng.integers(place)] if place else 0
        heads.append(tree.tolist())
        relations.append([f"r{k if n_relations is None else rng.integers(n_relations)}" for k in range(n)])
    words = [["w"] * len(tree) for tree in heads]
    return DependencyTreebank.of(words, words, heads, relations)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32))
def test_lifts_are_undone_where_relations_tell_heads_apart(seed: int) -> None:
    treebank = random_trees(np.random.default_rng(seed), 5, None)
    lifted = lift_with_marks(treebank)
    assert projective_sentences(lifted.head, lifted.sentence_offsets).all()
    heads, relations = undo_lifts(lifted.head, lifted.deprel, lifted.sentence_offsets)
    np.testing.assert_array_equal(heads, treebank.head)
    assert relations == treebank.deprel


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32))
def test_what_is_undone_is_a_tree(seed: int) -> None:
    """Also where relations are few, and marks are wrong, as a parser may set them."""
    rng = np.random.default_rng(seed)
    lifted = lift_with_marks(random_trees(rng, 5, 2))
    guessed = [f"r0|r{rng.integers(2)}" if rng.random() < 0.4 else relation for relation in lifted.deprel]
    heads, relations = undo_lifts(lifted.head, guessed, lifted.sentence_offsets)
    assert not len(words_without_root(heads, lifted.sentence_offsets))
    assert not any("|" in relation for relation in relations)


def test_relations_with_the_mark_are_refused() -> None:
    with pytest.raises(InputError, match="lift without marks"):
        lift_with_marks(DependencyTreebank.of([["a"]], [["a"]], [[0]], [["x|y"]]))


def test_parses_have_crossing_arcs() -> None:
    """Word b hangs on d across the root c, always; lifted trees alone can not have that."""
    words = [list("abcd"), list("ac")] * 20
    treebank = DependencyTreebank.of(
        words, words, [[3, 4, 0, 3], [2, 0]] * 20, [["x", "y", "root", "z"], ["x", "root"]] * 20
    )
    for projective, share in (("pseudo", 1.0), ("lift", 5 / 6)):
        recipe = Recipe("det+f", symbols="upos", projective=projective)
        parser = learn_parser(treebank, recipe, np.random.default_rng(0))
        found = parser.predict(treebank)
        assert (found.head == treebank.head).mean() == pytest.approx(share)
        assert found.deprel == treebank.deprel
