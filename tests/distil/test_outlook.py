"""What distillation will take is told before it begins, and fitted to the memory there is."""

from __future__ import annotations

import pytest

from sigmastar.automata import NgramAutomaton
from sigmastar.core.errors import InputError
from sigmastar.core.progress import on_long_work
from sigmastar.distil import DistilledAutomaton
from sigmastar.distil.gathering import affordable_answers
from sigmastar.distil.questions import Questions

STRINGS = ["abab", "ba", "abba", "aab", "bbab", "babab"] * 5


def test_asking_and_learning_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sigmastar.core.progress.LONG", 0.0)
    monkeypatch.setattr("sigmastar.distil.learn.exact_automaton", lambda *_: None)
    told = dict[str, float]()
    forget = on_long_work(lambda seconds, work: told.update({work: seconds}))
    try:
        DistilledAutomaton(max_queries=1000).fit(NgramAutomaton().fit(STRINGS).model_)
    finally:
        forget()
    assert set(told) == {"asking", "learning"}
    assert 0.0 < told["learning"] < 60.0


def test_answers_are_as_many_as_memory_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    questions = Questions(NgramAutomaton().fit(STRINGS).model_, 1_000_000)
    whole = affordable_answers(questions)
    monkeypatch.setattr("sigmastar.distil.gathering.free_memory", lambda: 10 << 20)
    assert 1000 < affordable_answers(questions) < 100_000 < whole
    for place in ("distil.gathering", "core.resources"):
        monkeypatch.setattr(f"sigmastar.{place}.free_memory", lambda: 10_000)
    with pytest.raises(InputError, match=r"over 2 symbols needs about .* --max-memory"):
        affordable_answers(questions)
