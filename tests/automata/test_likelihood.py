from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sigmastar.automata.data.pautomac import read_pautomac, read_solution
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.metrics import (
    competition_perplexity,
    competition_score,
    kl_by_sampling,
    kl_on,
    log_likelihood,
    perplexity,
)
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.generators import make_automaton
from sigmastar.automata.model.pautomac_machine import read_pautomac_model
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.errors import InputError


def geometric(stop: float, alphabet: str = "ab") -> WeightedAutomaton:
    """Independent symbols, all as likely as each other."""
    moves = np.full((len(alphabet), 1, 1), (1 - stop) / len(alphabet))
    return WeightedAutomaton(Alphabet(alphabet), np.ones(1), moves, np.array([stop]))


@given(st.lists(st.tuples(st.floats(0.01, 1), st.floats(-300, 0)), min_size=1, max_size=12))
def test_competition_score_is_its_formula(pairs):
    raw, log_q = np.array([p for p, _ in pairs]), np.array([q for _, q in pairs])
    q = [math.exp(x - max(log_q)) for x in log_q]
    solution = raw / raw.sum()
    terms = [p * (math.log2(w) - math.log2(sum(q))) for p, w in zip(solution, q, strict=True)]
    found = competition_score(log_q, raw)
    assert found.perplexity == pytest.approx(2 ** -sum(terms), rel=1e-9)
    assert found.target_perplexity == pytest.approx(2 ** -sum(p * math.log2(p) for p in solution))
    assert found.ratio >= 1 - 1e-12


def test_the_truth_scores_one_whatever_its_scale(rng):
    truth = make_automaton(4, 3, rng)
    test = Strings.of([(), (0,), (1, 2), (2, 2, 1)], alphabet=truth.alphabet)
    targets = np.exp(truth.log_probability(test))
    assert competition_perplexity(truth, test, targets / targets.sum()).ratio == pytest.approx(1)
    assert competition_perplexity(truth, test, 7 * targets).ratio == pytest.approx(1)


def test_tiny_probabilities_do_not_vanish():
    log_q = np.array([-5000.0, -5001.0])
    assert competition_score(log_q, np.exp(log_q + 5000)).ratio == pytest.approx(1)


def test_an_impossible_string_is_counted_unless_its_target_is_zero():
    score = competition_score(np.array([0.0, -np.inf, -np.inf]), [0.5, 0.5, 0.0])
    assert (score.perplexity, score.ratio, score.n_impossible) == (np.inf, np.inf, 1)
    assert competition_score(np.array([0.0, -np.inf]), [1.0, 0.0]).ratio == 1.0


def test_foreign_symbols_are_impossible_and_not_an_error():
    strings = Strings.of(["a", "az"])
    assert np.isneginf(log_likelihood(geometric(0.5), strings)).tolist() == [False, True]
    assert perplexity(geometric(0.5), strings) == np.inf


@pytest.mark.parametrize("targets", [[0.5], [0.5, np.nan], [-0.5, 1.5], [0.0, 0.0]])
def test_targets_that_do_not_fit_are_refused(targets):
    with pytest.raises(ValueError, match="target probabilities"):
        competition_score(np.zeros(2), targets)


def test_perplexity_counts_the_end():
    """Every gap of a uniform model has one in three: two symbols and the end."""
    assert perplexity(geometric(1 / 3), Strings.of(["ab", "", "bba"])) == pytest.approx(3)
    with pytest.raises(InputError, match="no strings"):
        perplexity(geometric(0.5), Strings.of([], alphabet=Alphabet("ab")))


def test_kl_by_sampling_meets_the_closed_form(rng):
    """KL between geometric lengths: (1-s)/s log((1-s)/(1-t)) + log(s/t)."""
    s, t = 0.3, 0.45
    exact = (1 - s) / s * math.log((1 - s) / (1 - t)) + math.log(s / t)
    found = kl_by_sampling(geometric(t), geometric(s), 20_000, rng)
    assert found.value == pytest.approx(exact, abs=4 * found.standard_error)
    assert found.low < found.value < found.high
    assert (found.n, found.n_impossible) == (20_000, 0)
    assert found.high - found.low == pytest.approx(2 * 1.96 * found.standard_error, rel=1e-3)


def test_kl_of_a_model_to_itself_is_nothing(rng):
    truth = make_automaton(3, 2, rng)
    found = kl_by_sampling(truth, truth, 50, rng)
    assert (found.value, found.standard_error) == (0.0, 0.0)


def test_kl_is_infinite_where_the_model_rules_strings_out(rng):
    fresh = Strings.of(["a", "b", "ab"])
    found = kl_on(geometric(0.5, "a"), geometric(0.5, "ab"), fresh)
    assert (found.value, found.n_impossible) == (np.inf, 2)
    assert found.value_possible == pytest.approx(math.log(0.125) - math.log(0.25))


def test_a_reference_that_rules_out_its_own_strings_is_refused():
    with pytest.raises(ValueError, match="1 of 2 strings drawn from it"):
        kl_on(geometric(0.5), geometric(0.5, "a"), Strings.of(["a", "b"]))


def test_pautomac_targets_score_their_own_index_entry(data_folder):
    folder = data_folder / "pautomac"
    rows = [line.split("\t") for line in (folder / "INDEX.tsv").read_text().splitlines()]
    best = {row[0]: float(row[rows[0].index("best_perplexity")]) for row in rows[1:]}
    model = read_pautomac_model(folder / "1.pautomac_model.txt")
    test = read_pautomac(folder / "1.pautomac.test", alphabet=model.alphabet)
    score = competition_perplexity(model, test, read_solution(folder / "1.pautomac_solution.txt"))
    assert score.target_perplexity == pytest.approx(best["1"], rel=1e-6)
    assert score.ratio == pytest.approx(1, abs=1e-8)
