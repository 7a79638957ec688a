"""Marginals of phrases as a heat map above a sentence: how sure a parser is of every span, as SVG text.

A cell stands above the middle of its words, longer spans higher; its shade is the probability that some
phrase covers exactly these words, its text the likeliest label.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from sigmastar.core.figures import FONT, GRID, INK, MUTED, PAPER, SERIES, css_colour

Item = tuple[str, int, int, float]
"""A label, the first word of a span, the word behind its last one, and a probability."""

_WIDTH, _HEIGHT, _MARGIN, _SHOWN = 46.0, 26.0, 16.0, 0.1


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
    cells: dict[tuple[int, int], list[tuple[float, str]]] = {}
    for label, begin, end, probability in items:
        if not 0 <= begin < end <= len(words):
            raise ValueError(f"{label} over ({begin}, {end}) does not fit a sentence of {len(words)} words")
        cells.setdefault((begin, end), []).append((probability, label))
    unit = max(_WIDTH, 7.4 * max((len(word) for word in words), default=1) + 8)
    width, height = unit * len(words) + 2 * _MARGIN, _HEIGHT * (len(words) + 1) + 2 * _MARGIN
    drawn = [
        _cell(begin, end, sorted(cells.get((begin, end), []), reverse=True), unit, height, top)
        for size in range(1, len(words) + 1)
        for begin in range(len(words) - size + 1)
        for end in [begin + size]
    ]
    texts = [_word(word, number, unit, height) for number, word in enumerate(words)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" aria-label="Marginals of spans of: {escape(" ".join(words))}">'
        f'<rect width="100%" height="100%" fill="{css_colour(PAPER)}"/>{"".join(drawn)}{"".join(texts)}</svg>'
    )


def _cell(
    begin: int, end: int, labels: list[tuple[float, str]], unit: float, height: float, top: float
) -> str:
    x = _MARGIN + unit * (begin + end - 1) / 2
    y = height - _MARGIN - _HEIGHT * (end - begin + 1)
    share = min(sum(probability for probability, _ in labels) / top, 1.0) if labels else 0.0
    box = f'x="{x + 1:.1f}" y="{y + 1:.1f}" width="{unit - 2:.1f}" height="{_HEIGHT - 2:.1f}" rx="3"'
    frame = f'<rect {box} fill="none" stroke="{css_colour(GRID)}"/>'
    if not labels:
        return frame
    title = ", ".join(f"{label} {probability:.3f}" for probability, label in labels[:5])
    shade = f'<rect {box} fill="{css_colour(SERIES[0])}" fill-opacity="{max(share, 0.0):.3f}">'
    colour = PAPER if share > 0.55 else INK
    text = ""
    if share >= _SHOWN:
        text = (
            f'<text x="{x + unit / 2:.1f}" y="{y + _HEIGHT / 2 + 4:.1f}" text-anchor="middle" font-size="11" '
            f'font-family="{escape(FONT)}" fill="{css_colour(colour)}">{escape(labels[0][1])}</text>'
        )
    return f"{frame}{shade}<title>{escape(title)}</title></rect>{text}"


def _word(word: str, number: int, unit: float, height: float) -> str:
    x = _MARGIN + unit * (number + 0.5)
    return (
        f'<text x="{x:.1f}" y="{height - _MARGIN - 6:.1f}" text-anchor="middle" '
        f'font-size="13" font-family="{escape(FONT)}" fill="{css_colour(MUTED)}">{escape(word)}</text>'
    )
