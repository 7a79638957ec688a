"""Hidden Markov models of numbers in the explorer: the states of a typed series, and how states follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from sigmastar.continuous.data import Series, read_series
from sigmastar.continuous.estimator import GaussianHMM
from sigmastar.continuous.model import GaussianHmm
from sigmastar.core.errors import InputError
from sigmastar.core.exhibit import (
    Example,
    Field,
    Inputs,
    Judged,
    Row,
    Settled,
    View,
    brief,
    learned_facts,
    limited,
    table,
)

_MOST_ROWS, _DIMENSIONS, _LEAST = 500, 6, 0.02
_WALKS, _STEPS = 10, 30


class SeriesExhibit:
    """A distribution on sequences of vectors."""

    def __init__(self, model: GaussianHmm, learned: Mapping[str, Any]) -> None:
        self.model, self.learned = model, learned
        self.states = [f"state {number}" for number in range(model.n_states)]

    @cached_property
    def fields(self) -> Sequence[Field]:
        drawn = self.model.sample(1, np.random.default_rng(0), 24)
        text = "; ".join(" ".join(f"{value:.3g}" for value in row) for row in drawn.values)
        hint = f"{self.model.n_dimensions} numbers per row, rows with ; between them"
        return (Field("text", "A series", text, hint=hint),)

    def facts(self) -> dict[str, Any]:
        size = {"states": self.model.n_states, "dimensions": self.model.n_dimensions}
        return {"kind": "hidden Markov model of numbers", **size, **learned_facts(self.learned)}

    def overview(self) -> list[View]:
        angles = 2 * np.pi * np.arange(self.model.n_states) / self.model.n_states
        nodes = [
            {"id": k, "label": str(k), "x": -np.cos(angle), "y": -np.sin(angle), "ring": 0.0,
             "initial": self.model.initial[k], "title": f"state {k}: initial {self.model.initial[k]:.3g}"}
            for k, angle in enumerate(angles)
        ]  # fmt: skip
        transition = self.model.transition
        order = sorted(np.argwhere(transition >= _LEAST).tolist(), key=lambda move: -transition[tuple(move)])
        edges = [
            {
                "source": i,
                "target": j,
                "weight": transition[i, j],
                "label": f"{transition[i, j]:.2f}",
                "title": f"{i} to {j}: {transition[i, j]:.3g}",
            }
            for i, j in order
        ]
        means = self.model.means.reshape(-1, self.model.n_dimensions)[:, :_DIMENSIONS]
        rows = [(number, *row) for number, row in enumerate(means.tolist())]
        columns = ("component", *(f"mean {d + 1}" for d in range(means.shape[1])))
        return [
            View(
                "graph", "Moves between states", {"nodes": nodes, "edges": edges}, "The wider, the likelier."
            ),
            table("Means", columns, rows, "Components of a state stand together."),
        ]

    def series(self, text: str) -> Series:
        lines = limited([line for line in text.replace("\n", ";").split(";") if line.strip()])
        try:
            rows = np.array([[float(word) for word in line.split()] for line in lines])
        except ValueError:
            raise InputError(
                f"give {self.model.n_dimensions} numbers per row, rows with ; between them"
            ) from None
        if rows.ndim != 2 or rows.shape[1] != self.model.n_dimensions or not np.isfinite(rows).all():
            raise InputError(f"give {self.model.n_dimensions} numbers per row, rows with ; between them")
        return Series.of([rows])

    def answer(self, inputs: Inputs) -> list[View]:
        series = self.series(inputs.get("text", ""))
        shares, (path, _) = self.model.posteriors(series), self.model.best_states(series)
        places = [str(number) for number in range(1, len(series.values) + 1)]
        values = {
            "x": list(range(1, len(places) + 1)),
            "series": [
                {"name": f"number {d + 1}", "y": series.values[:, d]}
                for d in range(min(_DIMENSIONS, self.model.n_dimensions))
            ],
            "x_name": "row",
            "y_name": "value",
        }
        data = {
            "rows": self.states,
            "columns": places,
            "values": shares.T,
            "marks": [(int(state), place) for place, state in enumerate(path)],
        }
        log = float(self.model.log_probability(series)[0])
        note = f"Rings mark the most probable path; log-density {log:.4g}."
        return [
            View("lines", "The series", values),
            View("heat", "States", data, note),
            *self._plane(series),
        ]

    @cached_property
    def _drawn(self) -> Settled:
        """Rows that the model draws, by the state that each came from."""
        rows = self.model.sample(_WALKS, np.random.default_rng(0), _STEPS)
        path, _ = self.model.best_states(rows)
        return Settled(
            {"name": self.states[state], "group": self.states[state], "x": brief(x), "y": brief(y)}
            for state, (x, y) in sorted(zip(path.tolist(), rows.values[:, :2].tolist(), strict=True))
        )

    def _plane(self, series: Series) -> list[View]:
        """The first two numbers of every row as the way of a point, among rows that the model draws."""
        if self.model.n_dimensions < 2:
            return []
        steps = [
            {"name": f"{place}", "x": brief(x), "y": brief(y)}
            for place, (x, y) in enumerate(series.values[:, :2].tolist(), 1)
        ]
        two = "" if self.model.n_dimensions == 2 else " by the first two numbers"
        note = f"Dots are rows that the model draws{two}, coloured by state; the line is what is typed."
        return [View("map", "The way through the plane", {"points": self._drawn, "path": steps}, note)]

    def predict(self, inputs: Inputs) -> Any:
        series = self.series(inputs.get("text", ""))
        path, _ = self.model.best_states(series)
        return {"states": path.tolist(), "log_density": float(self.model.log_probability(series)[0])}

    def judge(self, path: str) -> Judged:
        data = read_series(path)
        losses = -self.model.log_probability(data)
        parts = np.split(data.values, data.offsets[1:-1])
        rows = []
        for part, loss in list(zip(parts, losses.tolist(), strict=True))[:_MOST_ROWS]:
            text = "; ".join(" ".join(f"{value:.4g}" for value in row) for row in part[:200])
            rows.append(Row(text[:300], {"text": text}, len(part), float(loss)))
        return Judged(rows, "-log-density, nats")


def open_exhibit(model: GaussianHmm, learned: Mapping[str, Any]) -> SeriesExhibit:
    return SeriesExhibit(model, learned)


def example() -> Example:
    """A walk that rests in three places."""
    rng = np.random.default_rng(0)
    states = np.cumsum(rng.random((30, 60)) < 0.15, axis=1) % 3
    centres = np.array([[0.0, 0.0], [3.0, 1.0], [1.0, 4.0]])
    walks = [centres[path] + 0.4 * rng.standard_normal((60, 2)) for path in states]
    return Example(GaussianHMM(n_states=3, random_state=0).fit(walks).model_, {"method": "spectral"})
