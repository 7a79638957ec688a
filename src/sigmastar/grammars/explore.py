"""Weighted grammars in the explorer: brackets of a string, and how sure every span is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.core.arrays import Floats
from sigmastar.core.errors import InputError
from sigmastar.core.exhibit import (
    Example,
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
from sigmastar.core.toy_english import sentences
from sigmastar.grammars.data.bracketings import Bracketings, its_tag, read_sentences
from sigmastar.grammars.estimator.learners import SpectralGrammar
from sigmastar.grammars.metrics import bracket_counts
from sigmastar.grammars.model.grammar import WeightedGrammar
from sigmastar.grammars.model.mass import length_masses
from sigmastar.grammars.model.rules import to_rules
from sigmastar.trees.data.brackets import parse_brackets
from sigmastar.trees.explore import tree_json, tree_view, trees_beside

_LONGEST, _RULES, _LENGTHS, _MOST_ROWS, _LEAST = 40, 300, 20, 500, 0.005


class GrammarExhibit:
    """A function on strings by bilinear composition."""

    def __init__(self, model: WeightedGrammar, learned: Mapping[str, Any]) -> None:
        self.model, self.learned = model, learned
        self.written = {str(symbol): symbol for symbol in model.alphabet}
        layout = learned.get("layout") or learned
        self.leaves = str(layout.get("leaves", "words"))

    @property
    def fields(self) -> Sequence[Field]:
        example = str(self.learned.get("example") or " ".join(list(self.written)[:6]))
        return (Field("text", "A string", example, append=" ", hint="symbols with blanks between them"),)

    def facts(self) -> dict[str, Any]:
        return {
            "kind": "weighted grammar",
            "states": self.model.n_states,
            "symbols": len(self.written),
            "distribution": "yes" if self.model.is_probabilistic() else "no",
            **learned_facts(self.learned),
        }

    def overview(self) -> list[View]:
        rows = self._rules()
        masses = length_masses(self.model, _LENGTHS)
        data = {
            "x": list(range(1, _LENGTHS + 1)),
            "series": [{"name": "mass", "y": masses}],
            "x_name": "length",
            "y_name": "mass",
        }
        return [
            View(
                "lines",
                "Mass of all strings of a length",
                data,
                "A distribution has a sum of one over all lengths.",
            ),
            table("Rules", ("rule", "weight"), rows, "The heaviest; states are numbered."),
        ]

    def _rules(self) -> list[tuple[str, float]]:
        try:
            grammar, weights = to_rules(self.model, least=1e-6)
        except ValueError:  # no string has any weight
            return []
        order = np.argsort(-np.abs(weights), kind="stable")[:_RULES]
        return [(_written(grammar.rules[k]), float(weights[k])) for k in order]

    def coded(self, text: str) -> Strings:
        symbols = words_of(text, _LONGEST)
        if not symbols:
            raise InputError("type a string; the empty one has no weight")
        return Strings.of([[self.written.get(s, s) for s in symbols]], alphabet=self.model.alphabet)

    def answer(self, inputs: Inputs) -> list[View]:
        string = self.coded(inputs.get("text", ""))
        found = self.model.brackets(string)
        (shares,) = self.model.span_posteriors(string)
        words, spans = list(map(str, string[0])), set(found.spans(0))
        log = float(self.model.log_probability(string)[0])
        said = f"log-value {log:.4g}" if np.isfinite(log) else "no weight: the tree branches to the right"
        return [
            tree_view("Brackets", [("best", tree_json(found.trees()[0]))], f"Trees are unlabelled; {said}."),
            _chart(words, shares, spans),
            _forest(words, shares),
        ]

    def predict(self, inputs: Inputs) -> Any:
        string = self.coded(inputs.get("text", ""))
        return {
            "brackets": [list(span) for span in self.model.brackets(string).spans(0)],
            "log_value": float(self.model.log_probability(string)[0]),
        }

    def judge(self, path: str) -> Judged:
        data = read_sentences(path, self.leaves, self.model.alphabet, "zero")
        lengths = data.strings.lengths
        kept = np.flatnonzero((lengths > 0) & (lengths <= _LONGEST))[:_MOST_ROWS]
        strings = data.strings.select(kept)
        losses, found = -self.model.log_probability(strings), self.model.brackets(strings)
        right = None if data.brackets is None else data.brackets.select(kept)
        wrong = [None] * len(kept) if right is None else _wrong(bracket_counts(found, right))
        trees, right_trees = found.trees(), None if right is None else right.trees()
        rows = []
        for number, string in enumerate(strings):
            text, loss = " ".join("?" if s is None else str(s) for s in string), float(losses[number])
            beside = () if right_trees is None else (trees_beside(right_trees[number], trees[number]),)
            rows.append(Row(text, {"text": text}, len(string), loss, wrong[number], beside))
        return Judged(rows, "loss, nats", "1 - F1")


def _forest(words: Sequence[str], shares: Floats) -> View:
    """The spans of all trees together, the likeliest first; of equal ones in the order of reading."""
    begins, ends = np.nonzero(np.abs(shares) >= _LEAST)
    rows = [
        (f"{' '.join(words[i:j])} ({i + 1} to {j})", float(shares[i, j]))
        for i, j in zip(begins.tolist(), ends.tolist(), strict=True)
        if j - i > 1
    ]
    rows.sort(key=lambda row: -round(row[1], 6))
    note = "Share of the weight of all trees with such a constituent."
    return bars("Spans of the forest", rows[:24], note)


def _wrong(counts: Floats) -> list[float]:
    sums = counts[:, 1] + counts[:, 2]
    return [float(1 - 2 * hit / both) if both else 0.0 for hit, both in zip(counts[:, 0], sums, strict=True)]


def _chart(words: Sequence[str], shares: Floats, spans: set[tuple[int, int]]) -> View:
    cells = [
        {
            "begin": i,
            "end": j,
            "label": f"{shares[i, j]:.2f}",
            "value": float(shares[i, j]),
            "best": (i, j) in spans,
        }
        for i in range(len(words))
        for j in range(i + 2, len(words) + 1)
        if abs(shares[i, j]) >= _LEAST
    ]
    return View(
        "chart", "Spans", {"words": list(words), "cells": cells}, "Share of trees with a constituent there."
    )


def _written(rule: Any) -> str:
    return f"{rule.left} → {' '.join(getattr(part, 'text', part) for part in rule.right)}"


def open_exhibit(model: WeightedGrammar, learned: Mapping[str, Any]) -> GrammarExhibit:
    return GrammarExhibit(model, learned)


def example() -> Example:
    """Tags of a little English, with the brackets of its trees but not their labels."""
    trees = parse_brackets(" ".join(node.bracketed() for node in sentences(800)))
    model = SpectralGrammar(n_states=12).fit(Bracketings.of_trees(trees, its_tag)).model_
    return Example(model, {"method": "spectral", "example": "D A N V D N P D N", "leaves": "tags"})
