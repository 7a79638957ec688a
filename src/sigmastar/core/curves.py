"""Learning curves: a quality against the amount of data, states or time, one line a learner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sigmastar.core.figures import MARKERS, label_series, new_figure, plain_log_ticks, series_colour, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
Curve = Sequence[ArrayLike] | Array


def plot_learning_curves(
    curves: Mapping[str, Curve],
    x: str = "strings",
    y: str = "KL to the truth, nats a string",
    title: str = "Learning curves",
    log_x: bool = True,
    log_y: bool = True,
) -> Figure:
    """One line a label from `(x, y)`, with a band from `(x, y, low, high)`; skips points not finite."""
    if not curves:
        raise ValueError("there are no curves to draw")
    figure = new_figure(6.4, 3.8)
    axes = figure.subplots()
    tidy(axes, title, x, y)
    if log_x:
        axes.set_xscale("log")
    if log_y:
        axes.set_yscale("log")
    for index, (label, curve) in enumerate(curves.items()):
        _draw_curve(axes, index, label, [np.asarray(part, dtype=np.float64) for part in curve], log_y)
    if log_x:
        _name_sizes(axes, curves)
    if log_y:
        plain_log_ticks(axes.yaxis, *axes.get_ylim())
    label_series(axes)
    return figure


def _draw_curve(axes: Axes, index: int, label: str, parts: list[Array], log_y: bool) -> None:
    if len(parts) not in (2, 4) or len({part.shape for part in parts}) > 1:
        raise ValueError(f"curve {label!r} must be (x, y) or (x, y, low, high) of equal lengths")
    colour = series_colour(index)
    shown = np.isfinite(parts[1]) & ((parts[1] > 0) | (not log_y))
    at, height = parts[0][shown], parts[1][shown]
    axes.plot(
        at,
        height,
        color=colour,
        linewidth=1.6,
        marker=MARKERS[index % len(MARKERS)],
        markersize=4.5,
        label=label,
    )
    if len(parts) == 4:
        floor = height.min(initial=np.inf) / 10 if log_y and len(height) else -np.inf
        low, high = np.maximum(parts[2][shown], floor), parts[3][shown]
        axes.fill_between(at, low, high, color=colour, alpha=0.15, linewidth=0)


def _name_sizes(axes: Axes, curves: Mapping[str, Curve]) -> None:
    """Name the sizes that were tried, with thousands separated, where they are few."""
    from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator

    sizes = np.unique(np.concatenate([np.asarray(curve[0], dtype=np.float64) for curve in curves.values()]))
    if 1 < len(sizes) <= 8:
        axes.set_xticks(sizes)
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda size, _: f"{size:,.10g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
