"""What a newcomer types in the first minutes, slips included: an answer each time, and no surprise."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cli.calls import fail, invoke, succeed
from sigmastar import SpectralAutomaton
from sigmastar.core.atomic import refuse_terminal
from sigmastar.core.errors import InputError
from sigmastar.core.toy_english import sentences


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with text, tagged text and two models."""
    folder = tmp_path_factory.mktemp("home")
    leaves = [sentence.leaves() for sentence in sentences(60)]
    (folder / "train.txt").write_text("".join(" ".join(leaf.word for leaf in row) + "\n" for row in leaves))
    rows = [
        [f"{k}\t{x.word}\t_\t{x.label}\t_\t_\t_\t_\t_\t_" for k, x in enumerate(row, 1)] for row in leaves
    ]
    (folder / "train.conllu").write_text("".join("\n".join(row) + "\n\n" for row in rows))
    succeed("learn", "automaton", folder / "train.txt", "--method", "ngram", "-o", folder / "m.sigma")
    succeed("learn", "tagger", folder / "train.conllu", "--method", "bigram", "-o", folder / "t.sigma")
    return folder


def test_help_and_version_as_words() -> None:
    assert succeed("help") == succeed("--help")
    assert succeed("help", "learn", "automaton") == succeed("learn", "automaton", "--help")
    assert succeed("version") == succeed("--version")


def test_a_model_in_the_second_place(home: Path) -> None:
    line = fail("predict", home / "train.txt", home / "m.sigma", status=2)
    assert f"{home / 'm.sigma'} is the model, not {home / 'train.txt'}: the model comes first" in line


def test_outputs_that_cannot_be(home: Path, tmp_path: Path) -> None:
    text = home / "train.txt"
    assert "the output has an empty name; give -o the name of a file" in fail(
        "learn", "automaton", text, "-o", ""
    )
    assert "has an empty name" in fail("score", home / "m.sigma", text, "-o", "")
    (link := tmp_path / "link").symlink_to(tmp_path / "nowhere" / "m.sigma")
    assert f"the folder {tmp_path / 'nowhere'} does not exist" in fail("learn", "automaton", text, "-o", link)
    assert "is a file; give --out a folder" in fail("demo", "--out", text)


def test_a_model_does_not_go_to_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    refuse_terminal("-")  # a pipe
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    with pytest.raises(InputError, match="is a terminal, and this is no text; give -o a file"):
        refuse_terminal("-")


def test_a_reader_that_leaves_early(home: Path) -> None:
    words = [sys.executable, "-m", "sigmastar", "sample", str(home / "m.sigma"), "-n", "20000"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait() == 141
        assert process.stderr.read() == b""


def test_one_of_a_thing_is_no_plural(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("a\n")
    told = invoke("learn", "automaton", tmp_path / "one.txt", "-o", tmp_path / "one.sigma").stderr
    assert "1 state, from 1 string over 1 symbol in" in told


def test_long_symbols_are_cut_where_a_model_is_shown(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text("x" * 100_000 + " b\n")
    succeed("learn", "automaton", tmp_path / "long.txt", "-o", tmp_path / "long.sigma")
    assert "2 symbols: b " + "x" * 40 + "..\n" in succeed("show", tmp_path / "long.sigma")


def test_separators_and_empty_symbols(tmp_path: Path) -> None:
    (data := tmp_path / "cells.txt").write_text("a,,b\nb,,a\n" * 5)
    assert "use --characters" in fail("learn", "automaton", data, "--separator", "", "-o", tmp_path / "m")
    succeed("learn", "automaton", data, "--separator", ",", "--method", "ngram", "-o", tmp_path / "m.sigma")
    drawn = succeed("sample", tmp_path / "m.sigma", "-n", "20").splitlines()
    assert "a,,b" in drawn
    (tmp_path / "again.txt").write_text("\n".join(drawn) + "\n")
    assert "-inf" not in succeed("score", tmp_path / "m.sigma", tmp_path / "again.txt")


def test_a_symbol_that_is_written_like_the_end(tmp_path: Path) -> None:
    (data := tmp_path / "ends.txt").write_text("a <end>\n<end>\n" * 5)
    succeed("learn", "automaton", data, "--method", "ngram", "-o", tmp_path / "m.sigma")
    told = invoke("predict", tmp_path / "m.sigma", data).stderr
    assert "note: <end> is a symbol of this model too; with --json the end is null" in told
    assert "note" not in invoke("predict", tmp_path / "m.sigma", data, "--json").stderr


def test_bare_sentences_are_tagged(home: Path) -> None:
    expected = "the D\ndog N\nsleeps W\n\na D\n"
    tagged = succeed("predict", home / "t.sigma", "-", stdin="the dog sleeps\na\n")
    assert [line.split()[0] for line in tagged.split("\n") if line] == ["the", "dog", "sleeps", "a"]
    assert tagged.splitlines()[0] == expected.splitlines()[0]
    assert tagged.count("\n\n") == 2
    assert "hold words alone" in fail("score", home / "t.sigma", "-", "--format", "sentences", stdin="the\n")


def test_raw_text_for_a_parser_is_for_a_pipeline(home: Path, tmp_path: Path) -> None:
    (tmp_path / "raw.conllu").write_text("The dog sleeps .\n")
    line = fail("learn", "tagger", tmp_path / "raw.conllu", "-o", tmp_path / "m")
    assert "found 1; raw text is for models of `sigmastar learn pipeline`" in line


def test_what_is_no_string_is_named() -> None:
    with pytest.raises(InputError, match="got None as string 2"):
        SpectralAutomaton().fit(["ab", None])  # type: ignore[list-item]
