"""The dense chart of few groups against sums over all trees."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles_treebank import Scores, marginals, random_grammar
from sigmastar.treebanks.kernels.plain_chart import LeafItems
from sigmastar.treebanks.model.coarse_to_fine import CoarseGrammar, GroupRules, Groups, probable_groups
from sigmastar.treebanks.model.latent_grammar import LatentGrammar
from sigmastar.treebanks.model.lexicon import Leaves

N_LEAVES, N_GROUPS = 3, 3


def grouped(grammar: LatentGrammar) -> Groups:
    keys = np.arange(grammar.n_symbols, dtype=np.int32) - N_LEAVES
    return Groups(CoarseGrammar(grammar), np.maximum(keys, -1), N_LEAVES)


def leaves_of(scores: Scores, n_words: int) -> Leaves:
    keys = sorted(scores)
    begin = np.searchsorted([i for i, _ in keys], np.arange(n_words + 1)).astype(np.int64)
    symbols = np.array([a for _, a in keys], dtype=np.int32)
    none = np.full(n_words, -1, dtype=np.int64)
    return Leaves(none, none, begin, symbols, np.concatenate([scores[key] for key in keys]))


def run(groups: Groups, leaves: Leaves, least: float) -> tuple[np.ndarray, float]:
    rules = GroupRules(groups.coarse.rules, groups.tensor, N_LEAVES)
    return probable_groups(leaves.items, rules, groups.coarse.grammar.roots, least)


@given(st.integers(0, 100_000), st.integers(2, 6), st.sampled_from([1e-9, 0.05, 0.3]))
@settings(max_examples=60, deadline=None)
def test_groups_above_a_bound_are_those_of_all_trees(seed: int, n: int, least: float) -> None:
    rng = np.random.default_rng(seed)
    grammar = random_grammar(rng, N_LEAVES, N_GROUPS, 16, 1)
    scores = {
        (i, a): rng.uniform(0.1, 3.0, 1)
        for i in range(n)
        for a in range(N_LEAVES)
        if rng.random() < 0.8 or a == 0
    }
    total, expected = marginals(grammar, n, scores)
    table, log2 = run(grouped(grammar), leaves_of(scores, n), least)
    if total == 0.0:
        assert np.isneginf(log2)
        return
    assert 2.0**log2 == pytest.approx(total)
    cells = [(i, i + w) for w in range(1, n + 1) for i in range(n - w + 1)]
    for cell, span in enumerate(cells):
        for a in range(N_GROUPS):
            share = expected.get((N_LEAVES + a, *span), 0.0) / total
            if span[1] - span[0] > 1 and abs(share - least) > 1e-9:
                assert bool(table[cell, a]) == (share >= least), (span, a)


def test_long_sentences_do_not_underflow() -> None:
    rules = np.array([[1, 0, 0], [1, 0, 1]], dtype=np.int32)
    grammar = LatentGrammar(
        rules, np.ones(2, dtype=np.int64), np.full(2, 1e-9), np.array([0.0, 1.0]), np.ones(2)
    )
    rules, n = GroupRules(CoarseGrammar(grammar).rules, np.zeros((1, 1, 1)), 1), 250
    leaves = LeafItems(np.arange(n + 1), np.zeros(n, dtype=np.int32), np.full(n, 1e-6))
    table, log2 = probable_groups(leaves, rules, grammar.roots, 0.5)
    np.testing.assert_allclose(log2, (n * np.log(1e-6) + (n - 1) * np.log(1e-9)) / np.log(2))
    assert table.sum() == n - 1  # spans that end where the sentence ends


@pytest.mark.parametrize("n", [1, 3])
def test_what_cannot_be_parsed_is_left_to_others(n: int) -> None:
    grammar = random_grammar(np.random.default_rng(0), N_LEAVES, N_GROUPS, 16, 1)
    grammar = replace(grammar, roots=np.zeros(N_LEAVES + N_GROUPS))
    leaves = leaves_of({(i, 0): np.ones(1) for i in range(n)}, n)
    assert grouped(grammar).allowed(leaves, 1e-3).size == 0
