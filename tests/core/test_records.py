"""Fields of JSONL and CSV files as lines, for every reader of lines."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.calls import fail, invoke, succeed
from sigmastar.automata.data.formats import read_lines
from sigmastar.core.errors import InputError
from sigmastar.core.skipping import reading
from sigmastar.core.text_files import open_text, text_blocks
from sigmastar.transducers.data import read_transductions

ROWS = [{"id": 1, "text": "a b"}, {"id": 2, "text": ["b", "a"]}, {"id": 3, "text": "b\nb"}]


def write_table(path: Path, rows: list[list[str]], delimiter: str = ",") -> Path:
    stream = io.StringIO()
    csv.writer(stream, delimiter=delimiter, lineterminator="\n").writerows(rows)
    path.write_text(stream.getvalue(), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["a.jsonl", "a.ndjson.gz", "a.txt"])
def test_lines_of_json(tmp_path: Path, name: str) -> None:
    content = "\n".join(map(json.dumps, ROWS)).encode() + b"\n"
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    with reading(fields="text"):
        assert list(open_text(tmp_path / name)) == ["a b", "b a", "b b"]
        assert list(read_lines(tmp_path / name)) == [("a", "b"), ("b", "a"), ("b", "b")]
    with reading(fields="id, text"):
        assert next(open_text(tmp_path / name)) == "1\ta b"
    assert next(open_text(tmp_path / name)).startswith("{")


@given(
    cells=st.lists(st.text(st.characters(exclude_characters="\0\r", exclude_categories=["Cs"])), min_size=1),
    delimiter=st.sampled_from(",\t;"),
)
def test_cells_of_a_table(tmp_path_factory: pytest.TempPathFactory, cells: list[str], delimiter: str) -> None:
    path = tmp_path_factory.mktemp("table") / "a.csv"
    write_table(path, [["number", "text"], *([str(k), cell] for k, cell in enumerate(cells))], delimiter)
    with reading(fields="text"):
        assert list(open_text(path)) == [cell.replace("\n", " ") for cell in cells]


def test_line_numbers_are_those_of_the_file(tmp_path: Path) -> None:
    path = write_table(tmp_path / "a.csv", [["text"], ["a\nb"], ["c"]])
    with reading(fields="text"):
        assert [(first, lines) for first, lines in text_blocks(path)] == [(2, ["a b"]), (4, ["c"])]


def test_records_without_the_field(tmp_path: Path) -> None:
    (path := tmp_path / "a.jsonl").write_text(
        '{"text": "a"}\n{"txt": "b"}\n[1]\n{"text": null}\n{"text": 3}\n'
    )
    with reading(fields="text"), pytest.raises(InputError, match=r"a\.jsonl:2: has no text in field 'text'"):
        list(open_text(path))
    with reading(fields="text", on_error="skip") as policy:
        assert list(open_text(path)) == ["a", "3"]
    assert [item.line for item in policy.left_out] == [2, 3, 4]
    table = write_table(tmp_path / "a.csv", [["word"], ["a"]])
    with reading(fields="text"), pytest.raises(InputError, match="without the columns text; it has word"):
        list(open_text(table))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("id,t\rext\n1,a\n", r":1: is no row of a table"),
        ('id,"a\nb"\n1,a\n', r":1: no JSONL, and a table without the columns text; it has id, a b$"),
        ('{"text": "\\ud800"}\n', r":1: has no text in field 'text'"),
        ('id,text,"a\nb"\n1\n', r":3: has no text in field 'text'; it has id$"),
        ('"i\nd",text,"a\nb"\n1\n', r":4: has no text in field 'text'; it has i d$"),
    ],
)
def test_damaged_records_are_one_line(tmp_path: Path, content: str, said: str) -> None:
    (path := tmp_path / "records").write_text(content)
    with reading(fields="text"), pytest.raises(InputError, match=said):
        list(open_text(path))


def test_two_fields_are_pairs(tmp_path: Path) -> None:
    path = write_table(tmp_path / "a.tsv", [["note", "sound", "word"], ["x", "K AE T", "cat"]], "\t")
    with reading(fields="word,sound"):
        assert read_transductions(path) == [(("c", "a", "t"), ("K", "AE", "T"))]


def test_commands_take_a_field_and_tell_where_it_is_missing(tmp_path: Path) -> None:
    (data := tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, ROWS)) + "\n")
    model, call = tmp_path / "m.sigma", ("learn", "automaton", data, "--method", "ngram")
    told = invoke(*call, "-o", model).stderr
    assert "is read as plain lines; --field NAME reads a field of its records" in told
    told = invoke(*call, "--field", "text", "-o", model).stderr
    assert "note" not in told
    (plain := tmp_path / "a.txt").write_text('{"text": "a b"}\n{"text": "b"}\n')  # no name, but a look
    told = invoke("learn", "automaton", plain, "--method", "ngram", "-o", tmp_path / "n.sigma").stderr
    assert f"the lines of {plain} look like records; --field NAME" in told
    told = invoke(*call, "--field", "text", "-o", model).stderr
    assert "from 3 strings over 2 symbols" in told
    assert 'field = "text"\n' in succeed("show", model, "--config")
    assert len(succeed("score", model, data, "--field", "text").splitlines()) == 3
    assert "has no text in field 'body'" in fail("score", model, data, "--field", "body")
    (tmp_path / "b.conllu").write_text("1\ta\n")
    told = invoke("learn", "automaton", tmp_path / "b.conllu", "-o", model).stderr
    assert "learn tagger, dependency and treebank read trees" in told


def test_lines_that_were_not_split_are_told(tmp_path: Path) -> None:
    """A file of words without blanks is a file of strings of one symbol each, which few people mean."""
    (data := tmp_path / "a.txt").write_text("abab\nba\nab\n")
    call = ("learn", "automaton", data, "--method", "ngram", "-o", tmp_path / "m.sigma")
    assert "no line of" in (told := invoke(*call).stderr)
    assert "has a blank: each is one symbol; --characters reads characters" in told
    assert "note" not in invoke(*call, "--characters").stderr
    data.write_text("a\nb\n")
    assert "note" not in invoke(*call).stderr
    data.write_text('{"text":"abab"}\n')
    assert "look like records; --field NAME reads a field of them" in invoke(*call).stderr


def test_a_column_of_parquet_is_read_as_lines(tmp_path: Path) -> None:
    told = "pyarrow is not installed: pip install 'sigmastar[parquet]'"
    pyarrow, parquet = (pytest.importorskip(name, reason=told) for name in ("pyarrow", "pyarrow.parquet"))
    table = pyarrow.table({"id": [1, 2], "text": ["a b", "b"], "tokens": [["a"], ["b", "c"]]})
    parquet.write_table(table, path := tmp_path / "a.parquet")
    with reading(fields="text"):
        assert list(open_text(path)) == ["a b", "b"]
    with reading(fields="tokens"):
        assert list(open_text(path)) == ["a", "b c"]
    with (
        reading(fields="words"),
        pytest.raises(InputError, match="has no column 'words'; it has id, text, tokens"),
    ):
        list(open_text(path))


def test_a_parquet_file_without_a_field_is_told(tmp_path: Path) -> None:
    for content in (b"PAR1\x15\x80", b"PAR1\x15\x00\x15\x80"):
        (path := tmp_path / "a.parquet").write_bytes(content)
        with pytest.raises(InputError, match=r"is a Parquet file; --field NAME reads a column of it"):
            list(open_text(path))


def test_files_of_pautomac_are_not_taken_for_lines_without_a_word(tmp_path: Path) -> None:
    (data := tmp_path / "1.pautomac.train").write_text("2 2\n2 0 1\n1 1\n")
    call = ("learn", "automaton", data, "--method", "ngram", "-o", tmp_path / "m.sigma")
    assert "--format pautomac reads files of PAutomaC" in invoke(*call).stderr
    assert "note" not in invoke(*call, "--format", "pautomac").stderr
