"""The models that are shown: opened when they are first asked for, one answer at a time for each.

Gallery  ->  Shown (a name, a way to open it)  ->  Exhibit of the family  ->  views

Models whose family brings no exhibit have a plain one: what the file holds, and how the model was learned.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sigmastar.core.errors import InputError
from sigmastar.core.exhibit import (
    Example,
    Exhibit,
    Field,
    Inputs,
    Judged,
    OpenExhibit,
    View,
    learned_facts,
    plain,
    table,
)
from sigmastar.core.family import families, load
from sigmastar.core.model_reading import kind_of, load_model, read_header
from sigmastar.explorer.data_views import summary

PLAIN = "sigmastar.explorer.gallery:PlainExhibit"
"""What opens models whose family brings no views."""
Opener = Callable[[], Exhibit]


@dataclass(eq=False)
class Shown:
    """A model of the gallery. What it is asked is answered one after the other: models keep caches."""

    number: int
    name: str
    family: str
    opener: Opener
    data: str | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)
    _exhibit: Exhibit | None = None
    _judged: Judged | None = None
    _about: dict[str, Any] | None = None

    @property
    def is_open(self) -> bool:
        return self._exhibit is not None

    def open(self) -> None:
        with self.lock:
            self.exhibit()

    def exhibit(self) -> Exhibit:
        if self._exhibit is None:
            self._exhibit = self.opener()
        return self._exhibit

    def entry(self) -> dict[str, Any]:
        """Its line in the list of models."""
        return {
            "id": self.number,
            "name": self.name,
            "family": self.family,
            "has_data": self.data is not None,
        }

    def about(self) -> dict[str, Any]:
        """All that does not depend on what is typed."""
        with self.lock:
            if self._about is None:
                exhibit = self.exhibit()
                self._about = {
                    **self.entry(),
                    "facts": plain(exhibit.facts()),
                    "fields": [each.to_json() for each in exhibit.fields],
                    "views": in_json(exhibit.overview()),
                }
            return self._about

    def answer(self, inputs: Inputs) -> dict[str, Any]:
        """Views of what is typed, or why there are none: an unknown word is no wrong request."""
        with self.lock:
            exhibit = self.exhibit()
            try:
                return {"views": in_json(exhibit.answer(inputs)), "problem": None}
            except ValueError as problem:
                return {"views": [], "problem": " ".join(str(problem).split())}

    def predict(self, batch: Sequence[Inputs]) -> list[Any]:
        """One value per input; those that cannot be answered hold what is wrong."""
        with self.lock:
            return [self._predicted(inputs) for inputs in batch]

    def _predicted(self, inputs: Inputs) -> Any:
        try:
            return plain(self.exhibit().predict(inputs))
        except ValueError as problem:
            return {"error": str(problem)}

    def judged(self) -> Judged:
        with self.lock:
            if self._judged is None:
                if self.data is None:
                    raise InputError("no data were given; start with a data file behind the model")
                self._judged = self.exhibit().judge(self.data)
            return self._judged

    def data_summary(self) -> list[dict[str, Any]]:
        return in_json(summary(self.judged()))


def in_json(views: Sequence[View]) -> list[dict[str, Any]]:
    return [view.to_json() for view in views]


@dataclass(frozen=True, eq=False)
class Gallery:
    """Models by number."""

    shown: tuple[Shown, ...]

    def __iter__(self) -> Iterator[Shown]:
        return iter(self.shown)

    def find(self, number: str) -> Shown | None:
        if number.isdecimal() and len(number) < 9 and int(number) < len(self.shown):
            return self.shown[int(number)]
        return None

    @classmethod
    def of_files(cls, models: Sequence[str], data: str | None = None) -> Gallery:
        """Model files; one that is none is refused now."""
        known = _exhibits_by_kind()
        shown = []
        for number, path in enumerate(models):
            kind = kind_of(path)
            family, place = known[kind]
            shown.append(Shown(number, os.path.basename(path), family, of_file(path, place), data))
        return cls(tuple(shown))

    @classmethod
    def of_examples(cls) -> Gallery:
        """A first model of every family, learned when it is asked for."""
        shown: list[Shown] = []
        for name, family in families().items():
            if family.explore is None:
                continue
            for title, place in family.examples.items():
                shown.append(Shown(len(shown), title, name, _of_example(family.explore, place)))
        return cls(tuple(shown))


def _exhibits_by_kind() -> Mapping[str, tuple[str, str]]:
    return {
        kind: (family.name, family.explore or PLAIN)
        for family in families().values()
        for kind in family.kinds
    }


def of_file(path: str, place: str) -> Opener:
    """What opens a model file when it is first asked for, on whatever thread."""
    asked = copy_context()  # which key must have signed a file is told by the caller, and threads forget it

    def opened() -> Exhibit:
        open_exhibit: OpenExhibit = load(place)
        model, learned = asked.run(load_model, path), read_header(path)["learned"]
        return open_exhibit(model, learned if isinstance(learned, dict) else {})

    return opened


def _of_example(place: str, example: str) -> Opener:
    def opened() -> Exhibit:
        open_exhibit: OpenExhibit = load(place)
        found: Example = load(example)()
        return open_exhibit(found.model, found.learned)

    return opened


_LONGEST = 200  # characters of a setting


class PlainExhibit:
    """Arrays and settings of any model."""

    fields: tuple[Field, ...] = ()

    def __init__(self, model: Any, learned: Mapping[str, Any]) -> None:
        self.model, self.learned = model, learned

    def facts(self) -> dict[str, Any]:
        return {"kind": type(self.model).__name__, **learned_facts(self.learned)}

    def overview(self) -> list[View]:
        arrays, _ = self.model.to_parts()
        rows = [
            (name, " x ".join(map(str, np.shape(a))), str(np.asarray(a).dtype)) for name, a in arrays.items()
        ]
        settings = [(name, str(value)[:_LONGEST]) for name, value in self.learned.items()]
        return [
            table("Arrays", ("name", "shape", "numbers"), rows, "The family of this model brings no views."),
            table("How it was learned", ("what", "value"), settings),
        ]

    def answer(self, inputs: Inputs) -> list[View]:
        return self.overview()

    def predict(self, inputs: Inputs) -> Any:
        raise InputError(f"there are no answers of models of class {type(self.model).__name__} here")

    def judge(self, path: str) -> Judged:
        raise InputError("the family of this model judges no data here", file=path)
