"""Reading and writing tagged text."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from sigmastar.core.errors import InputError
from sigmastar.taggers.data.columns import TaggedLayout, conllu_label, format_of, read_tagged

COLUMNS = "The DT B-NP\ndog NN I-NP\n\nIt PRP B-NP\n. . O\n\n\n"
CONLLU = (
    "# sent_id = 1\n1-2\tdu\t_\t_\t_\t_\t_\t_\t_\t_\n1\tde\t_\tADP\tP\t_\t2\tcase\t_\t_\n"
    "2\tle chat\t_\tNOUN\tN\t_\t0\troot\t_\t_\n2.1\tx\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
)


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_columns(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", COLUMNS)
    chunks = read_tagged(path)
    assert chunks.words == ["The", "dog", "It", "."]
    assert chunks.tags == ["B-NP", "I-NP", "B-NP", "O"]
    assert chunks.offsets.tolist() == [0, 2, 4]
    assert read_tagged(path, "columns", "2").tags == ["DT", "NN", "PRP", "."]


def test_columns_before_the_label_are_observed(tmp_path: Path) -> None:
    path = write(tmp_path / "a.txt", COLUMNS)
    file = TaggedLayout().read(path)
    assert file.layout.observed == ("2",)
    assert file.sentences.observed == (["DT", "NN", "PRP", "."],)
    assert TaggedLayout("columns", "2").read(path).sentences.observed == ()
    assert read_tagged(path, "columns", "2", ["3"]).observed == (["B-NP", "I-NP", "B-NP", "O"],)
    words = write(tmp_path / "b.txt", "The DT\ndog NN\n")
    assert file.layout.read(words, need_labels=False).sentences.observed == (["DT", "NN"],)


def test_columns_of_conllu_are_observed_by_name(tmp_path: Path) -> None:
    path = write(tmp_path / "a.conllu", CONLLU)
    assert TaggedLayout("conllu", "deprel").read(path).sentences.observed == ()
    assert read_tagged(path, "conllu", "deprel", ["upos", "5"]).observed == (["ADP", "NOUN"], ["P", "N"])


def test_tabs_leave_blanks_inside_words(tmp_path: Path) -> None:
    assert read_tagged(write(tmp_path / "a.tsv", "bon jour\tX\n")).words == ["bon jour"]


def test_gzip_and_windows_line_ends(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "a.txt.gz", "wb") as stream:
        stream.write(b"a X\r\nb Y\r\n\r\nc X\r\n")
    assert read_tagged(tmp_path / "a.txt.gz").offsets.tolist() == [0, 2, 3]


def test_conllu(tmp_path: Path) -> None:
    path = write(tmp_path / "a.conllu", CONLLU)
    assert format_of(path) == "conllu"
    assert read_tagged(path).tags == ["ADP", "NOUN"]
    assert read_tagged(path, label="xpos").tags == ["P", "N"]
    assert read_tagged(path, label="8").tags == ["case", "root"]
    assert read_tagged(path).words == ["de", "le chat"]


def test_found_labels_are_written_back(tmp_path: Path) -> None:
    file = TaggedLayout("conllu", "upos").read(write(tmp_path / "a.conllu", CONLLU))
    lines = list(file.lines(["X", "Y"]))
    assert lines[1] == "1-2\tdu" + "\t_" * 8
    assert lines[2].split("\t")[3] == "X"
    assert lines[3].split("\t")[3:5] == ["Y", "N"]
    file = TaggedLayout("columns", "3").read(write(tmp_path / "a.txt", COLUMNS))
    assert list(file.lines(["O"] * 4))[:4] == ["The DT B-NP O", "dog NN I-NP O", "", "It PRP B-NP O"]


def test_words_alone_can_be_tagged(tmp_path: Path) -> None:
    file = TaggedLayout("columns", None).read(write(tmp_path / "a.txt", "a\nb\n\nc\n"), need_labels=False)
    assert file.sentences.tags is None
    assert file.sentences.words == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("text", "layout", "problem"),
    [
        ("a X\nb\n", TaggedLayout(), ":2: expected 2 columns, found 1"),
        ("a X\nb Y Z\n", TaggedLayout(), ":2: expected 2 columns, found 3"),
        ("a X\n", TaggedLayout("columns", "3"), ":1: expected 3 columns, found 2"),
        ("a X\n", TaggedLayout("columns", "1"), "counted from 1"),
        ("a X\n", TaggedLayout("columns", "2", ("2",)), "--observed 2: this column is the label"),
        ("a X\n", TaggedLayout("columns", "2", ("4",)), ":1: expected 4 columns, found 2"),
        (CONLLU, TaggedLayout("conllu", "upos", ("upos",)), "--observed upos: this column is the label"),
        ("\n\n", TaggedLayout(), "no sentence"),
        (CONLLU, TaggedLayout("conllu", "feats"), "the column feats is empty"),
        (CONLLU, TaggedLayout("conllu", "head"), "not a column of labels"),
    ],
)
def test_bad_files(tmp_path: Path, text: str, layout: TaggedLayout, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        layout.read(write(tmp_path / "a.txt", text))


def test_labels_by_number_or_name() -> None:
    assert [conllu_label(name) for name in (None, "XPOS", "4")] == ["upos", "xpos", "upos"]


def test_real_files(data_folder: Path) -> None:
    tagged = read_tagged(data_folder / "conll2000" / "test.txt.gz", "columns", "3")
    assert (len(tagged), tagged.n_words) == (2012, 47377)
    tagged = read_tagged(data_folder / "ud" / "vi_vtb-test.conllu.gz")
    assert (len(tagged), tagged.n_words) == (800, 11692)
