"""What is reported by the drivers that all families learn through."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from core.test_em import Counter
from core.test_race import Sprinter
from sigmastar.core.em import NEVER, Climb
from sigmastar.core.factors import factorize, factorize_up_to
from sigmastar.core.progress import (
    Event,
    Measure,
    Phase,
    Point,
    Spectrum,
    listening,
    report,
    watching,
)
from sigmastar.core.race import Leg, leading, race
from sigmastar.core.rank import choose_rank, climb_ladder
from sigmastar.optimise.solvers import Trace


def heard_of(work: Any) -> list[Event]:
    heard: list[Event] = []
    with listening(heard.append):
        work()
    return heard


def curves(events: list[Event], measure: Measure) -> list[list[tuple[float, float]]]:
    """The points of each curve in the order in which they came."""
    found: dict[object, list[tuple[float, float]]] = {}
    for event in events:
        if isinstance(event, Point) and event.measure is measure:
            found.setdefault(event.curve, []).append((event.x, event.y))
    return list(found.values())


def test_climbs_report_their_objective_and_what_is_held_out() -> None:
    problem = Counter([0.0, 1.0, 3.0, 2.0, 7.0]).problem()  # models are numbers, each a step from the last
    first, second = Climb.begin(problem, 0), Climb.begin(problem, 1)
    heard = heard_of(lambda: (first.run(2, NEVER).run(1, NEVER), second.run(1, NEVER)))
    assert curves(heard, Measure.CLIMB) == [[(1, 0.0), (2, 1.0), (3, 3.0)], [(1, 1.0)]]
    assert curves(heard, Measure.HELD_OUT) == [[(2, 3.0), (3, 2.0)], [(1, 3.0)]]


def test_races_report_every_start_as_far_as_it_ran() -> None:
    runners = [Sprinter(1.0), Sprinter(4.0), Sprinter(3.0)]
    heard = heard_of(lambda: race(runners, [Leg(2, leading(2)), Leg(3, leading(1))]))
    assert curves(heard, Measure.START) == [[(1, 2.0)], [(1, 8.0), (2, 20.0)], [(1, 6.0), (2, 15.0)]]


def test_ranks_report_scores_and_the_spectrum_with_the_choice() -> None:
    heard = heard_of(lambda: choose_rank(np.array([3.0, 2.0, 0.1]), lambda n: -abs(n - 2.0), noise_level=0.5))
    assert curves(heard, Measure.SIZE) == [[(1, -1.0), (2, 0.0), (3, -1.0)]]
    (found,) = (event for event in heard if isinstance(event, Spectrum))
    assert (found.noise_level, found.chosen) == (0.5, 2)
    heard = heard_of(lambda: climb_ladder([2, 3, 5, 7, 10], 4, lambda rank: -abs(rank - 9.0)))
    assert {x for x, _ in curves(heard, Measure.SIZE)[0]} == {3, 5, 7, 10}


def test_factorizations_report_singular_values() -> None:
    (found,) = heard_of(lambda: factorize(np.diag([3.0, 2.0, 1.0]), 2))
    assert isinstance(found, Spectrum)
    assert np.asarray(found.singular_values) == pytest.approx([3.0, 2.0])
    (found,) = heard_of(lambda: factorize_up_to(np.diag([3.0, 2.0, 1e-17]), 3))
    assert isinstance(found, Spectrum)
    assert len(found.singular_values) == 2  # none of those that are rounding


def test_solvers_report_their_objective() -> None:
    trace, other = Trace(), Trace()
    heard = heard_of(lambda: (trace.done(4.0), trace.done(3.0), other.done(1.0)))
    assert curves(heard, Measure.DESCENT) == [[(1, 4.0), (2, 3.0)], [(1, 1.0)]]


@pytest.mark.parametrize("quiet", [True, False])
def test_commands_report_what_they_do_whoever_reads_their_messages(quiet: bool) -> None:
    def work() -> None:
        with watching("reading", quiet) as say:
            say("counting", 0.25)

    assert heard_of(work) == [Phase("counting", 0.25)]


def test_listeners_hear_all_threads_and_only_while_they_listen() -> None:
    def work() -> None:
        thread = threading.Thread(target=report, args=(Phase("elsewhere"),))
        thread.start()
        thread.join()

    assert heard_of(work) == [Phase("elsewhere")]
    with pytest.raises(ValueError, match="stop"), listening(lambda event: None):
        raise ValueError("stop")
    report(Phase("nobody hears this"))
