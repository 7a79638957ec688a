"""A map of words: the two leading directions of their embeddings, with names where there is room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.figures import INK, MARKERS, label_series, new_figure, series_colour, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

FONT = 7
"""The size of the names, in points."""


def plot_embedding(
    groups: Mapping[str, tuple[Sequence[str], Array]],
    title: str = "Words in the space of the relation",
    labels: tuple[str, str] = ("first dimension", "second dimension"),
) -> Figure:
    """One colour a group of (words, points); points have two coordinates or more, the first two are drawn."""
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


def room_for(names: Sequence[str], places: Array) -> list[bool]:
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
