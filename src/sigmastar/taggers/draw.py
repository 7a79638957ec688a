"""Posterior probabilities of tags along a sentence, as a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sigmastar.automata.draw.heatmap import finish_shades, shades
from sigmastar.core.figures import GRID, INK, PAPER, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]


def plot_tags(
    words: Sequence[str],
    tags: Sequence[str],
    probabilities: Array,
    gold: Sequence[str] | None = None,
    title: str = "Tags of a sentence",
) -> Figure:
    """A heat map of words x tags; tags that no word is likely to have are left out.

    Parameters
    ----------
    words, tags : sequence of str
        The words of a sentence, and the tags that they may have.
    probabilities : array
        Words x tags, as `predict_proba` gives them.
    gold : sequence of str or None
        The true tags, marked by rings.
    title : str
        Of the figure.

    Returns
    -------
    Figure
        Of matplotlib.
    """
    table = np.asarray(probabilities, dtype=float)
    if table.shape != (len(words), len(tags)):
        raise ValueError(f"a table of shape {table.shape} for {len(words)} words and {len(tags)} tags")
    wanted = set(gold or ())
    rows = [t for t, tag in enumerate(tags) if table[:, t].max(initial=0) >= 0.01 or tag in wanted]
    figure = new_figure(min(2.2 + 0.55 * len(words), 12.0), 1.3 + 0.27 * len(rows))
    axes = figure.subplots()
    tidy(axes, title, "", "", grid="")
    mesh = axes.pcolormesh(table[:, rows].T, cmap=shades(), vmin=0, vmax=1, edgecolors=GRID, linewidth=0.7)
    names = [tags[row] for row in rows]
    if gold is not None:
        places = [(i + 0.5, names.index(tag) + 0.5) for i, tag in enumerate(gold) if tag in names]
        across, down = zip(*places, strict=True) if places else ((), ())
        axes.scatter(across, down, s=30, facecolor=PAPER, edgecolor=INK, linewidth=1.2, zorder=3)
    axes.set_yticks(np.arange(len(rows)) + 0.5, names)
    axes.set_xticks(np.arange(len(words)) + 0.5, list(words), rotation=40, ha="right")
    axes.invert_yaxis()
    finish_shades(axes, mesh)
    return figure
