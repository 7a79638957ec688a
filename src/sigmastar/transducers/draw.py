"""Alignments of a pair of strings: as two lines of text, and as paths in the edit lattice, as SVG text."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from sigmastar.core.figures import FONT, INK, MUTED, PAPER, SERIES, css_colour

_STEP, _EDGE = 44.0, 40.0
EMPTY = "-"

Units = Sequence[Any]
"""Pairs of an input side and an output side, each a sequence of symbols."""


def draw_alignment(units: Units) -> str:
    """Input above output, one column per unit.

    Parameters
    ----------
    units : sequence
        An alignment, as `SpectralTransducer.align` gives it.

    Returns
    -------
    str
        Two lines.

    Examples
    --------
    >>> print(draw_alignment([(("p", "h"), ("F",)), (("o",), ("OW",)), (("e",), ())]))
    p h | o  | e
    F   | OW | -
    """
    cells = [tuple(" ".join(map(str, side)) or EMPTY for side in unit) for unit in units]
    widths = [max(map(len, cell)) for cell in cells]
    lines = (
        " | ".join(cell[side].ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()
        for side in (0, 1)
    )
    return "\n".join(lines)


def draw_lattice(alignments: Sequence[tuple[Units, float]]) -> str:
    """Alignments of one pair as paths: inputs run to the right, outputs down.

    Parameters
    ----------
    alignments : sequence of pairs
        Units of an alignment, and its share.

    Returns
    -------
    str
        SVG.
    """
    if not alignments:
        raise ValueError("there is no alignment to draw")
    first = alignments[0][0]
    inputs = [symbol for unit in first for symbol in unit[0]]
    outputs = [symbol for unit in first for symbol in unit[1]]
    width, height = (2 * _EDGE + _STEP * max(len(side), 1) for side in (inputs, outputs))
    marks = [_dot(i, j) for i in range(len(inputs) + 1) for j in range(len(outputs) + 1)]
    marks += [_text(_EDGE + _STEP * (i + 0.5), _EDGE - 18, symbol) for i, symbol in enumerate(inputs)]
    marks += [_text(_EDGE - 20, _EDGE + _STEP * (j + 0.5) + 4, symbol) for j, symbol in enumerate(outputs)]
    marks += [_edge(*edge, share) for edge, share in _edges(alignments).items()]
    name = escape(f"Alignments of {' '.join(map(str, inputs))} with {' '.join(map(str, outputs))}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" aria-label="{name}">'
        f'<rect width="100%" height="100%" fill="{css_colour(PAPER)}"/>{"".join(marks)}</svg>'
    )


def _edges(alignments: Sequence[tuple[Units, float]]) -> dict[tuple[int, int, int, int], float]:
    """The share of alignments through every edge."""
    shares: dict[tuple[int, int, int, int], float] = {}
    for units, share in alignments:
        i = j = 0
        for left, right in units:
            edge = (i, j, i + len(left), j + len(right))
            shares[edge] = shares.get(edge, 0.0) + share
            i, j = edge[2], edge[3]
    return shares


def _edge(i: int, j: int, to_i: int, to_j: int, share: float) -> str:
    x, y, to_x, to_y = (_EDGE + _STEP * place for place in (i, j, to_i, to_j))
    share = min(share, 1.0)
    return (
        f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}" stroke="{css_colour(SERIES[0])}" '
        f'stroke-width="{0.5 + 5 * share:.2f}" stroke-opacity="{0.25 + 0.75 * share:.2f}">'
        f"<title>{share:.3f}</title></line>"
    )


def _dot(i: int, j: int) -> str:
    x, y = _EDGE + _STEP * i, _EDGE + _STEP * j
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2" fill="{css_colour(MUTED)}"/>'


def _text(x: float, y: float, symbol: object) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle" font-family="{FONT}" font-size="13" '
        f'fill="{css_colour(INK)}">{escape(str(symbol))}</text>'
    )
