"""Real treebanks: unary rules in a circle, several roots, thousands of rules."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.arcs_as_phrases import read_as_phrases
from sigmastar import ERMGrammar
from sigmastar.pcfg.data.rules import Grammar
from sigmastar.trees.data.brackets import read_brackets
from sigmastar.trees.data.tree import Tree


@pytest.mark.parametrize("name", ["wsj", "tr_imst"])
def test_truncation_is_within_a_hundredth_of_a_prior_on_held_out_trees(data_folder, name):
    """The rules of all trees are known, their probabilities come from the training part."""
    if name == "wsj":
        paths = [data_folder / f"ptb_sample/wsj-{part}.mrg" for part in ("train", "dev")]
        train, held = (read_brackets(path)[:600] for path in paths)
        assert len({tree.label for tree in train}) > 5
    else:
        path = data_folder / f"ud/{name}-dev.conllu.gz"
        train, held = (read_as_phrases(path)[k::2] for k in (0, 1))
    rules = Grammar.of_trees([*train, *held])
    losses = {method: -ERMGrammar(rules, method).fit(train).score(held) for method in ("erm", "map", "mle")}
    assert losses["erm"] <= 1.01 * losses["map"]
    assert losses["mle"] == np.inf


def is_turning(node: Tree) -> bool:
    return (
        len(node.children) == 1
        and isinstance(node.children[0], Tree)
        and node.children[0].label == node.label
    )


def test_strings_of_a_treebank_grammar(data_folder):
    trees = read_brackets(data_folder / "ptb_sample/wsj-train.mrg")
    turning = [tree for tree in trees if any(is_turning(node) for node in tree.nodes())]
    train = [*trees[:150], *turning]
    model = ERMGrammar().fit(train)
    assert len(model.model_.chart_rules.unary.loop_before) > 0
    strings = [list(tree.words()) for tree in train if len(list(tree.words())) <= 12][:20]
    assert np.isfinite(model.score_samples(strings)).all()
    best = model.predict(strings)
    own = model.score_samples([tree for tree in train if len(list(tree.words())) <= 12][:20])
    assert (model.score_samples(best) >= own - 1e-9).all()
    climbed = ERMGrammar(model.model_.grammar, "em", max_iter=2).fit(strings)
    assert np.diff(climbed.objectives_).min() > -1e-9
