"""Learners whose time no size tells try a little of the work, and tell beforehand what all of it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sigmastar
from cli.calls import invoke
from sigmastar.bilexical.counts import WindowCounter
from sigmastar.bilexical.data.quadruples import Quadruples
from sigmastar.continuous.data import Series
from sigmastar.continuous.learn import require_room
from sigmastar.core import time_estimates
from sigmastar.core.errors import InputError
from sigmastar.core.progress import announce, on_long_work

Fit = Callable[[], Any]
TREES = ["(S (A x) (B y))", "(S (A x) (S (A x) (B y)))", "(S (A z) (B y))"] * 5
STRINGS = ["", "a", "b", "ab", "ba", "aab", "bb", "bab"] * 3
ROWS = np.random.default_rng(0).normal(size=(60, 2))
TEXT = ["the cat eats fish", "the dog eats meat"] * 20
LABELS = [len(string) % 2 for string in STRINGS]
ITEMS = [("see", f"noun{n}", "with", f"thing{n % 5}") for n in range(60)]
VECTORS = {f"thing{n}": np.eye(5)[n] for n in range(5)}
FITS: dict[str, Fit] = {
    "series": lambda: sigmastar.GaussianHMM(n_states=2).fit(ROWS),
    "regression": lambda: sigmastar.HankelRegressor(n_states=1, n_starts=2).fit(STRINGS, LABELS),
    "chosen states": lambda: sigmastar.HankelRegressor(n_starts=1, max_iter=20).fit(STRINGS, LABELS),
    "labels": lambda: sigmastar.HankelClassifier(n_states=2, max_iter=20).fit(STRINGS, LABELS),
    "grammar": lambda: sigmastar.EMGrammar(n_states=2, max_iter=2).fit(STRINGS),
    "grammar, random": lambda: sigmastar.EMGrammar(n_states=2, max_iter=2, start="random").fit(STRINGS),
    "trees": lambda: sigmastar.SpectralTreeAutomaton().fit(TREES),
    "latent": lambda: sigmastar.SpectralLatentPCFG().fit(TREES),
    "vectors": lambda: sigmastar.WordVectors().fit(TEXT),
    "attachment": lambda: sigmastar.PPAttachment(VECTORS).fit(
        Quadruples.of(ITEMS, ["N" if n % 5 < 2 else "V" for n in range(60)])
    ),
}


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """What is told while every look at the clock takes a second; all of it counts as long."""
    monkeypatch.setattr(time_estimates, "_clock", count(step=1.0).__next__)
    monkeypatch.setattr("sigmastar.core.progress.LONG", 0.0)
    seconds = list[float]()
    forget = on_long_work(lambda found, work: seconds.append(found))
    yield seconds
    forget()


@pytest.mark.parametrize("name", FITS)
def test_a_fit_tells_once_how_long_it_takes(name: str, told: list[float]) -> None:
    FITS[name]()
    assert len(told) == 1
    assert told[0] > 0.0


@pytest.mark.parametrize("name", ["series", "regression", "labels", "grammar"])
def test_nothing_is_tried_where_nobody_listens(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_estimates, "_clock", None)
    FITS[name]()
    announce(lambda: pytest.fail("it was asked"), "learning")


@pytest.mark.parametrize("name", ["series", "regression", "labels", "grammar"])
def test_a_trial_does_not_change_the_model(name: str, told: list[float]) -> None:
    assert told == []
    heard = FITS[name]().model_
    for listener in list(sigmastar.core.progress._listeners):
        sigmastar.core.progress._listeners.remove(listener)
    alone = FITS[name]().model_
    for one, other in zip(heard.to_parts()[0].values(), alone.to_parts()[0].values(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_more_of_everything_takes_longer(told: list[float]) -> None:
    sigmastar.GaussianHMM(n_states=2, start="random").fit(ROWS)
    sigmastar.GaussianHMM(n_states=2, max_iter=2).fit(ROWS)
    sigmastar.GaussianHMM(n_states=4, max_iter=2, n_seeds=2).fit(ROWS)
    sigmastar.HankelRegressor(n_states=1, n_starts=0, max_iter=5).fit(STRINGS, LABELS)
    sigmastar.HankelRegressor(n_states=1, n_starts=4, max_iter=5).fit(STRINGS, LABELS)
    sigmastar.EMGrammar(n_states=2, max_iter=2, start="random").fit(STRINGS)
    sigmastar.EMGrammar(n_states=2, max_iter=6, start="random", n_seeds=2).fit(STRINGS)
    random, spectral, larger, unrefined, refined, short, long = told
    assert random < spectral < larger
    assert unrefined < refined
    assert long == 6 * short


def test_an_ascent_of_series_tells_no_share_of_iterations_that_it_will_not_have() -> None:
    """Of two hundred it may have; a command said that half an hour was left, and ended in seconds."""
    shares = list[float | None]()
    sigmastar.GaussianHMM(n_states=2, progress=lambda message, done=None: shares.append(done)).fit(ROWS)
    assert len(shares) > 0
    assert set(shares) == {None}


COMMANDS = {
    "series": ("1 2\n2 1\n1 1\n2 2\n" * 5, ("series", "--states", "2")),
    "regression": ("ab\t1\nb\t0\naa\t2\na\t1\nbb\t0\n", ("regression", "--characters", "--states", "1")),
    "classification": (
        "ab\t1\nb\t0\naa\t1\n" * 3,
        ("regression", "--characters", "--task", "classification", "--states", "1", "--max-iter", "5"),
    ),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_tell_it_without_a_terminal(name: str, tmp_path: Path, told: list[float]) -> None:
    content, (command, *options) = COMMANDS[name]
    (tmp_path / "data").write_text(content)
    call = ("learn", command, tmp_path / "data", "-o", tmp_path / "model", *options)
    said = invoke(*call)
    assert said.exit_code == 0, said.stderr
    assert "learning: about " in said.stderr
    assert " on one core\n" in said.stderr
    assert invoke(*call, "-q").stderr == ""


def test_more_rows_and_words_than_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    series = Series.of([ROWS])
    require_room(series, 10, 1)
    monkeypatch.setattr("sigmastar.core.resources.free_memory", lambda: 10_000)
    with pytest.raises(InputError, match=r"60 rows with 10 states needs about .* use fewer states"):
        require_room(series, 10, 1)
    with pytest.raises(InputError, match="use fewer states"):
        sigmastar.GaussianHMM(n_states=10).fit(ROWS)
    with pytest.raises(InputError, match=r"neighbours of 100 words needs about .* use fewer contexts"):
        WindowCounter.of(np.full(100, 1000), 100, 10)
