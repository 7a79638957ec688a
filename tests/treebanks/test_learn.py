"""Learning treebank grammars: embeddings, moments, EM, states that are joined."""

from __future__ import annotations

import numpy as np
import pytest

from oracles_treebank import random_tree
from sigmastar.treebanks.counts import INSIDE, OUTSIDE, Indicators, indicators, nodes_of
from sigmastar.treebanks.data.binary import Binarization, BinaryPhrases, binarize
from sigmastar.treebanks.data.head_choice import head_children
from sigmastar.treebanks.data.phrases import Longs, Phrases, phrases
from sigmastar.treebanks.learn.clusters import cluster_states, joined_states
from sigmastar.treebanks.learn.em import Shrinkage, from_states, maximised, random_statistics, refine
from sigmastar.treebanks.learn.embedding import embed
from sigmastar.treebanks.learn.lexicon import LexicalCounts, count_lexicon
from sigmastar.treebanks.learn.methods import BEST, METHODS, Recipe, learn_treebank
from sigmastar.treebanks.learn.spectral import spectral_fit
from sigmastar.treebanks.model.binarized_grammar import Member, Stage
from sigmastar.treebanks.model.scores import tree_log_probabilities

EXACT = Shrinkage(0.0, 0.0, 0.0)


@pytest.fixture(scope="module")
def rows() -> Phrases:
    rng = np.random.default_rng(0)
    return phrases(random_tree(rng, int(rng.integers(1, 9))) for _ in range(300))


@pytest.fixture(scope="module")
def bank(rows: Phrases) -> BinaryPhrases:
    return binarize(rows, Binarization("right"), head_children(rows))


@pytest.fixture(scope="module")
def lexical(bank: BinaryPhrases) -> LexicalCounts:
    return count_lexicon(bank)


def dense(features: Indicators, rows: np.ndarray, symbol: int) -> np.ndarray:
    result = np.zeros((len(rows), int(features.n_features[symbol])))
    for at, row in enumerate(rows.tolist()):
        np.add.at(result[at], features.number[row], features.weight[row])
    return result


def test_embeddings_are_the_leading_singular_directions(bank: BinaryPhrases) -> None:
    nodes = nodes_of(bank)
    inside, outside = indicators(nodes, INSIDE), indicators(nodes, OUTSIDE)
    counts = np.bincount(bank.symbol)
    found = embed(bank.symbol, inside, outside, np.full(len(counts), 3), np.random.default_rng(0))
    symbol = int(np.argmax(counts))
    mine = np.flatnonzero(bank.symbol == symbol)
    phi, psi = dense(inside, mine, symbol), dense(outside, mine, symbol)
    values = np.linalg.svd(phi.T @ psi / len(mine), compute_uv=False)[:3]
    np.testing.assert_allclose(found.singular_values[symbol], values, rtol=0.02)
    moments = found.inside[mine].T @ found.outside[mine] / len(mine)
    np.testing.assert_allclose(moments, np.diag(np.diag(moments)), atol=1e-8 * values[0])


def test_features_are_dropped_and_weighed_by_their_counts(bank: BinaryPhrases) -> None:
    features = indicators(nodes_of(bank), {"symbol": lambda n: n.symbol}, shrinkage=0.0)
    np.testing.assert_allclose(features.weight, 1.0)  # the same for all nodes of a symbol
    rare = indicators(nodes_of(bank), {"node": lambda n: np.arange(len(n.symbol))})
    frequent = np.bincount(bank.symbol)[bank.symbol] > 50
    assert (rare.weight[frequent] == 0).all()
    assert (rare.weight[~frequent] > 0).all()


def as_member(bank: BinaryPhrases, stage: Stage) -> Member:
    return Member(bank.binarization, bank.symbols, bank.phrases.labels, (stage,))


def plain_scores(bank: BinaryPhrases, lexical: LexicalCounts) -> np.ndarray:
    one = np.ones(len(bank.symbols), dtype=np.int64)
    found = from_states(bank, one, np.zeros(len(bank.symbol), dtype=np.int64))
    fit = maximised(bank, lexical, one, found, EXACT)
    return tree_log_probabilities(as_member(bank, Stage(fit.grammar, fit.lexicon)), bank.phrases)


