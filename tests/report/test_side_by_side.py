"""Families in processes of their own give what they give here."""

from __future__ import annotations

import multiprocessing
from dataclasses import dataclass

import pytest

from sigmastar.automata.demo import AutomataFamily
from sigmastar.bilexical.demo import BilexicalFamily
from sigmastar.core.demo import DemoResult, DemoRow
from sigmastar.core.errors import InputError
from sigmastar.core.page import Section
from sigmastar.core.progress import silent
from sigmastar.report import run_here, run_side_by_side

FAMILIES = (BilexicalFamily(rank=2), BilexicalFamily(rank=3))


def measured(results: list[DemoResult]) -> list[tuple[str, str, dict[str, float]]]:
    return [(row.family, row.learner, dict(row.measures)) for result in results for row in result.rows]


def test_processes_give_the_same_results_in_the_same_order() -> None:
    told: list[tuple[str, float]] = []
    found = run_side_by_side(FAMILIES, 1, lambda *step: told.append(step), n_processes=2)
    here = run_here(FAMILIES, 1, silent)
    assert [result.data_hash for result in found] == [result.data_hash for result in here]
    for mine, theirs in zip(measured(found), measured(here), strict=True):
        assert mine[:2] == theirs[:2]
        assert mine[2] == pytest.approx(theirs[2], abs=1e-9)
    assert told
    assert all(0.0 <= done <= 1.0 for _, done in told)
    assert not multiprocessing.active_children()


def test_an_error_there_is_the_same_here_and_leaves_no_process() -> None:
    families = (AutomataFamily(n_train=0), BilexicalFamily())
    with pytest.raises(InputError, match="no strings"):
        run_side_by_side(families, 0, silent, n_processes=2)
    assert not multiprocessing.active_children()


@dataclass(frozen=True)
class Steps:
    """A family that tells two steps."""

    name: str

    def run(self, seed: int, progress) -> DemoResult:
        progress(f"{self.name} begins", 0.0)
        progress(f"{self.name} goes on", 0.5)
        return DemoResult((DemoRow(self.name, "one", {"F1": 1.0}),), Section(self.name, []))


def test_here_those_before_count_as_done() -> None:
    told: list[tuple[str, float]] = []
    run_here([Steps("a"), Steps("b")], 0, lambda *step: told.append(step))
    assert told == [("a begins", 0.0), ("a goes on", 0.25), ("b begins", 0.5), ("b goes on", 0.75)]
