from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sigmastar.automata.data.strings import Strings, require_strings
from sigmastar.core.alphabet import UNKNOWN, Alphabet
from sigmastar.core.errors import InputError, UnknownSymbolError

WORDS = st.lists(st.text("abc", max_size=5).map(tuple), max_size=8)


@given(WORDS)
def test_strings_come_back_as_they_went_in(words):
    strings = Strings.of(words)
    assert list(strings) == words
    assert len(strings) == len(words)
    assert strings.lengths.tolist() == [len(word) for word in words]
    assert strings.n_symbols == sum(map(len, words))
    assert strings.n_gaps == sum(len(word) + 1 for word in words)
    assert list(strings.alphabet) == sorted(set().union(*words))


@given(WORDS)
def test_a_flat_sequence_with_lengths_is_cut(words):
    flat = [symbol for word in words for symbol in word]
    lengths = [len(word) for word in words]
    assert list(Strings.of(flat, lengths)) == words
    column = np.array(flat, dtype=object).reshape(-1, 1)
    assert list(Strings.of(column, lengths)) == words


@given(WORDS, st.data())
def test_selection_keeps_the_order_asked_for(words, data):
    indices = data.draw(st.lists(st.integers(0, len(words) - 1), max_size=6) if words else st.just([]))
    assert list(Strings.of(words).select(indices)) == [words[index] for index in indices]


@given(st.integers(2, 30), st.floats(0.0, 1.0), st.integers(0, 1000))
def test_a_split_parts_the_corpus(n_strings, share, seed):
    strings = Strings.of([(k,) for k in range(n_strings)])
    kept, held = strings.split(share, np.random.default_rng(seed))
    assert sorted([*kept, *held]) == list(strings)
    assert len(kept) >= 1
    assert len(held) == min(max(round(share * n_strings), 1), n_strings - 1)
    again = strings.split(share, np.random.default_rng(seed))
    assert list(again[1]) == list(held)


def test_symbols_that_cannot_be_compared_keep_their_order():
    assert list(Strings.of([("b", 1), (None, "b")]).alphabet) == ["b", 1, None]


def test_many_kinds_of_sequences():
    expected = [(1, 2), (), (2,)]
    for sequences in (
        [[1, 2], [], [2]],
        [np.array([1, 2]), np.array([], dtype=int), np.array([[2]])],
        (iter(word) for word in expected),
    ):
        assert list(Strings.of(sequences)) == expected


def test_indices_count_from_both_ends():
    strings = Strings.of(["ab", "c"])
    assert strings[-1] == ("c",)
    with pytest.raises(IndexError, match="string 2 of 2"):
        strings[2]


def test_symbols_outside_the_alphabet():
    with pytest.raises(UnknownSymbolError, match="string 3: symbol 'c' is not among the 2 symbols"):
        Strings.of(["ab", "", "bc"], alphabet=Alphabet("ab"))
    assert Strings.of(["bc"], alphabet=Alphabet("ab"), allow_unknown=True).codes.tolist() == [1, UNKNOWN]


@given(WORDS)
def test_recoding_is_coding(words):
    other = Alphabet("cxa")
    recoded = Strings.of(words).recoded(other, allow_unknown=True)
    np.testing.assert_array_equal(recoded.codes, Strings.of(words, alphabet=other, allow_unknown=True).codes)
    assert Strings.of(Strings.of(words), alphabet=Alphabet("abc")).alphabet == Alphabet("abc")


def test_recoding_names_the_first_unknown_symbol():
    strings = Strings.of(["ab", "", "bc"])
    assert strings.recoded(strings.alphabet) is strings
    with pytest.raises(UnknownSymbolError, match="string 3: symbol 'c'"):
        strings.recoded(Alphabet("ab"))
    hidden = strings.recoded(Alphabet("ab"), allow_unknown=True)
    assert hidden.recoded(Alphabet("ba"), allow_unknown=True).codes.tolist() == [1, 0, 0, -1]
    with pytest.raises(UnknownSymbolError, match="string 3"):
        hidden.recoded(Alphabet("ba"))


def test_only_empty_strings_have_an_empty_alphabet():
    strings = Strings.of(["", ""])
    assert len(strings.alphabet) == 0
    assert list(strings.recoded(Alphabet("a"))) == [(), ()]


def test_bad_input_speaks():
    with pytest.raises(InputError, match="lengths add up to 3, but there are 2 symbols"):
        Strings.of("ab", [1, 2])
    with pytest.raises(InputError, match=r"not an array of shape \(2, 3\)"):
        Strings.of([np.zeros((2, 3))])
    with pytest.raises(InputError, match="expected sequences of symbols, got 1"):
        Strings.of([1, 2])
    with pytest.raises(InputError, match="symbols must be hashable"):
        Strings.of([[[1]]])
    with pytest.raises(InputError, match="no strings to learn from"):
        require_strings(Strings.of([]))


@pytest.mark.parametrize("other", [True, 1.0])
def test_symbols_that_are_one_in_python_alone_are_refused(other: object) -> None:
    with pytest.raises(InputError, match="are equal in Python"):
        Strings.of([[1, 2], [other]])
    assert Strings.of([[1, 2.5], [7, 1]]).alphabet.symbols == (1, 2.5, 7)
    assert Strings.of(np.array([[1], [2]])).alphabet.symbols == (1, 2)
