"""A dependency tree as arcs over its words, as SVG text."""

from __future__ import annotations

from collections.abc import Sequence

from sigmastar.core.svg import stacked
from sigmastar.core.tree_and_arc_drawings import Arcs, draw_heads
from sigmastar.dependency.data.treebank import DependencyTreebank

_MOST_DRAWN = 5


def draw_arcs(
    words: Sequence[str],
    heads: Sequence[int],
    labels: Sequence[str] | None = None,
    tags: Sequence[str] | None = None,
    gold: Sequence[int] | None = None,
) -> str:
    """Arcs from heads to modifiers; the root's from above.

    Parameters
    ----------
    words : sequence of str
        The sentence.
    heads : sequence of int
        One per word, counted from 1; 0 is the root.
    labels, tags : sequence of str or None
        Written at the arcs, and below the words.
    gold : sequence of int or None
        The right heads; wrong arcs are dashed.

    Returns
    -------
    str
        SVG text.
    """
    return draw_heads(Arcs(words, heads, labels, tags, gold))


def draw_sentences(treebank: DependencyTreebank) -> str:
    """The first sentences of a treebank, one below the other.

    Parameters
    ----------
    treebank : DependencyTreebank
        With heads.

    Returns
    -------
    str
        SVG text.
    """
    if not treebank.has_heads:
        raise ValueError("words without heads have no arcs")
    shown = [treebank.select([number]) for number in range(min(_MOST_DRAWN, len(treebank)))]
    drawn = (draw_arcs(one.form, one.head.tolist(), one.deprel, one.upos) for one in shown)
    return stacked(drawn, f"Arcs of {len(shown)} of {len(treebank)} sentences")
