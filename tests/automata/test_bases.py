from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import frequent_strings
from sigmastar.automata.counts import bases
from sigmastar.automata.counts.bases import (
    PREFIX,
    STRING,
    SUBSTRING,
    Basis,
    Statistic,
    all_occurring,
    all_up_to,
    most_frequent,
)
from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import Alphabet

ABC = Alphabet("abc")
SUFFIX = Statistic("suffix", False, True)
samples = st.lists(st.text("abc", max_size=8), max_size=12)
statistics = st.sampled_from([STRING, PREFIX, SUBSTRING, SUFFIX])


def words(strings: Strings) -> list[str]:
    return ["".join(map(str, string)) for string in strings]


def test_all_up_to_lists_every_string_once() -> None:
    basis = all_up_to(Alphabet("ab"), 2)
    assert words(basis.outsides) == ["", "a", "b", "aa", "ab", "ba", "bb"]
    assert words(basis.insides) == words(basis.outsides)
    assert basis.shape == (7, 7)


def test_all_up_to_refuses_more_than_can_be_held() -> None:
    with pytest.raises(ValueError, match=r"10000100001 strings of length up to 2.*smaller max_length"):
        all_up_to(Alphabet(range(100_000)), 2)


@given(samples, st.integers(1, 12), st.integers(1, 12), statistics)
def test_most_frequent_agrees_with_counting_everything(
    sample: list[str], n_outsides: int, n_insides: int, statistic: Statistic
) -> None:
    basis = most_frequent(Strings.of(sample, alphabet=ABC), n_outsides, n_insides, statistic)
    strings = [tuple(string) for string in sample]
    assert list(basis.outsides) == frequent_strings(strings, n_outsides, statistic.anchored_left, False)
    assert list(basis.insides) == frequent_strings(strings, n_insides, False, statistic.anchored_right)


@given(samples, st.none() | st.integers(0, 4), statistics)
def test_all_occurring_holds_what_occurs(
    sample: list[str], max_length: int | None, statistic: Statistic
) -> None:
    basis = all_occurring(Strings.of(sample, alphabet=ABC), max_length, statistic)
    strings = [tuple(string) for string in sample]
    longest = 99 if max_length is None else max_length
    for found, anchors in (
        (basis.outsides, (statistic.anchored_left, False)),
        (basis.insides, (False, statistic.anchored_right)),
    ):
        assert list(found) == [w for w in frequent_strings(strings, None, *anchors) if len(w) <= longest]


def test_a_large_alphabet_is_counted_by_sorting(rng: np.random.Generator) -> None:
    symbols = [rng.integers(0, 10, size=5).tolist() for _ in range(20)]
    basis = most_frequent(Strings.of(symbols, alphabet=Alphabet(range(100_000))), 30, 30, SUBSTRING)
    strings = [tuple(string) for string in symbols]
    assert list(basis.outsides) == frequent_strings(strings, 30, False, False)


def test_unknown_symbols_cut_substrings() -> None:
    strings = Strings.of(["a?b", "ab"], alphabet=ABC, allow_unknown=True)
    assert set(words(all_occurring(strings, statistic=SUBSTRING).outsides)) == {"", "a", "b", "ab"}


def test_all_occurring_refuses_too_many(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    monkeypatch.setattr(bases, "SIZE_LIMIT", 50)
    strings = Strings.of([rng.integers(0, 3, 30).tolist() for _ in range(5)])
    with pytest.raises(ValueError, match="smaller max_length"):
        all_occurring(strings, statistic=SUBSTRING)


def test_a_basis_needs_the_empty_string_first() -> None:
    empty, some = Strings.of([""], alphabet=ABC), Strings.of(["a", ""], alphabet=ABC)
    with pytest.raises(ValueError, match="first of the insides"):
        Basis(ABC, empty, some)
    with pytest.raises(ValueError, match="over its alphabet"):
        Basis(ABC, empty, Strings.of([""], alphabet=Alphabet("xyz")))


def test_a_basis_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="needs an outside and an inside"):
        most_frequent(Strings.of(["ab"]), 0, 3)
