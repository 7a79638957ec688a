"""Word vectors, bilexical operators and attachment in the explorer: maps of words, scores of pairs, either
side of an attachment and what each judge finds; and models to begin with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from sigmastar.bilexical.data.quadruples import Quadruples, read_quadruples
from sigmastar.bilexical.data.relations import layout_of, pattern_of, read_relation
from sigmastar.bilexical.estimator.bilexical_operator import BilexicalOperator
from sigmastar.bilexical.estimator.pp_attachment import PPAttachment
from sigmastar.bilexical.estimator.word_vectors import WordVectors
from sigmastar.bilexical.model.attachment import AttachmentModel
from sigmastar.bilexical.model.operator import BilexicalModel
from sigmastar.bilexical.model.vectors import Vectors
from sigmastar.core.arrays import Floats
from sigmastar.core.errors import InputError
from sigmastar.core.exhibit import (
    Example,
    Exhibit,
    Field,
    Inputs,
    Judged,
    Row,
    View,
    bars,
    learned_facts,
    table,
    words_of,
)
from sigmastar.core.toy_english import INSTRUMENTS, sentences


def open_exhibit(model: Vectors | BilexicalModel | AttachmentModel, learned: Mapping[str, Any]) -> Exhibit:
    if isinstance(model, Vectors):
        return VectorsExhibit(model, learned)
    return (
        OperatorExhibit(model, learned)
        if isinstance(model, BilexicalModel)
        else AttachmentExhibit(model, learned)
    )


def _vectors() -> Vectors:
    return WordVectors(min_count=1, random_state=0).fit([node.words for node in sentences(1500)]).model_


def _objects() -> list[tuple[str, str]]:
    """Verbs with the head nouns of their objects."""
    pairs = []
    for node in sentences(1500):
        words, tags, heads = node.words, node.tags, node.heads()
        pairs += [
            (words[head - 1], words[k])
            for k, head in enumerate(heads)
            if tags[k] == "N" and head and tags[head - 1] == "V" and k >= head
        ]
    return pairs


def example_vectors() -> Example:
    return Example(_vectors(), {"method": "ppmi", "example": "dog"})


def example_operator() -> Example:
    """Objects of verbs, asked from the nouns: which verbs do something with a thing."""
    swapped = [(noun, verb) for verb, noun in _objects()]
    model = BilexicalOperator(_vectors(), rank=6, random_state=0).fit(swapped).model_
    return Example(model, {"method": "nuclear", "example": "bread"})


def example_attachment() -> Example:
    """Instruments belong to verbs, and what things have to nouns."""
    rows, labels = [], []
    for node in sentences(1500):
        words, tags, heads = node.words, node.tags, node.heads()
        for k, tag in enumerate(tags):
            if tag == "P" and words[k + 2] in (*INSTRUMENTS.values(), "hat", "tail", "smile"):
                verb = next((at for at, other in enumerate(tags) if other == "V"), None)
                noun = next((at for at in range(k - 1, -1, -1) if tags[at] == "N"), None)
                if verb is not None and noun is not None and verb < noun:
                    rows.append((words[verb], words[noun], words[k], words[k + 2]))
                    labels.append("V" if heads[k] - 1 == verb else "N")
    model = PPAttachment(_vectors(), random_state=0).fit(rows, labels).model_
    return Example(model, {"method": "pool", "example": "sees girl with telescope"})


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
        example = str(self.learned.get("example") or next(iter(self.model.words), ""))
        return (Field("text", "A word", example, hint="with a vector"),)

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
                "Inner products.",
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
        layout = layout_of(self.learned)
        given = read_relation([path], pattern_of(layout), layout["given"])
        pairs = [pair for pair in given if pair[0] in self.model.vectors][:_MOST_ROWS]
        if not pairs:
            raise InputError("no head has a vector; give pairs of other words", file=path)
        losses = -self.model.pair_log_probabilities(pairs)
        rows = [
            Row(f"{head} {modifier}", {"text": head, "modifier": modifier}, len(head), float(loss))
            for (head, modifier), loss in zip(pairs, losses.tolist(), strict=True)
        ]
        return Judged(rows, "loss, nats")


class AttachmentExhibit:
    """Where a prepositional phrase belongs."""

    def __init__(self, model: AttachmentModel, learned: Mapping[str, Any]) -> None:
        self.model, self.learned = model, learned

    @property
    def fields(self) -> Sequence[Field]:
        example = str(self.learned.get("example") or "saw man with telescope")
        return (Field("text", "Four words", example, hint="verb noun preposition noun"),)

    def facts(self) -> dict[str, Any]:
        known = {"features": len(self.model.features.places), "prepositions": len(self.model.prepositions)}
        return {"kind": "attachment of prepositional phrases", **known, **learned_facts(self.learned)}

    def overview(self) -> list[View]:
        votes = sorted(self.model.pool.items(), key=lambda item: -item[1])
        top = max((abs(value) for _, value in votes), default=1.0)
        prepositions = [
            (word, "yes" if word in self.model.bilinear else "no") for word in self.model.prepositions
        ]
        return [
            bars("Votes of the judges", votes, f"Weights of their {self.model.pooling} pool.", top=top),
            table("Prepositions", ("preposition", "matrices of its own"), prepositions),
        ]

    def _item(self, inputs: Inputs) -> Quadruples:
        words = words_of(inputs.get("text", ""), 4)
        if len(words) != 4:
            raise InputError("give four words: verb noun preposition noun")
        return Quadruples.of([words])

    def answer(self, inputs: Inputs) -> list[View]:
        item = self._item(inputs)
        noun = float(self.model.probabilities(item)[0])
        verb_word, noun_word, _, _ = item.rows[0]
        odds = [(name, float(values[0])) for name, values in self.model.judgements(item).items()]
        top = max((abs(value) for _, value in odds), default=1.0) or 1.0
        rows = [(f"noun: {noun_word}", noun), (f"verb: {verb_word}", 1 - noun)]
        return [
            bars("Attached to", rows, "Probability of either."),
            bars(
                "What each judge finds", odds, "Log-odds for the noun; below zero is for the verb.", top=top
            ),
        ]

    def predict(self, inputs: Inputs) -> Any:
        noun = float(self.model.probabilities(self._item(inputs))[0])
        return {"attachment": "N" if noun > 0.5 else "V", "probability": max(noun, 1 - noun)}

    def judge(self, path: str) -> Judged:
        items = read_quadruples(path)
        items = items.select(range(min(len(items), _MOST_ROWS)))
        losses, found, gold = (
            -self.model.label_log_probabilities(items),
            self.model.predict(items),
            items.labels,
        )
        rows = []
        for words, right, guess, loss in zip(items.rows, gold, found, losses.tolist(), strict=True):
            text = " ".join(words)
            beside = table("In the data", ("", "attached to"), [("right", right), ("found", guess)])
            rows.append(
                Row(f"{text} ({right})", {"text": text}, 4, float(loss), float(right != guess), (beside,))
            )
        return Judged(rows, "loss, nats", "wrong", Counter(zip(gold, found, strict=True)))
