"""Pairs of strings and alignment units."""

from __future__ import annotations

import numpy as np
import pytest

from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.errors import InputError
from sigmastar.transducers.data import StringPairs, Units, require_pairs

PAIRS = [("ab", "X"), ("b", "YX"), ("ab", "Y"), ("c", "X")]


def test_pairs_come_back_as_they_were_given():
    pairs = StringPairs.of(PAIRS)
    assert list(pairs) == [(tuple(x), tuple(y)) for x, y in PAIRS]
    assert list(pairs.swapped().swapped()) == list(pairs)
    assert pairs.references()["a", "b"] == [("X",), ("Y",)]


def test_equal_inputs_stay_on_one_side(rng):
    for _ in range(20):
        kept, held = StringPairs.of(PAIRS).split(0.34, rng)
        assert not set(kept.inputs) & set(held.inputs)
        assert len(kept) + len(held) == 4
        assert len(held) > 0


def test_folds_hold_no_pair_twice(rng):
    pairs = StringPairs.of([(f"{n:03d}", "X") for n in range(100)])
    folds = pairs.folds(0.1, 4, rng)
    assert len(folds) == 4
    assert np.bincount(np.concatenate([fold.held for fold in folds])).max() == 1
    assert all(len(fold.held) == 10 and len(fold.kept) == 90 for fold in folds)


def test_one_input_cannot_be_split(rng):
    with pytest.raises(InputError, match="two different inputs"):
        StringPairs.of([("a", "X"), ("a", "Y")]).split(0.5, rng)


@pytest.mark.parametrize("bad", [["ab"], [("a", "b", "c")]])
def test_what_is_no_pair_is_refused(bad):
    with pytest.raises(InputError, match="expected pairs"):
        StringPairs.of(bad)


def test_sides_of_two_lengths_and_empty_corpora_are_refused():
    with pytest.raises(ValueError, match="cannot be paired"):
        StringPairs(Strings.of(["a"]), Strings.of([]))
    with pytest.raises(InputError, match="no pairs"):
        require_pairs(StringPairs.of([]))


def test_units_spell_pairs_in_both_directions():
    units = Units.of([(("p", "h"), ("F",)), (("o",), ()), ((), ("K", "S"))])
    aligned = Strings(units.alphabet, np.array([0, 1, 2, 2], dtype=np.int32), np.array([0, 2, 2, 4]))
    spelt = list(units.spell(aligned))
    assert spelt == [(("p", "h", "o"), ("F",)), ((), ()), ((), ("K", "S", "K", "S"))]
    other = Strings(units.swapped().alphabet, aligned.codes, aligned.offsets)
    assert list(units.swapped().spell(other)) == [(y, x) for x, y in spelt]


@pytest.mark.parametrize("unit", ["ab", ((), ()), (("a",),)])
def test_what_is_no_unit_is_refused(unit):
    with pytest.raises(ValueError, match="not a unit"):
        Units(Alphabet([unit]), Alphabet("a"), Alphabet("b"))
