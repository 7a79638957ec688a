"""A map of words: the two leading directions of their embeddings, with names where there is room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sigmastar.plots.style import INK, MARKERS, label_series, new_figure, series_colour, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]


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
        for word, (x, y) in zip(words, points[:, :2].tolist(), strict=True):
            axes.annotate(word, (x, y), (2, 2), textcoords="offset points", fontsize=7, color=INK)
    label_series(axes)
    return figure
