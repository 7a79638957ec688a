"""Pictures of bilexical operators: a map of words, the capacity curve, and both on a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sigmastar.bilexical.data.pairs import Pairs
from sigmastar.bilexical.metrics import capacity_curve
from sigmastar.bilexical.model.operator import BilexicalModel
from sigmastar.core.arrays import Floats
from sigmastar.core.figures import (
    INK,
    MARKERS,
    MissingMatplotlibError,
    label_series,
    new_figure,
    plot_learning_curves,
    series_colour,
    tidy,
    to_svg,
)
from sigmastar.core.page import Part, Picture, Section, Table, Text, render

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FONT = 7
"""The size of the names, in points."""
RANKS = (1, 2, 5, 10, 20, 40)
WEIGHTS = (10, 30, 100, 1000, 10_000, 100_000)
_MODIFIERS, _HEADS, _TOP = 40, 15, 8


def plot_embedding(
    groups: Mapping[str, tuple[Sequence[str], Floats]],
    title: str = "Words in the space of the relation",
    labels: tuple[str, str] = ("first dimension", "second dimension"),
) -> Figure:
    """A map of words, with names where there is room.

    Parameters
    ----------
    groups
        Words and their points by group, one colour per group; the first two coordinates are drawn.
    title
        Of the figure.
    labels
        Of the axes.

    Returns
    -------
    Figure
        Of matplotlib.
    """
    if not groups:
        raise ValueError("there are no words to draw")
    figure = new_figure(6.4, 5.2)
    axes = figure.subplots()
    tidy(axes, title, *labels, grid="")
    for index, (label, (words, points)) in enumerate(groups.items()):
        if len(words) != len(points) or points.ndim != 2 or points.shape[1] < 2:
            raise ValueError(f"group {label!r}: {len(words)} words for points of shape {points.shape}")
        colour, marker = series_colour(index), MARKERS[index % len(MARKERS)]
        axes.scatter(points[:, 0], points[:, 1], s=10, color=colour, marker=marker, label=label)
    names = [word for words, _ in groups.values() for word in words]
    places = np.concatenate([points[:, :2] for _, points in groups.values()])
    axes.autoscale_view()
    shown = room_for(names, axes.transData.transform(places) * 72.0 / figure.dpi)
    for word, place, there in zip(names, places.tolist(), shown, strict=True):
        if there:
            axes.annotate(word, place, (2, 2), textcoords="offset points", fontsize=FONT, color=INK)
    label_series(axes)
    return figure


def room_for(names: Sequence[str], places: Floats) -> list[bool]:
    """Which names can be written at places (in points) without running into an earlier one.

    >>> room_for(["left", "over it", "right"], np.array([[0.0, 0.0], [3.0, 1.0], [90.0, 0.0]]))
    [True, False, True]
    """
    shown: list[bool] = []
    taken: list[tuple[float, float, float]] = []
    for name, (x, y) in zip(names, places.tolist(), strict=True):
        end = x + 0.6 * FONT * len(name)
        free = all(end < left or x > right or abs(y - at) > FONT for left, right, at in taken)
        if free:
            taken.append((x, end, y))
        shown.append(free)
    return shown


def word_map(model: BilexicalModel, heads: Sequence[str] = (), skip_first: bool = True) -> Picture:
    """Popular modifiers and some heads in two dimensions of the relation.

    Parameters
    ----------
    model
        The operator.
    heads
        Heads to draw beside the modifiers.
    skip_first
        Draw the second and third dimension where there are three: with a popularity term the leading one
        holds little else.

    Returns
    -------
    Picture
        With its caption.
    """
    popular = np.argsort(-model.popularity, kind="stable")[:_MODIFIERS]
    first = 1 if skip_first and model.weights.rank >= 3 else 0
    n_dimensions = min(first + 2, model.weights.rank)
    points = {
        "modifiers": ([model.modifiers[m] for m in popular], model.modifier_embedding(n_dimensions)[popular])
    }
    if heads:
        points["heads"] = (list(heads), model.head_embedding(heads, n_dimensions))
    groups = {name: (words, _two(rows[:, first:])) for name, (words, rows) in points.items()}
    named = ("first", "second", "third")[first : first + 2]
    caption = (
        f"Words in the {named[0]} and {named[1]} dimension of the relation: what points the same way goes "
        "together."
    )
    figure = plot_embedding(groups, labels=(f"{named[0]} dimension", f"{named[1]} dimension"))
    return Picture(to_svg(figure), caption, caption)


def capacity_picture(curves: Mapping[str, tuple[list[int], list[float]]], n_heads: int) -> Picture:
    """Accuracy against operations as models are cut to fewer dimensions or weights.

    Parameters
    ----------
    curves
        What `capacity_curve` gives, by the names of the models.
    n_heads
        How many heads were judged on, for the caption.

    Returns
    -------
    Picture
        With its caption.
    """
    figure = plot_learning_curves(
        curves, "operations per head", "pairwise accuracy, %", "Capacity", log_y=False
    )
    caption = (
        f"Accuracy on {n_heads} heads that were not trained on, when models are cut down: see how far to the "
        "left a line stays up."
    )
    return Picture(to_svg(figure), caption, caption)


def operator_page(
    model: BilexicalModel,
    facts: Mapping[str, Any],
    learned: Mapping[str, Any],
    judged: Pairs | None = None,
) -> str:
    """One operator on a page: what it is, a map of its words, and what it can do when cut down.

    Parameters
    ----------
    model
        The operator.
    facts
        Rows of the first table.
    learned
        How it was learned, from its file.
    judged
        Pairs of heads that were not trained on, for the capacity curve.

    Returns
    -------
    str
        HTML.
    """
    table = Table("What it is", ("", ""), [(name, str(value)) for name, value in facts.items()])
    heads = _some_heads(model, judged)
    best = [(head, ", ".join(word for word, _ in model.top(head, _TOP))) for head in heads]
    likely = Table("Likely modifiers of heads that were not trained on", ("head", "modifiers"), best)
    parts: list[Part] = [table, *([likely] if best else [])]
    try:
        parts.append(word_map(model, heads))
        if judged is not None:
            curve = capacity_curve(model, judged, RANKS if model.is_low_rank else WEIGHTS)
            parts.append(capacity_picture({"this model": curve}, len(judged.heads)))
    except MissingMatplotlibError as problem:
        parts.append(Text(f"The pictures are left out: {problem}."))
    origin = {name: str(learned[name]) for name in ("method", "seed", "sigmastar") if name in learned}
    return render("Bilexical operator", [Section("The model", parts)], origin)


def _some_heads(model: BilexicalModel, judged: Pairs | None) -> tuple[str, ...]:
    """Those with most pairs, or else some of the test heads."""
    if judged is None:
        return tuple(head for head in model.split.test if head in model.vectors)[:_HEADS]
    order = np.argsort(-np.asarray(judged.counts.sum(axis=1)).ravel(), kind="stable")[:_HEADS]
    return tuple(judged.heads[row] for row in order.tolist())


def _two(points: Floats) -> Floats:
    """At least two coordinates: a relation of one dimension lies on a line."""
    return points if points.shape[1] > 1 else np.column_stack([points, np.zeros(len(points))])
