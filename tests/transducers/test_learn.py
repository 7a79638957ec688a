"""Learners of transducers: ensembles, completion without an aligner, plain operators."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from sigmastar import SpectralTransducer
from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.errors import InputError
from sigmastar.core.recover import factorize_blocks, recover
from sigmastar.transducers.data import SHAPES, StringPairs
from sigmastar.transducers.learn.combined import NGRAM, EnsembleSpec, learn_transducer
from sigmastar.transducers.learn.spectral import (
    PairHankel,
    all_units,
    learn_completion_transducer,
    learn_spectral_transducer,
)
from sigmastar.transducers.model.generators import make_transducer
from sigmastar.transducers.model.weighted_transducer import WeightedTransducer


@pytest.fixture(scope="module")
def truth() -> WeightedTransducer:
    return make_transducer(2, "ab", "AB", np.random.default_rng(0), density=0.6, stop=0.35)


def short_pairs(model: WeightedTransducer) -> StringPairs:
    listed = [
        (x, y)
        for n in range(4)
        for x in product("ab", repeat=n)
        for m in range(n + 1)
        for y in product("AB", repeat=m)
    ]
    return StringPairs.of(listed, model.units.inputs, model.units.outputs)


def values(model: WeightedTransducer, pairs: StringPairs) -> np.ndarray:
    sign, log = model.log_value(pairs)
    return sign * np.exp(log)


def test_exact_sums_over_alignments_are_those_of_the_matrix(truth):
    """Where H holds the true f, the constraint of every pair is its g."""
    hankel = PairHankel.of(truth.units, 1)
    words = Strings(
        truth.units.alphabet,
        np.concatenate([np.array(word, dtype=np.int32) for word in hankel.strings]),
        np.cumsum([0, *map(len, hankel.strings)]),
    )
    listed, aligns = hankel.pairs
    pairs = StringPairs.of(listed, truth.units.inputs, truth.units.outputs)
    assert np.allclose(aligns @ truth.value_of_aligned(words), values(truth, pairs), atol=1e-12)


def test_operators_come_back_from_an_exact_matrix(truth):
    hankel = PairHankel.of(truth.units, 1)
    cells = [row + column for row in hankel.rows for column in hankel.columns]
    words = Strings(
        truth.units.alphabet,
        np.concatenate([np.array(word, dtype=np.int32) for word in cells]),
        np.cumsum([0, *map(len, cells)]),
    )
    matrix = truth.value_of_aligned(words).reshape(len(hankel.rows), len(hankel.columns))
    blocks = hankel.blocks(matrix)
    found = WeightedTransducer.of_operators(recover(blocks, factorize_blocks(blocks, 2)))
    found = WeightedTransducer(truth.units, found.automaton)
    some = short_pairs(truth)
    assert np.allclose(values(found, some), values(truth, some), atol=1e-9)


def test_completion_is_nearer_to_the_truth_than_counting(truth):
    rng = np.random.default_rng(1)
    pairs = truth.sample(3000, rng)
    fit = learn_completion_transducer(pairs, rng)
    some = short_pairs(truth)
    drawn = list(pairs)
    counted = np.array([drawn.count(pair) / len(drawn) for pair in some])
    wanted = values(truth, some)
    assert np.abs(values(fit.transducer, some) - wanted).sum() < np.abs(counted - wanted).sum()
    assert fit.chosen in fit.errors


def test_completion_over_too_many_units_is_refused():
    """Before they are enumerated: these would be 10^18 cells."""
    pairs = StringPairs.of([("abcdefghijklmnopq", "ABCDEFGHIJKLMNOPQ")])
    with pytest.raises(InputError, match=r"88740 units needs \d+ x \d+ cells: too many"):
        learn_completion_transducer(pairs, np.random.default_rng(0), shapes=((1, 1), (1, 0), (2, 2), (2, 1)))


def test_all_units_are_all_of_them():
    units = all_units(Alphabet("ab"), Alphabet("XYZ"), ((1, 1), (1, 0), (0, 1)))
    assert len(units) == 2 * 3 + 2 + 3


@pytest.fixture(scope="module")
def spelling() -> StringPairs:
    """`ph` is F, `h` alone H, and `e` at the end is silent."""
    rng = np.random.default_rng(0)
    words = {
        "".join(rng.choice(list("pahot"), rng.integers(2, 7))) + rng.choice(["", "e"]) for _ in range(300)
    }
    sounds = {word: word.removesuffix("e").replace("ph", "F").upper() for word in sorted(words)}
    return StringPairs.of([(word, said) for word, said in sounds.items() if said])


def test_an_ngram_learns_to_spell(spelling):
    kept, fresh = spelling.split(0.2, np.random.default_rng(1))
    fit = learn_transducer(kept, NGRAM, np.random.default_rng(0))
    assert fit.order in fit.order_losses
    assert fit.n_unaligned == 0
    assert errors(fit.transducer.predict(fresh.inputs), fresh) < 0.05


def test_a_combination_learns_to_spell(spelling):
    kept, fresh = spelling.split(0.2, np.random.default_rng(1))
    fit = learn_transducer(kept, replace(EnsembleSpec(), order=4), np.random.default_rng(0))
    assert (fit.transducer.weights >= 0).all()
    assert fit.held_out_error is not None
    assert errors(fit.transducer.predict(fresh.inputs), fresh) < 0.05


def test_operators_learn_to_spell(spelling):
    kept, fresh = spelling.split(0.2, np.random.default_rng(1))
    model = learn_spectral_transducer(kept, np.random.default_rng(0))
    assert errors(model.predict(fresh.inputs), fresh) < 0.3
    assert errors(model.predict(fresh.inputs, method="mbr"), fresh) < 0.3


def errors(rankings: list, pairs: StringPairs) -> float:
    found = [ranking[0][0] if ranking else () for ranking in rankings]
    return float(np.mean([a != b for a, b in zip(found, pairs.outputs, strict=True)]))


def test_the_same_seed_learns_the_same(spelling):
    some = spelling.select(np.arange(80))
    spec = replace(EnsembleSpec(), order=3)
    first, second = (learn_transducer(some, spec, np.random.default_rng(3)) for _ in range(2))
    assert first.transducer.weights.tolist() == second.transducer.weights.tolist()
    assert first.transducer.predict(some.inputs) == second.transducer.predict(some.inputs)


def test_one_pair_is_enough_for_an_ngram():
    fit = learn_transducer(StringPairs.of([("ab", "XY")]), NGRAM)
    assert fit.transducer.predict(Strings.of(["ab"]))[0][0][0] == ("X", "Y")


def test_pairs_without_alignment_are_counted():
    pairs = StringPairs.of([("ab", "XY"), ("ba", "YX"), ("a", "XXXXXX")])
    fit = learn_transducer(pairs, replace(NGRAM, order=2), np.random.default_rng(0))
    assert fit.n_unaligned == 1


def test_no_pairs_are_refused():
    with pytest.raises(InputError, match="no pairs"):
        learn_transducer(StringPairs.of([]))


def test_french_words_are_transcribed(data_folder):
    from sigmastar.transducers.data import read_transductions

    file = data_folder / "transduction" / "g2p2021-fre-train.tsv"
    if not file.is_file():
        pytest.skip("no transduction in SIGMASTAR_DATA")
    pairs = StringPairs.of(read_transductions(file))
    kept, fresh = pairs.split(0.05, np.random.default_rng(0))
    fit = learn_transducer(kept, replace(NGRAM, order=6), np.random.default_rng(0))
    assert errors(fit.transducer.predict(fresh.inputs), fresh) < 0.16


def test_completion_of_a_few_pairs_takes_no_time():
    pairs = [("ab", "AB"), ("ba", "BA"), ("aab", "AAB"), ("b", "B"), ("a", "A"), ("bb", "BB")]
    model = SpectralTransducer("completion", random_state=0).fit(pairs)
    assert model.predict(["ab"]) == [("A", "B")]
    with pytest.raises(InputError, match="507 x 507 cells"):
        SpectralTransducer("completion", shapes=SHAPES).fit(pairs)
