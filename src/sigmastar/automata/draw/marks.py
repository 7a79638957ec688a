"""The marks of a drawn automaton as SVG text: states, arrows, labels, and the frame around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from sigmastar.automata.draw.layout import HEAD, RADIUS, Box, Curve, beyond, place_label
from sigmastar.core.arrays import Floats
from sigmastar.core.figures import FONT, GRID, INK, MUTED, PAPER, SERIES, css_colour

SYMBOLS_PER_ARROW = 3
CHARACTER, LINE = 6.1, 16.0  # width of a character and height of a label
MARGIN = 14.0


@dataclass(frozen=True)
class Edge:
    """All transitions between two states (numbered as drawn), as one arrow."""

    source: int
    target: int
    weight: float  # sum of sizes
    total: float  # sum with signs
    symbols: tuple[tuple[str, float], ...]  # heaviest first


def symbol_name(symbol: object, longest: int = 8) -> str:
    """A symbol as a short printable label."""
    text = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in str(symbol)).replace(" ", "␣")
    return text if len(text) <= longest else text[: longest - 1] + "…"


def weight_name(value: float) -> str:
    """Two digits, without the leading zero."""
    text = f"{value:.2f}" if abs(value) < 10 else f"{value:.3g}"
    return text.replace("0.", ".", 1) if text.lstrip("-").startswith("0.") else text


def arrow(edge: Edge, curve: Curve, share: float, states: Sequence[int]) -> str:
    """An arrow, wider and darker with its share of the heaviest; its weights in a tooltip."""
    colour = css_colour(SERIES[0] if edge.total >= 0 else SERIES[1])
    dash = "" if edge.total >= 0 else ' stroke-dasharray="5 3"'
    names = ", ".join(f"{name} {weight:.3g}" for name, weight in edge.symbols[:20])
    title = f"{states[edge.source]} to {states[edge.target]}: {names}"
    return (
        f'<g opacity="{0.45 + 0.55 * share:.2f}"><title>{escape(title)}</title>'
        f'<path d="{_path(curve)}" fill="none" stroke="{colour}" stroke-width="{1 + 3.2 * share:.2f}"{dash}/>'
        f"{_head(curve, colour, 0.8 + 0.5 * share)}</g>"
    )


def label(edge: Edge, curve: Curve, way: Floats, taken: list[Box]) -> str:
    """The heaviest symbols of an arrow, where they cover least; their box is added to `taken`."""
    least = min(0.1 * edge.weight, abs(edge.symbols[0][1]))  # of many that weigh the same, some are named
    named = [pair for pair in edge.symbols[:SYMBOLS_PER_ARROW] if abs(pair[1]) >= least]
    more = sum(abs(weight) >= 0.005 for _, weight in edge.symbols[len(named) :])
    words = [(name, weight_name(weight)) for name, weight in named] + [("", f"+{more}")] * (more > 0)
    width = CHARACTER * sum(len(name) + len(weight) for name, weight in words) + 10 * len(words) - 1
    is_loop = edge.source == edge.target
    centre = beyond(curve, way, width, LINE) if is_loop else place_label(curve, width, LINE, taken)
    box = Box.around(centre, width, LINE)
    taken.append(box)
    spans = "".join(
        f'<tspan dx="{7 * (k > 0)}">{escape(name)}</tspan>'
        f'<tspan dx="{3 if name else 7}" class="w">{weight}</tspan>'
        for k, (name, weight) in enumerate(words)
    )
    return (
        f'<rect x="{box.left:.1f}" y="{box.top:.1f}" width="{width:.1f}" height="{LINE}" rx="4" class="b"/>'
        f'<text class="l" x="{centre[0]:.1f}" y="{centre[1] + 4:.1f}">{spans}</text>'
    )


def entry(centre: Floats, way: Floats, weight: float, taken: list[Box]) -> str:
    """A short arrow into a state from nowhere, with the initial weight."""
    start, end = centre + way * (RADIUS + 30), centre + way * (RADIUS + 2)
    curve = Curve(np.array([start, start + (end - start) / 3, start + (end - start) * 2 / 3, end]))
    text, colour = weight_name(weight), css_colour(INK)
    at = beyond(Curve(np.tile(start, (4, 1))), way, CHARACTER * len(text), 12.0)
    taken.append(Box.around(at, CHARACTER * len(text), 12.0))
    return (
        f'<g><title>starts here: {weight:.3g}</title><path d="{_path(curve)}" stroke="{colour}" '
        f'stroke-width="1.4" fill="none"/>{_head(curve, colour, 0.8)}'
        f'<text class="l w" x="{at[0]:.1f}" y="{at[1] + 4:.1f}">{text}</text></g>'
    )


def state(number: int, centre: Floats, final: float) -> str:
    """A disc with the number of the state; the ring is filled as far as its final weight goes."""
    x, y, r = f"{centre[0]:.1f}", f"{centre[1]:.1f}", RADIUS - 2.5
    share = min(abs(final), 1.0)
    colour = SERIES[2] if final >= 0 else SERIES[1]
    written = weight_name(final) if share >= 0.005 else "0"
    drawn, around = 2 * np.pi * r * share, 2 * np.pi * r
    ring = (
        f'<circle cx="{x}" cy="{y}" r="{r}" fill="none" stroke="{css_colour(colour)}" stroke-width="5" '
        f'stroke-dasharray="{drawn:.1f} {around:.1f}" transform="rotate(-90 {x} {y})"/>'
    )
    return (
        f"<g><title>state {number}, final weight {final:.3g}</title>"
        f'<circle cx="{x}" cy="{y}" r="{RADIUS}" fill="{css_colour(PAPER)}"/>'
        f'<circle cx="{x}" cy="{y}" r="{r}" fill="none" stroke="{css_colour(GRID)}" stroke-width="5"/>'
        f"{ring if share >= 0.005 else ''}"
        f'<text class="n" x="{x}" y="{centre[1] + 1:.1f}">{number}</text>'
        f'<text class="f" x="{x}" y="{centre[1] + 13:.1f}">{written}</text></g>'
    )


def state_box(centre: Floats) -> Box:
    return Box.around(centre, 2 * RADIUS + 8, 2 * RADIUS + 8)


def frame(parts: list[str], boxes: list[Box], note: str, name: str) -> str:
    """The marks in a drawing just large enough, with what is missing written below."""
    left, top = min(box.left for box in boxes) - MARGIN, min(box.top for box in boxes) - MARGIN
    right, bottom = max(box.right for box in boxes) + MARGIN, max(box.bottom for box in boxes) + MARGIN
    spare = max(0.0, CHARACTER * len(note) - (right - left)) / 2
    left, right, bottom = left - spare, right + spare, bottom + (24 if note else 0)
    at = f'x="{(left + right) / 2:.1f}" y="{bottom - 8:.1f}"'
    foot = f'<text class="w" font-size="11" {at}>{escape(note)}</text>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(name)}" class="automaton" '
        f'width="{right - left:.0f}" height="{bottom - top:.0f}" '
        f'viewBox="{left:.1f} {top:.1f} {right - left:.1f} {bottom - top:.1f}">'
        f"<style>{_rules()}</style>{''.join(parts)}{foot if note else ''}</svg>"
    )


def _rules() -> str:
    """Rules that hold inside drawings of automata alone, also when they are part of a page."""
    rules = {
        "text": f"font-family:{FONT};text-anchor:middle",
        ".b": f"fill:{css_colour(PAPER)};fill-opacity:0.86",
        ".l": f"font-size:11.5px;font-weight:600;fill:{css_colour(INK)}",
        ".w": f"font-weight:400;fill:{css_colour(MUTED)}",
        ".n": f"font-size:15px;font-weight:700;fill:{css_colour(INK)}",
        ".f": f"font-size:9.5px;fill:{css_colour(SERIES[2])}",
    }
    return "".join(f".automaton {name}{{{rule}}}" for name, rule in rules.items())


def _path(curve: Curve) -> str:
    """The curve without the last bit, which the arrow head covers."""
    points = curve.points.copy()
    points[3] -= curve.direction_at_end * HEAD * 0.7
    numbers = [f"{x:.1f} {y:.1f}" for x, y in points]
    return f"M{numbers[0]} C{numbers[1]} {numbers[2]} {numbers[3]}"


def _head(curve: Curve, colour: str, size: float) -> str:
    tip, along = curve.points[3], curve.direction_at_end
    across = np.array([-along[1], along[0]]) * HEAD * 0.45 * size
    corners = (tip, tip - along * HEAD * size + across, tip - along * HEAD * size - across)
    return f'<polygon points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in corners)}" fill="{colour}"/>'
