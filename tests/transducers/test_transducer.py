"""Transducers of joint n-grams and of ensembles: exact sums, beams against enumeration, files, directions."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles_transducer import alignments, readings
from sigmastar.automata.data.strings import Strings
from sigmastar.core.model_reading import load_model, save_model
from sigmastar.transducers.data import StringPairs
from sigmastar.transducers.learn.combined import NGRAM, EnsembleSpec, learn_transducer
from sigmastar.transducers.model.generators import make_transducer
from sigmastar.transducers.model.transducer import Transducer, UnitModels

SHAPES = ((1, 1), (1, 0), (0, 1), (2, 1))


@pytest.fixture(scope="module")
def pairs() -> StringPairs:
    truth = make_transducer(3, "abc", "XYZ", np.random.default_rng(0), n_units=9, stop=0.2, density=0.2)
    drawn = truth.sample(400, np.random.default_rng(1))
    kept = [k for k in range(len(drawn)) if drawn.inputs[k] and drawn.outputs[k]]
    return drawn.select(kept)


@pytest.fixture(scope="module")
def ngram(pairs) -> Transducer:
    spec = replace(NGRAM, inventories=(SHAPES,), order=3)
    return learn_transducer(pairs, spec, np.random.default_rng(0)).transducer


@pytest.fixture(scope="module")
def combined(pairs) -> Transducer:
    return learn_transducer(pairs, replace(EnsembleSpec(), order=3), np.random.default_rng(0)).transducer


@settings(max_examples=25)
@given(x=st.text("abc", max_size=4), y=st.text("XYZ", max_size=4))
def test_the_lattice_of_an_ngram_sums_over_all_alignments(ngram, x, y):
    every = list(alignments(tuple(x), tuple(y), set(ngram.units.alphabet)))
    found = ngram.log_probability(StringPairs.of([(x, y)]))[0]
    if not every:
        assert found == -np.inf
        return
    logs = ngram.proposer.model.log_probability(Strings.of(every, alphabet=ngram.units.alphabet))
    assert found == pytest.approx(np.logaddexp.reduce(logs), abs=1e-10)


@settings(max_examples=15)
@given(x=st.text("abc", min_size=1, max_size=3))
def test_a_wide_beam_finds_what_enumeration_finds(ngram, x):
    every = list(readings(tuple(x), list(ngram.units.alphabet), len(x) + 2))
    logs = ngram.proposer.model.log_probability(Strings.of(every, alphabet=ngram.units.alphabet))
    sums: dict = {}
    for pi, log in zip(every, logs, strict=True):
        output = tuple(s for unit in pi for s in unit[1])
        sums[output] = np.logaddexp(sums.get(output, -np.inf), log)
    proposals = replace(ngram, n_proposed=3).propose(Strings.of([x]), beam=2000)
    for output, weight in zip(proposals.pairs.outputs, proposals.log_weights, strict=True):
        assert weight == pytest.approx(sums[output], abs=0.02)  # more units without input, far below
    assert sums[proposals.pairs.outputs[0]] == pytest.approx(max(sums.values()), abs=0.02)


def spellings(symbols: str, longest: int) -> list[str]:
    return ["".join(y) for n in range(longest + 1) for y in product(symbols, repeat=n)]


@settings(max_examples=8)
@given(x=st.text("abc", max_size=3))
def test_the_weight_of_an_input_is_the_sum_over_outputs(ngram, x):
    """Units without input make outputs of any length; those of more than seven symbols weigh little."""
    pairs = StringPairs.of([(x, y) for y in spellings("XYZ", 7)], allow_unknown=True)
    found = ngram.proposer.log_input_sums(Strings.of([x]))[0]
    assert found == pytest.approx(np.logaddexp.reduce(ngram.log_probability(pairs)), abs=2e-3)
    assert found >= np.logaddexp.reduce(ngram.log_probability(pairs)) - 1e-12


@pytest.mark.parametrize("x", ["a", "cb", "bab"])
def test_probabilities_of_outputs_sum_to_one(combined, x):
    model = replace(combined, n_proposed=4)
    longest = len(x) * int(model.units.arrays.output_lengths.max())
    pairs = StringPairs.of([(x, y) for y in spellings("XYZ", longest)])
    q = np.exp(model.log_conditional(pairs))
    assert q.sum() == pytest.approx(1.0, abs=1e-9)
    (ranking,) = model.predict(Strings.of([x]), 4)
    place = {y: at for at, (_, y) in enumerate(pairs)}
    assert len(ranking) == 4
    for output, share in ranking:
        assert share == pytest.approx(q[place[output]], abs=1e-10)


def test_probabilities_of_inputs_sum_to_one(combined):
    """Units without output have no input this way round, so inputs may be of any length."""
    model = replace(combined.inverse(), n_proposed=4)
    pairs = StringPairs.of([("Z", x) for x in spellings("abc", 8)])
    q = np.exp(model.log_conditional(pairs))
    assert 0.98 < q.sum() <= 1.0 + 1e-9


def test_what_is_not_proposed_keeps_the_probability_of_the_ngram(combined):
    few, pairs = replace(combined, n_proposed=2), StringPairs.of([("bab", y) for y in spellings("XYZ", 3)])
    alone = replace(
        combined,
        inventories=(UnitModels(combined.inventories[0].aligner, {"ngram": combined.proposer.model}),),
        outputs=(),
        weights=np.ones(1),
    )
    proposed = {output for output, _ in few.predict(Strings.of(["bab"]), 2)[0]}
    found, wanted = few.log_conditional(pairs), alone.log_conditional(pairs)
    apart = np.array([y not in proposed for _, y in pairs])
    assert np.allclose(found[apart], wanted[apart], atol=1e-12)
    assert np.exp(found[~apart]).sum() == pytest.approx(np.exp(wanted[~apart]).sum(), abs=1e-12)


def test_samples_are_drawn_from_the_probability_of_pairs(combined):
    model, n = replace(combined, n_proposed=3), 8_000
    drawn = Counter(model.sample(n, np.random.default_rng(0)))
    pairs = [pair for pair, _ in drawn.most_common(40)]
    wanted = np.exp(model.log_probability(StringPairs.of(pairs)))
    counts = np.array([drawn[pair] for pair in pairs])
    deviations = (counts - n * wanted) / np.sqrt(n * wanted * (1 - wanted))
    assert np.abs(deviations).max() < 4.5
    assert (deviations**2).mean() < 2.0


def test_both_directions_have_one_probability(ngram):
    there, back = StringPairs.of([("ab", "XY"), ("c", "Z")]), StringPairs.of([("XY", "ab"), ("Z", "c")])
    assert np.allclose(ngram.log_probability(there), ngram.inverse().log_probability(back))
    assert ngram.inverse().inverse().units.alphabet == ngram.units.alphabet


def test_both_directions_predict(combined, pairs):
    inputs = pairs.inputs.select(np.arange(5))
    assert all(ranking for ranking in combined.predict(inputs, 2))
    back = combined.inverse().predict(pairs.outputs.select(np.arange(5)))
    assert all(set(ranking[0][0]) <= set("abc") for ranking in back)


def test_shares_of_proposals_sum_to_at_most_one(combined, pairs):
    for ranking in combined.predict(pairs.inputs.select(np.arange(10)), 100):
        shares = [share for _, share in ranking]
        assert 0.9 < sum(shares) <= 1.0 + 1e-12
        assert shares == sorted(shares, reverse=True)
        assert len({output for output, _ in ranking}) == len(ranking)


def test_unknown_input_symbols_are_passed_over(combined):
    (ranking,) = combined.predict(Strings.of([["a", "?", "b"]]))
    assert ranking
    assert combined.predict(Strings.of([[]])) is not None


def test_a_transducer_survives_its_file(tmp_path, combined, pairs):
    save_model(combined, tmp_path / "m")
    again = load_model(tmp_path / "m", "transducer")
    some = pairs.inputs.select(np.arange(20))
    assert again.predict(some, 3) == combined.predict(some, 3)
    assert again.names == combined.names
    save_model(again, tmp_path / "n")
    assert (tmp_path / "m").read_bytes() == (tmp_path / "n").read_bytes()


def test_weights_that_do_not_fit_are_refused(combined):
    with pytest.raises(ValueError, match="as many weights"):
        replace(combined, weights=np.ones(2))


def test_alignments_of_either_direction_spell_the_pair(combined, pairs):
    some = pairs.select(np.arange(5))
    aligned = combined.align(some)
    assert list(combined.units.spell(aligned.best())) == list(some)
    back = combined.inverse().align(some.swapped())
    assert list(combined.inverse().units.spell(back.best())) == list(some.swapped())


def test_samples_are_pairs_of_known_symbols(combined):
    drawn = combined.sample(50, np.random.default_rng(0))
    assert len(drawn) == 50
    assert np.isfinite(combined.log_probability(drawn)).all()


def test_no_input_is_no_output(combined):
    assert combined.predict(Strings.of([])) == []


def test_long_pairs_have_finite_probabilities():
    """`ab` to `XY` again and again is nearly certain, so that a fixed scale per symbol overflows."""
    pairs = StringPairs.of([("ab" * 10, "XY" * 10)] * 3)
    model = learn_transducer(pairs, replace(NGRAM, order=3)).transducer
    logs = model.log_probability(StringPairs.of([("ab" * n, "XY" * n) for n in (50, 100, 150, 1000)]))
    assert np.isfinite(logs).all()
    assert (logs < 0.0).all()
    steps = np.diff(logs)
    assert steps[1] == pytest.approx(steps[0], rel=1e-3)
    assert steps[2] == pytest.approx(17 * steps[0], rel=1e-3)


def test_inputs_without_a_known_symbol_have_no_output(combined, pairs):
    unknown, partly, empty = combined.predict(Strings.of([["?", "!"], ["a", "?"], []]), 3)
    assert unknown == []
    assert partly
    assert empty
