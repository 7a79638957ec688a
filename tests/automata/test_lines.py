"""Plain lines of symbols, coded while they are read."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sigmastar.automata.data.formats import read_lines, write_lines
from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import UNKNOWN, Alphabet
from sigmastar.core.errors import InputError, UnknownSymbolError


def written(tmp_path: Path, content: str | bytes) -> Path:
    path = tmp_path / "lines.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_symbols_are_separated_by_blanks(tmp_path: Path) -> None:
    strings = read_lines(written(tmp_path, " the  cat\n\nsat\tthe\n"))
    assert list(strings) == [("the", "cat"), (), ("sat", "the")]
    assert strings.alphabet == Alphabet(["cat", "sat", "the"])
    assert (strings.codes.dtype, strings.offsets.dtype) == (np.int32, np.int64)


def test_a_separator(tmp_path: Path) -> None:
    assert list(read_lines(written(tmp_path, "New York,Rome\n\nRome,\n"), separator=",")) == [
        ("New York", "Rome"),
        (),
        ("Rome", ""),
    ]


def test_characters(tmp_path: Path) -> None:
    assert list(read_lines(written(tmp_path, "ab b\r\n\r\né\n"), characters=True)) == [
        ("a", "b", " ", "b"),
        (),
        ("é",),
    ]


def test_one_string_only(tmp_path: Path) -> None:
    assert list(read_lines(written(tmp_path, "a a"))) == [("a", "a")]


def test_empty_lines_only_are_empty_strings(tmp_path: Path) -> None:
    strings = read_lines(written(tmp_path, "\n\n"))
    assert list(strings) == [(), ()]
    assert len(strings.alphabet) == 0


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf"])
def test_an_empty_file_is_refused(content: bytes, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"lines\.txt: the file is empty; give a file"):
        read_lines(written(tmp_path, content))


def test_an_unknown_symbol_is_told_by_line(tmp_path: Path) -> None:
    path = written(tmp_path, "a\n" * 50_000 + "a b\na z\n")
    with pytest.raises(UnknownSymbolError, match=r"lines\.txt:50002: symbol 'z' is not among the 2"):
        read_lines(path, alphabet=Alphabet("ab"))
    strings = read_lines(path, alphabet=Alphabet("ab"), allow_unknown=True)
    assert strings.codes[-2:].tolist() == [0, UNKNOWN]


def test_a_given_alphabet_keeps_its_order_and_may_hold_numbers(tmp_path: Path) -> None:
    strings = read_lines(written(tmp_path, "2 10 2\n"), alphabet=Alphabet([10, 2]))
    assert list(strings) == [(2, 10, 2)]


def test_an_alphabet_of_a_hundred_thousand(tmp_path: Path) -> None:
    symbols = [f"w{number}" for number in range(100_000)]
    strings = read_lines(written(tmp_path, " ".join(symbols) + "\n" + symbols[-1] + "\n"))
    assert len(strings.alphabet) == 100_000
    assert strings[0] == tuple(symbols)
    assert strings[1] == ("w99999",)


@pytest.mark.parametrize("options", [{"separator": ""}, {"separator": ",", "characters": True}])
def test_wrong_options(options: dict[str, object], tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="characters=True"):
        read_lines(written(tmp_path, "a"), **options)  # type: ignore[arg-type]


@given(
    st.lists(st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1)), min_size=1)
)
def test_what_is_written_reads_back_as_python_splits_it(rows: list[list[str]]) -> None:
    stream = io.StringIO()
    strings = Strings.of(rows)
    write_lines(strings, stream)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lines"
        path.write_text(stream.getvalue(), encoding="utf-8", newline="")
        again = read_lines(path)
    assert list(again) == list(strings) == [tuple(row) for row in rows]
    assert again.alphabet == strings.alphabet


@pytest.mark.parametrize(
    ("symbol", "separator"), [("a b", " "), ("", " "), ("a\n", ","), ("a,b", ","), ("ab", "")]
)
def test_symbols_that_would_not_read_back_are_refused(symbol: str, separator: str) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        write_lines(Strings.of([[symbol]]), io.StringIO(), separator)


def test_unknown_symbols_are_not_written() -> None:
    with pytest.raises(InputError, match="unknown symbol"):
        write_lines(Strings.of(["z"], alphabet=Alphabet("a"), allow_unknown=True), io.StringIO())
