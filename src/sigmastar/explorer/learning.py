"""Learning as the page shows it: a listener to events that keeps what the pictures are made from.

report(event)  ->  Board  ->  GET api/learning: what is being done, the share that is done, seconds, views
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from sigmastar.core.exhibit import View, plain, spectrum, table
from sigmastar.core.progress import Event, Measure, Phase, Point, Saved, Spectrum
from sigmastar.core.time_estimates import Outlook

MOST_CURVES, MOST_POINTS, MOST_PHASES = 12, 300, 40
"""What one picture can hold: the longest curves, points of each of them, lines of the diary."""


class Picture(NamedTuple):
    """How a measure is drawn: a heading, the names of both axes, and what to see."""

    title: str
    x_name: str
    y_name: str
    note: str


PICTURES = {
    Measure.CLIMB: Picture(
        "Objective",
        "iteration",
        "log-likelihood per item",
        "Log-likelihood of the training data, which EM makes rise; a curve per climb.",
    ),
    Measure.DESCENT: Picture(
        "Loss",
        "iteration",
        "loss with its penalty",
        "What a solver makes small; a curve per problem that it solves.",
    ),
    Measure.HELD_OUT: Picture(
        "Held-out score",
        "iteration",
        "score per held-out item",
        "Data that are not learned from tell when to stop: where a curve bends down, the best model is past.",
    ),
    Measure.START: Picture(
        "Race of starts",
        "leg",
        "score",
        "Every start runs the first leg, the leaders run on: a curve that ends early was left behind.",
    ),
    Measure.SIZE: Picture(
        "Held-out score by number of states",
        "states",
        "held-out score",
        "Numbers of states that were tried so far; the highest point wins.",
    ),
}


@dataclass
class Curve:
    """Points by x; a point that comes again takes the place of the old one."""

    name: str
    points: dict[float, float] = field(default_factory=dict)

    def thinned(self) -> dict[float, float]:
        """Points from left to right, with the last one, and no more than can be told apart."""
        known = sorted(self.points.items())
        step = -(-len(known) // MOST_POINTS) or 1
        return dict([*known[::step], *known[-1:]])


class Board:
    """What was heard of one fit. Called by learners on their threads, read by the server on its own."""

    def __init__(self, name: str, clock: Callable[[], float] = time.monotonic) -> None:
        self.name, self.file = name, ""
        self._clock, self._began = clock, clock()
        self._ended: float | None = None
        self._lock, self._outlook = threading.Lock(), Outlook(clock)
        self._phase, self._phases = Phase("starting"), list[tuple[float, Phase]]()
        self._curves: dict[Measure, dict[object, Curve]] = {}
        self._spectrum: Spectrum | None = None

    def __call__(self, event: Event) -> None:
        with self._lock:
            if isinstance(event, Phase):
                self._enter(event)
            elif isinstance(event, Point):
                self._add(event)
            elif isinstance(event, Saved):
                self.file = event.path
            elif event.chosen is not None or self._tells_more(event):
                self._spectrum = event

    def _tells_more(self, found: Spectrum) -> bool:
        """Whether a spectrum without a choice is shown: the longest is, where there are many blocks."""
        old = self._spectrum
        return old is None or (old.chosen is None and len(found.singular_values) >= len(old.singular_values))

    def finish(self) -> None:
        """The model is there."""
        with self._lock:
            self._ended = self._clock()
            self._phase = Phase("done", 1.0)

    def _enter(self, phase: Phase) -> None:
        self._phase = phase
        if self._phases and _kind(self._phases[-1][1]) == _kind(phase):
            self._phases[-1] = (self._phases[-1][0], phase)
        else:
            self._phases = [*self._phases[1 - MOST_PHASES :], (self._clock() - self._began, phase)]

    def _add(self, point: Point) -> None:
        curves = self._curves.setdefault(point.measure, {})
        if point.curve not in curves:
            known = {curve.name for curve in curves.values()}
            curves[point.curve] = Curve(_name(point.name or "run", known))
        curves[point.curve].points[float(point.x)] = float(point.y)

    def to_json(self) -> dict[str, Any]:
        """All that the page shows."""
        with self._lock:
            ended = self._ended
            return {
                "name": self.name,
                "state": "learning" if ended is None else "done",
                "phase": self._phase.message,
                "done": plain(self._phase.done),
                "seconds": round((self._clock() if ended is None else ended) - self._began, 1),
                "seconds_left": plain(self._outlook.seconds_left(self._phase.done)),
                "file": self.file,
                "views": [view.to_json() for view in self._views()],
            }

    def _views(self) -> list[View]:
        views = [_lines(PICTURES[what], list(curves.values())) for what, curves in self._curves.items()]
        if Measure.START in self._curves:
            views.append(_standings(list(self._curves[Measure.START].values())))
        return [*views, *self._spectrum_views(), self._diary()]

    def _spectrum_views(self) -> list[View]:
        found = self._spectrum
        if found is None:
            return []
        values = [float(value) for value in np.asarray(found.singular_values)[:MOST_POINTS]]
        return spectrum(
            {"rank": {"singular_values": values, "noise_level": found.noise_level, "chosen": found.chosen}}
        )

    def _diary(self) -> View:
        lines = [
            (round(begin, 1), phase.message, None if phase.done is None else round(100 * phase.done))
            for begin, phase in reversed(self._phases)
        ]
        columns = ("from second", "what", "% of the whole")
        return table(
            "What was done", columns, lines, "The latest first; figures are those of its last report."
        )


def _kind(phase: Phase) -> str:
    """A message without its figures: iterations of one climb are one line."""
    return re.sub(r"[-\d.e]+", "", phase.message)


def _name(name: str, known: set[str]) -> str:
    """A name of its own; the first curve has the plain one."""
    numbered = (f"{name} ({number})" for number in range(2, len(known) + 3))
    return name if name not in known else next(each for each in numbered if each not in known)


def _lines(picture: Picture, curves: Sequence[Curve]) -> View:
    longest = sorted(range(len(curves)), key=lambda k: (-len(curves[k].points), -k))[:MOST_CURVES]
    shown = [(curves[k].name, curves[k].thinned()) for k in sorted(longest)]
    places = sorted({x for _, points in shown for x in points})
    data = {
        "x": places,
        "series": [{"name": name, "y": [points.get(x) for x in places]} for name, points in shown],
        "x_name": picture.x_name,
        "y_name": picture.y_name,
    }
    more = len(curves) - len(shown)
    return View(
        "lines",
        picture.title,
        data,
        picture.note + (f" {more} shorter curves are not drawn." if more else ""),
    )


def _standings(curves: Sequence[Curve]) -> View:
    """Every start with its last score, the best first."""
    last = [(curve.name, len(curve.points), list(curve.points.values())[-1]) for curve in curves]
    last.sort(key=lambda entry: -entry[2] if entry[2] == entry[2] else np.inf)
    rows = [(*entry, last[0][2] - entry[2]) for entry in last]
    note = "The best first; those that fall behind are left out of the next leg."
    return table("Starts", ("start", "legs", "score", "behind the best"), rows, note)
