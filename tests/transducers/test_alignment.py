"""The EM aligner against all alignments, one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles_transducer import alignments, expected_unit_counts
from sigmastar.core.errors import InputError
from sigmastar.transducers.data import StringPairs, Units
from sigmastar.transducers.learn.aligner import learn_aligner
from sigmastar.transducers.model.aligner import Aligner

SHAPES = ((1, 1), (1, 0), (0, 1), (1, 2), (2, 1))
sides = st.text("ab", min_size=1, max_size=4)
corpora = st.lists(st.tuples(sides, st.text("XY", min_size=1, max_size=4)), min_size=1, max_size=4)


def every_unit(shapes=SHAPES) -> list:
    from itertools import product

    return [(x, y) for p, q in shapes for x in product("ab", repeat=p) for y in product("XY", repeat=q)]


@st.composite
def aligners(draw, shapes=SHAPES):
    units = every_unit(shapes)
    weights = draw(st.lists(st.floats(0.01, 1.0), min_size=len(units), max_size=len(units)))
    theta = np.array(weights) / sum(weights)
    from sigmastar.core.alphabet import Alphabet

    return Aligner(Units(Alphabet(units), Alphabet("ab"), Alphabet("XY")), theta)


@settings(max_examples=25)
@given(corpora, aligners())
def test_the_sum_over_alignments_is_that_of_all_of_them(pairs, aligner):
    theta = dict(zip(aligner.units.alphabet, aligner.theta, strict=True))
    _, logs = expected_unit_counts([(tuple(x), tuple(y)) for x, y in pairs], theta)
    assert np.allclose(aligner.log_probability(StringPairs.of(pairs)), logs, atol=1e-10)


@settings(max_examples=25)
@given(corpora, aligners(), st.integers(1, 5))
def test_the_best_alignments_are_the_heaviest(pairs, aligner, n_best):
    theta = dict(zip(aligner.units.alphabet, aligner.theta, strict=True))
    found = aligner.align(StringPairs.of(pairs), n_best)
    for number, (x, y) in enumerate(pairs):
        every = [np.prod([theta[u] for u in pi]) for pi in alignments(tuple(x), tuple(y), set(theta))]
        mine = found.posterior[found.pair == number]
        wanted = np.sort(every)[::-1][:n_best] / sum(every)
        assert np.allclose(mine, wanted, atol=1e-10)
    spelt = aligner.units.spell(found.strings)
    assert list(spelt) == [(tuple(pairs[k][0]), tuple(pairs[k][1])) for k in found.pair.tolist()]


@settings(max_examples=25)
@given(corpora)
def test_one_step_of_em_is_the_expected_counts(pairs):
    corpus = StringPairs.of(pairs)
    units = {u for x, y in corpus for u in _possible(x, y)}
    uniform = dict.fromkeys(units, 1.0 / len(units))
    counts, _ = expected_unit_counts(list(corpus), uniform)
    fit = learn_aligner(corpus, SHAPES, n_iterations=1, long_units=1.0)
    kept = list(fit.aligner.units.alphabet)
    wanted = np.array([counts[unit] for unit in kept])
    assert np.allclose(fit.aligner.theta, wanted / wanted.sum(), atol=1e-9)


def _possible(x, y):
    for p, q in SHAPES:
        for i in range(len(x) - p + 1):
            for j in range(len(y) - q + 1):
                yield x[i : i + p], y[j : j + q]


def test_em_never_loses_likelihood_without_a_dislike_of_long_units():
    rng = np.random.default_rng(3)
    pairs = [("".join(rng.choice(list("abc"), 5)), "".join(rng.choice(list("XYZ"), 4))) for _ in range(50)]
    logs = learn_aligner(StringPairs.of(pairs), SHAPES, 12, long_units=1.0).log_likelihoods
    assert np.all(np.diff(logs) > -1e-9)


def test_pairs_that_no_unit_fits_are_told():
    fit = learn_aligner(StringPairs.of([("ab", "XY"), ("a", "XYXY"), ("ba", "YX")]), ((1, 1),))
    assert fit.aligner.align(StringPairs.of([("ab", "XY"), ("a", "XYXY")])).unaligned.tolist() == [1]
    with pytest.raises(InputError, match="no pair can be aligned"):
        learn_aligner(StringPairs.of([("a", "XYXY")]), ((1, 1),))


def test_an_unknown_symbol_has_no_alignment():
    aligner = learn_aligner(StringPairs.of([("ab", "XY")])).aligner
    assert aligner.log_probability(StringPairs.of([("az", "XY")])).tolist() == [-np.inf]


def test_a_repeated_alignment_is_found():
    pairs = StringPairs.of([("ph", "F"), ("ha", "HA"), ("pa", "PA"), ("pha", "FA"), ("apha", "AFA")] * 3)
    aligned = learn_aligner(pairs, ((1, 1), (2, 1)), long_units=1.0).aligner.align(pairs)
    assert aligned.best()[4] == ((("a",), ("A",)), (("p", "h"), ("F",)), (("a",), ("A",)))


@pytest.mark.parametrize("shapes", [(), ((0, 0),), ((1, -1),)])
def test_shapes_that_are_none_are_refused(shapes):
    with pytest.raises(ValueError, match="shapes"):
        learn_aligner(StringPairs.of([("a", "X")]), shapes)


@pytest.mark.parametrize("length", [150, 1500])
def test_long_pairs_over_small_alphabets_are_aligned(length):
    """Forward sums of some hundred symbols leave the range of floating-point numbers."""
    rng = np.random.default_rng(1)
    strands = ["".join(rng.choice(list("ACGT"), length)) for _ in range(3)]
    pairs = StringPairs.of([(strand, strand.translate(str.maketrans("ACGT", "TGCA"))) for strand in strands])
    fit = learn_aligner(pairs)
    best = fit.aligner.align(pairs)
    assert best.unaligned.tolist() == []
    assert set(best.best()[0]) == {(("A",), ("T",)), (("C",), ("G",)), (("G",), ("C",)), (("T",), ("A",))}
    assert np.isfinite(fit.log_likelihoods).all()
    assert np.diff(fit.log_likelihoods)[-1] > -1e-6


def test_sums_of_long_pairs_are_products():
    """With units of one shape a pair has one alignment, whatever its length."""
    units = Units.of([(("a",), ("X",)), (("b",), ("Y",))])
    aligner = Aligner(units, np.array([0.25, 0.75]))
    logs = aligner.log_probability(StringPairs.of([("ab" * 2000, "XY" * 2000)]))
    assert logs[0] == pytest.approx(2000 * (np.log(0.25) + np.log(0.75)), rel=1e-12)
