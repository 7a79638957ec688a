"""Long work is told beforehand, by the share that is done."""

from __future__ import annotations

import pytest

from sigmastar.core import progress
from sigmastar.core.progress import Outlook, watching


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


def test_long_work_is_told_once_and_short_work_never(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(progress, "_seconds_of_work", clock)
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
