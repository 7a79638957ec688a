from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from sigmastar.core.rank import (
    candidate_ranks,
    choose_rank,
    climb_ladder,
    count_above,
    noise_level,
    split_half_noise,
)


def scaled_table(probabilities: np.ndarray, n_counts: int, rng: np.random.Generator) -> np.ndarray:
    counts = rng.multinomial(n_counts, probabilities.ravel()).reshape(probabilities.shape)
    rows, columns = counts.sum(axis=1), counts.sum(axis=0)
    return counts / np.sqrt(rows)[:, None] / np.sqrt(columns)


def test_the_noise_level_is_the_edge_of_an_independent_table(rng: np.random.Generator) -> None:
    rows, columns = rng.dirichlet(np.full(120, 10.0)), rng.dirichlet(np.full(80, 10.0))
    values = np.linalg.svdvals(scaled_table(np.outer(rows, columns), 100_000, rng))
    assert values[0] == pytest.approx(1.0)
    assert values[1] == pytest.approx(noise_level(120, 80, 100_000), rel=0.1)


def test_signal_stands_above_the_noise_level(rng: np.random.Generator) -> None:
    states = np.full(4, 0.25)
    emissions = [rng.dirichlet(np.ones(size), size=4) for size in (60, 50)]
    values = np.linalg.svdvals(scaled_table(np.einsum("k,ki,kj->ij", states, *emissions), 50_000, rng))
    assert count_above(values, noise_level(60, 50, 50_000)) == 4


def test_the_split_half_noise_is_the_noise_of_the_mean(rng: np.random.Generator) -> None:
    truth = rng.random((90, 3)) @ rng.random((3, 70))
    truth /= truth.sum()
    halves = [rng.multinomial(20_000, truth.ravel()).reshape(truth.shape) / 20_000 for _ in range(2)]
    actual = np.linalg.norm((halves[0] + halves[1]) / 2 - truth, 2)
    assert split_half_noise(*halves) == pytest.approx(actual, rel=0.15)
    assert split_half_noise(*map(sparse.csr_array, halves)) == pytest.approx(split_half_noise(*halves))


def test_the_split_half_noise_of_small_and_equal_blocks() -> None:
    assert split_half_noise(np.eye(2), -np.eye(2)) == 1.0
    assert split_half_noise(np.eye(5), np.eye(5)) == split_half_noise(np.eye(300), np.eye(300)) == 0.0
    assert split_half_noise(np.diag(np.arange(300.0)), np.zeros((300, 300))) == pytest.approx(149.5)
    assert split_half_noise(sparse.eye_array(2).tocsr(), sparse.csr_array((2, 2))) == 0.5


def test_no_counts_have_no_noise_level() -> None:
    with pytest.raises(ValueError, match="at least one count"):
        noise_level(3, 3, 0)


def test_candidates_are_a_ladder() -> None:
    assert candidate_ranks(1) == (1,)
    assert candidate_ranks(5) == (1, 2, 3, 4, 5)
    assert candidate_ranks(20) == (1, 2, 3, 4, 6, 8, 11, 16, 20)
    assert candidate_ranks(1000)[-1] == 100
    with pytest.raises(ValueError, match="no numbers of states"):
        candidate_ranks(0)


def test_the_best_held_out_score_is_chosen_and_shown() -> None:
    values = np.array([4.0, 2.0, 1.0, 0.5, 0.1])
    evidence = choose_rank(values, lambda n: -abs(n - 3.0), noise_level=0.7)
    assert evidence.chosen == 3
    assert evidence.candidates == (1, 2, 3, 4, 5)
    assert evidence.scores == (-2.0, -1.0, 0.0, -1.0, -2.0)
    assert evidence.above_noise == 3
    text = str(evidence)
    assert "3 states: the best held-out score of 5 candidates" in text
    assert "3 of 5 singular values stand above the noise level 0.7" in text
    assert next(line for line in text.splitlines() if line.endswith("<")).split()[:2] == ["3", "1"]


def test_of_equal_scores_the_fewest_states_win() -> None:
    assert choose_rank(np.ones(6), lambda n: min(n, 2.0), [5, 2, 4]).chosen == 2


def test_impossible_scores_never_win() -> None:
    def score(n_states: int) -> np.ndarray:
        return np.array([-1.0, [-np.inf, np.nan, -5.0][n_states - 1]])

    assert choose_rank(np.ones(3), score).chosen == 3


def test_the_noise_decides_where_scores_cannot() -> None:
    values = np.array([3.0, 2.0, 1.0, 0.1])
    blind = choose_rank(values, lambda n: -np.inf, noise_level=0.5)
    assert (blind.chosen, blind.scores) == (3, (-np.inf,) * 4)
    assert "above the noise" in blind.reason
    assert choose_rank(values, lambda n: -np.inf).chosen == 1
    assert choose_rank(values, lambda n: -np.inf, noise_level=9.0).chosen == 1


def test_candidates_beyond_the_spectrum_are_refused() -> None:
    with pytest.raises(ValueError, match="between 1 and the 3 singular values"):
        choose_rank(np.ones(3), lambda n: 0.0, [2, 4])


@given(
    st.lists(st.integers(1, 99), min_size=1, max_size=8, unique=True), st.integers(0, 99), st.integers(0, 99)
)
def test_a_ladder_finds_the_top_of_one_hill(rungs: list[int], expected: int, top: int) -> None:
    ladder = sorted(rungs)
    found = climb_ladder(ladder, expected, lambda rank: -abs(rank - top))
    assert abs(found - top) == min(abs(rung - top) for rung in ladder)
