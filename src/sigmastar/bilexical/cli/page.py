"""One bilexical model on a page: what it is, a map of its words, and what it can do when cut down."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sigmastar.bilexical.data.pairs import Pairs
from sigmastar.bilexical.demo import capacity_curve
from sigmastar.bilexical.draw import plot_embedding
from sigmastar.bilexical.model.bilexical import BilexicalModel
from sigmastar.core.curves import plot_learning_curves
from sigmastar.core.figures import MissingMatplotlibError, to_svg
from sigmastar.core.page import Part, Picture, Section, Table, Text, render

_MODIFIERS, _HEADS, _TOP = 40, 15, 8
_RANKS = (1, 2, 5, 10, 20, 40)
_WEIGHTS = (10, 30, 100, 1000, 10_000, 100_000)


def bilexical_page(
    model: BilexicalModel, facts: Mapping[str, Any], learned: Mapping[str, Any], judged: Pairs | None
) -> str:
    """The page as HTML; with pairs of heads that were not trained on, the capacity curve on them."""
    table = Table("What it is", ("", ""), [(name, str(value)) for name, value in facts.items()])
    heads = _some_heads(model, judged)
    best = [(head, ", ".join(word for word, _ in model.top(head, _TOP))) for head in heads]
    likely = Table("Likely modifiers of heads that were not trained on", ("head", "modifiers"), best)
    parts: list[Part] = [table, *([likely] if best else [])]
    try:
        parts += [map_picture(model, heads), *([capacity_picture(model, judged)] if judged else [])]
    except MissingMatplotlibError as problem:
        parts.append(Text(f"The pictures are left out: {problem}."))
    origin = {name: str(learned[name]) for name in ("method", "seed", "sigmastar") if name in learned}
    return render("Bilexical operator", [Section("The model", parts)], origin)


def map_picture(model: BilexicalModel, heads: tuple[str, ...]) -> Picture:
    """Popular modifiers and some heads in two dimensions.

    With a popularity term the leading dimension tells little else: the next two are drawn if there are.
    """
    popular = np.argsort(-model.popularity, kind="stable")[:_MODIFIERS]
    n_dimensions = min(3, model.weights.rank)
    first = 1 if n_dimensions == 3 else 0
    points = {
        "modifiers": ([model.modifiers[m] for m in popular], model.modifier_embedding(n_dimensions)[popular])
    }
    if heads:
        points["heads"] = (list(heads), model.head_embedding(heads, n_dimensions))
    groups = {name: (words, _two(rows[:, first:])) for name, (words, rows) in points.items()}
    named = ("second", "third") if first else ("first", "second")
    caption = (
        f"Words in the {named[0]} and {named[1]} dimension of the relation: what points the same way goes "
        "together."
    )
    figure = plot_embedding(groups, labels=(f"{named[0]} dimension", f"{named[1]} dimension"))
    return Picture(to_svg(figure), caption, caption)


def capacity_picture(model: BilexicalModel, judged: Pairs) -> Picture:
    """Accuracy against operations as the model is cut to fewer dimensions or weights."""
    curve = capacity_curve(model, judged, _RANKS if model.is_low_rank else _WEIGHTS)
    figure = plot_learning_curves(
        {"this model": curve}, "operations a head", "pairwise accuracy, %", "Capacity", log_y=False
    )
    caption = f"Accuracy on {len(judged.heads)} heads that were not trained on, when the model is cut down."
    return Picture(to_svg(figure), caption, caption)


def _some_heads(model: BilexicalModel, judged: Pairs | None) -> tuple[str, ...]:
    """Those with most pairs, or else some of the test heads."""
    if judged is None:
        return tuple(head for head in model.split.test if head in model.vectors)[:_HEADS]
    order = np.argsort(-np.asarray(judged.counts.sum(axis=1)).ravel(), kind="stable")[:_HEADS]
    return tuple(judged.heads[row] for row in order.tolist())


def _two(points: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """At least two coordinates: a relation of one dimension lies on a line."""
    return points if points.shape[1] > 1 else np.column_stack([points, np.zeros(len(points))])
