"""g(x, y), marginals and decoding of weighted transducers against all alignments."""

from __future__ import annotations

from collections import defaultdict
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles_transducer import alignments, readings
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.generators import make_automaton
from sigmastar.core.model_reading import load_model, save_model
from sigmastar.transducers.data import StringPairs
from sigmastar.transducers.model.generators import make_transducer
from sigmastar.transducers.model.weighted_transducer import WeightedTransducer

SHAPES = ((1, 1), (1, 0), (0, 1), (2, 1), (1, 2))


def signed(seed: int, n_states: int = 3) -> WeightedTransducer:
    rng = np.random.default_rng(seed)
    drawn = make_transducer(n_states, "ab", "XY", rng, shapes=SHAPES)
    shape = drawn.automaton.transitions.shape
    parts = (rng.standard_normal(n_states), rng.standard_normal(shape) / 3, rng.standard_normal(n_states))
    return WeightedTransducer(drawn.units, WeightedAutomaton(drawn.units.alphabet, *parts))


def brute(model: WeightedTransducer, x: str, y: str) -> float:
    every = list(alignments(tuple(x), tuple(y), set(model.units.alphabet)))
    return float(model.value_of_aligned(Strings.of(every, alphabet=model.units.alphabet)).sum())


@settings(max_examples=25)
@given(st.integers(0, 50), st.text("ab", max_size=4), st.text("XY", max_size=4))
def test_g_is_the_sum_over_all_alignments(seed, x, y):
    model = signed(seed)
    sign, log = model.log_value(StringPairs.of([(x, y)]))
    wanted = brute(model, x, y)
    assert sign[0] * np.exp(log[0]) == pytest.approx(wanted, rel=1e-10, abs=1e-10)


@settings(max_examples=25)
@given(st.integers(0, 50), st.text("ab", min_size=1, max_size=3), st.text("XY", min_size=1, max_size=3))
def test_marginals_of_edges_are_shares_of_alignments(seed, x, y):
    model = signed(seed)
    total = brute(model, x, y)
    wanted = defaultdict(float)
    for pi in alignments(tuple(x), tuple(y), set(model.units.alphabet)):
        value = float(model.value_of_aligned(Strings.of([pi], alphabet=model.units.alphabet))[0])
        i = j = 0
        for unit in pi:
            wanted[i, j, model.units.alphabet.codes[unit]] += value / total
            i, j = i + len(unit[0]), j + len(unit[1])
    (found,) = model.marginals(StringPairs.of([(x, y)]))
    for i, j, shape in np.argwhere(found.units >= 0).tolist():
        unit = int(found.units[i, j, shape])
        assert found.values[i, j, shape] == pytest.approx(wanted[i, j, unit], rel=1e-8, abs=1e-8)


def test_long_pairs_neither_vanish_nor_overflow():
    model = make_transducer(2, "ab", "XY", np.random.default_rng(0))
    pair = StringPairs.of([("ab" * 600, "XY" * 500)])
    log = model.log_probability(pair)[0]
    assert np.isfinite(log)
    assert log < -700
    (marginals,) = model.marginals(StringPairs.of([("ab" * 60, "XY" * 50)]))
    assert marginals.values.sum() == pytest.approx(120.0)  # every input symbol is read by one unit


def test_unknown_symbols_and_impossible_pairs_weigh_nothing():
    model = make_transducer(2, "ab", "XY", np.random.default_rng(0))
    assert model.log_probability(StringPairs.of([("az", "X"), ("a", "XY")])).tolist() == [-np.inf, -np.inf]


@settings(max_examples=25)
@given(st.integers(0, 30), st.text("ab", max_size=3), st.text("XY", max_size=3))
def test_the_inverse_is_the_same_function(seed, x, y):
    model = signed(seed)
    there, back = StringPairs.of([(x, y)]), StringPairs.of([(y, x)])
    assert np.allclose(model.log_value(there).log, model.inverse().log_value(back).log, atol=1e-9)


@settings(max_examples=25)
@given(st.integers(0, 30), st.text("ab", max_size=3), st.text("XY", max_size=3))
def test_composition_multiplies_by_the_weight_of_the_output(seed, x, y):
    model = signed(seed)
    judge = make_automaton(2, 2, np.random.default_rng(seed))
    judge = WeightedAutomaton(model.units.outputs, judge.initial, judge.transitions, judge.final)
    composed = model.compose(judge).log_value(StringPairs.of([(x, y)]))
    weight = judge.value(Strings.of([tuple(y)], alphabet=model.units.outputs))[0]
    assert composed.sign[0] * np.exp(composed.log[0]) == pytest.approx(
        brute(model, x, y) * weight, rel=1e-8, abs=1e-12
    )


