"""Long work is told beforehand, by the share that is done."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import count
from pathlib import Path

import pytest

from cli.calls import invoke
from forged.small_models import Small, small_models
from sigmastar.core import time_estimates
from sigmastar.core.progress import compilation, watching
from sigmastar.core.time_estimates import Outlook


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_the_time_left_follows_from_the_share_that_is_done() -> None:
    clock = Clock()
    outlook = Outlook(clock)
    clock.now += 2.0
    assert outlook.seconds_left(0.5) is None  # too early to tell
    clock.now += 8.0
    assert outlook.seconds_left(None) is None
    assert outlook.seconds_left(0.001) is None
    assert outlook.seconds_left(0.2) == pytest.approx(40.0)
    assert outlook.seconds_left(1.5) == 0.0


def test_what_comes_before_work_with_shares_does_not_count() -> None:
    clock = Clock()
    outlook = Outlook(clock)
    clock.now += 50.0  # a sum without progress
    assert outlook.seconds_left(0.0) is None
    clock.now += 1.0
    assert outlook.seconds_left(0.1) is None
    clock.now += 4.0
    assert outlook.seconds_left(0.2) == pytest.approx(20.0)


def test_long_work_is_told_once_and_short_work_never(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(time_estimates, "_seconds_of_work", clock)
    with watching("learning") as say:
        clock.now += 10.0
        say("counting", 0.9)
        assert capsys.readouterr().err == ""
        say("EM, iteration 3", 0.05)
        say("EM, iteration 4", 0.06)
    assert capsys.readouterr().err == "EM, iteration 3: about 3 min left\n"
    with watching("learning", quiet=True) as say:
        clock.now += 10.0
        say("EM", 0.05)
    assert capsys.readouterr().err == ""


def test_whoever_waits_for_kernels_is_told_once_in_all_commands(capsys: pytest.CaptureFixture[str]) -> None:
    told = "compiling kernels, once: seconds, of parsers a few minutes\n"
    with watching("tagging"), watching("reading"):
        assert not capsys.readouterr().err
        compilation.begin()
        compilation.end()
        assert capsys.readouterr().err == told
        compilation.begin()
        compilation.end()
    with watching("tagging", quiet=True):
        compilation.begin()
        compilation.end()
    assert not capsys.readouterr().err
    assert not compilation.waiting


KINDS = ("fast", "words", "grammar", "pcfg", "hmm", "tagger-refined", "transducer-ngram", "dependency-det")
KINDS += ("treebank-pcfg", "pipeline")
WITHOUT = {("pipeline", "score"), ("treebank-pcfg", "score"), ("dependency-det", "score")}
WITHOUT |= {("pcfg", "score"), ("pcfg", "evaluate")}
"""Commands that there are not, and sums over trees that are given."""


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Small]:
    return small_models(tmp_path_factory.mktemp("models"), KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_commands_on_models_tell_how_long_they_take(
    kind: str, models: Mapping[str, Small], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every trial takes a second of this clock, and many inputs take more."""
    small, n_told = models[kind], 0
    monkeypatch.setattr(time_estimates, "_clock", count(step=1.0).__next__)
    for command in ("score", "evaluate", "predict"):
        data = (small.inputs if command == "predict" else None) or small.data
        if data is None or (kind, command) in WITHOUT:
            continue
        (tmp_path / data.name).write_bytes(40 * data.read_bytes())
        said = invoke(command, small.model, tmp_path / data.name).stderr
        assert re.search(r"^\w+: about .* on one core", said, re.MULTILINE), (command, said)
        assert not invoke(command, small.model, tmp_path / data.name, "-q").stderr
        n_told += 1
    assert n_told > 0
