"""Commands for numbers and labels of strings."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sigmastar
from cli.calls import fail, figures, invoke, succeed
from sigmastar.core.errors import ModelFileError
from sigmastar.regression.laws import LABELS, NUMBERS, WORDS


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("regression")
    for name, values in (("numbers", NUMBERS), ("labels", LABELS)):
        lines = [f"{word}\t{value}\n" for word, value in zip(WORDS, values, strict=True)]
        (place / f"{name}.tsv").write_text("".join(lines))
    options = ("--characters", "--states", "2", "--starts", "4", "-q")
    succeed("learn", "regression", place / "numbers.tsv", *options, "-o", place / "numbers.sigma")
    labels = ("--task", "classification", "-o", place / "labels.sigma")
    succeed("learn", "regression", place / "labels.tsv", *options, *labels)
    return place


def test_numbers_are_predicted_and_judged(folder: Path) -> None:
    (folder / "fresh.txt").write_text("aaaaab\nbbbbbb\n")
    lines = succeed("predict", folder / "numbers.sigma", folder / "fresh.txt").split()
    assert [round(float(line), 6) for line in lines] == [3.0, -12.0]
    found = figures("evaluate", folder / "numbers.sigma", folder / "numbers.tsv")
    assert found["n_strings"] == len(WORDS)
    assert found["r2"] > 1 - 1e-9
    assert found["rmse"] < 1e-5


def test_labels_are_predicted_with_their_probabilities(folder: Path) -> None:
    (folder / "fresh.txt").write_text("aaaaab\nbbbbbb\n")
    assert succeed("predict", folder / "labels.sigma", folder / "fresh.txt").split() == ["odd", "even"]
    rows = succeed("predict", folder / "labels.sigma", folder / "fresh.txt", "--json").splitlines()
    assert json.loads(rows[0])["probabilities"]["odd"] > 0.5
    assert figures("evaluate", folder / "labels.sigma", folder / "labels.tsv")["accuracy"] == 1.0


def test_a_model_is_shown_and_converted(folder: Path) -> None:
    shown = figures("show", folder / "labels.sigma")
    assert shown["labels"] == ["even", "odd"]
    assert shown["states"] == [2]
    assert shown["learned"]["settings"]["n_states"] == 2
    succeed("convert", folder / "numbers.sigma", "--to", "automaton", "-o", folder / "automaton.sigma")
    assert "2 states" in succeed("show", folder / "automaton.sigma")
    succeed("convert", folder / "labels.sigma", "--to", "automaton", "-o", folder / "signed.sigma")
    with pytest.raises(ModelFileError, match="use load_model, which gives the model"):
        sigmastar.load(folder / "signed.sigma")  # not as a classifier, which it no longer is
    (folder / "two.txt").write_text("ab\nbb\n")
    for words in (["score", folder / "two.txt"], ["predict", folder / "two.txt"], ["sample", "-n", "1"]):
        told = invoke(words[0], folder / "automaton.sigma", *words[1:])
        assert told.exit_code == 0
        assert "over all strings: they are no probabilities" in told.stderr


def test_rank_and_bound_are_options(folder: Path) -> None:
    options = ("--characters", "--states", "2", "--starts", "2", "-q", "-o", folder / "held.sigma")
    succeed("learn", "regression", folder / "numbers.tsv", "--rank", "2", "--bound", "5", *options)
    settings = figures("show", folder / "held.sigma")["learned"]["settings"]
    assert (settings["rank"], settings["bound"]) == (2, 5.0)
    wrong = ("learn", "regression", folder / "numbers.tsv", "--bound", "5", "--solver", "svt", *options)
    assert "bound=5.0 must be a number above 0, with solver='proximal'" in fail(*wrong)


def test_what_is_wrong_is_told(folder: Path) -> None:
    (folder / "bad.tsv").write_text("a\t1\nb\tmany\n")
    where = fail("learn", "regression", folder / "bad.tsv", "-o", folder / "x")
    assert where.endswith("bad.tsv:2: 'many' is not a number; for labels use --task classification")
    (folder / "bad.tsv").write_text("a\t1\nb\n")
    assert "bad.tsv:2: the line has no value" in fail(
        "learn", "regression", folder / "bad.tsv", "-o", folder / "x"
    )
    assert "there is no sample for models of kind" in fail("sample", folder / "numbers.sigma", status=2)
    (folder / "unknown.txt").write_text("azz\n")
    said = fail("predict", folder / "numbers.sigma", folder / "unknown.txt")
    assert said.startswith(f"{folder / 'unknown.txt'}: string 1: symbol 'z' is not among the 2 symbols")
    assert "--unknown zero" in said
    assert (
        succeed("predict", folder / "numbers.sigma", folder / "unknown.txt", "--unknown", "zero") == "0.0\n"
    )


def test_values_that_are_no_numbers_can_be_left_out(folder: Path) -> None:
    content = (folder / "numbers.tsv").read_text()
    (folder / "dirty.tsv").write_text(f"{content}ab\tmany\nba\tinf\n")
    last = content.count("\n") + 1
    call = ("evaluate", folder / "numbers.sigma", folder / "dirty.tsv")
    assert fail(*call).startswith(f"{folder / 'dirty.tsv'}:{last}: 'many' is not a number")
    skipped = invoke(*call, "--on-error", "skip", "--json")
    assert skipped.exit_code == 0, skipped.stderr
    assert f"2 records left out: line {last}: 'many' is not a number" in skipped.stderr
    assert json.loads(skipped.stdout)["n_strings"] == len(WORDS)
