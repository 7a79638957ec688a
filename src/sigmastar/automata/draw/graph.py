"""An automaton as a graph, written as SVG by hand.

An arrow from state to state carries its symbols with their weights, `f = initial A_x1 .. A_xT final`:
the heavier the wider, dashed where the weights add up to less than zero. Arrows in from nowhere are
initial weights; the ring around a state is its final weight. Light arrows are left out, and states
that matter little where there are many; what is missing is listed below the drawing. Notebooks show it of
automata.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sigmastar.automata.draw import marks
from sigmastar.automata.draw.layout import Box, arrow, circle_order, ellipse, loop, turned
from sigmastar.automata.draw.plots import plot_spectrum
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.arrays import Flags, Floats
from sigmastar.core.figures import to_svg
from sigmastar.core.rank import RankEvidence

ARROWS_PER_STATE = 2.5  # without a threshold, about as many as can be read
LEAST_SHOWN = 0.005  # what would be written as .00


@dataclass(frozen=True, eq=False)
class Drawing:
    """What is drawn of an automaton: its states in circular order, and the arrows kept."""

    states: list[int]
    initial: Floats
    final: Floats
    edges: list[marks.Edge]  # heaviest first
    note: str


def draw_automaton(
    automaton: WeightedAutomaton,
    threshold: float | None = None,
    max_states: int = 12,
    label: str = "",
) -> str:
    """An SVG element: the arrows that weigh at least `threshold`, between at most `max_states` states.

    Without a threshold one is chosen that leaves a graph to be read.

    Parameters
    ----------
    automaton : WeightedAutomaton
        The function.
    threshold : float, optional
        Size below which arrows are left out.
    max_states : int
        Number of states that are drawn at most.
    label : str
        Name of the picture for readers of its text.

    Returns
    -------
    str
        SVG.
    """
    if max_states < 1:
        raise ValueError(f"max_states={max_states} leaves nothing to draw")
    drawing = select(automaton, threshold, max_states)
    parts, boxes = _compose(drawing)
    name = label or f"Weighted automaton with {automaton.n_states} states. {drawing.note}".strip()
    return marks.frame(parts, boxes, drawing.note, name)


def _compose(drawing: Drawing) -> tuple[list[str], list[Box]]:
    """All marks, arrows below states below labels, and the boxes that they cover."""
    positions, ways = ellipse(len(drawing.states))
    taken = [marks.state_box(position) for position in positions]
    looped = {edge.source for edge in drawing.edges if edge.source == edge.target}
    entries = [
        marks.entry(positions[k], turned(ways[k], -0.95) if k in looped else ways[k], float(weight), taken)
        for k, weight in enumerate(drawing.initial)
        if abs(weight) >= LEAST_SHOWN
    ]
    heaviest = max((edge.weight for edge in drawing.edges), default=1.0)
    arrows, labels = [], []
    for edge in drawing.edges:
        at, way = positions[edge.source], ways[edge.source]
        curve = loop(at, way) if edge.source == edge.target else arrow(at, positions[edge.target])
        arrows.append(marks.arrow(edge, curve, edge.weight / heaviest, drawing.states))
        labels.append(marks.label(edge, curve, way, taken))
        taken.append(curve.box if edge.source == edge.target else Box.around(curve.at(0.5), 0, 0))
    states = [marks.state(s, positions[k], float(drawing.final[k])) for k, s in enumerate(drawing.states)]
    return [*arrows, *entries, *states, *labels], taken


def select(automaton: WeightedAutomaton, threshold: float | None, max_states: int) -> Drawing:
    """The states and arrows to draw."""
    between = np.abs(automaton.transitions).sum(axis=0)
    kept = np.sort(np.argsort(-importance(automaton), kind="stable")[:max_states])
    weights = between[np.ix_(kept, kept)]
    shown = weights >= (_readable_threshold(weights) if threshold is None else threshold)
    shown &= weights > 0
    first = int(np.argmax(np.abs(automaton.initial[kept])))
    order = [int(kept[k]) for k in circle_order(np.where(shown, weights, 0), first)]
    place = {state: k for k, state in enumerate(order)}
    pairs = [(int(kept[i]), int(kept[j])) for i, j in zip(*np.nonzero(shown), strict=True)]
    edges = [_edge(automaton, source, target, place) for source, target in pairs]
    edges.sort(key=lambda edge: (-edge.weight, edge.source, edge.target))
    drawn = np.zeros(between.shape, dtype=bool)
    drawn[np.ix_(kept, kept)] = shown
    note = _note(automaton.n_states - len(kept), drawn, between, importance(automaton))
    return Drawing(order, automaton.initial[order], automaton.final[order], edges, note)


def importance(automaton: WeightedAutomaton) -> Floats:
    """How often a state is visited in expectation; where that diverges, how much weight meets it."""
    step = np.abs(automaton.transitions).sum(axis=0)
    start = np.abs(automaton.initial)
    if np.abs(np.linalg.eigvals(step)).max() < 1 - 1e-9:
        return np.asarray(np.linalg.solve(np.eye(automaton.n_states) - step.T, start))
    return np.asarray(start + step.sum(axis=0) + step.sum(axis=1))


def _readable_threshold(weights: Floats) -> float:
    """The weight of the last arrow that fits, and at least a fiftieth of the heaviest."""
    ordered = np.sort(weights[weights > 0])[::-1]
    if len(ordered) == 0:
        return 0.0
    room = max(6, round(ARROWS_PER_STATE * len(weights)))
    return float(max(ordered[min(room, len(ordered)) - 1], ordered[0] / 50))


def _edge(automaton: WeightedAutomaton, source: int, target: int, place: dict[int, int]) -> marks.Edge:
    weights = automaton.transitions[:, source, target]
    order = [k for k in np.argsort(-np.abs(weights), kind="stable") if weights[k] != 0]
    symbols = tuple((marks.symbol_name(automaton.alphabet.symbols[k]), float(weights[k])) for k in order)
    return marks.Edge(
        place[source], place[target], float(np.abs(weights).sum()), float(weights.sum()), symbols
    )


def _note(n_hidden_states: int, drawn: Flags, between: Floats, visits: Floats) -> str:
    """What is left out: an arrow counts by its weight, as often as its state is visited."""
    states = "state is" if n_hidden_states == 1 else "states are"
    parts = [f"{n_hidden_states} more {states} not drawn."] if n_hidden_states else []
    n_arrows, n_drawn = int((between > 0).sum()), int(drawn.sum())
    if n_drawn < n_arrows:
        moves = np.abs(visits)[:, None] * between
        share = moves[drawn].sum() / max(moves.sum(), np.finfo(float).tiny)
        percent = min(int(100 * share + 0.5), 99)  # something is missing
        parts.append(f"{n_drawn} of {n_arrows} arrows are drawn, {percent}% of the weight of all moves.")
    return " ".join(parts)


def draw_inner(model: Any) -> str:
    """The automaton that a model is, or that is inside it."""
    inner = getattr(model, "automaton", model)
    assert isinstance(inner, WeightedAutomaton)
    return draw_automaton(inner, label=f"{type(model).__name__} of {inner.n_states} states")


def draw_evidence(evidence: RankEvidence) -> str:
    """The spectrum, with the noise and the number of states that was chosen."""
    return to_svg(plot_spectrum(evidence), f"Spectrum; {evidence.chosen} states were chosen")
