"""Transducers in the explorer: the best outputs, the ways that lead there, and the other direction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sigmastar.automata.data.strings import Strings
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
    table,
)
from sigmastar.transducers.data import StringPairs, joined, read_transductions
from sigmastar.transducers.estimator import SpectralTransducer
from sigmastar.transducers.metrics import edit_distance
from sigmastar.transducers.model.transducer import Transducer
from sigmastar.transducers.model.weighted_transducer import WeightedTransducer

Model = Transducer | WeightedTransducer
FORWARD, BACKWARD = "input to output", "output to input"
_BEST, _WAYS, _LONGEST, _MOST_ROWS, _LEAST = 8, 12, 40, 1000, 0.002


class TransducerExhibit:
    """A model of pairs of strings."""

    def __init__(self, model: Model, learned: Mapping[str, Any]) -> None:
        self.learned = learned
        layout = learned.get("layout") or learned.get("settings") or {}
        self.sides = str(layout.get("input", "chars")), str(layout.get("output", "tokens"))
        self.models = {FORWARD: model, BACKWARD: model.inverse()}

    @property
    def fields(self) -> Sequence[Field]:
        how = ["symbols without blanks" if side == "chars" else "symbols with blanks" for side in self.sides]
        return (
            Field("text", "A string", str(self.learned.get("example", "")), hint=how[0]),
            Field("direction", "Direction", FORWARD, (FORWARD, BACKWARD)),
            Field("output", "Its counterpart, to be aligned", "", hint="the best one if left empty"),
        )

    def facts(self) -> dict[str, Any]:
        units = self.models[FORWARD].units
        return {
            "kind": "transducer",
            "units": len(units.alphabet),
            "input symbols": len(units.inputs),
            "output symbols": len(units.outputs),
            **learned_facts(self.learned),
        }

    def overview(self) -> list[View]:
        model = self.models[FORWARD]
        rows = [(_unit(unit), *_sizes(unit)) for unit in list(model.units.alphabet)[:500]]
        views = [table("Units: what is read at once, and what is written", ("unit", "read", "written"), rows)]
        if isinstance(model, Transducer):
            weights = zip(
                [*model.names, *(f"outputs {k}" for k in range(len(model.outputs)))],
                model.weights,
                strict=False,
            )
            top = float(np.abs(model.weights).max()) or 1.0
            views.insert(0, bars("Weights of the models inside", weights, top=top))
        return views

    def _sides(self, direction: str) -> tuple[str, str]:
        return self.sides if direction == FORWARD else (self.sides[1], self.sides[0])

    def _asked(self, inputs: Inputs) -> tuple[Model, list[str], str, str]:
        direction = inputs.get("direction") or FORWARD
        direction = direction if direction in self.models else FORWARD
        sides = self._sides(direction)
        return self.models[direction], _symbols(inputs.get("text", ""), sides[0]), *sides

    def answer(self, inputs: Inputs) -> list[View]:
        model, symbols, _, written = self._asked(inputs)
        (ranking,) = model.predict(Strings.of([symbols]), _BEST)
        found = [(joined(output, written), share) for output, share in ranking]
        note = "Probability of each output given the input."
        views = [bars("Best outputs", found, note if found else "No output can be made of it.")]
        typed = _symbols(inputs.get("output", ""), written)
        target = typed or (list(map(str, ranking[0][0])) if ranking else [])
        return views + (self.ways(model, symbols, target) if symbols and target else [])

    def ways(self, model: Model, symbols: Sequence[str], target: Sequence[str]) -> list[View]:
        """The lattice of alignments of a pair, and the best of them."""
        pairs = StringPairs.of([(symbols, target)])
        edges: dict[tuple[int, int, int, int], float] = defaultdict(float)
        labels: dict[tuple[int, int, int, int], str] = {}
        ranked = []
        if isinstance(model, Transducer):
            aligned = model.align(pairs, _WAYS)
            for units, posterior in zip(aligned.strings, aligned.posterior.tolist(), strict=True):
                ranked.append((" ".join(map(_unit, units)), posterior))
                at = (0, 0)
                for unit in units:
                    read, wrote = _sizes(unit)
                    to = (at[0] + read, at[1] + wrote)
                    edges[*at, *to] += posterior
                    labels[*at, *to] = _unit(unit)
                    at = to
        else:
            edges, labels = _marginal_edges(model, pairs)
        drawn = [
            {"from": key[:2], "to": key[2:], "value": value, "label": labels[key]}
            for key, value in edges.items()
            if abs(value) >= _LEAST
        ]
        data = {"inputs": list(symbols), "outputs": list(target), "edges": drawn}
        note = (
            "Inputs run to the right, outputs down; the wider a line, the more of the posterior goes there."
        )
        views = [View("lattice", "Ways from input to output", data, note)]
        return [*views, table("Best alignments", ("units", "share"), ranked)] if ranked else views

    def predict(self, inputs: Inputs) -> Any:
        model, symbols, _, written = self._asked(inputs)
        (ranking,) = model.predict(Strings.of([symbols]), _BEST)
        return {"outputs": [{"output": joined(output, written), "share": share} for output, share in ranking]}

    def judge(self, path: str) -> Judged:
        model = self.models[FORWARD]
        gold = read_transductions(path, *self.sides)[:_MOST_ROWS]
        rankings = model.predict(Strings.of([pair[0] for pair in gold]), 1)
        losses = -model.log_conditional(StringPairs.of(gold))
        rows = []
        for (source, target), ranking, loss in zip(gold, rankings, losses.tolist(), strict=True):
            best = tuple(ranking[0][0]) if ranking else ()
            text, right = joined(source, self.sides[0]), joined(target, self.sides[1])
            beside = table(
                "In the data", ("", "output"), [("right", right), ("found", joined(best, self.sides[1]))]
            )
            error = float(edit_distance(tuple(target), best))
            inputs = {"text": text, "direction": FORWARD, "output": right}
            rows.append(Row(f"{text} → {right}", inputs, len(source), loss, error, (beside,)))
        return Judged(rows, "loss, nats", "symbols wrong")


def _marginal_edges(
    model: WeightedTransducer, pairs: StringPairs
) -> tuple[dict[tuple[int, int, int, int], float], dict[tuple[int, int, int, int], str]]:
    (found,) = model.marginals(pairs)
    edges, labels, units = {}, {}, list(model.units.alphabet)
    for i, j, shape in np.argwhere(found.units >= 0).tolist():
        unit = units[found.units[i, j, shape]]
        key = (i, j, i + len(unit[0]), j + len(unit[1]))
        edges[key], labels[key] = float(found.values[i, j, shape]), _unit(unit)
    return edges, labels


def _symbols(text: str, side: str) -> list[str]:
    return limited(list(text.strip()) if side == "chars" else text.split(), _LONGEST)


def _sizes(unit: Any) -> tuple[int, int]:
    return len(unit[0]), len(unit[1])


def _unit(unit: Any) -> str:
    source, target = ("".join(map(str, side)) or "ε" for side in unit)
    return f"{source}:{target}"


def open_exhibit(model: Model, learned: Mapping[str, Any]) -> TransducerExhibit:
    return TransducerExhibit(model, learned)


def example() -> Example:
    """Letters and sounds: sh, ch and th are one sound, c is s before e and i, a final e is silent."""
    rng = np.random.default_rng(0)
    onsets, vowels, codas = (
        ["sh", "ch", "th", "s", "t", "c", "r", "n"],
        list("aeio"),
        ["t", "n", "sh", "ce", "te", "th"],
    )
    words = {
        "".join((rng.choice(onsets), rng.choice(vowels)) * int(rng.integers(1, 3)) + (rng.choice(codas),))
        for _ in range(900)
    }
    pairs = [(list(word), _sounds(word)) for word in sorted(words)]
    model = SpectralTransducer(random_state=0).fit(pairs).model_
    return Example(
        model, {"method": "combined", "example": "chishote", "layout": {"input": "chars", "output": "tokens"}}
    )


def _sounds(word: str) -> list[str]:
    sounds, at = list[str](), 0
    while at < len(word):
        two = word[at : at + 2]
        if two in ("sh", "ch", "th"):
            sounds.append({"sh": "SH", "ch": "CH", "th": "TH"}[two])
            at += 2
            continue
        if not (word[at] == "e" and at == len(word) - 1 and len(sounds) > 2):
            soft = word[at] == "c" and word[at + 1 : at + 2] in ("e", "i")
            sounds.append("S" if soft else {"c": "K"}.get(word[at], word[at].upper()))
        at += 1
    return sounds
