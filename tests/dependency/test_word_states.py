"""Hidden states of words: words that stand alike share one, unseen words have one, and files keep them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sigmastar.core.model_reading import load_model, save_model
from sigmastar.dependency.data.treebank import DependencyTreebank
from sigmastar.dependency.learn.arcs import learn_word_states
from sigmastar.dependency.learn.parser import Recipe, learn_parser
from sigmastar.dependency.model.labels import WordStates
from sigmastar.dependency.model.parser import DependencyParser


def treebank(rng: np.random.Generator, n: int = 300) -> DependencyTreebank:
    """Nouns of two kinds, which no tag tells apart: those before the verb do, those after it suffer."""
    doers, sufferers = [f"d{k}" for k in "aeiou"], [f"s{k}" for k in "xyzvw"]
    forms = [[str(rng.choice(doers)), "sees", str(rng.choice(sufferers))] for _ in range(n)]
    heads, labels = [[2, 0, 2]] * n, [["nsubj", "root", "obj"]] * n
    return DependencyTreebank.of(forms, [["N", "V", "N"]] * n, heads, labels)


def test_words_that_stand_alike_share_a_state() -> None:
    trees = treebank(np.random.default_rng(0))
    states = learn_word_states(trees, set(trees.form), np.random.default_rng(0), n_states=3, n_dimensions=3)
    found = states.of(trees).reshape(-1, 3)
    assert [len(set(column)) for column in found.T.tolist()] == [1, 1, 1]
    assert len(set(found[0].tolist())) == 3
    unseen = DependencyTreebank.of([["dq"]], [["N"]])
    assert 0 <= states.of(unseen)[0] < 3


def test_files_keep_states(tmp_path: Path) -> None:
    trees = treebank(np.random.default_rng(0), 60)
    recipe = Recipe("det+f", symbols="upos", arcs="lexical", arc_epochs=1)
    parser = learn_parser(trees, recipe, np.random.default_rng(0))
    assert parser.labeller is not None
    assert parser.labeller.states is not None
    save_model(parser, tmp_path / "m")
    again: DependencyParser = load_model(tmp_path / "m")
    assert again.labeller is not None
    assert again.labeller.states is not None
    np.testing.assert_array_equal(again.labeller.states.of(trees), parser.labeller.states.of(trees))
    assert again.predict(trees).deprel == parser.predict(trees).deprel == trees.deprel
    bare = learn_parser(trees, replace(recipe, arcs="trained"), np.random.default_rng(0))
    assert bare.labeller is not None
    assert bare.labeller.states is None


def test_only_words_without_a_head_are_roots() -> None:
    trees = treebank(np.random.default_rng(0), 60)
    recipe = Recipe("det+f", symbols="upos", arcs="trained", arc_epochs=1)
    labeller = learn_parser(trees, recipe, np.random.default_rng(0)).labeller
    assert labeller is not None
    verbs = DependencyTreebank.of([["sees", "sees"]], [["V", "V"]], [[2, 0]])
    biased = labeller.theta.copy()
    biased[:, labeller.labels.codes["root"]] += 1.0  # every arc would be one
    vocabulary = learn_parser(trees, recipe, np.random.default_rng(0)).vocabulary
    found = replace(labeller, theta=biased).label(vocabulary, verbs, np.array([2, 0], dtype=np.int32))
    assert found[0] in ("nsubj", "obj")
    assert found[1] == "root"


def test_parts_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="do not fit 1 features"):
        WordStates(("a",), np.zeros((2, 3)), np.zeros((4, 3)))
