"""The benchmark harness on questions of its own: rows, verdicts, provenance, resuming. No timings."""

from __future__ import annotations

import gzip
import importlib
import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from sigmastar.automata.data.pautomac import write_pautomac
from sigmastar.automata.model.generators import make_automaton
from sigmastar.automata.model.pautomac_machine import write_pautomac_model
from sigmastar.dependency import DependencyTreebank

ROOT = Path(__file__).resolve().parents[1]
if not (ROOT / "benchmarks").is_dir():
    pytest.skip("benchmarks are no part of this distribution", allow_module_level=True)
sys.path.insert(0, str(ROOT))

from benchmarks import harness, record  # noqa: E402
from benchmarks.__main__ import QUESTIONS, main, question_named  # noqa: E402
from benchmarks.corpora import PautomacProblem, upos_sequences  # noqa: E402
from benchmarks.harness import Finding, Question, Settings, Skip, Target  # noqa: E402
from benchmarks.run import ask  # noqa: E402


class Lengths:
    """A question about words: units are words, and it remembers which were measured."""

    def __init__(self, folder: Path, broken: str = "") -> None:
        self.folder, self.broken, self.asked, self.shown = folder, broken, list[str](), io.StringIO()
        (folder / "data").mkdir(exist_ok=True)
        for word in ("one", "three"):
            (folder / "data" / word).write_text(word)

    def question(self) -> Question:
        return Question(
            name="lengths",
            title="How long are words?",
            units=lambda settings: ["one"] if settings.quick else ["one", "three"],
            measure=self.measure,
            conclude=lambda rows: [Finding("longest", max(r["length"] for r in rows), Target("<=", 4.0))],
            columns=("length",),
            files=lambda unit, settings: [self.folder / "data" / unit],
        )

    def measure(self, unit, settings):
        self.asked.append(unit)
        yield {"length": len(unit)}
        if unit == self.broken:
            raise KeyboardInterrupt

    def ask(self, resume: bool = False, **settings) -> bool:
        console = Console(file=self.shown, width=100)
        chosen = Settings(data=self.folder / "data", **settings)
        return ask(self.question(), chosen, console, resume, self.folder / "results", self.folder / "work")

    def result(self, folder: str = "results") -> dict:
        return json.loads((self.folder / folder / "lengths.json").read_text())


def test_a_whole_run_is_recorded_with_where_it_comes_from(tmp_path):
    words = Lengths(tmp_path)
    assert words.ask(seed=3)
    found = words.result()
    assert [row["length"] for row in found["rows"]] == [3, 5]
    assert found["findings"][0] | {"note": None} == {
        "label": "longest",
        "value": 5,
        "target": "<= 4",
        "verdict": "not reached",
        "note": None,
    }
    source = found["provenance"]
    assert source["seed"] == 3
    assert source["numpy"] == np.__version__
    assert source["load"] >= 0
    assert all(
        source[name] for name in ("version", "python", "cpu", "system", "date", "data_hash", "commits")
    )
    assert found["data"]["one"] == "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"
    assert "not reached" in words.shown.getvalue()


def test_partial_and_quick_runs_do_not_overwrite_results(tmp_path):
    words = Lengths(tmp_path)
    words.ask()
    before = words.result()
    words.ask(quick=True)
    words.ask(problems=("three",))
    assert words.result() == before
    assert [row["unit"] for row in words.result("work")["rows"]] == ["three"]


def test_resuming_measures_only_what_was_not_finished(tmp_path):
    words = Lengths(tmp_path, broken="three")
    with pytest.raises(KeyboardInterrupt):
        words.ask()
    assert [row["unit"] for row in words.result("work")["rows"]] == ["one"]
    again = Lengths(tmp_path)
    assert again.ask(resume=True)
    assert again.asked == ["three"]
    assert [row["unit"] for row in again.result()["rows"]] == ["one", "three"]


def test_resuming_adds_problems_and_survives_a_line_that_was_cut_off(tmp_path):
    Lengths(tmp_path).ask(problems=("one",))
    with (tmp_path / "work" / "lengths.jsonl").open("a") as stream:
        stream.write('{"row": {"unit": "thr')
    words = Lengths(tmp_path)
    words.ask(resume=True)
    assert words.asked == ["three"]
    assert {row["unit"] for row in words.result()["rows"]} == {"one", "three"}


def test_rows_of_another_seed_are_not_mixed_in(tmp_path, capsys):
    Lengths(tmp_path).ask()
    words = Lengths(tmp_path)
    words.ask(resume=True, seed=1)
    assert words.asked == ["one", "three"]
    assert "other settings" in capsys.readouterr().err


