"""Distinct substrings, against sets of tuples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sigmastar.automata.data.strings import Strings
from sigmastar.core.errors import InputError
from sigmastar.grammars.data.substrings import Substrings, distinct_strings

corpora = st.lists(st.text("abc", min_size=1, max_size=7), min_size=1, max_size=6)


@given(corpora)
def test_every_substring_has_one_number(rows: list[str]) -> None:
    strings = Strings.of(rows)
    table = Substrings.of(strings)
    texts = {row[i:j] for row in rows for i in range(len(row)) for j in range(i + 1, len(row) + 1)}
    assert table.n_nodes == len(texts)
    flat = "".join(rows)
    named = [flat[a : a + n] for a, n in zip(table.first.tolist(), table.lengths.tolist(), strict=True)]
    assert set(named) == texts
    assert [len(text) for text in named] == sorted(len(text) for text in named)
    for number, row in enumerate(rows):
        begin = int(strings.offsets[number])
        assert named[table.string_node[number]] == row
        for i in range(len(row)):
            for j in range(i + 1, len(row) + 1):
                node = table.at(np.array([begin + i]), np.array([j - i]))[0]
                assert named[node] == row[i:j]


@given(corpora)
def test_distinct_strings_keep_their_weight(rows: list[str]) -> None:
    distinct, counts = distinct_strings(Strings.of(rows))
    assert {"".join(map(str, s)): n for s, n in zip(distinct, counts, strict=True)} == {
        row: rows.count(row) for row in rows
    }


def test_the_empty_string_is_told() -> None:
    with pytest.raises(InputError, match="string 2 is empty"):
        Substrings.of(Strings.of(["a", ""]))


def test_a_table_that_would_not_fit_is_refused_before_it_is_made() -> None:
    with pytest.raises(InputError, match=r"40,000 symbols have 8e\+08 substrings"):
        Substrings.of(Strings.of([["a"] * 40_000]))
