"""Posterior probabilities of tags along a sentence, as a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sigmastar.core.arrays import Floats
from sigmastar.core.figures import draw_probabilities, new_figure, tidy

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_tags(
    words: Sequence[str],
    tags: Sequence[str],
    probabilities: Floats,
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
    names = [tags[row] for row in rows]
    rings = [(i, names.index(tag)) for i, tag in enumerate(gold or ()) if tag in names]
    draw_probabilities(axes, table[:, rows].T, names, rings)
    axes.set_xticks(np.arange(len(words)) + 0.5, list(words), rotation=40, ha="right")
    return figure