def test_sampled_pairs_follow_g():
    model = make_transducer(2, "ab", "XY", np.random.default_rng(1), stop=0.5)
    pairs = list(model.sample(20_000, np.random.default_rng(2)))
    for x, y in (("a", "X"), ("b", ""), ("ab", "X")):
        share = pairs.count((tuple(x), tuple(y))) / len(pairs)
        assert share == pytest.approx(brute(model, x, y), abs=0.012)


@settings(max_examples=25)
@given(st.integers(0, 20), st.text("ab", min_size=1, max_size=3))
def test_marginals_given_the_input_sum_over_outputs(seed, x):
    model = make_transducer(2, "ab", "XY", np.random.default_rng(seed), shapes=((1, 1), (1, 0), (2, 1)))
    every = list(readings(tuple(x), list(model.units.alphabet), len(x)))
    values = model.value_of_aligned(Strings.of(every, alphabet=model.units.alphabet))
    wanted = defaultdict(float)
    for pi, value in zip(every, values, strict=True):
        i = 0
        for unit in pi:
            wanted[i, model.units.alphabet.codes[unit]] += value / values.sum()
            i += len(unit[0])
    (found,) = model.input_marginals(Strings.of([x]))
    for i, unit, value in zip(found.position.tolist(), found.unit.tolist(), found.value, strict=True):
        assert value == pytest.approx(wanted[i, unit], abs=1e-10)


def test_a_unit_without_input_is_expected_as_often_as_it_is_drawn():
    model = make_transducer(2, "a", "XY", np.random.default_rng(4), shapes=((1, 1), (0, 1)), stop=0.4)
    (found,) = model.input_marginals(Strings.of(["a"]))
    lengths = model.units.arrays.input_lengths[found.unit]
    drawn = model.automaton.sample(60_000, np.random.default_rng(0))
    counts = [sum(not unit[0] for unit in pi) for pi in drawn if sum(map(len, (u[0] for u in pi))) == 1]
    assert found.value[lengths == 0].sum() == pytest.approx(np.mean(counts), rel=0.1)


@settings(max_examples=25)
@given(st.integers(0, 20), st.text("ab", min_size=1, max_size=3))
def test_a_wide_beam_finds_the_best_output_and_its_share(seed, x):
    model = make_transducer(2, "ab", "XY", np.random.default_rng(seed), shapes=((1, 1), (1, 0)))
    outputs = ["".join(y) for n in range(len(x) + 1) for y in product("XY", repeat=n)]
    values = np.array([brute(model, x, y) for y in outputs])
    (ranking,) = model.predict(Strings.of([x]), n_best=100, beam=1000)
    found = {"".join(output): share for output, share in ranking}
    for output, value in zip(outputs, values / values.sum(), strict=True):
        assert found.get(output, 0.0) == pytest.approx(value, abs=1e-10)
    assert [share for _, share in ranking] == sorted((share for _, share in ranking), reverse=True)


def spellings(longest: int) -> list[str]:
    return ["".join(y) for n in range(longest + 1) for y in product("XY", repeat=n)]


@settings(max_examples=15)
@given(st.integers(0, 30), st.text("ab", min_size=1, max_size=3), st.text("XY", max_size=4))
def test_read_symbol_by_symbol_g_is_divided_by_its_sum(seed, x, y):
    shapes = ((1, 1), (1, 0), (2, 1), (1, 2))
    model = make_transducer(2, "ab", "XY", np.random.default_rng(seed), shapes=shapes)
    total = sum(brute(model, x, other) for other in spellings(2 * len(x)))
    (log,) = model.log_conditional(StringPairs.of([(x, y)], allow_unknown=True))
    assert np.exp(log) == pytest.approx(brute(model, x, y) / total, abs=1e-11)


def test_units_without_input_are_read_too():
    shapes = ((1, 1), (0, 1), (1, 0))
    model = make_transducer(2, "ab", "XY", np.random.default_rng(3), shapes=shapes, stop=0.4)
    pairs = StringPairs.of([("ab", y) for y in spellings(3)])
    drawn = [y for x, y in model.sample(50_000, np.random.default_rng(0)) if x == ("a", "b")]
    shares = np.array([drawn.count(tuple(y)) for _, y in pairs]) / len(drawn)
    assert np.allclose(np.exp(model.log_conditional(pairs)), shares, atol=5 / np.sqrt(len(drawn)))


