"""Bad records are left out where that is asked for, and a file that is bad throughout is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sigmastar.automata.data.formats import read_lines
from sigmastar.automata.data.pautomac import read_pautomac
from sigmastar.bilexical.data.pairs import read_pairs
from sigmastar.core.errors import InputError
from sigmastar.core.skipping import by_blank_line, by_line, by_tree, reading
from sigmastar.dependency.data.conllu import read_conllu
from sigmastar.transducers.data import read_transductions
from sigmastar.trees.data.brackets import read_brackets

WORD = "{}\tw\t_\tN\tN\t_\t{}\tx\t_\t_\n"
SENTENCE = WORD.format(1, 0) + WORD.format(2, 1) + "\n"


@pytest.mark.parametrize(
    ("split", "content", "lines"),
    [
        (by_line, b"a\n\nb", [1, 2, 3]),
        (by_blank_line, b"a\nb\n\n\nc\n\n", [1, 5]),
        (by_blank_line, b"a\nb", [1]),
        (by_tree, b"(S\n  (A a))\n(S (B b))\n", [1, 3]),
        (by_tree, b"a b\nc\n", [1, 2]),
    ],
)
def test_records_hold_all_of_a_file(split, content: bytes, lines: list[int]) -> None:  # type: ignore[no-untyped-def]
    records = split(content)
    assert [record.first_line for record in records] == lines
    assert b"".join(record.content for record in records) == content


def test_bad_lines_anywhere_are_left_out(tmp_path: Path) -> None:
    rng, path = np.random.default_rng(0), tmp_path / "pairs.tsv"
    lines = [f"a{number}\tb\n" for number in range(1000)]
    bad = sorted(rng.choice(1000, 40, replace=False).tolist())
    for number in bad:
        lines[number] = "no tab\n"
    path.write_text("".join(lines))
    with pytest.raises(InputError, match=f"tsv:{bad[0] + 1}: "):
        read_pairs(path)
    with reading(on_error="skip") as policy:
        assert read_pairs(path) == [(f"a{k}", "b") for k in range(1000) if k not in bad]
    assert sorted(item.line for item in policy.left_out) == [k + 1 for k in bad]
    with pytest.raises(InputError):
        read_pairs(path)  # the policy ends with its block


def test_sentences_are_left_out_whole(tmp_path: Path) -> None:
    cycle = WORD.format(1, 2) + WORD.format(2, 1) + "\n"
    (tmp_path / "t.conllu").write_text(SENTENCE * 30 + cycle + SENTENCE * 30 + "1\tcut\n\n" + SENTENCE)
    with reading(on_error="skip") as policy:
        treebank = read_conllu(tmp_path / "t.conllu")
    assert len(treebank) == 61
    assert sorted(item.line for item in policy.left_out) == [91, 184]


def test_a_tree_that_does_not_close_takes_no_other_with_it(tmp_path: Path) -> None:
    (tmp_path / "t.mrg").write_text("(S (A a))\n" * 20 + "(S (A a)\n" + "(S\n  (B b))\n" * 3)
    with reading(on_error="skip") as policy:
        assert len(read_brackets(tmp_path / "t.mrg")) == 23
    assert [item.line for item in policy.left_out] == [21]


def test_the_header_of_pautomac_stays(tmp_path: Path) -> None:
    (tmp_path / "p.txt").write_text("43 2\n" + "2 0 1\n" * 40 + "3 0 1\n1 7\n" + "0\n")
    with reading(on_error="skip") as policy:
        strings = read_pautomac(tmp_path / "p.txt")
    assert len(strings) == 41
    assert sorted(item.line for item in policy.left_out) == [42, 43]


def test_bytes_of_another_encoding_cost_their_line_alone(tmp_path: Path) -> None:
    (tmp_path / "l.txt").write_bytes(b"a b\n" * 50 + b"\xe9t\xe9\nx\0y\n" + b"b\n")
    with reading(on_error="skip") as policy:
        assert len(read_lines(tmp_path / "l.txt")) == 51
    assert sorted(item.line for item in policy.left_out) == [51, 52]


def test_a_file_of_another_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_text("a b\n" * 30 + "a\tb\n" * 100)
    with reading(on_error="skip"), pytest.raises(InputError, match="more than 10% of its 130 lines"):
        read_transductions(tmp_path / "x.tsv")


def test_a_file_without_one_good_record_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_text("a b\na b\n")
    with reading(on_error="skip"), pytest.raises(InputError, match="no record of it can be read"):
        read_transductions(tmp_path / "x.tsv")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "utf-8-sig"])
def test_other_encodings(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "l.txt").write_bytes("é ü\r\né\n".encode(encoding))
    with reading(encoding=encoding):
        assert [list(string) for string in read_lines(tmp_path / "l.txt")] == [["é", "ü"], ["é"]]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-8-sig"])
def test_a_byte_order_mark_tells_the_encoding(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "l.txt").write_bytes("é ü\né\n".encode(encoding))
    assert [list(string) for string in read_lines(tmp_path / "l.txt")] == [["é", "ü"], ["é"]]


def test_text_of_another_encoding_than_named_is_an_error_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "l.txt").write_bytes(b"a\nb\n" * 20_000 + b"\xff\n")
    with reading(encoding="ascii"), pytest.raises(InputError, match=r"not ascii") as caught:
        read_lines(tmp_path / "l.txt")
    assert 1 < (caught.value.line or 0) <= 40_001


def test_line_ends_of_old_macintoshes(tmp_path: Path) -> None:
    (tmp_path / "l.txt").write_bytes(b"a b\rc\r")
    assert [list(string) for string in read_lines(tmp_path / "l.txt")] == [["a", "b"], ["c"]]


@pytest.mark.parametrize(("setting", "wrong"), [("encoding", "nix"), ("on_error", "hope")])
def test_wrong_settings_are_refused(setting: str, wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong), reading(**{setting: wrong}):
        pass
