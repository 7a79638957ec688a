"""Posterior probabilities of tags along a sentence, as a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sigmastar.core.arrays import Floats
from sigmastar.core.figures import draw_probabilities, new_figure, tidy
from sigmastar.core.plot_drawings import draw_strip
from sigmastar.core.svg import stacked
from sigmastar.taggers.data.sentences import TaggedSentences

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_DRAWN = 5


def draw_tagged(sentences: TaggedSentences) -> str:
    """The first sentences with a tag below each word.

    Parameters
    ----------
    sentences : TaggedSentences
        With tags.

    Returns
    -------
    str
        SVG text.
    """
    if sentences.tags is None:
        raise ValueError("words without tags have nothing to draw")
    pairs = zip(sentences.cut(sentences.words), sentences.cut(sentences.tags), strict=True)
    shown = [pair for pair in pairs if pair[0]][:_MOST_DRAWN]
    if not shown:
        raise ValueError("there are no words to draw")
    tokens = [[{"text": w, "below": t, "value": 0.0} for w, t in zip(*pair, strict=True)] for pair in shown]
    drawn = (draw_strip({"tokens": each}, "Tags") or "" for each in tokens)
    return stacked(drawn, f"Tags of {len(shown)} of {len(sentences)} sentences")


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
