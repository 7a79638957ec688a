"""A page for models whose family brings none: what the file holds, and how the model was learned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sigmastar.core.errors import InputError
from sigmastar.core.exhibit import Field, Inputs, Judged, View, learned_facts, table

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
