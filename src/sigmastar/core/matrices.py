"""Matrices side by side in one scale of colours: what was observed, what was completed, what is true."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.figures import GRID, INK, MUTED, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]


def plot_matrices(
    matrices: Mapping[str, Array], x: str = "insides", y: str = "outsides", bend: float = 0.5
) -> Figure:
    """One picture a label; NaN is an entry that nobody saw, and stays grey.

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
