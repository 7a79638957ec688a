"""Word vectors and bilexical operators in the explorer: maps of words, and scores of pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from sigmastar.bilexical.data.relations import read_relation
from sigmastar.bilexical.model.operator import BilexicalModel
from sigmastar.bilexical.model.vectors import Vectors
from sigmastar.core.arrays import Floats
from sigmastar.core.errors import InputError
from sigmastar.core.exhibit import (
    Field,
    Inputs,
    Judged,
    Row,
    View,
    bars,
    learned_facts,
    table,
)

_POINTS, _TOP, _MOST_ROWS = 500, 20, 5000


def plane(points: Floats) -> Floats:
    """Points in the two directions in which they differ most."""
    centred = points - points.mean(axis=0)
    flat = centred @ np.linalg.svd(centred, full_matrices=False)[2][:2].T
    return np.hstack([flat, np.zeros((len(flat), 2 - flat.shape[1]))])


def word_map(groups: Mapping[str, tuple[Sequence[str], Floats]], note: str) -> View:
    """A map of words in groups."""
    flat = plane(np.concatenate([points for _, points in groups.values()]))
    names = [(word, group) for group, (words, _) in groups.items() for word in words]
    data = [
        {"name": w, "group": g, "x": x, "y": y} for (w, g), (x, y) in zip(names, flat.tolist(), strict=True)
    ]
    return View("map", "Map of words", {"points": data}, note)


class VectorsExhibit:
    """Words by their company."""

    def __init__(self, model: Vectors, learned: Mapping[str, Any]) -> None:
        self.model, self.learned = model, learned

    @property
    def fields(self) -> Sequence[Field]:
        return (Field("text", "A word", next(iter(self.model.words), ""), hint="with a vector"),)

    def facts(self) -> dict[str, Any]:
        size = {"words": len(self.model.words), "dimensions": self.model.dimension}
        return {"kind": "word vectors", **size, **learned_facts(self.learned)}

    def overview(self) -> list[View]:
        words = self.model.words[:_POINTS]
        if len(words) < 3:
            return []
        small = self.model.select(words).compressed(min(2, self.model.dimension, len(words) - 1))
        return [
            word_map(
                {"words": (words, np.asarray(small.rows(words)))}, "Words that keep alike company are near."
            )
        ]

    def answer(self, inputs: Inputs) -> list[View]:
        word = inputs.get("text", "").strip()
        if word not in self.model.places:
            raise InputError(f"{word!r} has no vector")
        return [
            bars(
                "Nearest words",
                self.model.nearest(word, _TOP),
                "Inner products; click one to go there.",
                click="text",
            )
        ]

    def predict(self, inputs: Inputs) -> Any:
        word = inputs.get("text", "").strip()
        if word not in self.model.places:
            raise InputError(f"{word!r} has no vector")
        return {"nearest": [{"word": near, "value": value} for near, value in self.model.nearest(word, _TOP)]}

    def judge(self, path: str) -> Judged:
        raise InputError("vectors have no data to be judged on", file=path)


class OperatorExhibit:
    """Which modifiers fit a head."""

    def __init__(self, model: BilexicalModel, learned: Mapping[str, Any]) -> None:
        self.model, self.learned = model, learned

    @cached_property
    def heads(self) -> list[str]:
        split = self.model.split
        return sorted({*split.train, *split.validation, *split.test})

    @property
    def fields(self) -> Sequence[Field]:
        head = str(self.learned.get("example") or (self.heads[0] if self.heads else ""))
        return (
            Field("text", "A head", head, hint="a word with a vector"),
            Field("modifier", "A modifier", ""),
        )

    def facts(self) -> dict[str, Any]:
        return {
            "kind": "bilexical operator",
            "modifiers": len(self.model.modifiers),
            "heads": len(self.heads),
            "rank": self.model.weights.rank,
            **learned_facts(self.learned),
        }

    def overview(self) -> list[View]:
        popular = np.argsort(-self.model.popularity, kind="stable")[:_POINTS]
        words, heads = [self.model.modifiers[k] for k in popular], self.heads[: _POINTS // 2]
        rank = min(8, self.model.weights.rank)
        groups = {"modifiers": (words, self.model.modifier_embedding(rank)[popular])}
        if heads:
            groups["heads"] = (heads, self.model.head_embedding(heads, rank))
        found = [word_map(groups, "A head and the modifiers that fit it point the same way.")]
        values = getattr(self.model.weights, "singular_values", None)
        if values is not None and len(values) > 1:
            data = {
                "x": list(range(1, len(values) + 1)),
                "series": [{"name": "singular value", "y": values}],
                "log": True,
                "x_name": "number",
                "y_name": "singular value",
            }
            found.append(View("lines", "Spectrum", data, "Few dimensions carry the relation."))
        return found

    def _head(self, inputs: Inputs) -> str:
        head = inputs.get("text", "").strip()
        if head not in self.model.vectors:
            raise InputError(f"{head!r} has no vector; try {', '.join(self.heads[:5])}")
        return head

    def answer(self, inputs: Inputs) -> list[View]:
        head, modifier = self._head(inputs), inputs.get("modifier", "").strip()
        found = [
            bars(
                "Modifiers that fit",
                self.model.top(head, _TOP),
                f"Probability given {head}.",
                click="modifier",
            )
        ]
        if modifier:
            if modifier not in self.model.modifiers:
                raise InputError(f"{modifier!r} is no modifier of the model")
            logs = self.model.log_probabilities([head])[0]
            place = self.model.modifiers.index(modifier)
            rows = [
                ("score", float(self.model.scores([head])[0, place])),
                ("probability", float(np.exp(logs[place]))),
                ("rank", int((logs > logs[place]).sum()) + 1),
            ]
            found.append(table(f"{head} and {modifier}", ("figure", "value"), rows))
            found.append(
                bars("Modifiers alike", self.model.nearest(modifier, 12), "Cosines.", click="modifier")
            )
        return found

    def predict(self, inputs: Inputs) -> Any:
        best = self.model.top(self._head(inputs), _TOP)
        return {"modifiers": [{"modifier": word, "probability": value} for word, value in best]}

    def judge(self, path: str) -> Judged:
        pairs = list(read_relation([path]))[:_MOST_ROWS]
        losses = -self.model.pair_log_probabilities(pairs)
        rows = [
            Row(f"{head} {modifier}", {"text": head, "modifier": modifier}, len(head), float(loss))
            for (head, modifier), loss in zip(pairs, losses.tolist(), strict=True)
        ]
        return Judged(rows, "loss, nats")
