"""Transducers of joint n-grams and of ensembles: exact sums, beams against enumeration, files, directions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles_transducer import alignments, readings
from sigmastar.automata.data.strings import Strings
from sigmastar.core.model_files import load_model, save_model
from sigmastar.transducers.data.string_pairs import StringPairs
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
        assert sum(shares) == pytest.approx(1.0)
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


def test_files_of_before_keep_their_spectral_models(tmp_path, combined):
    """Ensembles once held spectral models of units too."""
    from sigmastar.automata.learn.fast import learn_fast

    first = combined.inventories[0]
    strings = first.aligner.align(combined.sample(200, np.random.default_rng(0))).best()
    models = {**first.models, "spectral": learn_fast(strings, np.random.default_rng(0)).model}
    old = replace(
        combined,
        inventories=(UnitModels(first.aligner, models), *combined.inventories[1:]),
        weights=np.ones(len(combined.names) + 1),
    )
    save_model(old, tmp_path / "old")
    again = load_model(tmp_path / "old")
    assert "1.spectral" in again.names
    assert again.predict(Strings.of(["ab"]), 3) == old.predict(Strings.of(["ab"]), 3)
