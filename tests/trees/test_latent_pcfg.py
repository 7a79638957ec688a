from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from sigmastar.core.errors import InputError
from sigmastar.core.model_reading import load_model, save_model
from sigmastar.trees.data.brackets import parse_brackets
from sigmastar.trees.data.productions import production_trees
from sigmastar.trees.data.tree import Tree
from sigmastar.trees.model.generators import make_latent_pcfg, make_treebank
from sigmastar.trees.model.latent_pcfg import LatentPCFG


def by_definition(grammar: LatentPCFG, tree: Tree) -> float:
    """Equation 1 of the paper, summed over all hidden states."""
    nodes = list(tree.nodes())
    total = 0.0
    for states in product(range(grammar.n_states), repeat=len(nodes)):
        state = {id(node): h for node, h in zip(nodes, states, strict=True)}
        p = grammar.top[grammar.roots.index(tree.label), states[0]] if tree.label in grammar.roots else 0.0
        for node, h in zip(nodes, states, strict=True):
            if isinstance(node.children[0], str):
                p *= grammar.leaf[grammar.lexical.index((node.label, node.children[0])), h]
                continue
            left, right = node.children
            rule = grammar.rules.index((node.label, left.label, right.label))
            p *= grammar.binary[rule, h, state[id(left)], state[id(right)]]
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


PROBABILITIES = {
    "rules": (("S", "A", "A"), ("S", "A", "S")),
    "lexical": (("A", "x"), ("A", "y")),
    "roots": ("S",),
    "pi": np.array([[0.3, 0.7]]),
    "rule_weights": np.array([[0.9, 0.6], [0.1, 0.4]]),
    "word_weights": np.array([[0.2, 0.8], [0.8, 0.2]]),
    "left": np.full((2, 2, 2), 0.5),
    "right": np.array([[[0.1, 0.2], [0.9, 0.8]], [[0.6, 1.0], [0.4, 0.0]]]),
}


def test_tensors_are_products_of_the_probabilities():
    grammar = LatentPCFG.of_probabilities(**PROBABILITIES)
    (tree,) = parse_brackets("(S (A x) (A y))")
    expected = 0.0
    for h, i, j in product(range(2), repeat=3):
        step = PROBABILITIES["left"][0, i, h] * PROBABILITIES["right"][0, j, h]
        words = PROBABILITIES["word_weights"][0, i] * PROBABILITIES["word_weights"][1, j]
        expected += PROBABILITIES["pi"][0, h] * PROBABILITIES["rule_weights"][0, h] * step * words
    np.testing.assert_allclose(grammar.value([tree]), [expected], rtol=1e-12)
    np.testing.assert_allclose(grammar.total_mass(), 1.0, rtol=1e-9)
    np.testing.assert_allclose(grammar.outgoing, 1.0)


def test_distributions_are_required():
    with pytest.raises(ValueError, match="sum to one"):
        LatentPCFG.of_probabilities(**{**PROBABILITIES, "pi": np.array([[0.3, 0.9]])})
    with pytest.raises(ValueError, match="left of shape"):
        LatentPCFG.of_probabilities(**{**PROBABILITIES, "left": np.ones((1, 2, 2))})
    with pytest.raises(ValueError, match="'B' has no rule"):
        LatentPCFG.of_probabilities(**{**PROBABILITIES, "roots": ("B",)})
    with pytest.raises(ValueError, match="never end"):
        make_latent_pcfg(np.random.default_rng(0), branching=0.6)


def test_files_hold_grammars_and_older_ones_are_read(tmp_path):
    grammar = make_latent_pcfg(np.random.default_rng(0))
    save_model(grammar, tmp_path / "g")
    trees = grammar.sample(5, np.random.default_rng(0))
    again = load_model(tmp_path / "g", "latent-pcfg")
    np.testing.assert_array_equal(again.log_probability(trees), grammar.log_probability(trees))
    names = ("rules", "lexical", "roots")
    arrays = {name: array for name, array in PROBABILITIES.items() if name not in names}
    older = LatentPCFG.from_parts(arrays, {name: PROBABILITIES[name] for name in names})
    np.testing.assert_array_equal(older.binary, LatentPCFG.of_probabilities(**PROBABILITIES).binary)
    with pytest.raises(ValueError, match="'leaf' of shape"):
        LatentPCFG.from_parts(
            {"top": grammar.top, "leaf": grammar.leaf[1:], "binary": grammar.binary},
            {name: getattr(grammar, name) for name in names},
        )


def test_draws_of_a_grammar_in_another_basis_are_of_the_same_distribution():
    """Only sums over whole trees are compared: the basis of the states does not matter."""
    grammar = make_latent_pcfg(np.random.default_rng(4), n_states=2)
    turn = np.array([[1.0, 0.5], [-0.5, 1.0]])
    back = np.linalg.inv(turn)
    other = replace(
        grammar,
        top=grammar.top @ turn,
        leaf=grammar.leaf @ back.T,
        binary=np.einsum("xi,rijk,jb,kc->rxbc", back, grammar.binary, turn, turn),
    )
    assert (other.binary < 0).any()
    assert other.sample(200, np.random.default_rng(0), 40) == grammar.sample(
        200, np.random.default_rng(0), 40
    )
