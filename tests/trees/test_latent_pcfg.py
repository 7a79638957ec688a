from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from sigmastar.core.errors import InputError
from sigmastar.core.model_files import load_model, save_model
from sigmastar.trees.data.brackets import parse_brackets
from sigmastar.trees.data.productions import production_trees
from sigmastar.trees.data.tree import Tree
from sigmastar.trees.model.latent_generators import make_latent_pcfg, make_treebank
from sigmastar.trees.model.latent_pcfg import LatentPCFG


def by_definition(grammar: LatentPCFG, tree: Tree) -> float:
    """Equation 1 of the paper, summed over all hidden states."""
    nodes = list(tree.nodes())
    total = 0.0
    for states in product(range(grammar.n_states), repeat=len(nodes)):
        state = {id(node): h for node, h in zip(nodes, states, strict=True)}
        p = grammar.pi[grammar.roots.index(tree.label), states[0]] if tree.label in grammar.roots else 0.0
        for node, h in zip(nodes, states, strict=True):
            if isinstance(node.children[0], str):
                p *= grammar.word_weights[grammar.lexical.index((node.label, node.children[0])), h]
                continue
            left, right = node.children
            rule = grammar.rules.index((node.label, left.label, right.label))
            p *= grammar.rule_weights[rule, h]
            p *= grammar.left[rule, state[id(left)], h] * grammar.right[rule, state[id(right)], h]
        total += p
    return total


def test_probabilities_by_the_definition():
    bank = make_treebank(60, 3)
    small = [tree for tree in bank.trees if sum(1 for _ in tree.nodes()) <= 9][:12]
    expected = [by_definition(bank.grammar, tree) for tree in small]
    np.testing.assert_allclose(np.exp(bank.grammar.log_probability(small)), expected, rtol=1e-9)


def test_trees_come_as_often_as_they_are_probable():
    bank = make_treebank(20_000, 1)
    common = Counter(bank.trees).most_common(5)
    for tree, count in common:
        p = np.exp(bank.grammar.log_probability([tree])[0])
        assert count / 20_000 == pytest.approx(p, abs=4 * np.sqrt(p / 20_000))
    assert max(len(list(tree.words())) for tree in bank.trees) <= 40


def test_what_the_grammar_lacks_has_no_probability():
    grammar = make_latent_pcfg(np.random.default_rng(0))
    (tree,) = parse_brackets("(X0 (T0 new) (T1 w10))")
    assert grammar.log_probability([tree])[0] == -np.inf


def test_productions_are_rules():
    (tree,) = parse_brackets("(S (A a) (S (A b) (B a)))")
    found = production_trees([tree, tree])
    assert len(found) == 2
    assert found.rank.tolist() == [0, 0, 0, 2, 2, 1] * 2
    names = [found.alphabet.ranks[r].symbols[s] for r, s in zip(found.rank, found.symbol, strict=True)]
    assert names[:6] == [("A", "a"), ("A", "b"), ("B", "a"), ("S", "A", "B"), ("S", "A", "S"), ("TOP", "S")]
    assert found.left.tolist()[6:] == [-1, -1, -1, 7, 6, 10]
    for text, problem in (("(S (X (A a)) (B b))", "collapse"), ("(S a (B b))", "give every word a tag")):
        with pytest.raises(InputError, match=problem):
            production_trees(parse_brackets(text))


def test_distributions_are_required_and_files_hold_them(tmp_path):
    grammar = make_latent_pcfg(np.random.default_rng(0))
    with pytest.raises(ValueError, match="sum to one"):
        replace(grammar, pi=2 * grammar.pi)
    with pytest.raises(ValueError, match="left of shape"):
        replace(grammar, left=grammar.left[1:])
    with pytest.raises(ValueError, match="never end"):
        make_latent_pcfg(np.random.default_rng(0), branching=0.6)
    save_model(grammar, tmp_path / "g")
    trees = grammar.sample(5, np.random.default_rng(0))
    again = load_model(tmp_path / "g", "latent-pcfg")
    np.testing.assert_array_equal(again.log_probability(trees), grammar.log_probability(trees))
