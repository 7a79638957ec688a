"""`learn grammar`, and the other commands on weighted grammars."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cli.calls import fail, figures, invoke, succeed
from sigmastar.core.model_reading import load_model, save_model
from sigmastar.grammars.model.generators import dyck
from sigmastar.grammars.model.grammar import WeightedGrammar


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("grammars")
    drawn = dyck().sample_brackets(400, np.random.default_rng(0), max_length=60)
    (folder / "d.mrg").write_text("".join(f"{tree}\n" for tree in drawn.trees()))
    rows = [" ".join(map(str, string)) for string in drawn.strings if len(string) <= 12]
    (folder / "d.txt").write_text("\n".join([rows[0], "", *rows[1:]]) + "\n")
    save_model(dyck(), folder / "truth.model")
    learn = ("learn", "grammar")
    succeed(*learn, folder / "d.mrg", "--method", "spectral", "--states", 4, "-o", folder / "spectral.model")
    short = ("--max-length", "6", "--states", "2")
    succeed(
        *learn, folder / "d.txt", "--method", "completion-only", *short, "-o", folder / "completion.model"
    )
    succeed(*learn, folder / "d.txt", "--method", "completion", *short, "-o", folder / "both.model")
    em = ("--iterations", "5", "--states", "3")
    succeed(*learn, folder / "d.txt", *em, "-o", folder / "em.model")
    succeed(*learn, folder / "d.mrg", "--start", "spectral", *em, "-o", folder / "tree.model")
    return folder


def test_models_are_weighted_grammars_and_those_of_em_are_proper(place: Path) -> None:
    models = {name: load_model(place / f"{name}.model") for name in ("spectral", "completion", "both", "em")}
    assert all(isinstance(model, WeightedGrammar) for model in models.values())
    assert [m.is_probabilistic(1e-6) for m in models.values()] == [False, False, True, True]  # type: ignore[union-attr]


def test_completion_tells_its_objective_rank_and_violation(place: Path) -> None:
    words = ("learn", "grammar", place / "d.txt", "--method", "completion-only", "--max-length", "4")
    found = figures(*words, "--states", "2", "-o", place / "x.model")
    assert found["rank"] >= 2
    assert 0 < found["violation"] < 1
    assert found["objective"] > 0
    assert found["cut_off"] > 0


@pytest.mark.parametrize(("method", "warned"), [("completion-only", True), ("em", False)])
def test_mass_that_went_astray_is_told(place: Path, method: str, warned: bool) -> None:
    """A finite language: signed weights that fit it weigh longer strings as they please."""
    (place / "finite.txt").write_text("n v\nd n v\nd n v d n\nn v n\nv\nv d n\n" * 50)
    words = ("learn", "grammar", place / "finite.txt", "--method", method, "--states", "3")
    told = invoke(*words, "-o", place / "finite.model").stderr
    assert ("warning: strings of length" in told) is warned


def test_brackets_of_trees_are_scored_and_strings_have_a_perplexity(place: Path) -> None:
    found = figures("evaluate", place / "spectral.model", place / "d.mrg")
    assert found["bracket_f1"] > found["right_branching_f1"]
    assert found["bracket_f1"] > 0.9
    plain = figures("evaluate", place / "em.model", place / "d.txt")
    assert "bracket_f1" not in plain
    assert 1.0 < plain["perplexity"] < 10.0
    assert 0.0 < plain["l1"] < 2.0


def test_a_reference_gives_l1_and_kl(place: Path) -> None:
    same = figures("evaluate", place / "truth.model", "--reference", place / "truth.model")
    assert same["l1"] == pytest.approx(0.0, abs=1e-12)
    assert same["kl"] == pytest.approx(0.0, abs=1e-12)
    other = figures(
        "evaluate", place / "spectral.model", "--reference", place / "truth.model", "--max-length", 7
    )
    assert other["max_length"] == 7
    assert 0.0 < other["l1"] < 0.3


def test_lines_stay_lines(place: Path) -> None:
    n_lines = len((place / "d.txt").read_text().splitlines())
    scores = succeed("score", place / "em.model", place / "d.txt").splitlines()
    trees = succeed("predict", place / "em.model", place / "d.txt").splitlines()
    assert len(scores) == len(trees) == n_lines
    assert float(scores[1]) == -math.inf
    assert trees[1] == ""
    assert trees[0].startswith("(X ")


def test_samples_come_from_proper_grammars_only(place: Path) -> None:
    drawn = succeed("sample", place / "both.model", "-n", "20").splitlines()
    assert len(drawn) == 20
    assert set(" ".join(drawn).split()) <= {"a", "b"}
    assert "learn one by EM" in fail("sample", place / "completion.model", "-n", "1")


def test_rules_are_written_and_read_as_a_reference(place: Path) -> None:
    succeed("convert", place / "em.model", "--to", "rules", "-o", place / "em.rules")
    found = figures("evaluate", place / "em.model", "--reference", place / "em.rules", "--max-length", "5")
    assert found["l1"] < 1e-8
    assert "'att' is not one of 'rules'" in fail("convert", place / "em.model", "--to", "att", status=2)


def test_a_grammar_is_shown(place: Path) -> None:
    assert "probabilistic      True" in succeed("show", place / "em.model")
    assert figures("show", place / "completion.model")["learned"]["method"] == "completion-only"
    assert "<svg" in succeed("show", place / "em.model", "--html")
    shown = figures("show", place / "em.model")
    assert shown["total_mass"] == pytest.approx(1.0, abs=1e-6)
    assert len(shown["mass_by_length"]) == 10
    assert shown["rules"][0]["weight"] >= shown["rules"][-1]["weight"]


@pytest.mark.parametrize(
    "words",
    [
        ("show", "em.model", "--dot"),
        ("evaluate", "em.model", "d.txt", "--gold-tags"),
        ("predict", "em.model", "d.txt", "--nbest", "3"),
        ("score", "em.model", "d.txt", "--separator", ","),
        ("sample", "em.model", "--format", "pautomac"),
        ("evaluate", "em.model"),
    ],
)
def test_options_of_other_families_are_refused(place: Path, words: tuple[str, ...]) -> None:
    fail(words[0], place / words[1], *words[2:], status=2)


def test_a_perplexity_is_of_proper_grammars(place: Path) -> None:
    save_model(replace(dyck(), composition=3.0 * dyck().composition), place / "endless.model")
    found = figures("evaluate", place / "endless.model", place / "d.txt")
    assert found["perplexity"] is None
    assert found["l1"] > 0


def test_equal_runs_give_equal_files_and_fewer_states_are_told(place: Path) -> None:
    words = (
        "learn",
        "grammar",
        place / "d.txt",
        "--method",
        "completion-only",
        "--max-length",
        "2",
        "--states",
        60,
    )
    told = [invoke(*words, "-o", place / name).stderr for name in ("one.model", "two.model")]
    assert all("states in place of 60" in message for message in told)
    assert (place / "one.model").read_bytes() == (place / "two.model").read_bytes()


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (("d.txt", "--method", "spectral"), 1, "needs trees"),
        (("d.txt", "--method", "completion", "--start", "cca"), 2, "--start"),
        (("d.txt", "--method", "completion", "--max-length", "40"), 2, "too long for completion"),
        (("d.txt", "--start", "random", "--brackets", "right"), 2, "--brackets is for"),
        (("d.txt", "--basis-factor", "0.5"), 2, "--basis-factor"),
        (("d.mrg", "--method", "spectral", "--states", "5000"), 1, "n_states=5000"),
        (("none.txt",), 1, "no such file"),
        (("empty.txt",), 1, "no trees or strings"),
        (("broken.mrg",), 1, "broken.mrg"),
    ],
)
def test_what_cannot_be_is_refused(place: Path, words: tuple[str, ...], status: int, message: str) -> None:
    (place / "empty.txt").write_text("\n\n")
    (place / "broken.mrg").write_text("(S (NP a)\n")
    output = place / "refused.model"
    assert message in fail("learn", "grammar", place / words[0], *words[1:], "-o", output, status=status)
    assert not output.exists()


def test_strange_symbols_are_refused_or_have_no_probability(place: Path) -> None:
    (place / "strange.txt").write_text("a b\na zebra\n")
    told = fail("score", place / "em.model", place / "strange.txt")
    assert "sentence 2: 'zebra'" in told
    scores = succeed("score", place / "em.model", place / "strange.txt", "--unknown", "zero").splitlines()
    assert float(scores[0]) > -math.inf == float(scores[1]) * -1 * -1
    assert "(X a zebra)" in succeed("predict", place / "em.model", place / "strange.txt", "--unknown", "zero")


def test_long_sentences_may_be_left_out_of_an_evaluation(place: Path) -> None:
    whole = figures("evaluate", place / "em.model", place / "d.mrg")
    short = figures("evaluate", place / "em.model", place / "d.mrg", "--max-length", "4")
    assert 0 < short["n_strings"] < whole["n_strings"]
    told = fail("evaluate", place / "em.model", place / "d.mrg", "--max-length", "1")
    assert "no strings of up to 1 symbols" in told