@settings(max_examples=15)
@given(st.integers(0, 50), st.text("ab", min_size=1, max_size=3), st.sampled_from([0.0, 0.1]))
def test_signed_weights_are_read_as_a_distribution(seed, x, mixing):
    shapes = ((1, 1), (1, 0), (2, 1), (1, 2))
    model = signed(seed)
    units = make_transducer(3, "ab", "XY", np.random.default_rng(seed), shapes=shapes)
    chosen = [model.units.alphabet.codes[unit] for unit in units.units.alphabet]
    parts = (model.automaton.initial, model.automaton.transitions[chosen], model.automaton.final)
    automaton = WeightedAutomaton(units.units.alphabet, *parts)
    backoff = units.automaton if mixing else None
    read = WeightedTransducer(units.units, automaton, backoff, mixing)
    q, longer = (
        np.exp(read.log_conditional(StringPairs.of([(x, y) for y in spellings(2 * len(x) + more)])))
        for more in (0, 1)
    )
    assert (q >= 0.0).all()
    assert (q > 0.0).all() or not mixing
    left = 1.0 - q.sum()
    assert left < (0.01 if mixing else 1e-9)
    assert 1.0 - longer.sum() == pytest.approx(left * 2 / 3, abs=1e-9)  # of X, Y and the end one is the end
    (ranking,) = read.predict(Strings.of([x]), n_best=1000, beam=1000)
    assert ranking[0][1] == pytest.approx(q.max(), abs=1e-10)
    drawn = read.decoder.draw(Strings.of([x] * 2000), np.random.default_rng(0), 30)
    share = np.mean([output == ranking[0][0] for output in drawn])
    assert share == pytest.approx(q.max(), abs=0.06)


def test_what_is_mixed_in_survives_the_file_and_the_turn(tmp_path):
    truth = make_transducer(2, "ab", "XY", np.random.default_rng(0))
    model = WeightedTransducer(truth.units, truth.automaton, bag(truth), 0.25)
    save_model(model, tmp_path / "m")
    again, pairs = load_model(tmp_path / "m"), StringPairs.of([("ab", "XY"), ("ab", "XXX")])
    assert again.log_conditional(pairs).tolist() == model.log_conditional(pairs).tolist()
    assert np.isfinite(model.log_conditional(pairs)).all()  # also of what units cannot spell
    assert model.inverse().inverse().log_conditional(pairs).tolist() == model.log_conditional(pairs).tolist()


def bag(truth: WeightedTransducer) -> WeightedAutomaton:
    moves = np.full((len(truth.units), 1, 1), 0.8 / len(truth.units))
    return WeightedAutomaton(truth.units.alphabet, np.ones(1), moves, np.full(1, 0.2))


def test_least_risk_gives_an_output_even_where_alignments_disagree():
    model = make_transducer(3, "ab", "XY", np.random.default_rng(5))
    least = model.predict(Strings.of(["abab", "b", "aza"]), method="mbr")
    assert all(len(ranking) == 1 and 0.0 <= ranking[0][1] <= 1.0 for ranking in least)
    with pytest.raises(ValueError, match="beam"):
        model.predict(Strings.of(["a"]), method="viterbi")


def test_a_transducer_survives_its_file(tmp_path):
    model = signed(0)
    save_model(model, tmp_path / "m")
    again = load_model(tmp_path / "m")
    pair = StringPairs.of([("ab", "XY")])
    assert again.log_value(pair).log.tolist() == model.log_value(pair).log.tolist()


def test_an_automaton_over_other_symbols_is_refused():
    model = signed(0)
    other = make_automaton(2, 3, np.random.default_rng(0))
    with pytest.raises(ValueError, match="over its units"):
        WeightedTransducer(model.units, other)


def test_operators_go_through_the_generic_core():
    model = signed(1)
    again = WeightedTransducer.of_operators(model.to_operators())
    pair = StringPairs.of([("abb", "YX")])
    assert again.log_value(pair).log[0] == pytest.approx(model.log_value(pair).log[0])


def test_long_inputs_are_decoded():
    model = make_transducer(2, "ab", "XY", np.random.default_rng(0))
    (ranking,) = model.predict(Strings.of(["ab" * 300]), beam=3)
    assert len(ranking[0][0]) <= 600
    assert 0.0 < ranking[0][1] < 1.0
