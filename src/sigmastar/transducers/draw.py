"""Alignments of a pair of strings: as two lines of text, and as paths in the edit lattice, as SVG text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sigmastar.core.svg import stacked
from sigmastar.core.tree_and_arc_drawings import draw_ways
from sigmastar.transducers.model.aligner import AlignedPairs

EMPTY, _MOST_DRAWN = "-", 5

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
    edges = {edge: (share, "") for edge, share in _edges(alignments).items()}
    return draw_ways(inputs, outputs, edges)


def draw_aligned(aligned: AlignedPairs) -> str:
    """Lattices of the first pairs that have an alignment.

    Parameters
    ----------
    aligned : AlignedPairs
        As `align` of transducers gives them.

    Returns
    -------
    str
        SVG.
    """
    by_pair: dict[int, list[tuple[Units, float]]] = {}
    for units, pair, share in zip(
        aligned.strings, aligned.pair.tolist(), aligned.posterior.tolist(), strict=True
    ):
        by_pair.setdefault(pair, []).append((units, share))
    if not by_pair:
        raise ValueError("there is no alignment to draw")
    shown = list(by_pair.values())[:_MOST_DRAWN]
    return stacked(map(draw_lattice, shown), f"Alignments of {len(shown)} of {aligned.n_pairs} pairs")


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
