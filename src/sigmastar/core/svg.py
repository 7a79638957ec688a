"""The few marks that drawings are made of, as SVG text: names are escaped, colours follow the page around."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from sigmastar.core.figures import FONT, INK, PAPER, css_colour

CHARACTER = 7.2
"""About how wide a character of usual text is."""


def drawing(width: float, height: float, name: str, parts: Iterable[str]) -> str:
    """An SVG element on a ground of paper, with a name for those who do not see it."""
    size = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(name)}">'
        f'<rect width="100%" height="100%" fill="{css_colour(PAPER)}"/>{"".join(parts)}</svg>'
    )


def stacked(drawings: Iterable[str], name: str) -> str:
    """Drawings of `drawing`, one below the other."""
    parts, top, widest = [], 0.0, 0.0
    for svg in drawings:
        width, height = (float(svg.split(f' {side}="')[1].split('"')[0]) for side in ("width", "height"))
        parts.append(svg.replace("<svg", f'<svg y="{top:.0f}"', 1))
        top, widest = top + height, max(widest, width)
    return drawing(widest, top, name, parts)


def text(
    x: float,
    y: float,
    words: object,
    colour: str = INK,
    size: float = 13,
    anchor: str = "middle",
    more: str = "",
) -> str:
    """Words at a place; `more` holds further attributes."""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size:g}" '
        f'font-family="{escape(FONT)}" fill="{css_colour(colour)}"{more}>{escape(str(words))}</text>'
    )


def line(x: float, y: float, to_x: float, to_y: float, colour: str, more: str = "") -> str:
    """A straight line."""
    ends = f'x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}"'
    return f'<line {ends} stroke="{css_colour(colour)}"{more}/>'


def box(x: float, y: float, width: float, height: float, more: str) -> str:
    """A rectangle with round corners."""
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="3" {more}/>'


def dot(x: float, y: float, radius: float, colour: str, more: str = "") -> str:
    """A disc."""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="{css_colour(colour)}"{more}/>'


def told(title: object, *marks: str) -> str:
    """Marks that tell more when they are pointed at."""
    return f"<g><title>{escape(str(title))}</title>{''.join(marks)}</g>"


def short(words: object, most: int) -> str:
    """The beginning of what is long.

    >>> short("telescope", 5)
    'tele…'
    """
    text = str(words)
    return text if len(text) <= most else text[: most - 1] + "…"
