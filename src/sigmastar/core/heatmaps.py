"""Matrices in one scale of colours, side by side, and maps of probabilities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sigmastar.core.arrays import Floats
from sigmastar.core.figures import GRID, INK, MUTED, PAPER, SERIES, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure


def plot_matrices(
    matrices: Mapping[str, Floats], x: str = "insides", y: str = "outsides", bend: float = 0.5
) -> Figure:
    """One picture per label; NaN is an entry that nobody saw, and stays grey.

    Colours show sign(v) |v|^bend, so that small entries can be seen beside large ones.
    """
    if not matrices:
        raise ValueError("there are no matrices to draw")
    shown = {label: np.sign(matrix) * np.abs(matrix) ** bend for label, matrix in matrices.items()}
    top = max(float(np.nanmax(np.abs(matrix), initial=0.0)) for matrix in shown.values()) or 1.0
    figure = new_figure(0.8 + 2.6 * len(shown), 3.1)
    every = figure.subplots(1, len(shown), squeeze=False)[0]
    for number, (axes, (label, matrix)) in enumerate(zip(every, shown.items(), strict=True)):
        tidy(axes, label, x, y if number == 0 else "", grid="")
        axes.set_facecolor(GRID)
        mesh = axes.pcolormesh(matrix, cmap="RdBu_r", vmin=-top, vmax=top, rasterized=True)
        axes.invert_yaxis()
        axes.set_xticks([])
        axes.set_yticks([])
    bar = figure.colorbar(mesh, ax=list(every), pad=0.02, fraction=0.03)
    ticks = np.linspace(-top, top, 5)
    bar.set_ticks(ticks.tolist(), labels=[f"{np.sign(t) * abs(t) ** (1 / bend):.2g}" for t in ticks])
    bar.ax.tick_params(colors=MUTED, labelcolor=INK, labelsize=8, length=0)
    bar.outline.set_visible(False)
    return figure


def draw_probabilities(
    axes: Axes,
    table: Floats,
    names: Sequence[str],
    rings: Iterable[tuple[int, int]] = (),
    largest: float = 1.0,
) -> None:
    """A map of probabilities, with the bar of its shades beside it.

    Parameters
    ----------
    axes
        Where to draw; its frame is taken off.
    table
        Rows x columns, from 0 to `largest`.
    names
        Of the rows, from the top.
    rings
        Column and row of the cells that are marked.
    largest
        What the darkest shade stands for.
    """
    mesh = axes.pcolormesh(table, cmap=_shades(), vmin=0, vmax=largest, edgecolors=GRID, linewidth=0.7)
    across, down = np.array([*rings], dtype=float).reshape(-1, 2).T + 0.5
    axes.scatter(across, down, s=34, facecolor=PAPER, edgecolor=INK, linewidth=1.2, zorder=3)
    axes.set_yticks(np.arange(len(names)) + 0.5, list(names))
    axes.invert_yaxis()
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(length=0)
    bar = mesh.figure.colorbar(mesh, ax=axes, pad=0.015, fraction=0.04, aspect=18)
    bar.outline.set_visible(False)
    bar.ax.tick_params(colors=MUTED, labelcolor=MUTED, labelsize=8.5, length=0)
    bar.set_label("probability", color=INK, fontsize=9.5)


def _shades(n_shades: int = 40) -> Colormap:
    """One hue from clear to full, so that the page's own background is the zero."""
    from matplotlib.colors import ListedColormap, to_rgb

    colours = np.ones((n_shades, 4)) * (*to_rgb(SERIES[0]), 1.0)
    colours[:, 3] = np.linspace(0.0, 1.0, n_shades)
    return ListedColormap(colours)
