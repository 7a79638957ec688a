"""What distances weigh, and the training of arcs and siblings: probabilities, and a likelihood that rises."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from oracles import projective_trees
from sigmastar.core.model_reading import load_model, save_model
from sigmastar.core.word_classes import WordClasses
from sigmastar.dependency.data.treebank import DependencyTreebank
from sigmastar.dependency.kernels.arc_features import MOST_INDICATORS, Places, arc_indicators
from sigmastar.dependency.learn.arcs import learn_arcs
from sigmastar.dependency.learn.counting import find_barriers, learn_distances, shrunk_bins
from sigmastar.dependency.learn.parser import Recipe, learn_parser
from sigmastar.dependency.model.arcs import N_BARRIERS, N_BINS, count_distances, multiply_distances
from sigmastar.dependency.model.generators import make_head_automata
from sigmastar.dependency.model.head_automata import sample_trees
from sigmastar.dependency.model.parser import DependencyParser


@pytest.fixture(scope="module")
def treebank() -> DependencyTreebank:
    rng = np.random.default_rng(0)
    return sample_trees(make_head_automata(["a", "b", "c"], 2, rng, n_modifiers=0.5), 150, rng, 12)


def test_shrunk_counts_are_probabilities_between_counts_and_what_is_known_coarsely() -> None:
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 4, (7, 3, N_BINS)).astype(np.float64)
    counts[2, 1] = 0.0
    found = shrunk_bins(counts)
    np.testing.assert_allclose(found.sum(axis=-1), 1.0)
    assert (found > 0).all()
    many = shrunk_bins(1e6 * counts + 1e-9)
    np.testing.assert_allclose(many[0, 0], counts[0, 0] / counts[0, 0].sum(), atol=1e-3)


def test_distances_at_which_words_are_arcs_weigh_more() -> None:
    """From b leftwards to a there is an arc at two words, and none where they are neighbours."""
    tags, heads = [list("axb"), list("abx")] * 50, [[3, 3, 0], [3, 3, 0]] * 50
    treebank, codes = (
        DependencyTreebank.of(tags, tags, heads),
        np.array([0, 2, 1, 0, 1, 2] * 50, dtype=np.int32),
    )
    weights = learn_distances(treebank, codes, 3).table
    assert weights[2, 0, N_BARRIERS] > 1.0 > weights[2, 0, 0]
    np.testing.assert_allclose(learn_distances(treebank, codes, 3, power=0.0).table, 1.0)


def test_symbols_that_arcs_do_not_lead_over_are_barriers() -> None:
    """b reaches over x to a; only the arc from the root reaches over a v."""
    tags = [list("axbvaxbvaxb")] * 30
    heads = [[3, 3, 4, 8, 7, 7, 4, 0, 11, 11, 8]] * 30
    treebank = DependencyTreebank.of(tags, tags, heads)
    codes = np.array(["abvx".index(tag) for tag in treebank.upos], dtype=np.int32)
    barriers = find_barriers(treebank.head, treebank.sentence_offsets, codes, 5)
    assert barriers[2] > 1
    assert barriers[3] == barriers[4] == 0  # the last symbol is never seen


def test_trees_of_a_sentence_have_probabilities_that_sum_to_one(treebank: DependencyTreebank) -> None:
    recipe = Recipe("det+f", symbols="upos", arcs="trained", arc_epochs=1)
    parser = learn_parser(treebank, recipe, np.random.default_rng(0))
    parser = parser.with_parts(prior=replace(parser.prior, pruning=0.0))
    trees = [list(tree) for tree in projective_trees(4)]
    tags = [list("abca")] * len(trees)
    logs = parser.log_probability(DependencyTreebank.of(tags, tags, trees))
    assert np.exp(logs).sum() == pytest.approx(1.0)
    assert not parser.is_generative
    assert parser.grammar.is_generative
    crossing = DependencyTreebank.of([list("abcd")], [list("abcd")], [[3, 4, 0, 3]])
    assert np.isneginf(parser.log_probability(crossing)).all()


def test_distances_are_kept_in_files_and_left_out_if_asked(
    treebank: DependencyTreebank, tmp_path: Path
) -> None:
    parser = learn_parser(treebank, Recipe("det+f", symbols="upos"), np.random.default_rng(0))
    save_model(parser, tmp_path / "m")
    again: DependencyParser = load_model(tmp_path / "m")
    np.testing.assert_array_equal(again.parse(treebank).heads, parser.parse(treebank).heads)
    plain = learn_parser(treebank, Recipe("det+f", symbols="upos", distances=False), np.random.default_rng(0))
    assert plain.prior.distances is None
    bare = parser.with_parts(prior=replace(parser.prior, distances=None)).parse(treebank, marginals=True)
    for one, two in zip(bare.marginals, plain.parse(treebank, marginals=True).marginals, strict=True):
        np.testing.assert_allclose(one, two)


def gold_share(parser: DependencyParser, treebank: DependencyTreebank) -> float:
    """The mean marginal of gold arcs."""
    tables = parser.parse(treebank, marginals=True).marginals
    ends = treebank.sentence_offsets
    shares = [
        table[treebank.head[ends[q] : ends[q + 1]], np.arange(1, len(table))].mean()
        for q, table in enumerate(tables)
    ]
    return float(np.mean(shares))


def test_training_raises_the_marginals_of_gold_arcs_epoch_by_epoch(treebank: DependencyTreebank) -> None:
    parser = learn_parser(treebank, Recipe("det+f", symbols="upos"), np.random.default_rng(0))
    given = (parser.vocabulary, parser.prior, treebank)
    shares = [
        gold_share(parser.with_parts(decoder=learn_arcs(*given, np.random.default_rng(0), n)), treebank)
        for n in (1, 4, 16)
    ]
    assert shares == sorted(shares)
    assert gold_share(parser, treebank) < shares[2]


def test_distances_are_counted_and_looked_up_by_sort_symbol_and_bin() -> None:
    codes, heads = np.array([0, 1, 0, 0], dtype=np.int32), np.array([2, 0, 2, 0], dtype=np.int32)
    offsets = np.array([0, 3, 4])
    arcs, pairs = count_distances(codes, heads, offsets, np.array([0, 3]))
    assert arcs.shape == (5, 2, N_BINS)
    assert arcs.sum() == 4
    assert pairs.sum() == 3 * 3 + 1
    assert arcs[2, 0, 0] == arcs[3, 0, 0] == 1  # to both sides of symbol 1, next to it
    assert arcs[4, 1, N_BARRIERS] == arcs[4, 0, 0] == 1  # the root's, two words away and one
    assert pairs[1, 0, N_BARRIERS + 3] == 1  # word 1 to word 3, over symbol 1
    weights = np.ones(16 + 4)
    multiply_distances(codes, offsets, 1.0 + pairs, np.array([0, 3]), weights, np.array([0, 16, 20]))
    table = weights[:16].reshape(4, 4)
    assert table[1, 3] == 2.0
    assert table[2, 1] == 2.0
    assert (table[:, 0] == 1.0).all()


@pytest.mark.parametrize("decoder", ["mbr", "viterbi", "trained"])
def test_marginals_are_those_that_heads_come_from(decoder: str, treebank: DependencyTreebank) -> None:
    """With much ruled out, too: heads are the same with and without them, and arcs ruled out have none."""
    recipe = Recipe("det+f", symbols="upos", decoding="viterbi" if decoder == "viterbi" else "mbr")
    parser = learn_parser(treebank, recipe, np.random.default_rng(0))
    if decoder == "trained":
        given = (parser.vocabulary, parser.prior, treebank)
        parser = parser.with_parts(decoder=learn_arcs(*given, np.random.default_rng(0), 1))
    parser = parser.with_parts(prior=replace(parser.prior, pruning=0.3))
    parse, plain = parser.parse(treebank, marginals=True), parser.parse(treebank)
    np.testing.assert_array_equal(parse.heads, plain.heads)
    np.testing.assert_array_equal(parse.log_weights, plain.log_weights)
    sentences = parser.vocabulary.encode(treebank, rows=False)
    flat = np.concatenate([table.ravel() for table in parse.marginals or []])
    ruled_out = parser.prior.weights(sentences) == 0
    assert decoder == "viterbi" or (flat[ruled_out] == 0).all()
    assert (flat[~ruled_out] > 0).any()


def test_classes_of_words_add_indicators_and_change_no_other() -> None:
    """Without classes arcs have the indicators that they always had."""
    rng = np.random.default_rng(3)
    words = rng.integers(0, 5, (6, 5))
    between = np.zeros((6, 6), dtype=np.int64)
    bare, full = (Places(np.zeros(MOST_INDICATORS, np.int64), (1 << 22) - 1) for _ in range(2))
    without = words.copy()
    without[:, 4] = -1
    n = arc_indicators(without, between, 1, 4, bare)
    n_full = arc_indicators(words, between, 1, 4, full)
    assert n_full > n
    assert set(bare.found[:n].tolist()) <= set(full.found[:n_full].tolist())


def test_arcs_know_words_of_a_class_that_the_treebank_lacks() -> None:
    """Two kinds of x, told apart by their classes alone: one leans to the left, one to the right."""
    left, right = ([f"{side}{letter}" for letter in "abcdefghijklmnopqrst"] for side in "lr")
    classes = WordClasses((*left, *right), np.repeat([[0] * 3, [1] * 3], 20, axis=0).astype(np.int32))
    forms, heads = [], []
    for k in range(10):
        for j in range(10):
            forms.append([f"v{k}", left[(k + j) % 10], f"v{j}"])
            heads.append([0, 1, 1])
            forms.append([f"v{k}", right[(k + j) % 10], f"v{j}"])
            heads.append([0, 3, 1])
    tags = [["v", "x", "v"]] * len(forms)
    treebank = DependencyTreebank.of(forms, tags, heads)
    recipe = Recipe(method="det", arcs="lexical")
    fresh = DependencyTreebank.of([["v1", left[15], "v2"], ["v1", right[15], "v2"]], tags[:2])
    parser = learn_parser(treebank, recipe, np.random.default_rng(0), classes=classes)
    assert parser.parse(fresh).heads.tolist() == [0, 1, 1, 0, 3, 1]
    blind = learn_parser(treebank, recipe, np.random.default_rng(0))
    assert blind.parse(fresh).heads[1] == blind.parse(fresh).heads[4]