def test_a_problem_that_fails_costs_no_other(tmp_path, capsys):
    words = Lengths(tmp_path)
    (tmp_path / "data" / "one").unlink()  # its hash cannot be taken
    assert not words.ask()
    assert [row["unit"] for row in words.result("work")["rows"]] == ["three"]
    assert "FileNotFoundError" in capsys.readouterr().err


def test_unknown_problems_and_missing_peers_are_told(tmp_path):
    question = Lengths(tmp_path).question()
    with pytest.raises(Skip, match="no problem four; there are one, three"):
        question.asked_units(Settings(problems=("four",)))
    with pytest.raises(Skip, match="needs no_such_peer"):
        Question(
            "q", "", question.units, question.measure, question.conclude, (), modules=("no_such_peer",)
        ).require_modules()


def test_targets_and_infinities():
    assert Finding("", 20.0, Target(">=", 20.0)).verdict == "reached"
    assert Finding("", 1.0, Target("<", 1.0)).verdict == "not reached"
    assert Finding("", np.nan, Target("<=", 1.0)).verdict == "not reached"
    assert record._strict({"a": [np.inf, 1.0]}) == {"a": ["inf", 1.0]}


def test_timing_is_a_median_of_calls():
    calls: list[int] = []
    found, timing = harness.timed(lambda: calls.append(1) or len(calls), 3)
    assert (found, timing.n_runs, len(calls)) == (3, 3, 3)
    assert timing.seconds >= 0


WITHOUT_DATA = {
    "startup": "sigmastar --help",
    "scoring": "made",
    "readers": "made",
    "completion": "Dyck",
    "languages": "a^n b^n",
    "hankel_completion": "proximal",
    "one_string": "0",
    "control": "cpu",
    "serving": "malformed",
    "explorer": "automata: words of a little English",
    "scale": "1e7",
    "continuous": "4 in 2",
}
"""Questions that can be asked without real data, and one thing that they measure then."""


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_question_can_be_loaded_and_says_what_it_needs(name):
    question = question_named(name)
    assert question.name == name
    if name in WITHOUT_DATA:
        assert WITHOUT_DATA[name] in question.units(Settings())
    else:
        with pytest.raises(Skip, match="SIGMASTAR_DATA"):
            question.units(Settings())


def test_the_command_refuses_unknown_questions(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["nonsense"])
    assert stop.value.code == 2
    assert "no question 'nonsense'" in capsys.readouterr().err


def test_scoring_loop_agrees_with_the_automaton(rng):
    scoring = importlib.import_module("benchmarks.scoring")
    automaton = scoring.make_automaton(4, 3, rng)
    strings = automaton.sample(30, rng)
    np.testing.assert_allclose(
        scoring.score_by_loop(automaton, strings), automaton.log_value(strings).log, rtol=1e-12
    )


def test_tag_sequences_skip_multiword_tokens_and_empty_nodes(tmp_path):
    rows = [
        "# sent_id = 1",
        "1-2\tdel\t_\t_",
        "1\tde\t_\tADP",
        "2\tel\t_\tDET",
        "2.1\tx\t_\tVERB",
        "",
        "1\tsí\t_\tINTJ",
        "",
    ]
    (tmp_path / "x.conllu").write_text("\n".join(row + "\t_" * 6 if "\t" in row else row for row in rows))
    assert list(upos_sequences(tmp_path / "x.conllu")) == [("ADP", "DET"), ("INTJ",)]


def synthetic_problem(folder: Path, rng: np.random.Generator) -> None:
    """A PAutomaC problem in the layout of the set."""
    machine = make_automaton(3, 3, rng, stop=0.3)
    train, test = machine.sample(300, rng), machine.sample(200, rng)
    test = test.select(np.unique([str(word) for word in test], return_index=True)[1])
    weights = machine.value(test) / machine.value(test).sum()
    stream = io.StringIO()
    write_pautomac(train, stream)
    files = PautomacProblem("7", folder).files
    files[0].write_bytes(gzip.compress(stream.getvalue().encode()))
    with files[1].open("w") as out:
        write_pautomac(test, out)
    files[2].write_text("\n".join([str(len(weights)), *map(repr, weights.tolist())]))
    with files[3].open("w") as out:
        write_pautomac_model(machine, out)


