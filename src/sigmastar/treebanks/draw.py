"""Marginals of phrases as a heat map above a sentence: how sure a parser is of every span, as SVG text.

A cell stands above the middle of its words, longer spans higher; its shade is the probability that some
phrase covers exactly these words, its text the likeliest label.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sigmastar.core.tree_and_arc_drawings import Cell, draw_cells
from sigmastar.treebanks.model.parser import Parse
from sigmastar.trees.draw import draw_tree

Item = tuple[str, int, int, float]
"""A label, the first word of a span, the word behind its last one, and a probability."""


def draw_chart(words: Sequence[str], items: Iterable[Item], top: float = 1.0) -> str:
    """The chart of a sentence; spans that no item names are left white.

    Parameters
    ----------
    words : sequence of str
        The sentence.
    items : iterable of tuple
        Label, first word, the word behind the last one, and probability.
    top : float
        The probability that gets the darkest shade.

    Returns
    -------
    str
        The picture as SVG.
    """
    spans: dict[tuple[int, int], list[tuple[float, str]]] = {}
    for label, begin, end, probability in items:
        spans.setdefault((begin, end), []).append((probability, label))
    cells = []
    for (begin, end), found in spans.items():
        found.sort(reverse=True)
        title = ", ".join(f"{label} {probability:.3f}" for probability, label in found[:5])
        share = sum(probability for probability, _ in found) / top
        cells.append(Cell(begin, end, share, found[0][1], title))
    return draw_cells(words, cells)


def draw_parse(parse: Parse) -> str:
    """The tree that a parser found."""
    return draw_tree(parse.tree)
