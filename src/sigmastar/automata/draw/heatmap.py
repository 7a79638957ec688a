"""Next-symbol distributions along a string, with the symbol that came."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.sequence import SequenceModel
from sigmastar.core.alphabet import Symbol
from sigmastar.core.arrays import Floats, Indices
from sigmastar.core.figures import GRID, INK, MUTED, PAPER, SERIES, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure


END_NAME = "end"


def plot_next_symbols(
    model: SequenceModel,
    string: Iterable[Symbol] | Strings,
    title: str = "What comes next",
    max_symbols: int = 24,
) -> Figure:
    """A heat map, symbols x positions; a ring marks the symbol that came.

    Of a large alphabet the symbols that come or that the model expects most are shown.
    """
    strings = string if isinstance(string, Strings) else Strings.of([string], alphabet=model.alphabet)
    if len(strings) != 1:
        raise ValueError(f"a heat map shows one string, got {len(strings)}")
    strings = strings.recoded(model.alphabet)
    table = model.gap_distributions(strings).T  # symbols + end, positions
    came = np.append(strings.codes, len(model.alphabet))
    rows = _rows_to_show(table, came, max_symbols)
    names = [*(str(symbol) for symbol in model.alphabet), END_NAME]
    return _draw(table[rows], np.searchsorted(rows, came), [names[row] for row in rows], title)


def _rows_to_show(table: Floats, came: NDArray[np.integer], max_symbols: int) -> Indices:
    weight = np.abs(table).max(axis=1)
    weight[came] += 1.0 + weight.max()
    return np.sort(np.argsort(-weight, kind="stable")[: max(max_symbols, len(np.unique(came)))])


def _draw(table: Floats, came: Indices, names: list[str], title: str) -> Figure:
    n_rows, n_positions = table.shape
    figure = new_figure(min(1.7 + 0.27 * n_positions, 12.0), 1.2 + 0.25 * n_rows)
    axes = figure.subplots()
    tidy(axes, title, "symbol that came", "", grid="")
    top = min(1.0, np.ceil(10 * table.max()) / 10)
    mesh = axes.pcolormesh(
        np.clip(table, 0, 1), cmap=shades(), vmin=0, vmax=top, edgecolors=GRID, linewidth=0.7
    )
    axes.scatter(
        np.arange(n_positions) + 0.5,
        came + 0.5,
        s=34,
        facecolor=PAPER,
        edgecolor=INK,
        linewidth=1.2,
        zorder=3,
    )
    axes.set_yticks(np.arange(n_rows) + 0.5, names)
    axes.invert_yaxis()
    _label_positions(axes, [names[row] for row in came])
    finish_shades(axes, mesh)
    return figure


def _label_positions(axes: Axes, symbols: list[str]) -> None:
    """Write the string below its positions; of a long one only every n-th symbol."""
    step = max(1, int(np.ceil(len(symbols) * max(map(len, symbols)) / 120)))
    shown = np.arange(0, len(symbols), step)
    axes.set_xticks(shown + 0.5, [symbols[position] for position in shown])


def finish_shades(axes: Axes, mesh: QuadMesh) -> None:
    """Take the frame off a map of probabilities, and put the bar of its shades beside it."""
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(length=0)
    bar = mesh.figure.colorbar(mesh, ax=axes, pad=0.015, fraction=0.04, aspect=18)
    bar.outline.set_visible(False)
    bar.ax.tick_params(colors=MUTED, labelcolor=MUTED, labelsize=8.5, length=0)
    bar.set_label("probability", color=INK, fontsize=9.5)


def shades(n_shades: int = 40) -> Colormap:
    """One hue from clear to full, so that the page's own background is the zero."""
    from matplotlib.colors import ListedColormap, to_rgb

    colours = np.ones((n_shades, 4)) * (*to_rgb(SERIES[0]), 1.0)
    colours[:, 3] = np.linspace(0.0, 1.0, n_shades)
    return ListedColormap(colours)
