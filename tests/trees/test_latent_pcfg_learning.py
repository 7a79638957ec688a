"""The theorems of Cohen et al. (2012): exact moments give the grammar back, samples come near it."""

from __future__ import annotations

import numpy as np
import pytest

from sigmastar.core.alphabet import Alphabet
from sigmastar.trees.data.productions import production_trees
from sigmastar.trees.learn import (
    Moments,
    all_nodes,
    learn_latent_pcfg,
    one_node,
    one_uniform_node,
    operators_of_moments,
)
from sigmastar.trees.model.generators import make_latent_pcfg
from sigmastar.trees.model.latent_pcfg import LatentPCFG


def exact_moments(grammar: LatentPCFG, rng: np.random.Generator) -> Moments:
    """Moments as theorem 2 has them, for random I^a and K^a diag(gamma): any features of full rank."""
    m, d = grammar.n_states, 5
    inside = {a: rng.standard_normal((d, m)) for a in grammar.symbols}
    outside = {a: rng.standard_normal((d, m)) for a in grammar.symbols}
    rules = {
        (a, b, c): np.einsum("oh,hij,pi,qj->opq", outside[a], tensor, inside[b], inside[c])
        for (a, b, c), tensor in zip(grammar.rules, grammar.binary, strict=True)
    }
    words = {}
    for tag in dict.fromkeys(tag for tag, _ in grammar.lexical):
        own = [k for k, (name, _) in enumerate(grammar.lexical) if name == tag]
        words[tag] = Alphabet(grammar.lexical[k][1] for k in own), grammar.leaf[own] @ outside[tag].T
    matrices = {a: outside[a] @ inside[a].T for a in grammar.symbols}
    return Moments(
        matrices, rules, words, {a: inside[a] @ grammar.top[k] for k, a in enumerate(grammar.roots)}
    )


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_exact_moments_give_the_exact_distribution(seed):
    grammar = make_latent_pcfg(np.random.default_rng(seed), n_states=3)
    trees = grammar.sample(300, np.random.default_rng(1))
    moments = exact_moments(grammar, np.random.default_rng(2))
    found = LatentPCFG.of_operators(operators_of_moments(moments, 3))
    np.testing.assert_allclose(found.value(trees), grammar.value(trees), rtol=1e-9)
    np.testing.assert_allclose(found.total_mass(), 1.0, rtol=1e-9)
    assert (found.binary < 0).any()  # another basis than that of probabilities


def errors(grammar, how, sizes):
    test = production_trees(grammar.sample(300, np.random.default_rng(5)))
    truth = grammar.value(test)
    found = []
    for size in sizes:
        trees = grammar.sample(size, np.random.default_rng(6))
        values = learn_latent_pcfg(trees, grammar.n_states, how, np.random.default_rng(7)).value(test)
        found.append(float(np.median(np.abs(values / truth - 1))))
    return found


@pytest.mark.parametrize("how", [all_nodes, one_node])
def test_the_error_falls_with_the_root_of_the_sample(how):
    """Theorem 3: in the mean of three grammars, 16 times the trees leave about a quarter of the error."""
    grammars = [make_latent_pcfg(np.random.default_rng(seed)) for seed in range(3)]
    table = np.log([errors(grammar, how, (1000, 16_000)) for grammar in grammars])
    slopes = (table[:, 1] - table[:, 0]) / np.log(16)
    reach = 4.3 * slopes.std(ddof=1) / np.sqrt(3)  # Student's t, two degrees of freedom
    assert slopes.mean() - reach < -0.5 < slopes.mean() + reach
    assert -0.8 < slopes.mean() < -0.35


def test_a_uniform_node_is_biased():
    grammar = make_latent_pcfg(np.random.default_rng(1))
    (weighted,), (uniform,) = (errors(grammar, how, (30_000,)) for how in (one_node, one_uniform_node))
    assert weighted < uniform / 1.5


def test_what_is_refused():
    trees = make_latent_pcfg(np.random.default_rng(0)).sample(20, np.random.default_rng(0))
    with pytest.raises(ValueError, match="n_states=0"):
        learn_latent_pcfg(trees, 0)
    with pytest.raises(ValueError, match="was drawn"):
        learn_latent_pcfg(trees[:1], 2, one_node)