def test_backing_off_all_the_way_is_the_plain_grammar(bank: BinaryPhrases, lexical: LexicalCounts) -> None:
    """The product of three single moments is the plain PCFG, whatever the embedding (exactly)."""
    nodes = nodes_of(bank)
    features = indicators(nodes, INSIDE), indicators(nodes, OUTSIDE)
    sizes = np.clip(np.bincount(bank.symbol) // 10, 1, 3)
    embedding = embed(bank.symbol, *features, sizes, np.random.default_rng(0))
    fit = spectral_fit(bank, lexical, embedding, Shrinkage(strength=1e12, backing=1e12, words=1e15))
    found = tree_log_probabilities(as_member(bank, Stage(fit.grammar, fit.lexicon)), bank.phrases)
    # roots are not smoothed: compare trees whose root is a single word or shares its states
    plain = plain_scores(bank, lexical)
    np.testing.assert_allclose(np.median(found - plain), 0.0, atol=0.2)


def some_states(bank: BinaryPhrases) -> Longs:
    return np.clip(np.bincount(bank.symbol) // 30, 1, 3).astype(np.int64)


def test_em_climbs(bank: BinaryPhrases, lexical: LexicalCounts) -> None:
    n_states = some_states(bank)
    start = random_statistics(bank, n_states, np.random.default_rng(0))
    fit = refine(bank, lexical, maximised(bank, lexical, n_states, start, EXACT), 8, EXACT)
    logs = np.array(fit.log_likelihoods)
    assert (np.diff(logs) > -0.02 * abs(logs[0])).all()
    assert logs[-1] > logs[0]


def test_clusters_are_states_of_their_symbols(bank: BinaryPhrases) -> None:
    nodes = nodes_of(bank)
    n_states = some_states(bank)
    embedding = embed(
        bank.symbol, indicators(nodes, INSIDE), indicators(nodes, OUTSIDE), n_states, np.random.default_rng(0)
    )
    states = cluster_states(bank.symbol, embedding, n_states, np.random.default_rng(0))
    assert (states >= 0).all()
    assert (states < n_states[bank.symbol]).all()
    again = cluster_states(bank.symbol, embedding, n_states, np.random.default_rng(0))
    np.testing.assert_array_equal(states, again)


def test_a_grammar_of_joined_states_keeps_what_it_can(bank: BinaryPhrases, lexical: LexicalCounts) -> None:
    """Joining all states of each symbol gives the plain grammar back."""
    n_states = some_states(bank)
    states = np.random.default_rng(0).integers(0, n_states[bank.symbol])
    fit = maximised(bank, lexical, n_states, from_states(bank, n_states, states), EXACT)
    groups = np.zeros(int(n_states.sum()), dtype=np.int64)
    small = fit.grammar.grouped(groups)
    one = np.ones(len(bank.symbols), dtype=np.int64)
    plain = maximised(
        bank, lexical, one, from_states(bank, one, np.zeros(len(bank.symbol), dtype=np.int64)), EXACT
    )
    np.testing.assert_allclose(small.tensors, plain.grammar.tensors)
    values = fit.lexicon.grouped(groups, fit.grammar.frequencies, small.n_states, small.frequencies)
    np.testing.assert_allclose(values.values, plain.lexicon.values, rtol=1e-6)
    few = joined_states(fit.grammar, 2)
    sizes = np.maximum.reduceat(few, fit.grammar.state_at[:-1]) + 1
    assert (sizes <= np.minimum(2, n_states)).all()


def test_every_method_learns_and_an_unknown_one_is_refused(rows: Phrases) -> None:
    for method in METHODS:
        parser = learn_treebank(rows, [Recipe(method, n_states=2, n_rounds=1)])
        assert parser.parse_one(["a", "b"]).tree is not None
    with pytest.raises(ValueError, match="method='magic' must be one of"):
        learn_treebank(rows, [Recipe("magic")])


def test_the_same_seed_gives_the_same_parser(rows: Phrases) -> None:
    first, second = (
        learn_treebank(rows, BEST[:2], np.random.default_rng(3)).members[1].grammar.tensors for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)
