"""Columns of Arrow and pandas: the same strings as lists give."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sigmastar import NgramAutomaton
from sigmastar.automata.data import arrow
from sigmastar.automata.data.strings import Strings, as_strings
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.errors import InputError, UnknownSymbolError

TEXTS = ["abc", "", "añ😀b", "x", "ba"]
LISTS = [["dog", "runs"], [], ["a", "dog"], ["runs"]]
NUMBERS = [[3, 1], [], [2, 2, 10]]


@pytest.fixture(scope="module")
def pa() -> Any:
    return pytest.importorskip("pyarrow", reason="pyarrow is not installed: columns of Arrow are not tried")


def same(found: Strings, wanted: Strings) -> bool:
    arrays = zip((found.codes, found.offsets), (wanted.codes, wanted.offsets), strict=True)
    return found.alphabet == wanted.alphabet and all(np.array_equal(a, b) for a, b in arrays)


def columns(pa: Any) -> dict[str, tuple[Any, list[Any]]]:
    """Columns of every type, and what they hold."""
    words, texts = pa.list_(pa.dictionary(pa.int8(), pa.string())), pa.array(TEXTS)
    coded = pa.DictionaryArray.from_arrays([1, 0, 1], ["unused", "dog", "cat"][1:])
    return {
        "text": (texts, TEXTS),
        "large text": (pa.array(TEXTS, pa.large_string()), TEXTS),
        "text views": (pa.array(TEXTS, pa.string_view()), TEXTS),
        "a slice": (texts.slice(1, 3), TEXTS[1:4]),
        "chunks": (pa.chunked_array([TEXTS[:2], TEXTS[2:]]), TEXTS),
        "numbered text": (coded, ["cat", "dog", "cat"]),
        "nothing": (pa.array([], pa.string()), []),
        "empty text": (pa.array(["", ""]), ["", ""]),
        "lists": (pa.array(LISTS), LISTS),
        "large lists": (pa.array(LISTS, pa.large_list(pa.string())), LISTS),
        "a slice of lists": (pa.array(LISTS).slice(2, 2), LISTS[2:]),
        "numbered lists": (pa.array(LISTS, words), LISTS),
        "lists of numbers": (pa.array(NUMBERS), NUMBERS),
        "empty lists": (pa.array([[], []], pa.list_(pa.string())), [[], []]),
    }


def test_columns_are_read_as_lists_are(pa: Any) -> None:
    for name, (column, listed) in columns(pa).items():
        assert same(Strings.of(column), Strings.of(listed)), name


def test_no_symbol_becomes_an_object(pa: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are not looked at one by one, and only distinct symbols are made."""
    monkeypatch.setattr("sigmastar.automata.data.strings._row", None)
    long = pa.array(["ab" * 500] * 100)
    assert Strings.of(long).n_symbols == 100_000
    assert same(as_strings(pa.array(LISTS)), arrow.strings_of_column(pa.array(LISTS)))


def test_symbols_outside_an_alphabet(pa: Any) -> None:
    column, alphabet = pa.array(["ab", "az"]), Alphabet("ab")
    with pytest.raises(UnknownSymbolError, match="string 2: symbol 'z'"):
        Strings.of(column, alphabet=alphabet)
    found = Strings.of(column, alphabet=alphabet, allow_unknown=True)
    assert found.codes.tolist() == [0, 1, 0, -1]


def test_what_is_no_column_of_strings_is_refused(pa: Any) -> None:
    with pytest.raises(InputError, match="string 2 has no value"):
        Strings.of(pa.array(["a", None]))
    with pytest.raises(InputError, match="a symbol has no value"):
        Strings.of(pa.array([["a", None]]))
    with pytest.raises(InputError, match="column of type int64"):
        Strings.of(pa.array([1, 2]))
    with pytest.raises(InputError, match=r"pass one of its columns, as in fit\(table\['text'\]\)"):
        Strings.of(pa.table({"text": ["a"]}))


def test_estimators_take_columns(pa: Any) -> None:
    fitted = NgramAutomaton(order=2).fit(pa.array(TEXTS))
    wanted = NgramAutomaton(order=2).fit(TEXTS)
    scores = fitted.score_samples(pa.array(["ab"]))
    np.testing.assert_array_equal(scores, wanted.score_samples(["ab"]))


def test_columns_of_pandas(pa: Any) -> None:
    pd = pytest.importorskip("pandas", reason="pandas is not installed: its columns are not tried")
    frame = pd.DataFrame({"text": TEXTS, "held": pd.Series(TEXTS, dtype=pd.ArrowDtype(pa.string()))})
    assert arrow.arrow_column(frame["held"]) is not None
    for name in frame:
        assert same(Strings.of(frame[name]), Strings.of(TEXTS)), name
    with pytest.raises(InputError, match="text"):
        NgramAutomaton().fit(frame)


class Column:
    """As `datasets` has them: a name, and the set that it is of."""

    def __init__(self, source: Any, column_name: str) -> None:
        self.source, self.column_name = source, column_name

    def __iter__(self) -> Any:
        return iter(self.source.rows[self.column_name])


Column.__module__ = "datasets.arrow_dataset"


class Source:
    def __init__(self, rows: dict[str, Any], data: Any, indices: Any) -> None:
        self.rows, self.data, self._indices = rows, data, indices


def test_columns_of_datasets(pa: Any) -> None:
    rows = {"text": TEXTS}
    whole, chosen = (Column(Source(rows, pa.table(rows), each), "text") for each in (None, [0]))
    assert arrow.arrow_column(whole) is not None
    assert arrow.arrow_column(chosen) is None  # rows may be reordered: they are read one by one
    assert same(Strings.of(whole), Strings.of(TEXTS))
    assert same(Strings.of(chosen), Strings.of(TEXTS))


def test_records_are_refused_with_the_remedy() -> None:
    with pytest.raises(InputError, match=r"string 1 is a mapping; pass one column .* fit\(X\['text'\]\)"):
        NgramAutomaton().fit(iter([{"text": "ab"}]))
