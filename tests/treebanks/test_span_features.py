from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles_treebank import span_trees
from sigmastar.treebanks.kernels.decoding import ChainItems
from sigmastar.treebanks.kernels.span_features import (
    N_ROWS,
    PAD,
    SpanText,
    SpanWeights,
    learn_spans,
    span_posteriors,
    span_scores,
)
from sigmastar.treebanks.model.span_scorer import _best_tags, _Columns, _forbid_others, _onto_chains


def cell(i: int, j: int, n: int) -> int:
    width = j - i
    return (width - 1) * n - (width - 1) * (width - 2) // 2 + i


@given(st.integers(0, 10_000), st.integers(1, 5))
@settings(max_examples=40, deadline=None)
def test_posteriors_sum_over_all_trees_of_labelled_spans(seed: int, n: int) -> None:
    rng, n_labels = np.random.default_rng(seed), 2
    scores = rng.normal(0.0, 1.5, (n * (n + 1) // 2, n_labels)).astype(np.float32)
    alive = (rng.random(len(scores)) < 0.7).astype(np.uint8)
    alive[-1] = 1
    found, log_total = span_posteriors(n, scores, alive)
    total, expected = 0.0, np.zeros(scores.shape)
    for tree in span_trees(n, list(range(n_labels))):
        spans = [(cell(i, j, n), label) for label, i, j in tree]
        if all(alive[c] for c, _ in spans):
            weight = float(np.exp(sum(scores[span] for span in spans)))
            total += weight
            for span in spans:
                expected[span] += weight
    np.testing.assert_allclose(log_total, np.log(total), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found, expected / total, atol=1e-5)


def test_cells_that_make_no_tree_say_so() -> None:
    alive = np.zeros(3, dtype=np.uint8)
    posteriors, log_total = span_posteriors(2, np.zeros((3, 2), np.float32), alive)
    assert np.isneginf(log_total)
    assert not posteriors.any()


def marked(*codes: int) -> np.ndarray:
    return np.array([8] * PAD + list(codes) + [9] * PAD)


def test_scores_add_the_weights_of_a_span_and_see_both_ends() -> None:
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(N_ROWS, 3)).astype(np.float32)
    alive = np.ones(6, dtype=np.uint8)
    words, tags = marked(1, 2, 3), marked(1, 1, 2)
    first = span_scores(words, tags, weights, alive)
    np.testing.assert_allclose(span_scores(words, tags, 2 * weights, alive), 2 * first, rtol=1e-4, atol=1e-4)
    other = span_scores(marked(1, 2, 4), tags, weights, alive)
    changed = np.abs(first - other).max(axis=1) > 1e-6
    assert changed.tolist() == [False, True, True, True, True, True]  # only the first word does not touch it


def test_learning_makes_the_trees_it_saw_probable() -> None:
    words, tags = marked(1, 2, 3), marked(1, 2, 3)
    gold = np.full(6, -1, dtype=np.int8)
    gold[cell(1, 3, 3)], gold[cell(0, 3, 3)] = 1, 0
    weights = np.zeros((N_ROWS, 2), np.float32)
    model, alive = SpanWeights(weights, np.full_like(weights, 0.01)), np.ones(6, dtype=np.uint8)
    text = SpanText(np.array([0, 7]), words, tags, np.array([0, 6]), gold, alive)
    logs = [learn_spans(np.zeros(1, np.int64), text, model, (0.1, 0.01)) for _ in range(20)]
    assert all(later > earlier for earlier, later in pairwise(logs))
    assert logs[-1] > -0.1
    posteriors, _ = span_posteriors(3, span_scores(words, tags, weights, alive), alive)
    assert posteriors[cell(1, 3, 3), 1] > 0.9
    assert not alive[cell(0, 2, 3)]


def test_the_first_step_follows_the_gradient() -> None:
    """From weights of zero all trees are equally probable, and AdaGrad goes a step against the sign."""
    words, tags = marked(1, 2), marked(1, 2)
    gold = np.array([-1, -1, 0], dtype=np.int8)
    weights = np.zeros((N_ROWS, 1), np.float32)
    model, alive = SpanWeights(weights, np.full_like(weights, 0.01)), np.ones(3, dtype=np.uint8)
    text = SpanText(np.array([0, 6]), words, tags, np.array([0, 3]), gold, alive)
    log = learn_spans(np.zeros(1, np.int64), text, model, (0.1, 0.0))
    assert np.isclose(log, -np.log(len(span_trees(2, [0]))), atol=1e-6)
    scores = span_scores(words, tags, weights, alive)
    assert (scores[:2, 0] < 0).all()  # labels over single words are wrong half of the time


def test_posteriors_come_onto_chains_with_the_tags_of_the_chart() -> None:
    chart = ChainItems(
        np.array([0, 3, 4, 5]), np.arange(5, dtype=np.int32), np.array([0.3, 0.4, 0.3, 1.0, 1.0])
    )
    chain_tags = np.array([0, 0, 1, 1, -1])  # of N, NP N, V, V, S
    posteriors = np.array([[0.6, 0.0], [0.0, 0.0], [0.0, 1.0]], dtype=np.float32)  # NP, S
    columns = _Columns(chain_tags, np.array([-2, 0, -2, -2, -1]), np.array([-1, -1, -1, -1, 1]))
    assert _best_tags(2, chart, chain_tags, 2).tolist() == [0, 1]
    found = _onto_chains(2, chart, posteriors, columns)
    np.testing.assert_allclose(found, [0.4 * 0.7, 0.6 * 0.7, 0.3, 1.0, 1.0], rtol=1e-6)
    scores = np.ones((3, 2), dtype=np.float32)
    _forbid_others(2, chart, columns, scores)
    assert (scores > 0).tolist() == [[True, False], [False, False], [False, True]]
