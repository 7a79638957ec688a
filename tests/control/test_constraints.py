"""Constraints are the languages that they say, with no more states than these need."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuzz.limits import alarms, limited
from sigmastar.automata import DFA, Strings
from sigmastar.control import Constraint, as_constraint, avoids, contains, length, matches
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.errors import InputError

ABC = Alphabet("abc")
ALL = ["".join(string) for n in range(7) for string in product("abc", repeat=n)]
STRINGS = Strings.of(ALL, alphabet=ABC)


def language(constraint: Constraint) -> list[bool]:
    found: list[bool] = constraint.dfa(ABC).accepts(STRINGS).tolist()
    return found


def n_residuals(found: list[bool]) -> int:
    """The number of different sets of short suffixes, the empty set left out: what states must tell apart."""
    accepted = {string for string, is_in in zip(ALL, found, strict=True) if is_in}
    suffixes = [string for string in ALL if len(string) <= 3]
    rows = {tuple(u + v in accepted for v in suffixes) for u in ALL if len(u) <= 3}
    return len({row for row in rows if any(row)})


PATTERNS = st.recursive(
    st.sampled_from(["a", "b", "c", ".", "[ab]", "[^b]", "[b-c]"]),
    lambda inner: st.one_of(
        st.builds("({}|{})".format, inner, inner),
        st.builds("{}{}".format, inner, inner),
        st.builds("({}){}".format, inner, st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "{2,}", "{0,1}"])),
    ),
    max_leaves=6,
)


@settings(max_examples=60, deadline=None)
@given(PATTERNS)
def test_expressions_match_as_those_of_python_do(pattern: str) -> None:
    assert language(matches(pattern)) == [re.fullmatch(pattern, string) is not None for string in ALL]


@pytest.mark.parametrize(
    ("constraint", "truth"),
    [
        (contains("aba") & avoids("cc"), lambda s: "aba" in s and "cc" not in s),
        (contains("ab") | ~matches("a*c"), lambda s: "ab" in s or re.fullmatch("a*c", s) is None),
        (~length(2, 3) & contains("b", "ca"), lambda s: not 2 <= len(s) <= 3 and "b" in s and "ca" in s),
        (length(1) & ~contains("aa", "b"), lambda s: len(s) >= 1 and not ("aa" in s and "b" in s)),
        (
            as_constraint(contains("ac").dfa("ca")) & ~matches("a.*"),
            lambda s: "ac" in s and s[0] == "c" and "b" not in s,
        ),
    ],
)
def test_constraints_are_put_together(constraint: Constraint, truth: Any) -> None:
    found = language(constraint)
    assert found == [bool(truth(string)) for string in ALL]


@pytest.mark.parametrize("constraint", [contains("ab", "ba"), avoids("aa", "cb"), matches("(a|bc)*")])
def test_no_state_is_too_many(constraint: Constraint) -> None:
    assert constraint.dfa(ABC).n_states == n_residuals(language(constraint))


def test_words_are_divided_by_blanks_and_quoted_where_they_are_special() -> None:
    words = ["the", "dog", "U.S.", "(", 7]
    dfa = matches('the (dog|"U.S.")* \\( 7').dfa(words)
    inside, outside = ["the", "dog", "U.S.", "(", 7], ["the", "(", "7"]
    accepted = dfa.accepts(Strings.of([inside, outside], alphabet=dfa.alphabet, allow_unknown=True))
    assert accepted.tolist() == [True, False]  # "7" is no symbol: 7 is


def test_blanks_are_symbols_only_where_the_alphabet_has_them() -> None:
    assert language(matches("a (b | c)* a")) == language(matches("a(b|c)*a"))
    dfa = matches("a b").dfa("ab ")
    assert dfa.accepts(Strings.of(["a b", "ab"], alphabet=dfa.alphabet)).tolist() == [True, False]


def test_symbols_that_are_not_named_take_no_column_of_their_own() -> None:
    dfa = (contains([3, 4]) & avoids([5])).dfa(range(50_000))
    assert len(np.unique(dfa.next_state, axis=1).T) == 4
    assert isinstance(dfa, DFA)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("a{3,2}", "at least 3 and at most 2"),
        ("(a", r"a \( is not closed"),
        ("a)", r"'\)' without a beginning"),
        ("*a", "nothing before it to count"),
        ("[a", r"a \[ is not closed"),
        ("az", "'z' is not among the 3 symbols"),
        ('"a', "is not closed"),
        ("a\\", "ends with a backslash"),
        ("(a|b){9999}", "positions"),
        (".*a.{20}", "states"),
        ("a{2,99999999999999999999}", "more than 5000"),
        ("(" * 10_000 + "a" + ")" * 10_000, "nested more than 100 deep"),
    ],
)
def test_wrong_expressions_are_refused(pattern: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        matches(pattern).dfa(ABC)


@pytest.mark.parametrize("pattern", ["a{0,4000}", "(){4000}a*", "(){99}{99}{99}{99}a*", "(a{0}|){9}" * 300])
def test_counts_take_little_time(pattern: str) -> None:
    with alarms(), limited(10):
        accepts = matches(pattern).dfa(ABC).accepts(STRINGS)
    assert accepts[0]
    assert accepts.sum() in (1, 7)  # the empty string, or six more of `a` alone
