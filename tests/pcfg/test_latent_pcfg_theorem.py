"""Theorem 3 of Cohen et al. (2012): its constants against drawn trees, its conditions, its rate."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from sigmastar.core.alphabet import Alphabet
from sigmastar.pcfg.theory.latent_pcfg import TheoremConstants, expected_visits
from sigmastar.trees.data.productions import production_trees
from sigmastar.trees.learn import (
    Moments,
    inside_features,
    operators_of_moments,
    outside_features,
)
from sigmastar.trees.model.generators import make_latent_pcfg
from sigmastar.trees.model.latent_pcfg import LatentPCFG


def exact(constants: TheoremConstants) -> Moments:
    """The same moments as learners count them."""
    grammar, found = constants.grammar, constants.moments
    names = list(constants.symbols)
    words = {}
    for tag in dict.fromkeys(tag for tag, _ in grammar.lexical if tag in names):
        own = [word for name, word in grammar.lexical if name == tag]
        words[tag] = Alphabet(own), np.stack([found[f"d of {tag} -> {word}"] for word in own])
    rules = {rule: found["D of {} -> {} {}".format(*rule)] for rule in grammar.rules if rule[0] in names}
    roots = {root: found[f"c^1 of {root}"] for root in grammar.roots}
    return Moments({name: found[f"Sigma of {name}"].T for name in names}, rules, words, roots)


@pytest.mark.parametrize("seed", range(3))
def test_the_moments_of_the_theorem_give_the_grammar_back(seed):
    grammar = make_latent_pcfg(np.random.default_rng(seed), 2)
    constants = TheoremConstants(grammar)
    assert constants.problems() == []
    found = LatentPCFG.of_operators(operators_of_moments(exact(constants), 2))
    trees = grammar.sample(200, np.random.default_rng(1))
    np.testing.assert_allclose(found.value(trees), grammar.value(trees), rtol=1e-9)


def test_features_are_those_of_drawn_trees():
    """Singular values of Omega of every symbol, and visits, from 20,000 trees."""
    grammar = make_latent_pcfg(np.random.default_rng(0), 2)
    constants = TheoremConstants(grammar)
    trees = production_trees(grammar.sample(20_000, np.random.default_rng(2), max_words=2000))
    phi, psi = inside_features(trees) / 2, outside_features(trees) / 2
    leaves, _, binary = map(list, trees.alphabet.ranks)
    visits = expected_visits(grammar)
    for name, symbol in constants.symbols.items():
        own = [
            [k for k, production in enumerate(names) if production[0] == name] for names in (leaves, binary)
        ]
        at = np.flatnonzero(
            ((trees.rank == 0) & np.isin(trees.symbol, own[0]))
            | ((trees.rank == 2) & np.isin(trees.symbol, own[1]))
        )
        assert len(at) / 20_000 == pytest.approx(visits[name].sum(), rel=0.05)
        omega = (phi[at].T @ psi[at]).toarray() / len(at)
        values = np.linalg.svd(omega, compute_uv=False)[:2]
        np.testing.assert_allclose(values, symbol.singular_values[:2], atol=1.5 / np.sqrt(len(at)))


def test_lambda_is_the_least_entry_of_what_the_theorem_names():
    constants = TheoremConstants(make_latent_pcfg(np.random.default_rng(0), 2))
    found = constants.moments
    direct = [np.abs(array).min() for name, array in found.items() if not name.startswith("Sigma")]
    inverse = [np.abs(np.linalg.inv(array)).min() for name, array in found.items() if name[:5] == "Sigma"]
    assert constants.smallest == pytest.approx(min(*direct, *inverse))
    assert constants.smallest > 0
    plain = TheoremConstants(constants.grammar, seed=None)  # Sigma is diagonal, so its inverse has zeros
    assert plain.smallest == 0.0
    assert plain.problems() == []
    assert plain.conditioning == constants.conditioning
    assert max(np.abs(array).max() for array in found.values()) <= 1


def test_samples_and_certified_precision_are_inverse():
    constants = TheoremConstants(make_latent_pcfg(np.random.default_rng(0), 2))
    for epsilon in (0.01, 0.5, 3.0):
        enough = constants.samples(epsilon, 0.05, 7)
        assert constants.certified(enough, 0.05, 7) == pytest.approx(epsilon, rel=1e-6)
        assert constants.samples_for_marginals(epsilon, 0.05, 4) == enough  # 4 words: trees of 7 rules
    enough = constants.samples(0.01, 0.05, 7)
    rates = [constants.certified(factor * enough, 0.05, 7) for factor in (1, 100)]
    assert rates[0] / rates[1] == pytest.approx(10, rel=0.01)


def test_marginals_are_within_what_their_trees_are():
    """The step from trees to marginals: sums of values that are each within a ratio are within it."""
    rng = np.random.default_rng(0)
    p = rng.random((1000, 9))
    moved = p * rng.uniform(0.9, 1.1, p.shape)
    ratio = moved.sum(axis=1) / p.sum(axis=1)
    assert 0.9 <= ratio.min() <= ratio.max() <= 1.1


def test_conditions_are_checked():
    grammar = make_latent_pcfg(np.random.default_rng(0), 2)
    alike = replace(grammar, leaf=np.repeat(grammar.leaf[:, :1], 2, axis=1))  # states of tags emit alike
    constants = TheoremConstants(alike)
    assert any(problem.startswith("condition 1: I of T") for problem in constants.problems())
    assert any(problem.startswith("condition 2: G of T") for problem in constants.problems())
    assert constants.samples(0.1, 0.05, 5) == math.inf == constants.certified(1e9, 0.05, 5)
    top = grammar.top.copy()
    top[:, 0], top[:, 1] = 0.0, grammar.top.sum(axis=1)
    binary = grammar.binary.copy()
    binary[:, :, 1] += binary[:, :, 0]
    binary[:, :, :, 1] += binary[:, :, :, 0]
    binary[:, :, 0] = binary[:, :, :, 0] = 0.0
    stuck = TheoremConstants(replace(grammar, top=top, binary=binary))
    assert any("is never reached" in problem for problem in stuck.problems())
    with pytest.raises(ValueError, match="with probabilities"):
        TheoremConstants(replace(grammar, leaf=-grammar.leaf))
