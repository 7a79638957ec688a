"""Automata from few values: observations, the completion objective, extraction, refinement."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy.optimize import check_grad

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.errors import InputError
from sigmastar.optimise.proximal import singular_value_threshold
from sigmastar.regression.counts import HankelEntries
from sigmastar.regression.data import (
    AT_LEAST,
    HINGE,
    LOGISTIC,
    LOSSES,
    SQUARED,
    BilinearMeasure,
    Observations,
    Order,
)
from sigmastar.regression.learn.completion import HankelLoss, automaton_of_factors
from sigmastar.regression.learn.hankel import HankelSettings, complete, learn_hankel
from sigmastar.regression.learn.refinement import TrieObjective, refine


def all_words(longest: int) -> Strings:
    words = ["".join(w) for m in range(longest + 1) for w in itertools.product("ab", repeat=m)]
    return Strings.of(words, alphabet=Alphabet("ab"))


def random_target(rng: np.random.Generator, n_states: int = 3) -> WeightedAutomaton:
    transitions = rng.standard_normal((2, n_states, n_states))
    transitions /= max(np.abs(np.linalg.eigvals(matrix)).max() for matrix in transitions)
    initial, final = rng.standard_normal((2, n_states))
    return WeightedAutomaton(Alphabet("ab"), initial, transitions, final)


@pytest.mark.parametrize("loss", [*LOSSES.values(), AT_LEAST], ids=lambda loss: loss.name)
def test_slopes_are_derivatives_and_change_no_faster_than_said(loss: Any) -> None:
    predicted = np.linspace(-3, 3, 601)
    for observed in (-1.0, 1.0):
        targets = np.full(len(predicted), observed)
        (values, slopes), gap = loss.at(predicted, targets), predicted[1] - predicted[0]
        np.testing.assert_allclose(np.gradient(values, gap)[1:-1], slopes[1:-1], atol=0.02)
        assert np.abs(np.diff(slopes)).max() <= loss.curvature * gap + 1e-12


def test_the_hinge_is_the_hinge_away_from_its_corner() -> None:
    values, slopes = HINGE.at(np.array([2.0, -3.0]), np.array([1.0, 1.0]))
    assert values.tolist() == [0.0, 4.0 - 0.25]
    assert slopes.tolist() == [0.0, -1.0]


def test_statements_are_rows_of_combinations() -> None:
    strings = Strings.of(["a", "b", "a"], alphabet=Alphabet("ab"))
    measure = BilinearMeasure({"": 1.0, "a": 2.0}, {"b": 3.0, "ab": 1.0}, 5.0)
    seen = Observations.of(
        strings, np.array([1.0, 2.0, 3.0]), SQUARED, None, [measure, Order("ba", "b", 0.5)]
    )
    values = {word: float(number) for number, word in enumerate(["a", "b", "ab", "aab", "ba"], 1)}
    at = np.array([values["".join(map(str, word))] for word in seen.strings])
    # u^T H v = 3 f(b) + f(ab) + 6 f(ab) + 2 f(aab)
    assert (seen.combinations @ at).tolist() == [1.0, 2.0, 1.0, 3 * 2 + 7 * 3 + 2 * 4, 5.0 - 2.0]
    assert seen.targets.tolist() == [1.0, 2.0, 3.0, 5.0, 0.5]
    assert len(seen.strings) == 5


def test_an_order_of_a_string_with_itself_is_refused() -> None:
    with pytest.raises(InputError, match="two strings"):
        Observations.of(Strings.of(["a"]), np.ones(1), statements=[Order("a", "a")])


@pytest.mark.parametrize("loss", [SQUARED, LOGISTIC, HINGE], ids=lambda loss: loss.name)
def test_the_gradient_at_entries_is_the_derivative(loss: Any) -> None:
    rng = np.random.default_rng(0)
    strings = all_words(3).select([1, 3, 4, 7, 9])
    statements = [BilinearMeasure({"a": 1.0}, {"b": -2.0, "": 1.0}, 0.3), Order("ba", "aab", 0.1)]
    signs = rng.choice([-1.0, 1.0], 5)
    seen = Observations.of(strings, signs, loss, rng.random(5) + 0.5, statements)
    objective = HankelLoss(HankelEntries.of(seen.strings), seen)

    def value(values: Any) -> float:
        return objective.value_and_gradient(values)[0]

    def slopes(values: Any) -> Any:
        return objective.value_and_gradient(values)[1]

    at = rng.standard_normal(len(objective.rows))
    assert check_grad(value, slopes, at) < 1e-4
    other = at + rng.standard_normal(len(at))
    change = np.linalg.norm(slopes(other) - slopes(at))
    assert change <= objective.curvature * np.linalg.norm(other - at) + 1e-9


@pytest.mark.parametrize("loss", [SQUARED, LOGISTIC], ids=lambda loss: loss.name)
def test_the_gradient_over_the_trie_is_the_derivative(loss: Any) -> None:
    rng = np.random.default_rng(1)
    seen = Observations.of(
        all_words(3), rng.choice([-1.0, 1.0], 15), loss, statements=[Order("bb", "aaaa", 0.2)]
    )
    objective = TrieObjective.of(seen, 3, ridge=0.1)
    at = rng.standard_normal(3 + 3 + 18)
    assert check_grad(lambda x: objective(x)[0], lambda x: objective(x)[1], at) < 1e-4


def test_shifts_of_an_exact_matrix_give_the_automaton_back() -> None:
    rng = np.random.default_rng(2)
    target, strings = random_target(rng), all_words(5)
    entries = HankelEntries.of(strings)
    whole = np.zeros(entries.shape)
    longer = all_words(10)
    by_word = dict(zip(longer, target.value(longer), strict=True))
    rows, columns = all_words(5), all_words(5)
    order_rows = {word: entries.prefixes.string_node[i] for i, word in enumerate(rows)}
    order_columns = {word: entries.suffixes.string_node[i] for i, word in enumerate(columns)}
    for p, s in itertools.product(rows, columns):
        whole[order_rows[p], order_columns[s]] = by_word[p + s]
    found = automaton_of_factors(entries, singular_value_threshold(whole, 1e-9), 3, rng, ridge=1e-16)
    np.testing.assert_allclose(found.value(longer), target.value(longer), atol=1e-6)


def test_an_automaton_is_found_exactly_with_most_entries_missing() -> None:
    rng = np.random.default_rng(0)
    target, strings = random_target(rng), all_words(7)
    values = target.value(strings)
    kept = np.sort(rng.choice(len(strings), int(0.2 * len(strings)), replace=False))
    seen = Observations.of(strings.select(kept), values[kept])
    alone = learn_hankel(seen, 3, rng, HankelSettings(n_starts=0))
    found = learn_hankel(seen, 3, rng)
    norm = np.linalg.norm(values)
    assert np.linalg.norm(found.automaton.value(strings) - values) < 1e-9 * norm
    assert np.linalg.norm(alone.automaton.value(strings) - values) > 1e-2 * norm


def test_states_are_chosen_by_held_out_values() -> None:
    rng = np.random.default_rng(6)
    target, strings = random_target(rng, 2), all_words(6)
    found = learn_hankel(Observations.of(strings, target.value(strings)), None, rng)
    assert found.automaton.n_states == 2
    assert found.held_out_costs[2] < 1e-12 < found.held_out_costs[1]


def test_bilinear_measures_alone_determine_an_automaton() -> None:
    rng = np.random.default_rng(7)
    target, strings = random_target(rng, 2), all_words(6)
    values = dict(zip(strings, target.value(strings), strict=True))
    halves = list(all_words(3))
    measures = []
    for _ in range(60):
        u = {p: float(rng.standard_normal()) for p in halves if rng.random() < 0.3}
        v = {s: float(rng.standard_normal()) for s in halves if rng.random() < 0.3}
        total = sum(u[p] * values[p + s] * v[s] for p in u for s in v)
        measures.append(BilinearMeasure(u, v, total))
    first = Strings.of([halves[0]], alphabet=Alphabet("ab"))
    seen = Observations.of(first, np.array([values[halves[0]]]), statements=measures)
    found = learn_hankel(seen, 2, rng)
    np.testing.assert_allclose(found.automaton.value(strings), target.value(strings), atol=1e-5)


def test_orders_are_kept() -> None:
    strings = Strings.of(["", "a", "b"], alphabet=Alphabet("ab"))
    orders = [Order("a" * (m + 1), "a" * m, 0.5) for m in range(1, 5)]
    seen = Observations.of(strings, np.array([1.0, 1.0, 1.0]), statements=orders)
    found = learn_hankel(seen, 2, np.random.default_rng(0))
    rising = found.automaton.value(Strings.of(["a" * m for m in range(1, 6)], alphabet=Alphabet("ab")))
    assert (np.diff(rising) > 0.499).all()


def test_refinement_never_ends_above_its_start() -> None:
    rng = np.random.default_rng(8)
    strings = all_words(4)
    seen = Observations.of(strings, rng.standard_normal(len(strings)))
    start = random_target(rng)
    before = seen.mean_cost(start.value(seen.strings))[0]
    assert refine(start, seen, n_iterations=20).cost < before


def test_large_matrices_hold_only_what_strings_reach() -> None:
    rng = np.random.default_rng(9)
    strings = Strings.of(sorted({"".join(rng.choice(list("abc"), 12)) for _ in range(300)}))
    seen = Observations.of(strings, rng.standard_normal(len(strings)))
    settings = HankelSettings(strengths=(0.5,), completion_iterations=5)
    entries, completions = complete(seen, settings, rng)
    assert len(entries.rows) == 13 * len(strings)
    assert completions[0].triples.left.shape[0] == entries.shape[0]


def test_values_of_long_strings_are_within_reach() -> None:
    rng = np.random.default_rng(10)
    words = ["".join(rng.choice(list("ab"), rng.integers(80, 120))) for _ in range(15)]
    strings = Strings.of(sorted(set(words)), alphabet=Alphabet("ab"))
    values = 0.99 ** strings.lengths.astype(float)
    found = learn_hankel(
        Observations.of(strings, values), 1, rng, HankelSettings(strengths=(0.1,), completion_iterations=10)
    )
    np.testing.assert_allclose(found.automaton.value(strings), values, rtol=1e-3)


def test_a_start_without_weights_is_left() -> None:
    strings = Strings.of(["a", "a", "b"])
    found = learn_hankel(Observations.of(strings, np.array([1.0, 3.0, 2.0])), 1, np.random.default_rng(0))
    np.testing.assert_allclose(found.automaton.value(Strings.of(["a", "b"])), [2.0, 2.0], atol=1e-4)
