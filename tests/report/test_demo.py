from __future__ import annotations

import numpy as np
import pytest

from cli.calls import invoke
from sigmastar.automata.demo import AutomataFamily, make_corpus, make_learners
from sigmastar.core import figures as style
from sigmastar.core.demo import DemoResult, DemoRow, learner_table
from sigmastar.core.intervals import Estimate
from sigmastar.core.page import Section, Text
from sigmastar.core.progress import silent
from sigmastar.report import demos, run_demo


class Toy:
    """A family that shows two rows and a word."""

    def __init__(self, name: str) -> None:
        self.name = name

    def run(self, seed, progress) -> DemoResult:
        progress(f"{self.name} works", 0.5)
        rows = (DemoRow(self.name, "one", {"F1": 81.25}, 1.234), DemoRow(self.name, "two", {"KL": seed / 8}))
        return DemoResult(rows, Section(f"About {self.name}", [Text("Hello.")]), f"hash of {self.name}")


def test_each_family_adds_its_rows_and_section(tmp_path):
    told: list[tuple[str, float]] = []
    report = run_demo(tmp_path / "new" / "folder", 4, lambda *step: told.append(step), [Toy("a"), Toy("b")])
    assert report.path == tmp_path / "new" / "folder" / "report.html"
    page = report.path.read_text(encoding="utf-8")
    assert page.index("About a") < page.index("About b")
    assert report.table.rows[:2] == [("a", "one", "F1 81.25", "1.23"), ("a", "two", "KL 0.5000", None)]
    assert "hash of a" in page
    assert "hash of b" in report.provenance.data_hash
    assert told == [("a works", 0.25), ("b works", 0.75), ("done", 1.0)]
    assert [file.name for file in report.path.parent.iterdir()] == ["report.html"]


def test_intervals_stand_behind_the_first_measure_and_the_best_is_marked():
    judged = Estimate(0.875, 0.8, 0.95, 40)
    first = DemoRow("a", "one", {"F1": 0.875, "exact": 0.5}, 1.0, judged)
    assert first.quality == "F1 0.8750 (0.8000 to 0.9500), exact 0.5000"
    rows = [first, DemoRow("a", "two", {"F1": 0.75}, 2.0), DemoRow("a", "truth", {"F1": 0.9})]
    table = learner_table("Parsers", rows)
    assert table.rows[0] == ("one", "0.8750", "0.8000 to 0.9500", "1.00")
    assert table.best == {(0, 1)}  # the truth is no rival
    assert learner_table("Parsers", rows, is_error=True).best == {(1, 1)}
    assert "Higher is better" in table.note


def test_a_winner_is_marked_only_beyond_the_intervals():
    def row(name: str, low: float, high: float) -> DemoRow:
        middle = (low + high) / 2
        return DemoRow("a", name, {"F1": middle}, 1.0, Estimate(middle, low, high, 40))

    close, far = [row("one", 0.7, 0.8), row("two", 0.78, 0.9)], [row("one", 0.7, 0.8), row("two", 0.82, 0.9)]
    assert learner_table("Parsers", close).best == set()
    assert learner_table("Parsers", close, is_error=True).best == set()
    assert learner_table("Parsers", far).best == {(1, 1)}
    assert learner_table("Parsers", far, is_error=True).best == {(0, 1)}


def test_families_are_told_as_they_end(tmp_path):
    ended: list[str] = []
    run_demo(tmp_path, 0, families=[Toy("a"), Toy("b")], ended=ended.append)
    assert ended == ["a", "b"]


def test_off_a_terminal_the_demo_tells_how_far_it_is(tmp_path, monkeypatch):
    monkeypatch.setattr("sigmastar.report.demos", lambda: (Toy("a"), Toy("b")))
    told = invoke("demo", "--out", tmp_path / "new", "--processes", "1").stderr.splitlines()
    assert told[0].startswith("every family learns")
    assert told[1:3] == ["a: done after 0 s", "b: done after 0 s"]
    assert invoke("demo", "--out", tmp_path / "new", "--processes", "1", "-q").stderr == ""


def test_the_same_seed_makes_the_same_page_but_for_its_date(tmp_path):
    pages = [run_demo(tmp_path / f"{k}", 0, families=[Toy("a")]).path.read_text() for k in range(2)]
    assert pages[0].split("<dt>Date")[0] == pages[1].split("<dt>Date")[0]


def test_automata_are_in_the_demo():
    assert "automata" in [family.name for family in demos()]
    assert len({family.name for family in demos()}) == len(demos())


@pytest.fixture(scope="module")
def small() -> DemoResult:
    return AutomataFamily(n_train=600, n_fresh=300).run(0, silent)


def test_automata_show_every_learner_against_the_truth(small):
    learners = [row.learner for row in small.rows]
    assert learners == ["truth", *make_learners(0)]
    truth, *learned = small.rows
    assert truth.measures == {"KL": 0.0, "R": pytest.approx(1.0)}
    assert truth.seconds is None
    for row in learned:
        assert 0 < row.measures["KL"] < 10
        assert row.measures["R"] >= 1
        assert row.seconds > 0


def test_automata_show_table_and_pictures(small):
    kinds = [type(part).__name__ for part in small.section.parts]
    assert kinds == ["Text", "Table", "Picture", "Picture", "Picture", "Picture", "Picture"]
    assert len(small.data_hash) == 64


def test_without_matplotlib_the_report_still_comes(monkeypatch):
    def missing(*_, **__):
        raise style.MissingMatplotlibError

    monkeypatch.setattr("sigmastar.automata.demo.plot_spectrum", missing)
    parts = AutomataFamily(n_train=300, n_fresh=100).run(0, silent).section.parts
    assert any(isinstance(part, Text) and 'pip install "sigmastar[plot]"' in part.text for part in parts)


def test_the_corpus_depends_on_the_seed_alone():
    first, second, other = make_corpus(1, 50, 20), make_corpus(1, 50, 20), make_corpus(2, 50, 20)
    assert np.array_equal(first.train.codes, second.train.codes)
    assert not np.array_equal(first.truth.transitions, other.truth.transitions)
    assert first.truth.is_stochastic()
