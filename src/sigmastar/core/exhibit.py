"""What a family shows in the explorer: views of a model, and of what is typed.

A view is data and no markup: a kind that the page draws, a title, a line that says what to see, and numbers.

    bars     names and values                       lines    series over x, with levels and marks
    heat     rows x columns of values               graph    nodes and arrows, to be moved
    table    columns and rows, to be sorted         tree     trees above their words
    strip    symbols in a row, shaded               arcs     heads and modifiers above words
    map      points in the plane, with a path       chart    spans above words
    lattice  ways through a grid of two strings

The record of a family names what opens its models; the server and the page know nothing else of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from sigmastar.core.errors import InputError

Inputs = Mapping[str, str]
LONGEST = 400
"""Number of symbols that an answer is given for; charts have lower limits of their own."""


@dataclass(frozen=True)
class View:
    """One picture: how it is drawn, its heading, its numbers, and what to see in it."""

    kind: str
    title: str
    data: Mapping[str, Any]
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "title": self.title, "note": self.note, "data": plain(self.data)}


@dataclass(frozen=True)
class Field:
    """What can be typed or chosen: with `choices` one of them, else text.

    Where `append` is set, a name that is clicked in a view is added behind the text, with this between.
    """

    name: str
    label: str
    example: str = ""
    choices: tuple[str, ...] = ()
    append: str | None = None
    hint: str = ""

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "label": self.label,
            "example": self.example,
            "choices": list(self.choices),
            "append": self.append,
            "hint": self.hint,
        }


@dataclass(frozen=True)
class Row:
    """One item of data: what stands in the table, what is typed for it, and what is right.

    `loss` is a negative log-probability, `error` a number of mistakes or the size of one; None for neither.
    """

    text: str
    inputs: Inputs
    length: int
    loss: float | None = None
    error: float | None = None
    gold: tuple[View, ...] = ()


@dataclass(frozen=True)
class Judged:
    """Items of data, the names of what they are sorted by, and how often what is taken for what."""

    rows: Sequence[Row]
    loss_name: str = "loss"
    error_name: str = "errors"
    confusion: Mapping[tuple[str, str], int] = field(default_factory=dict)


class Exhibit(Protocol):
    """A model as the page shows it."""

    @property
    def fields(self) -> Sequence[Field]: ...

    def facts(self) -> Mapping[str, Any]:
        """What the model is, in a few words."""

    def overview(self) -> list[View]:
        """What can be seen of the model itself."""

    def answer(self, inputs: Inputs) -> list[View]:
        """What the model makes of what is typed."""

    def predict(self, inputs: Inputs) -> Any:
        """The same in one value, for programs."""

    def judge(self, path: str) -> Judged:
        """The items of a data file, with how well the model does on each."""


@dataclass(frozen=True)
class Example:
    """A model to begin with, learned in a moment from data that are generated."""

    model: Any
    learned: Mapping[str, Any] = field(default_factory=dict)


OpenExhibit = Callable[[Any, Mapping[str, Any]], Exhibit]
"""From a model, and how it was learned."""


class Settled(list[Any]):
    """A list as JSON has it already: large ones that stay the same are not walked through again."""


def plain(value: Any) -> Any:
    """A value as JSON has it: arrays as lists, numbers that are not finite as None, other things as text.

    >>> plain({"a": np.array([1.0, np.inf]), "b": (1, np.int64(2))})
    {'a': [1.0, None], 'b': [1, 2]}
    """
    kind = type(value)  # most values are of these classes: a server answers hundreds of times per second
    if kind is float:
        return value if math.isfinite(value) else None
    if kind is str or kind is int or value is None or kind is Settled:
        return value
    if kind is dict or isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, (str, int)) else str(value)


def brief(value: float) -> float:
    """As many digits as can be seen in a picture."""
    return float(f"{value:.4g}")


def bars(
    title: str,
    pairs: Iterable[tuple[Any, float]],
    note: str = "",
    *,
    click: str | None = None,
    top: float = 1.0,
) -> View:
    """Names with values; `click` names the field that a name goes to when it is clicked."""
    rows = [{"name": str(name), "value": float(value)} for name, value in pairs]
    return View("bars", title, {"bars": rows, "click": click, "top": top}, note)


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], note: str = "") -> View:
    """Rows under named columns."""
    return View("table", title, {"columns": list(columns), "rows": [list(row) for row in rows]}, note)


def words_of(text: str, longest: int = LONGEST) -> list[str]:
    """The words of a line; more than are answered for in a moment are refused."""
    return limited(text.split(), longest)


def limited(symbols: list[Any], longest: int = LONGEST) -> list[Any]:
    """Symbols, if they are few enough."""
    if len(symbols) > longest:
        raise InputError(f"{len(symbols)} symbols are too many for the page; give at most {longest}")
    return symbols


def spectrum(learned: Mapping[str, Any]) -> list[View]:
    """The choice of the number of states, where the file holds what it rests on."""
    rank = learned.get("rank")
    if not isinstance(rank, Mapping):
        return []
    values = [
        float(value) for value in rank.get("singular_values", ())
    ]  # lists of files, arrays of estimators
    if not values:
        return []
    noise, chosen = rank.get("noise_level"), rank.get("chosen")
    views = [
        View(
            "lines",
            "Spectrum",
            {
                "x": list(range(1, len(values) + 1)),
                "series": [{"name": "singular value", "y": values}],
                "levels": [] if noise is None else [{"name": "noise", "y": float(noise)}],
                "marks": [] if chosen is None else [{"name": f"{chosen} states", "x": int(chosen)}],
                "log": True,
                "x_name": "number",
                "y_name": "singular value",
            },
            "Values above the noise are structure of the data; below it chance begins: held-out data decide."
            if noise is not None
            else "The few values that stand out are structure of the data; the flat rest is mostly chance.",
        )
    ]
    if rank.get("candidates") and len(rank["candidates"]) == len(rank.get("scores") or ()) > 1:
        data = {
            "x": list(rank["candidates"]),
            "series": [{"name": "held-out score", "y": list(rank["scores"])}],
            "marks": [] if chosen is None else [{"name": f"{chosen} states", "x": int(chosen)}],
            "x_name": "states",
            "y_name": "held-out log-likelihood",
        }
        views.append(
            View("lines", "Held-out score by number of states", data, "The highest point was chosen.")
        )
    return views


def learned_facts(learned: Mapping[str, Any]) -> dict[str, Any]:
    """How a model was learned, in the few words that every page begins with."""
    data = learned.get("data")
    files = data.get("files") if isinstance(data, Mapping) else None
    names = (
        [str(file.get("name")) for file in files if isinstance(file, Mapping)]
        if isinstance(files, list)
        else []
    )
    known = {"method": learned.get("method"), "data": ", ".join(names), "seed": learned.get("seed")}
    return {name: value for name, value in known.items() if value not in (None, "")}
