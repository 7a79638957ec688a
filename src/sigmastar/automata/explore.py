"""Models of strings in the explorer: what comes next, the way through the states, the automaton itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from sigmastar.automata.data.formats import Layout, splitter
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.draw.graph import Drawing, select
from sigmastar.automata.draw.layout import ellipse
from sigmastar.automata.draw.merging import merged
from sigmastar.automata.estimator.spectral import SpectralAutomaton
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.diagnosis import diagnose
from sigmastar.automata.model.sequence import SequenceModel, best_following, next_distribution, pieces
from sigmastar.core.alphabet import UNKNOWN
from sigmastar.core.arrays import Floats
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
    plain,
    spectrum,
    table,
)
from sigmastar.core.toy_english import sentences

END = "end of string"
_TOP, _DRAWN, _STATES, _WIDEST, _DOTS, _SEEN = 16, 300, 14, 60, 600, 0.02
_MOST_ROWS = 5000
_FIGURES = {
    "n_strings": "strings drawn",
    "share_not_positive": "share of strings without positive weight",
    "smallest_sum": "smallest sum of next symbols",
    "largest_sum": "largest sum of next symbols",
}


class StringsExhibit:
    """A distribution on strings."""

    what, unit = "A string", "symbols"

    def __init__(self, model: SequenceModel, learned: Mapping[str, Any]) -> None:
        self.model, self.learned = model, learned
        inner = getattr(model, "automaton", model)
        self.automaton = inner if isinstance(inner, WeightedAutomaton) else None
        self.is_bare = self.automaton is model  # otherwise a filter stands around it
        self.layout = Layout.of_header(learned.get("layout"))
        self.names = [str(symbol) for symbol in model.alphabet]
        self.written = dict(zip(self.names, model.alphabet, strict=True))

    @property
    def between(self) -> str:
        return "" if self.layout.characters else self.layout.separator or " "

    @cached_property
    def drawn(self) -> Strings:
        """Strings of the model itself, the same each time."""
        return self.model.sample(_DRAWN, np.random.default_rng(0), _WIDEST)

    @cached_property
    def fields(self) -> Sequence[Field]:
        how = "without blanks" if self.layout.characters else "with blanks between them"
        text = str(self.learned.get("example") or self._beginning())
        return (Field("text", self.what, text, append=self.between, hint=f"{self.unit} {how}"),)

    def _beginning(self) -> str:
        """All but the last symbol of a likely string."""
        some = [k for k, length in enumerate(self.drawn.lengths) if 4 <= length <= 9] or [0]
        likely = self.model.log_probability(self.drawn)[some] / self.drawn.lengths[some].clip(1)
        example = self.drawn[some[int(np.argmax(likely))]] if len(self.drawn) else ()
        return self.between.join(map(str, example[: max(1, len(example) - 1)])) + self.between

    def facts(self) -> dict[str, Any]:
        size = {} if self.automaton is None else {"states": self.automaton.n_states}
        return {"kind": "model of strings", **size, "symbols": len(self.names), **learned_facts(self.learned)}

    def symbols(self, text: str) -> tuple[list[str], str]:
        """The symbols of a text, and the beginning of one that is still being typed."""
        parts = limited(list(splitter(self.layout.separator, self.layout.characters)(text)))
        if parts and not text[-1].isspace() and parts[-1] not in self.written:
            return parts[:-1], parts[-1]
        return parts, ""

    def coded(self, symbols: Sequence[str]) -> Strings:
        known = [self.written.get(symbol, symbol) for symbol in symbols]
        return Strings.of([known], alphabet=self.model.alphabet)

    def overview(self) -> list[View]:
        graph = [] if self.automaton is None else [graph_view(self.automaton)]
        return [*graph, *spectrum(self.learned), *self._failures(), *self._states(), *self._mass()]

    def answer(self, inputs: Inputs) -> list[View]:
        symbols, begun = self.symbols(inputs.get("text", ""))
        string = self.coded(symbols)
        gaps = self.model.gap_distributions(string)
        views = [self._next(gaps[-1], begun), self._surprise(symbols, gaps, string)]
        return [*views, self._path(symbols, self._points(string, gaps)), *self._positions(symbols, gaps)]

    def predict(self, inputs: Inputs) -> Any:
        symbols, _ = self.symbols(inputs.get("text", ""))
        string = self.coded(symbols)
        row = next_distribution(self.model, string)[0]
        order = np.argsort(-row, kind="stable")[:_TOP]
        names = [*self.names, None]
        return {
            "log_probability": plain(float(self.model.log_probability(string)[0])),
            "next": [{"symbol": names[k], "probability": float(row[k])} for k in order],
        }

    def judge(self, path: str) -> Judged:
        strings = self.layout.read(path, self.model.alphabet, allow_unknown=True)
        strings = strings.select(np.arange(min(len(strings), _MOST_ROWS)))
        losses = -self.model.log_probability(strings)
        outcomes = strings.outcomes
        best = np.concatenate([best_following(self.model, piece) for piece in pieces(strings)])
        wrong = np.add.reduceat(best != outcomes, strings.offsets[:-1] + np.arange(len(strings)))
        names = [*self.names, END, "unknown"]
        confusion = Counter(
            (names[gold], names[found]) for gold, found in zip(outcomes.tolist(), best.tolist(), strict=True)
        )
        rows = []
        for number, (begin, end) in enumerate(pairwise(strings.offsets.tolist())):
            codes = strings.codes[begin:end].tolist()
            text = self.between.join("?" if code == UNKNOWN else self.names[code] for code in codes)
            loss, error = float(losses[number]), float(wrong[number])
            rows.append(Row(text, {"text": text}, len(codes), loss, error))
        return Judged(rows, "loss, nats", "next symbols missed", confusion)

    def _next(self, row: Floats, begun: str) -> View:
        names = [*self.names, END]
        order = [int(k) for k in np.argsort(-row, kind="stable") if names[k].startswith(begun)][:_TOP]
        note = "Probability of each symbol after what is typed."
        shown = [{"name": names[k], "value": row[k], "fixed": k == len(self.names)} for k in order]
        return View(
            "bars", "What comes next", {"bars": shown, "click": "text", "begun": begun, "top": 1}, note
        )

    def _surprise(self, symbols: Sequence[str], gaps: Floats, string: Strings) -> View:
        codes = [*string.codes.tolist(), len(self.names)]
        bits = [-np.log2(max(float(gaps[t, code]), 1e-300)) for t, code in enumerate(codes)]
        tokens = [
            {"text": name, "value": value, "title": f"{value:.2f} bits"}
            for name, value in zip([*symbols, "end"], bits, strict=True)
        ]
        total = float(self.model.log_probability(string)[0])
        said = f"log-probability {total:.4g}" if np.isfinite(total) else "no probability"
        return View(
            "strip",
            "Surprise",
            {"tokens": tokens, "unit": "bits", "least": 4.0},
            f"As a whole string: {said}.",
        )

    def _positions(self, symbols: Sequence[str], gaps: Floats) -> list[View]:
        if not 0 < len(symbols) <= _WIDEST:
            return []
        shown = np.argsort(-gaps.max(axis=0), kind="stable")[:_TOP]
        names = [*self.names, END]
        data = {
            "rows": [names[k] for k in shown],
            "columns": ["start", *symbols],
            "values": gaps[:, shown].T,
        }
        return [View("heat", "What comes next, at every place", data, "Columns: after the symbol named.")]

    @cached_property
    def _plane(self) -> tuple[Floats, Floats, list[str], Floats]:
        """A centre, the two directions in which states differ most, and named points: contexts drawn."""
        rows, names = [], []
        for string in self.drawn.select(np.arange(min(120, len(self.drawn)))):
            coded = Strings.of([string], alphabet=self.model.alphabet)
            rows.append(self._points(coded, self.model.gap_distributions(coded)))
            names += [
                self.between.join(map(str, string[max(0, t - 3) : t])) or "start"
                for t in range(len(string) + 1)
            ]
        points = np.concatenate(rows)
        centre = points.mean(axis=0)
        axes = np.linalg.svd(points - centre, full_matrices=False)[2][:2].T
        if axes.shape[1] < 2:
            axes = np.hstack([axes, np.zeros((len(axes), 2 - axes.shape[1]))])
        return centre, axes, names, (points - centre) @ axes

    def _points(self, string: Strings, gaps: Floats) -> Floats:
        """The state after every prefix of a string, of mass one; predictions where there is no automaton."""
        if not self.is_bare:
            return np.sqrt(gaps)
        assert self.automaton is not None
        return _of_mass_one(self.automaton, string)

    @cached_property
    def _dots(self) -> Settled:
        """The named points without the farthest ones."""
        _, _, names, points = self._plane
        low, high = np.quantile(points, [0.005, 0.995], axis=0) if len(points) else (0.0, 0.0)
        inside = np.flatnonzero(((points >= low) & (points <= high)).all(axis=1))[:_DOTS]
        return Settled({"name": names[k], "x": brief(points[k, 0]), "y": brief(points[k, 1])} for k in inside)

    def _path(self, symbols: Sequence[str], states: Floats) -> View:
        centre, axes, _, _ = self._plane
        path = (states - centre) @ axes
        data = {
            "points": self._dots,
            "path": [
                {"name": name, "x": x, "y": y}
                for name, (x, y) in zip(["start", *symbols], path.tolist(), strict=True)
            ],
        }
        what = "states" if self.is_bare else "predictions"
        note = f"Dots are contexts of drawn strings, placed by their {what}; the line is what is typed."
        return View("map", f"The way through {what}", data, note)

    def _states(self) -> list[View]:
        """Each state by the contexts that lead to it most, and by what it is followed by."""
        if self.automaton is None:
            return []
        states, names = [], []
        for string in self.drawn:
            coded = Strings.of([string], alphabet=self.model.alphabet)
            states.append(_of_mass_one(self.automaton, coded))
            names += [
                self.between.join(map(str, string[max(0, t - 2) : t])) or "start"
                for t in range(len(string) + 1)
            ]
        rows, contexts = np.concatenate(states), np.array(names)
        # Shares, as states of distributions are already: where weights have signs, contexts of hardly any
        # mass would have the largest numbers in every state.
        rows /= np.maximum(np.abs(rows).sum(axis=1, keepdims=True), 1e-300)
        distinct, inverse = np.unique(contexts, return_inverse=True)
        sums = np.zeros((len(distinct), rows.shape[1]))
        np.add.at(sums, inverse, rows)
        means = sums / np.bincount(inverse)[:, None]
        weights, seen = self.automaton.next_weights, [*self.names, END]
        found = []
        for state in np.argsort(-np.abs(rows).mean(axis=0), kind="stable")[:_STATES]:
            typical = [str(distinct[k]) for k in np.argsort(-means[:, state], kind="stable")[:4]]
            following = [seen[k] for k in np.argsort(-weights[state], kind="stable")[:4]]
            found.append(
                (int(state), float(np.abs(rows[:, state]).mean()), " · ".join(typical), " · ".join(following))
            )
        note = "Contexts of drawn strings in which a state weighs most, and the symbols that it favours."
        return [
            table(
                "States by typical contexts",
                ("state", "mean share", "typical contexts", "favours"),
                found,
                note,
            )
        ]

    def _failures(self) -> list[View]:
        """Of a model that stands in for another one: where the two part most."""
        worst = self.learned.get("worst_strings")
        if not isinstance(worst, list) or not worst:
            return []
        note = "Of held-out strings, those on which what is expected next differs most from the black box."
        rows = [(str(string), float(parting)) for string, parting in worst]
        return [table("Where the stand-in fails", ("string", "millinats per symbol"), rows, note)]

    def _mass(self) -> list[View]:
        if self.automaton is None:
            return []
        found = asdict(diagnose(self.automaton, self.drawn))
        rows = [(_FIGURES.get(name, name.replace("_", " ")), value) for name, value in found.items()]
        note = "On strings that the model draws: a distribution has no negative mass and sums of one."
        return [table("How far from a distribution", ("figure", "value"), rows, note)]


def _of_mass_one(automaton: WeightedAutomaton, string: Strings) -> Floats:
    """The state after every prefix, divided by what all its continuations weigh."""
    states = automaton.forward(string.codes).mantissas
    mass = states @ automaton.continuation_mass
    good = np.abs(mass) > 1e-9 * np.abs(states).sum(axis=1)
    scaled = np.where(good[:, None], states / np.where(good, mass, 1.0)[:, None], 0.0)
    return np.clip(scaled, -1e6, 1e6)


def graph_view(automaton: WeightedAutomaton, title: str = "The automaton") -> View:
    """The heaviest arrows between states, as a graph that can be moved; of many states alike ones are one."""
    groups, merging = [[state] for state in range(automaton.n_states)], ""
    if automaton.n_states > _STATES:
        merging = f" Circles stand for {_STATES} groups of alike states, named by the heaviest of each."
        automaton, groups = merged(automaton, _STATES)
    drawing = _of_weight(select(automaton, None, _STATES))
    places, _ = ellipse(len(drawing.states))
    named, first, last = [groups[state] for state in drawing.states], drawing.initial, drawing.final
    nodes = [
        {
            "id": k,
            "label": str(states[0]),
            "x": places[k][0],
            "y": places[k][1],
            "initial": first[k],
            "ring": last[k],
            "title": f"{_named(states)}: initial {first[k]:.3g}, final {last[k]:.3g}",
        }
        for k, states in enumerate(named)
    ]
    edges = [
        {
            "source": edge.source,
            "target": edge.target,
            "weight": edge.weight,
            "negative": edge.total < 0,
            "label": " ".join(name if weight > 0 else f"-{name}" for name, weight in edge.symbols[:3]),
            "title": ", ".join(f"{name} {weight:.3g}" for name, weight in edge.symbols[:12]),
        }
        for edge in drawing.edges
    ]
    dashed = " dashed is negative;" if any(edge.total < 0 for edge in drawing.edges) else ""
    note = f"Arrows carry symbols; the wider, the heavier;{dashed} rings are final weights.{merging}"
    return View("graph", title, {"nodes": nodes, "edges": edges}, f"{note} {drawing.note}".strip())


def _of_weight(drawing: Drawing) -> Drawing:
    """Without states that neither begin nor end nor move by what can be seen; at least one is left."""
    weights = np.maximum(np.abs(drawing.initial), np.abs(drawing.final)) >= _SEEN
    moved = {place for edge in drawing.edges for place in (edge.source, edge.target)}
    kept = [place for place, good in enumerate(weights) if good or place in moved] or [0]
    new = {place: number for number, place in enumerate(kept)}
    edges = [replace(each, source=new[each.source], target=new[each.target]) for each in drawing.edges]
    states = [drawing.states[place] for place in kept]
    n_less = len(drawing.states) - len(kept)
    said = f"{n_less} of hardly any weight {'is' if n_less == 1 else 'are'} not drawn. " if n_less else ""
    return Drawing(states, drawing.initial[kept], drawing.final[kept], edges, said + drawing.note)


def _named(states: Sequence[int]) -> str:
    """A state, or a group of them."""
    if len(states) == 1:
        return f"state {states[0]}"
    shown = ", ".join(map(str, states[:_TOP])) + (" .." if len(states) > _TOP else "")
    return f"{len(states)} alike states ({shown})"


def open_exhibit(model: SequenceModel, learned: Mapping[str, Any]) -> StringsExhibit:
    return StringsExhibit(model, learned)


def example() -> Example:
    """The words of a little English."""
    estimator = SpectralAutomaton("auto", random_state=0).fit(
        [sentence.words for sentence in sentences(1500)]
    )
    evidence = estimator.rank_evidence_
    rank = {} if evidence is None else {"rank": plain(asdict(evidence))}
    typed = {"example": "the small dog sees a ", "layout": Layout().to_header()}
    return Example(estimator.model_, {"method": "auto", **typed, **rank})
