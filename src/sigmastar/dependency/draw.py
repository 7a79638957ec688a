"""A dependency tree as arcs over its words, as SVG text."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from sigmastar.core.figures import FONT, INK, MUTED, PAPER, SERIES, css_colour
from sigmastar.dependency.data.treebank import DependencyTreebank

_MOST_DRAWN = 5
_SPACE, _CHARACTER, _STEP, _LINE = 22.0, 7.2, 24.0, 17.0


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
    if len(words) != len(heads):
        raise ValueError(f"{len(words)} words have {len(heads)} heads; give one to each word")
    middles, width = _places(words, tags)
    levels = _levels(heads)
    ground = _STEP * (max(levels, default=1) + 1)
    arcs = [
        _arc(middles, head, word, levels[word - 1], ground, labels, gold)
        for word, head in enumerate(heads, 1)
    ]
    height = ground + 2 * _LINE + 14
    texts = [_text(x, ground + _LINE, word, INK) for x, word in zip(middles, words, strict=True)]
    if tags is not None:
        texts += [_text(x, ground + 2 * _LINE, tag, MUTED) for x, tag in zip(middles, tags, strict=True)]
    name = escape(" ".join(words))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" aria-label="Dependency tree of: {name}">'
        f'<rect width="100%" height="100%" fill="{css_colour(PAPER)}"/>{"".join(arcs)}{"".join(texts)}</svg>'
    )


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
    parts, top, widest = [], 0.0, 0.0
    for number in range(min(_MOST_DRAWN, len(treebank))):
        one = treebank.select([number])
        svg = draw_arcs(one.form, one.head.tolist(), one.deprel, one.upos)
        width, height = (float(svg.split(f' {name}="')[1].split('"')[0]) for name in ("width", "height"))
        parts.append(svg.replace("<svg", f'<svg y="{top:.0f}"', 1))
        top, widest = top + height, max(widest, width)
    size = f'viewBox="0 0 {widest:.0f} {top:.0f}" width="{widest:.0f}" height="{top:.0f}"'
    name = f'role="img" aria-label="Arcs of {len(parts)} of {len(treebank)} sentences"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {name}>{"".join(parts)}</svg>'


def _places(words: Sequence[str], tags: Sequence[str] | None) -> tuple[list[float], float]:
    """The middle of each word, and the width of all."""
    x, middles = _SPACE, []
    for number, word in enumerate(words):
        size = _CHARACTER * max(len(word), len(tags[number]) if tags is not None else 0, 2)
        middles.append(x + size / 2)
        x += size + _SPACE
    return middles, x


def _levels(heads: Sequence[int]) -> list[int]:
    """How high each word's arc runs: one above all arcs that it spans."""
    spans = [(min(word, head), max(word, head)) for word, head in enumerate(heads, 1)]
    levels = [0] * len(heads)
    for k in sorted(range(len(heads)), key=lambda k: (heads[k] == 0, spans[k][1] - spans[k][0])):
        low, high = spans[k]
        inner = [
            levels[m] for m, (a, b) in enumerate(spans) if levels[m] and m != k and low <= a and b <= high
        ]
        levels[k] = 1 + max(inner, default=0)
    return levels


def _arc(
    middles: list[float], head: int, word: int, level: int, ground: float, labels: Sequence[str] | None,
    gold: Sequence[int] | None,
) -> str:  # fmt: skip
    wrong = gold is not None and gold[word - 1] != head
    colour = css_colour(SERIES[1] if wrong else SERIES[0])
    dash = ' stroke-dasharray="5 3"' if wrong else ""
    end, top = middles[word - 1], ground - _STEP * level
    if head == 0:
        path, label_x, label_y = f"M{end:.1f},4 L{end:.1f},{ground:.1f}", end + 4, 14.0
    else:
        start = middles[head - 1] + (5 if word > head else -5)
        path = f"M{start:.1f},{ground:.1f} C{start:.1f},{top:.1f} {end:.1f},{top:.1f} {end:.1f},{ground:.1f}"
        label_x, label_y = (start + end) / 2, ground - 0.75 * _STEP * level - 3
    drawn = f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.5"{dash}/>'
    tip = f'<path d="M{end - 3:.1f},{ground - 6:.1f} l3,6 l3,-6 z" fill="{colour}"/>'
    label = "" if labels is None else _text(label_x, label_y, labels[word - 1], MUTED, 10)
    return drawn + tip + label


def _text(x: float, y: float, text: str, colour: str, size: int = 13) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle" font-family="{escape(FONT)}" font-size="{size}" '
        f'fill="{css_colour(colour)}">{escape(text)}</text>'
    )
