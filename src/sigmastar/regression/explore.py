"""Functions on strings in the explorer: values of what is typed, of its beginnings, of one symbol more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sigmastar.automata.data.formats import splitter
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.explore import graph_view
from sigmastar.core.arrays import Floats
from sigmastar.core.exhibit import (
    Example,
    Field,
    Inputs,
    Judged,
    Row,
    View,
    bars,
    learned_facts,
    limited,
    plain,
    table,
)
from sigmastar.regression.data import read_table
from sigmastar.regression.estimator import HankelClassifier, HankelRegressor
from sigmastar.regression.model import StringClassifier, StringFunction

_NEXT, _LABELS, _MOST_ROWS = 40, 6, 5000


class FunctionExhibit:
    """Numbers or labels of strings."""

    def __init__(self, model: StringFunction | StringClassifier, learned: Mapping[str, Any]) -> None:
        self.model, self.learned = model, learned
        layout = learned.get("layout")
        self.characters = bool(layout.get("characters")) if isinstance(layout, Mapping) else False
        self.written = {str(symbol): symbol for symbol in model.alphabet}

    @property
    def between(self) -> str:
        return "" if self.characters else " "

    @property
    def fields(self) -> Sequence[Field]:
        some = list(self.written)[:2] * 2
        hint = "symbols without blanks" if self.characters else "symbols with blanks between them"
        return (Field("text", "A string", self.between.join(some), append=self.between, hint=hint),)

    def facts(self) -> dict[str, Any]:
        automata = self._automata()
        known = {"kind": "function on strings", "states": sum(a.n_states for a in automata)}
        if isinstance(self.model, StringClassifier):
            known = {"kind": "classifier of strings", "labels": len(self.model.classes), **known}
        return {**known, "symbols": len(self.written), **learned_facts(self.learned)}

    def _automata(self) -> tuple[Any, ...]:
        return self.model.automata if isinstance(self.model, StringClassifier) else (self.model.automaton,)

    def overview(self) -> list[View]:
        automata = self._automata()
        if len(automata) == 1:
            return [graph_view(automata[0])]
        assert isinstance(self.model, StringClassifier)
        named = zip(self.model.classes, automata, strict=True)
        return [
            graph_view(automaton, f"The automaton of {label}") for label, automaton in list(named)[:_LABELS]
        ]

    def coded(self, strings: Sequence[Sequence[str]]) -> Strings:
        known = [[self.written.get(symbol, symbol) for symbol in string] for string in strings]
        return Strings.of(known, alphabet=self.model.alphabet)

    def values(self, strings: Strings) -> tuple[list[str], Floats]:
        """Names of what is told of a string, and one row of values per string."""
        if isinstance(self.model, StringFunction):
            return ["value"], self.model.value(strings)[:, None]
        names = [str(label) for label in self.model.classes]
        if self.model.has_probabilities:
            return names, self.model.probabilities(strings)
        found = self.model.values(strings)
        return (
            (names, found) if found.ndim == 2 else ([f"{names[-1]} rather than {names[0]}"], found[:, None])
        )

    def answer(self, inputs: Inputs) -> list[View]:
        symbols = limited(list(splitter(None, self.characters)(inputs.get("text", ""))))
        beginnings = [symbols[:end] for end in range(len(symbols) + 1)]
        longer = [[*symbols, symbol] for symbol in list(self.written)[:_NEXT]]
        names, rows = self.values(self.coded([*beginnings, *longer]))
        own, after = rows[: len(beginnings)], rows[len(beginnings) :]
        size = float(np.abs(own[-1]).max()) or 1.0
        top = 1.0 if len(names) > 1 else size
        views = [
            bars("What it is given", zip(names, own[-1].tolist(), strict=True), self._said(symbols), top=top)
        ]
        data = {
            "x": list(range(len(beginnings))),
            "series": [{"name": name, "y": own[:, k]} for k, name in enumerate(names[:_LABELS])],
            "x_name": "symbols read",
            "y_name": "value",
        }
        views.append(
            View("lines", "The value of each beginning", data, "How the value changes as symbols come.")
        )
        following = zip(list(self.written)[:_NEXT], after[:, -1].tolist(), strict=True)
        told = f"{names[-1]} with one symbol more" if len(names) > 1 else "The value with one symbol more"
        most = float(np.abs(after[:, -1]).max()) if len(after) else 1.0
        return [
            *views,
            bars("One symbol more", following, f"{told}.", click="text", top=most or 1.0),
        ]

    def _said(self, symbols: Sequence[str]) -> str:
        if isinstance(self.model, StringFunction):
            return ""
        return f"Label: {self.model.predict(self.coded([symbols]))[0]}."

    def predict(self, inputs: Inputs) -> Any:
        symbols = limited(list(splitter(None, self.characters)(inputs.get("text", ""))))
        strings = self.coded([symbols])
        names, rows = self.values(strings)
        label = (
            {} if isinstance(self.model, StringFunction) else {"label": plain(self.model.predict(strings)[0])}
        )
        return {**label, "values": dict(zip(names, rows[0].tolist(), strict=True))}

    def judge(self, path: str) -> Judged:
        found = read_table(path, self.characters, numeric=isinstance(self.model, StringFunction))
        strings = Strings.of(found.strings[:_MOST_ROWS], alphabet=self.model.alphabet, allow_unknown=True)
        texts = [self.between.join(map(str, string)) for string in found.strings[:_MOST_ROWS]]
        if isinstance(self.model, StringFunction):
            right = np.array(found.numbers[:_MOST_ROWS])
            guesses = self.model.value(strings)
            errors, shown = np.abs(right - guesses), [f"{value:.4g}" for value in guesses]
            confusion: Counter[tuple[str, str]] = Counter()
        else:
            labels = [str(value) for value in (found.values or [])[:_MOST_ROWS]]
            shown = [str(value) for value in self.model.predict(strings)]
            right, errors = (
                np.array(labels),
                np.array([a != b for a, b in zip(labels, shown, strict=True)], float),
            )
            confusion = Counter(zip(labels, shown, strict=True))
        rows = [
            Row(text, {"text": text}, int(length), None, float(error), (_beside(gold, guess),))
            for text, length, error, gold, guess in zip(
                texts, strings.lengths, errors, right.tolist(), shown, strict=True
            )
        ]
        return Judged(rows, "loss", "error", confusion)


def _beside(gold: Any, guess: str) -> View:
    return table("In the data", ("", "value"), [("right", gold), ("found", guess)])


def open_exhibit(model: StringFunction | StringClassifier, learned: Mapping[str, Any]) -> FunctionExhibit:
    return FunctionExhibit(model, learned)


def _drawn() -> list[str]:
    rng = np.random.default_rng(0)
    return ["".join(rng.choice(list("ab"), rng.integers(1, 8))) for _ in range(150)]


def example_numbers() -> Example:
    """How often b follows a."""
    strings = _drawn()
    model = (
        HankelRegressor(n_states=3, n_starts=2, random_state=0)
        .fit(strings, [text.count("ab") for text in strings])
        .model_
    )
    return Example(model, {"method": "regression", "layout": {"characters": True}})


def example_labels() -> Example:
    """Whether the number of a is even."""
    strings = _drawn()
    labels = ["even" if text.count("a") % 2 == 0 else "odd" for text in strings]
    model = HankelClassifier(n_states=2, n_starts=2, random_state=0).fit(strings, labels).model_
    return Example(model, {"method": "classification", "layout": {"characters": True}})