def test_pautomac_measures_and_concludes_on_a_problem_of_its_own(tmp_path, rng):
    pautomac = importlib.import_module("benchmarks.pautomac")
    (tmp_path / "pautomac").mkdir()
    synthetic_problem(tmp_path / "pautomac", rng)
    settings = Settings(quick=True, methods=("fast", "witten-bell"), data=tmp_path)
    console = Console(file=io.StringIO(), width=160)
    assert ask(pautomac.QUESTION, settings, console, results=tmp_path / "results", work=tmp_path / "work")
    found = json.loads((tmp_path / "work" / "pautomac.json").read_text())
    assert [row["method"] for row in found["rows"]] == ["fast", "witten-bell"]
    assert all(row["R"] >= 1.0 - 1e-9 and row["KL"] > -0.1 for row in found["rows"])
    assert set(found["data"]) == {
        path.relative_to(tmp_path).as_posix() for path in PautomacProblem("7", tmp_path / "pautomac").files
    }
    with pytest.raises(Skip, match="ask for --methods auto,em"):
        pautomac.units(Settings(methods=("em",), data=tmp_path))


def test_pautomac_conclusions_by_hand():
    pautomac = importlib.import_module("benchmarks.pautomac")

    def row(unit: str, method: str, ratio: float, kl: float, **more: float) -> dict:
        return {
            "unit": unit,
            "method": method,
            "R": ratio,
            "KL": kl,
            "seconds": 1.0,
            "cpu_seconds": 1.0,
            **more,
        }

    gap = {"KL - fast's": 0.1, "KL - fast's error": 0.01}
    rows = [
        row("1", "fast", 1.0, 0.4),
        row("2", "fast", 1.21, 0.2),
        row("1", "convex", 1.0, 0.1, **gap),
        row("2", "convex", 1.0, 0.3, **gap),
        row("1", "auto", 1.0, 0.1),
        row("2", "auto", 1.0, 0.02),
        row("1", "em", 1.0, 0.2, **{"KL - auto's": 0.1, "KL - auto's error": 0.01}),
        row("2", "em", 1.0, 0.01, **{"KL - auto's": -0.01, "KL - auto's error": 0.01}),
    ]
    found = {finding.label: finding for finding in pautomac.conclude(rows)}
    assert found["fast: geometric mean of R"].value == pytest.approx(1.1)
    assert found["fast: largest R"].verdict == "not reached"
    assert found["auto / fast: ratio of the median KLs"].value == pytest.approx(0.06 / 0.3)
    assert found["auto / fast: median of the KL ratios"].value == pytest.approx((0.25 + 0.1) / 2)
    assert found["convex: share with KL <= fast's"].value == 0.5
    assert (
        "by more than two standard errors on 1: problems 2" in found["convex: share with KL <= fast's"].note
    )
    assert found["auto: share with KL below EM's"].value == 0.5
    assert "by two standard errors 1, EM by as much 0" in found["auto: share with KL below EM's"].note


def test_the_best_remedy_for_negative_values():
    splearn = importlib.import_module("benchmarks.splearn")
    solution = np.array([0.5, 0.3, 0.2])
    exact, remedy = splearn.best_remedy(np.array([0.5, 0.3, -1.0]), np.array([1.0, 1.0, 0.2]), solution)
    assert (exact, remedy) == (pytest.approx(1.0), "trigrams")
    floored, remedy = splearn.best_remedy(np.array([0.5, np.nan, 0.2]), np.array([1.0, 1e-9, 1.0]), solution)
    assert floored > 1.0
    assert remedy == "floor 1e-02"


def test_text_of_a_treebank_has_no_blanks_where_writers_have_none():
    pipelines = importlib.import_module("benchmarks.pipelines")
    rows = [["He", "did", "n't", "(", "really", ")", "pay", "$", "5", ",", "Ann", "'s", "price", "."], ["!"]]
    treebank = DependencyTreebank.of(
        rows, [["X"] * len(row) for row in rows], [[0] * len(row) for row in rows]
    )
    assert pipelines.as_text(treebank) == "He didn't (really) pay $5, Ann's price.\n!\n"


def test_pipelines_are_judged_by_their_slowest_seed_and_mean_gap():
    pipelines = importlib.import_module("benchmarks.pipelines")

    def row(speed: float, words: float, tags: float) -> dict:
        shares = {"UAS": words, "UAS, gold tags": tags, "LAS": words - 0.04, "LAS, gold tags": tags - 0.03}
        return {"unit": "treebank", "tokens/s": speed, **shares}

    rows = [row(25_000.0, 0.86, 0.88), row(19_000.0, 0.87, 0.886)]
    found = {finding.label: finding for finding in pipelines.conclude(rows)}
    speed, gap = found["treebank: tokens per second"], found["treebank: points of UAS below gold tags"]
    assert (speed.value, speed.verdict) == (19_000.0, "not reached")
    assert (gap.value, gap.verdict) == (pytest.approx(1.8), "reached")
    assert found["treebank: LAS from words"].value == pytest.approx(0.825)
