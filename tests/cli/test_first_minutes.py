"""What a newcomer types in the first minutes, slips included: an answer each time, and no surprise."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cli.calls import fail, figures, invoke, succeed
from sigmastar import SpectralAutomaton, SpectralTreebankGrammar
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.alphabet import Alphabet
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


def test_the_explorer_says_what_to_do_about_a_file_that_is_not_there(home: Path) -> None:
    pytest.importorskip("starlette")
    line = fail("explore", home / "m.sigma", home / "nowhere.txt", "--no-browser")
    assert line.endswith("nowhere.txt: there is no such file; check the name")


def test_trees_in_brackets_are_not_taken_for_raw_text(tmp_path: Path) -> None:
    (tmp_path / "trees.mrg").write_text("(S (N a) (V b))\n")
    for family in ("pipeline", "dependency"):
        line = fail("learn", family, tmp_path / "trees.mrg", "-o", tmp_path / "m")
        assert "found 1; trees in brackets are for `sigmastar learn treebank` and its models" in line


def test_a_third_column_of_pairs_is_left_out_with_a_word(tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text("ab\tA B\tx y\nba\tB A\nb\tB\tz\n")
    call = ("learn", "transducer", tmp_path / "pairs.tsv", "--method", "ngram", "-o", tmp_path / "t.sigma")
    assert "columns behind the second are left out, in 2 lines\n" in invoke(*call).stderr
    assert figures("show", tmp_path / "t.sigma")["output_symbols"] == 2


def test_what_is_no_string_is_named() -> None:
    with pytest.raises(InputError, match="got None as string 2"):
        SpectralAutomaton().fit(["ab", None])  # type: ignore[list-item]


def test_an_option_of_another_family_names_the_kind_of_the_model(home: Path) -> None:
    line = fail("evaluate", home / "m.sigma", home / "train.txt", "--max-length", "3", status=2)
    assert (
        line
        == "No such option '--max-length' for models of kind 'ngram'; see sigmastar evaluate MODEL --help"
    )
    assert fail("evaluate", status=2) == "Missing argument 'MODEL'; see sigmastar evaluate --help"


def test_a_model_from_a_pipe_has_a_name(home: Path) -> None:
    line = fail("score", "-", home / "train.txt", stdin=(home / "m.sigma").read_bytes())
    assert line == "-: is for data; a model is a file, or /dev/stdin where it comes from a pipe"


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("sigmastar le", "plain,learn"),
        ("sigmastar learn automaton tra", "file,tra"),
        ("sigmastar learn automaton train.txt -o mo", "file,mo"),
        ("sigmastar learn automaton train.txt --method ng", "plain,ngram"),
    ],
)
def test_shells_complete_words_and_files(words: str, found: str) -> None:
    environment = {"COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    result = invoke(_SIGMASTAR_COMPLETE="bash_complete", **environment)
    assert result.stdout.strip() == found


def test_shells_complete_options_of_the_family_of_a_model(home: Path) -> None:
    words = f"sigmastar predict {home / 'm.sigma'} --unknown "
    result = invoke(_SIGMASTAR_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD="4")
    assert "plain,zero" in result.stdout.split()
    assert not result.stderr


def test_raw_text_for_a_tagger_of_columns(home: Path, tmp_path: Path) -> None:
    (tmp_path / "tags.txt").write_text("the D\ndog N\nsleeps V\n\na D\ncat N\nbarks V\n\n" * 5)
    succeed("learn", "tagger", tmp_path / "tags.txt", "--method", "bigram", "-o", tmp_path / "t.sigma")
    result = invoke("predict", tmp_path / "t.sigma", "-", stdin="the cat sleeps\na dog\n")
    assert result.stdout == "the D\ncat N\nsleeps V\n\na D\ndog N\n\n"
    assert (
        "note: - is read as one sentence per line; --format columns reads one word per line" in result.stderr
    )
    words = invoke("predict", tmp_path / "t.sigma", "-", "-q", stdin="the\ncat\n\na X\ndog X\n")
    assert (words.stdout, words.stderr) == ("the D\ncat N\n\na X D\ndog X N\n\n", "")


def test_operators_that_forgot_their_tags_are_told(tmp_path: Path) -> None:
    (data := tmp_path / "two.txt").write_text("the D\ndog N\nbarks V\n\na D\ncat N\nsleeps V\n")
    call = ("learn", "tagger", data, "--method", "spectral", "-o", tmp_path / "t.sigma")
    told = "warning: the operators find 33% of the tags that they were learned from"
    assert told in invoke(*call, "--states", "2").stderr
    assert "warning" not in invoke(*call, "--states", "2", "-q").stderr
    assert "warning" not in invoke(*call).stderr


def test_states_of_a_mixture_and_states_without_names(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [" ".join(rng.choice(list("abcd"), size=rng.integers(1, 9))) for _ in range(300)]
    (data := tmp_path / "s.txt").write_text("\n".join(rows) + "\n")
    succeed("learn", "automaton", data, "--method", "auto", "-o", tmp_path / "m.sigma")
    size = succeed("show", tmp_path / "m.sigma").split("size")[1].splitlines()[0]
    found = figures("show", tmp_path / "m.sigma")
    chosen, n_states = found["learned"]["rank"]["chosen"], found["n_states"]
    assert (f"a mixture of automata, the best of {chosen} state" in size) == (n_states > chosen)
    succeed("learn", "pcfg", data, "--states", "2", "--iterations", "2", "-o", tmp_path / "h.sigma")
    assert all(len(line.split()) > 1 for line in succeed("show", tmp_path / "h.sigma").splitlines())


def test_methods_of_other_classes_are_named() -> None:
    with pytest.raises(ValueError, match=r"'pcfg' is PCFG\(\)"):
        SpectralTreebankGrammar("pcfg").fit(["(S (N a) (V b))"] * 3)


def test_values_beyond_floats_are_infinite_without_a_warning() -> None:
    one = WeightedAutomaton(Alphabet("a"), np.ones(1), np.full((1, 1, 1), 2.0), np.ones(1))
    assert one.value(Strings.of(["a" * 2000])).tolist() == [np.inf]
