"""CoNLL-U and `word TAG head`: read, written back byte for byte, refused with the line."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from sigmastar.core.errors import InputError
from sigmastar.dependency.data.conllu import (
    format_conllu,
    format_dp,
    read_conllu,
    read_dp,
    read_treebank,
    write_conllu,
    write_dp,
)

TEXT = """\
# sent_id = 1
1-2\tWanna\t_\t_\t_\t_\t_\t_\t_\t_
1\tWan\twant\tVERB\tVBP\t_\t0\troot\t_\t_
2\tna\tto\tPART\tTO\t_\t3\tmark\t_\t_
3\tgo\tgo\tVERB\tVB\t_\t1\txcomp\t_\t_
3.1\tgone\t_\tVERB\tVBN\t_\t_\t_\t1:conj\t_

# sent_id = 2
1\t10 000\t_\tNUM\tCD\t_\t2\tnummod\t_\t_
# odd place
2\tmen\t_\tNOUN\tNNS\t_\t0\troot\t_\tSpaceAfter=No

"""


def written(tmp_path: Path, text: str, name: str = "a.conllu") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def row(*cells: object) -> str:
    identity, head = cells
    return f"{identity}\tw\t_\tX\tX\t_\t{head}\tdep\t_\t_\n"


def test_columns(tmp_path: Path) -> None:
    treebank = read_conllu(written(tmp_path, TEXT))
    assert treebank.sentence_offsets.tolist() == [0, 3, 5]
    assert treebank.form == ["Wan", "na", "go", "10 000", "men"]
    assert treebank.upos == ["VERB", "PART", "VERB", "NUM", "NOUN"]
    assert treebank.xpos == ["VBP", "TO", "VB", "CD", "NNS"]
    assert treebank.head.tolist() == [0, 3, 1, 2, 0]
    assert treebank.deprel == ["root", "mark", "xcomp", "nummod", "root"]
    assert treebank.feats is None
    assert treebank.misc == ["_", "_", "_", "_", "SpaceAfter=No"]


def test_written_back_as_it_was(tmp_path: Path) -> None:
    treebank = read_conllu(written(tmp_path, TEXT))
    assert "".join(f"{line}\n" for line in format_conllu(treebank)) == TEXT
    write_conllu(treebank, tmp_path / "b.conllu")
    assert (tmp_path / "b.conllu").read_text(encoding="utf-8") == TEXT


def test_last_sentence_without_blank_line_and_doubled_blank_lines(tmp_path: Path) -> None:
    text = row(1, 0) + "\n\n" + row(1, 2) + row(2, 0) + "# end\n"
    treebank = read_conllu(written(tmp_path, text))
    assert treebank.sentence_offsets.tolist() == [0, 1, 3]
    assert list(format_conllu(treebank))[-2:] == ["# end", ""]


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (row(1, 0) + "2\tw\t_\n", 2, "expected 10 columns"),
        (row(1, 0) + row(3, 1), 2, "expected ID 2"),
        ("# c\n" + row(1, 2) + row(2, 1), 2, "cycle"),
        (row(1, 0) + row(2, 2), 2, "cycle"),
        (row(1, 0) + "\n" + row(1, "_"), 3, "no head"),
        (row(1, 2), 1, "head 2 in a sentence of 1"),
        (row(1, "x"), 1, "not a number"),
        (row(1, "99999999999999999999"), 1, "not a number"),
        (row("a-b", 0), 1, "not 3, 3-4 or 8.1"),
        (row(1, 0) + row("w", 0), 2, "not 3, 3-4 or 8.1"),
        (row(1, 0) + "2-3\tw\n" + row(2, 1), 2, "expected 10 columns with tabs between them, found 2"),
        (row(1, 0) + "word\n", 2, "expected 10 columns with tabs between them, found 1"),
        (row(1, 0).rstrip() + "\tx\n" + row(2, 0)[:-3] + "\n", 1, "found 11"),
        (row(1, 0) + row("123456789", 1), 2, "expected ID 2, found 123456789"),
        (row(1, "-1"), 1, "not a number"),
        (row(1, "+0"), 1, "not a number"),
        (row(1, ""), 1, "no head"),
    ],
)
def test_errors_name_the_line(tmp_path: Path, text: str, line: int, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        read_conllu(written(tmp_path, text))
    assert caught.value.line == line


def test_bytes_that_are_no_text_name_their_line(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    path.write_bytes((row(1, 0) + row(2, 1)).replace("2\tw", "2\t?").encode().replace(b"?", b"\xff"))
    with pytest.raises(InputError, match="0xff is not UTF-8") as caught:
        read_conllu(path)
    assert caught.value.line == 2


def test_windows_line_ends_and_no_end_of_the_last_line(tmp_path: Path) -> None:
    text = row(1, 0) + "\n" + row(1, 2) + row(2, 0)
    path = tmp_path / "a.conllu"
    path.write_bytes(text.replace("\n", "\r\n").encode().removesuffix(b"\r\n"))
    treebank = read_conllu(path)
    assert treebank.head.tolist() == [0, 2, 0]
    assert "".join(f"{line}\n" for line in format_conllu(treebank)) == text + "\n"


def test_no_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no sentence"):
        read_conllu(written(tmp_path, "# only\n\n"))
    with pytest.raises(InputError, match=":1: ranges and empty nodes alone are no sentence"):
        read_conllu(written(tmp_path, row(1, "_").replace("1", "1-2", 1)))


def test_words_without_heads_may_be_asked_for(tmp_path: Path) -> None:
    treebank = read_conllu(written(tmp_path, row(1, "_")), need_heads=False)
    assert not treebank.has_heads
    assert next(format_conllu(treebank)) == row(1, "_").rstrip("\n")


def test_dp(tmp_path: Path) -> None:
    text = "The\tDT\t2\ndog\tNN\t0\n\n#\t#\t0\n\n"
    path = written(tmp_path, text, "a.dp")
    treebank = read_treebank(path)
    assert treebank.upos == treebank.xpos == ["DT", "NN", "#"]
    assert treebank.head.tolist() == [2, 0, 0]
    write_dp(treebank, tmp_path / "b.dp")
    assert (tmp_path / "b.dp").read_text(encoding="utf-8") == text
    with pytest.raises(InputError, match="expected 3 columns"):
        read_dp(written(tmp_path, "The DT 2\n"))


def test_select(tmp_path: Path) -> None:
    treebank = read_conllu(written(tmp_path, TEXT)).select([1])
    assert treebank.form == ["10 000", "men"]
    assert list(format_dp(treebank)) == ["10 000\tCD\t2", "men\tNNS\t0", ""]


def test_real_files_are_written_back(data_folder: Path) -> None:
    for path in sorted((data_folder / "ud").glob("*-dev.conllu.gz")):
        text = gzip.decompress(path.read_bytes()).decode()
        assert "".join(f"{line}\n" for line in format_conllu(read_treebank(path))) == text
