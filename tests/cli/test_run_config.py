"""Runs as files: a model gives the options back that it was learned with, and a card for readers."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.calls import fail, figures, succeed
from sigmastar import NgramAutomaton
from sigmastar.core.toy_english import sentences

ROWS = [sentence.leaves() for sentence in sentences(40)]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    lines = [",".join(leaf.word for leaf in row) for row in ROWS]
    (folder / "train.txt").write_text("\n".join([*lines, "caf\u00e9,\u00e9"]) + "\n", encoding="latin-1")
    (folder / "tags.txt").write_text("".join(f"{x.word} {x.label}\n" for row in ROWS for x in row))
    return folder


@pytest.mark.parametrize(
    ("learner", "file", "options"),
    [
        ("automaton", "train.txt", ("--method", "ngram", "--order", "2", "--separator", ",")),
        ("automaton", "train.txt", ("--states", "3", "--seed", "7", "--min-count", "2", "--characters")),
        ("tagger", "tags.txt", ("--method", "bigram", "--decoding", "viterbi", "--label", "2")),
    ],
)
def test_the_same_model_again(home: Path, learner: str, file: str, options: tuple[str, ...]) -> None:
    reading = ("--encoding", "latin-1", "--on-error", "skip", "--threads", "1")
    first, second, run = home / "first.sigma", home / "second.sigma", home / "run.toml"
    succeed("learn", learner, home / file, *options, *reading, "-o", first)
    text = succeed("show", first, "--config")
    head = f"# sigmastar learn {learner} {file} --config run.toml -o {first}\n"
    assert text.startswith(f"{head}[learn.{learner}]\n")
    assert 'encoding = "latin-1"\n' in text
    assert "threads" not in text
    run.write_text(text)
    succeed("learn", learner, home / file, "--config", run, "-o", second)
    assert first.read_bytes() == second.read_bytes()


def test_the_command_line_comes_first(home: Path) -> None:
    run = home / "own.toml"
    run.write_text('encoding = "latin-1"\nmethod = "ngram"\norder = 2\n[other]\nx = 1\n')
    call = ("learn", "automaton", home / "train.txt", "--config", run, "-o", home / "m.sigma")
    assert figures(*call)["settings"]["order"] == 2
    assert figures(*call, "--order", "4")["settings"]["order"] == 4


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("stats = 3", "sigmastar learn automaton has no option stats; did you mean states?"),
        ("= 3", "is not TOML"),
        ("method = em", 'text stands in quotes, as in method = "em"'),
        ("[learn.tagger]\nseed = 1", "has no table [learn.automaton]; it has tagger"),
        ("[learn]\nautomaton = 3", "[learn.automaton] is no table"),
    ],
)
def test_files_that_are_no_configuration(home: Path, content: str, said: str) -> None:
    (run := home / "bad.toml").write_text(content)
    call = ("learn", "automaton", home / "train.txt", "--config", run, "-o", home / "bad.sigma")
    assert said in fail(*call)
    run.unlink()
    assert "bad.toml: there is no such file" in (missing := fail(*call))
    assert "TOML" not in missing
    run.write_text("states = -1")
    assert "--states" in fail(*call, status=2)


def test_models_of_python_have_no_configuration(tmp_path: Path) -> None:
    NgramAutomaton().fit(["ab"]).save(tmp_path / "m.sigma")
    assert "was not learned by a command" in fail("show", tmp_path / "m.sigma", "--config")
    card = succeed("show", tmp_path / "m.sigma", "--markdown")
    assert "## Learned by" not in card
    assert "| smoothing | witten-bell |" in card


def test_a_card(home: Path) -> None:
    model = home / "a|b.sigma"
    options = ("--encoding", "latin-1", "--separator", "|")
    succeed("learn", "automaton", home / "train.txt", *options, "-o", model)
    card = succeed("show", model, "--markdown")
    assert card.startswith("---\nlibrary_name: sigmastar\n")
    assert "| train.txt | " in card
    assert "| n_strings | 41 |" in card
    assert f"sigmastar predict {model.name} FILE" in card
    assert 'separator = "|"' in card
    assert succeed("show", model).rstrip() in card
    succeed("show", model, "--markdown", "-o", home / "card.md")
    assert (home / "card.md").read_text() == card
    assert "give one of --markdown, --config" in fail("show", model, "--markdown", "--json", status=2)
    assert "to be written" in succeed("show", model, "--markdown")
