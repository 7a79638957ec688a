"""Points of spans and the soft labels that k-means gives them."""

from __future__ import annotations

import numpy as np
import pytest

from oracles_grammar import random_pcfg
from sigmastar.automata.data.strings import Strings
from sigmastar.grammars.counts.span_occurrences import SpanOccurrences, flat_table, span_occurrences
from sigmastar.grammars.kernels import best_spans
from sigmastar.grammars.learn.em import EMSettings
from sigmastar.grammars.learn.starts import agreed_start, agreed_tables, cca_start, span_labels, span_points


@pytest.fixture
def strings() -> Strings:
    return Strings.of(["dnvdn", "nvn", "dnv", "nv", "dnvn"] * 20)


def occurrences(strings: Strings) -> SpanOccurrences:
    return span_occurrences(strings, np.ones(len(strings)), flat_table)


def test_directions_are_the_points_brought_to_one_length(strings: Strings) -> None:
    spans = occurrences(strings)
    points, directions = span_points(strings, spans, 4), span_points(strings, spans, 4, by_direction=True)
    lengths = np.linalg.norm(directions, axis=1)
    assert lengths == pytest.approx(np.full(len(lengths), lengths[0]))
    assert np.ptp(np.linalg.norm(points, axis=1)) > 0.1
    cosines = (points * directions).sum(axis=1) / (np.linalg.norm(points, axis=1) * lengths)
    assert cosines == pytest.approx(np.ones(len(cosines)))


def test_spans_of_one_inside_and_outside_have_one_point(strings: Strings) -> None:
    spans = occurrences(strings)
    points = span_points(strings, spans, 4, by_direction=True)
    first = points[spans.string % 5 == 0].reshape(20, -1, points.shape[1])
    assert np.ptp(first, axis=0) == pytest.approx(np.zeros(first.shape[1:]), abs=1e-12)


def test_sharper_labels_are_surer(strings: Strings) -> None:
    spans = occurrences(strings)
    points = span_points(strings, spans, 4, by_direction=True)
    soft, sharp = (
        span_labels(points, spans.weight, 3, np.random.default_rng(0), sharpness) for sharpness in (1.0, 4.0)
    )
    assert soft.sum(axis=1) == pytest.approx(np.ones(len(soft)))
    assert (soft.argmax(axis=1) == sharp.argmax(axis=1)).all()
    assert sharp.max(axis=1).mean() > soft.max(axis=1).mean() + 0.01


def test_grammars_agree_on_trees_and_a_start_follows_them() -> None:
    rng = np.random.default_rng(0)
    members = [random_pcfg(2, 2, np.random.default_rng(seed), stop=0.6) for seed in range(3)]
    strings = Strings.of(["abab", "a", "bb"], alphabet=members[0].alphabet)
    tables = agreed_tables(members, strings)
    for k, table in enumerate(tables):
        mean = np.mean([member.span_posteriors(strings)[k] for member in members], axis=0)
        spans = {(i, i + 1) for i in range(len(table) - 1)} | {(a, b) for a, b in best_spans(mean).tolist()}
        assert {(int(i), int(j)) for i, j in np.argwhere(table == 1.0)} == spans
    few = agreed_start(strings, np.ones(3), 2, np.random.default_rng(0), EMSettings(2))
    right = cca_start(strings, np.ones(3), 2, np.random.default_rng(0), "right")
    np.testing.assert_array_equal(few.composition, right.composition)
    drawn = members[0].sample(60, rng, max_length=8)
    start = agreed_start(drawn, np.ones(60), 2, rng, EMSettings(2))
    assert start.is_probabilistic()
    assert start.n_states == 2
