"""The climb on a ladder of ranks: where it ends, and what it does not look at."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from automata.test_context_models import TRUTH
from sigmastar.automata.learn import fast as module
from sigmastar.automata.learn.fast import learn_fast
from sigmastar.automata.learn.rank_search import climb

LADDER = [2, 3, 5, 8, 13, 21, 34]


def climbed(scores: list[float], expected: int) -> dict[int, float]:
    looked: dict[int, float] = {}

    def score(rank: int) -> float:
        looked[rank] = scores[LADDER.index(rank)]
        return looked[rank]

    climb(LADDER, expected, score)
    return looked


@given(st.permutations(range(len(LADDER))), st.integers(0, 50))
def test_the_climb_ends_where_neither_direction_leads_higher(scores, expected):
    looked = climbed(list(map(float, scores)), expected)
    best = LADDER.index(max(looked, key=looked.__getitem__))
    for neighbour in (best - 1, best + 1):
        if 0 <= neighbour < len(LADDER):
            assert LADDER[neighbour] in looked
            assert scores[neighbour] < scores[best]


@given(st.integers(0, len(LADDER) - 1), st.integers(0, 50))
def test_one_summit_is_found_from_anywhere(summit, expected):
    looked = climbed([-abs(rung - summit) for rung in range(len(LADDER))], expected)
    assert max(looked, key=looked.__getitem__) == LADDER[summit]


def test_ranks_far_from_what_is_expected_are_not_tried():
    assert set(climbed([-abs(rung - 3.0) for rung in range(len(LADDER))], 8)) == {5, 8, 13}


@pytest.mark.parametrize("limit", [0, 10**9])
def test_threads_leave_no_trace_in_the_model(monkeypatch, limit):
    strings = TRUTH.sample(600, np.random.default_rng(0))
    whole = learn_fast(strings, np.random.default_rng(0), n_classes=(5, 10, 20))
    monkeypatch.setattr(module, "_FEW_ENTRIES", limit)
    other = learn_fast(strings, np.random.default_rng(0), n_classes=(5, 10, 20))
    assert other.held_out_score == whole.held_out_score
    np.testing.assert_array_equal(other.model.log_probability(strings), whole.model.log_probability(strings))


def test_numbers_of_classes_between_the_ends_are_tried_where_these_are_close(monkeypatch):
    strings, said = TRUTH.sample(600, np.random.default_rng(0)), list[str]()
    for close in (0.0, np.inf):
        monkeypatch.setattr(module, "_CLOSE", close)
        learn_fast(strings, np.random.default_rng(0), n_classes=(5, 10, 20), progress=said.append)
    assert sum("on 10 context classes" in line for line in said) == 1
    assert sum("on 20 context classes" in line for line in said) == 2
