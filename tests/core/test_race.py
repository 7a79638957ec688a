"""Races and ladders: who goes on, and how far everyone ran."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from sigmastar.core.race import Leg, leading, race, winner
from sigmastar.core.resources import thread_map


@dataclass(frozen=True)
class Sprinter:
    """Gains its speed in each iteration."""

    speed: float
    ran: int = 0

    @property
    def score(self) -> float:
        return self.speed * self.ran

    def run(self, n_iterations: int, /) -> Sprinter:
        return replace(self, ran=self.ran + n_iterations)


@pytest.mark.parametrize("run", [map, thread_map])
def test_leaders_run_further(run: object) -> None:
    runners = [Sprinter(speed) for speed in (1.0, 4.0, 3.0, 0.5)]
    found = race(runners, [Leg(2, leading(2)), Leg(3, leading(1)), Leg(9, leading(1))], run=run)  # type: ignore[arg-type]
    assert [runner.ran for runner in found] == [2, 5, 5, 2]
    assert winner(found).speed == 4.0
    assert [runner.ran for runner in runners] == [0, 0, 0, 0]


def test_those_who_trail_are_dropped() -> None:
    found = race(
        [Sprinter(speed) for speed in (1.0, 4.0, 3.9)], [Leg(1, leading(3, 0.2)), Leg(1, leading(1))]
    )
    assert [runner.ran for runner in found] == [1, 2, 2]


def test_enough_ends_the_race_at_once() -> None:
    found = race([Sprinter(speed) for speed in (1.0, 4.0, 3.0)], [Leg(1, leading(1))], enough=2.0)
    assert [runner.ran for runner in found] == [1, 1, 0]


def test_what_is_no_number_never_leads() -> None:
    assert winner([Sprinter(1.0, 1), Sprinter(2.0, 1)]).speed == 2.0
    assert leading(1)([float("nan"), 1.0]) == [1]


def test_a_leg_without_iterations_only_chooses() -> None:
    assert [runner.ran for runner in race([Sprinter(1.0, 1), Sprinter(2.0, 1)], [Leg(0, leading(1))])] == [
        1,
        1,
    ]
