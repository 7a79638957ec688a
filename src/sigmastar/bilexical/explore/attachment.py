"""Attachment of prepositional phrases in the explorer: either side, and what each judge finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from sigmastar.bilexical.data.quadruples import Quadruples, read_quadruples
from sigmastar.bilexical.model.attachment import AttachmentModel
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
    words_of,
)

_MOST_ROWS = 5000


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
            bars("Votes of the judges", votes, self.model.pooling, top=top),
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
