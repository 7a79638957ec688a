"""How long work takes is told before it begins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sigmastar.core import time_estimates
from sigmastar.core.time_estimates import foretell


class Work:
    """Work that takes time by a law, and a while more the first time, when it is compiled."""

    def __init__(self, law: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch) -> None:
        self.law, self.now, self.lengths = law, 0.0, np.zeros(0)
        self.tried = 0.0
        monkeypatch.setattr(time_estimates, "_clock", lambda: self.now)

    def told(self, lengths: Any, capsys: pytest.CaptureFixture[str], **more: Any) -> str:
        self.lengths, self.now, self.tried = np.asarray(lengths), 0.0, 0.0
        foretell("parsing", self.lengths, self.run, **more)
        return capsys.readouterr().err

    def run(self, numbers: Any, most: int) -> None:
        seconds = float(self.law(np.minimum(self.lengths[numbers], most)).sum())
        self.tried += seconds
        self.now += seconds + (3.0 if self.now == 0.0 else 0.0)

    def seconds(self) -> float:
        return float(self.law(self.lengths).sum())


def cubic(n: Any) -> Any:
    return 2e-5 * n**2 + 1e-7 * n**3


def seconds_in(said: str) -> float:
    number, unit = said.split("about ")[1].split()[:2]
    return float(number) * {"s": 1, "min": 60, "hours": 3600}[unit]


def test_many_short_inputs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    work = Work(lambda n: 1e-5 * n, monkeypatch)
    lengths = np.random.default_rng(0).integers(0, 60, 100_000)
    said = work.told(lengths, capsys)
    assert said.startswith("parsing: about ")
    assert said.endswith(" on one core\n")
    assert 0.7 < seconds_in(said) / work.seconds() < 1.4
    assert work.tried < 0.05 * work.seconds()


@pytest.mark.parametrize("longest", [320, 1000, 3000])
def test_long_inputs_among_short_ones(
    longest: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    work = Work(cubic, monkeypatch)
    lengths = [*np.random.default_rng(0).integers(1, 60, 200), *[longest] * 5]
    said = work.told(lengths, capsys, power=2.0, longest=80, remedy="leave it out")
    assert f"the longest input has {longest:,} symbols: leave it out" in said
    assert 0.4 < seconds_in(said) / work.seconds() < 2.5
    assert work.tried < 0.1 * work.seconds() + 1.0


def test_short_work_is_not_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    work = Work(cubic, monkeypatch)
    for lengths in ([], [0], [0] * 1000, [1], [20] * 40, [20] * 1000, [90], [200]):
        assert work.told(lengths, capsys, power=3.0, longest=80) == ""
        assert work.tried <= 0.1 * work.seconds() + 0.5


def test_quiet_work_is_not_tried(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    work = Work(cubic, monkeypatch)
    assert work.told([5000], capsys, longest=80, quiet=True) == ""
    assert work.tried == 0.0
