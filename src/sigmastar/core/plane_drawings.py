"""Maps of points and graphs of states as SVG text, from the numbers of views (`core.exhibit`)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from sigmastar.core.figures import INK, MUTED, PAPER, SERIES, css_colour
from sigmastar.core.plot_drawings import HALO, WIDE, Data, Scale
from sigmastar.core.svg import dot, drawing, short, text, told
from sigmastar.core.tree_and_arc_drawings import DASHED

MOST_NAMED = 70
"""Names on a map."""


def draw_map(data: Data, name: str) -> str | None:
    path = data.get("path") or []
    every = [*data["points"], *path]
    if not every:
        return None
    height, edge = 0.62 * WIDE, 34.0
    x = Scale(*_ends(point["x"] for point in every), edge, WIDE - edge)
    y = Scale(*_ends(point["y"] for point in every), height - edge, edge)
    groups = list(dict.fromkeys(point.get("group") or "" for point in data["points"]))
    tones = {group: SERIES[k % 6] if len(groups) > 1 else SERIES[5] for k, group in enumerate(groups)}
    parts = [
        told(
            point.get("title") or point["name"],
            dot(x(point["x"]), y(point["y"]), 3.2, tones[point.get("group") or ""], ' fill-opacity="0.55"'),
        )
        for point in data["points"]
    ]
    tone = SERIES[1] if len(groups) < 2 else INK  # the way is in no group
    ways = " ".join(f"{x(point['x']):.1f},{y(point['y']):.1f}" for point in path)
    if path:
        parts.append(f'<polyline points="{ways}" fill="none" stroke="{css_colour(tone)}" stroke-width="2"/>')
        parts += [dot(x(point["x"]), y(point["y"]), 4.5, tone) for point in path]
    named = path[::-1] if path else data["points"] if data.get("named") is not False else []
    parts += _names([(x(p["x"]), y(p["y"]), short(p["name"], 18)) for p in named], tone if path else MUTED)
    if len(groups) > 1:
        for place, group in enumerate(groups):
            parts += [
                dot(edge, 12 + 15 * place, 4, tones[group]),
                text(edge + 9, 16 + 15 * place, group, MUTED, 11, "start"),
            ]
    return drawing(WIDE, height, name, parts)


def _ends(values: Iterable[float]) -> tuple[float, float]:
    known = list(values)
    return min(known), max(known)


def _names(named: Sequence[tuple[float, float, str]], colour: str) -> list[str]:
    """Names beside their places, as far as they do not cover each other."""
    taken, found = list[tuple[float, float, float]](), list[str]()
    for x, y, name in named:
        wide = 6.6 * len(name) + 8
        is_left = x + 8 + wide > WIDE
        begin = x - 8 - wide if is_left else x + 8
        if len(found) < MOST_NAMED and not any(
            abs(y - other) < 13 and begin < right and left < begin + wide for left, other, right in taken
        ):
            taken.append((begin, y, begin + wide))
            found.append(
                text(
                    x - 8 if is_left else x + 8, y + 4, name, colour, 11, "end" if is_left else "start", HALO
                )
            )
    return found


_RADIUS = 17.0


def draw_graph(data: Data, name: str) -> str | None:
    nodes, edges = data["nodes"], data["edges"]
    if not nodes:
        return None
    height = 340.0 if len(nodes) > 6 else 280.0 if len(nodes) > 2 else 190.0
    x = Scale(*_ends(node["x"] for node in nodes), 80, WIDE - 80)
    y = Scale(*_ends(node["y"] for node in nodes), 66, height - 66)
    at = [(_placed(x, node["x"], WIDE), _placed(y, node["y"], height)) for node in nodes]
    heaviest = max((edge["weight"] for edge in edges), default=1.0) or 1.0
    lines, labels = [], []
    for rank, edge in enumerate(edges):
        label, source = short(edge.get("label", ""), 16), edge["source"]
        points, place = _bent(at[source], at[edge["target"]], (WIDE / 2, height / 2), nodes[source], label)
        lines.append(
            told(edge.get("title", ""), _arrow(points, edge["weight"] / heaviest, bool(edge.get("negative"))))
        )
        if rank < 12:
            labels.append(text(*place, label, INK, 11, more=HALO))
    discs = [_node(node, *place) for node, place in zip(nodes, at, strict=True)]
    return drawing(WIDE, height, name, [*lines, *discs, *labels])


def _placed(scale: Scale, value: float, size: float) -> float:
    """Where one stands; in the middle where all stand at one place."""
    place = scale(value)
    return place if scale.size != 1.0 or scale.by(value) != scale.low else size / 2


Point = tuple[float, float]


def _bent(start: Point, end: Point, centre: Point, node: Data, label: str) -> tuple[list[Point], Point]:
    """The four points of an arrow that bends, or of a loop outside, and where its label stands."""
    if start == end:
        out = math.atan2(start[1] - centre[1], start[0] - centre[0]) if start != centre else -math.pi / 2
        if (node.get("initial") or 0) > 0.005 and math.cos(out) < -0.6:  # beside the arrow of the beginning
            out = 1.9 if math.sin(out) > 0 else -1.9
        turns = ((-0.55, 1.0), (-0.7, 3.4), (0.7, 3.4), (0.55, 1.15), (0.0, 3.3))
        found = [
            (start[0] + far * _RADIUS * math.cos(out + turn), start[1] + far * _RADIUS * math.sin(out + turn))
            for turn, far in turns
        ]
        return found[:4], (found[4][0], found[4][1] + 4)
    dx, dy = end[0] - start[0], end[1] - start[1]
    length = math.hypot(dx, dy) or 1.0
    bend = min(42.0, 0.2 * length)
    ux, uy, side = dx / length, dy / length, (dy / length * bend, -dx / length * bend)
    points = [
        (start[0] + ux * _RADIUS, start[1] + uy * _RADIUS),
        (start[0] + dx / 3 + side[0], start[1] + dy / 3 + side[1]),
        (start[0] + 2 * dx / 3 + side[0], start[1] + 2 * dy / 3 + side[1]),
        (end[0] - ux * (_RADIUS + 3), end[1] - uy * (_RADIUS + 3)),
    ]
    # A curve rises to 3/4 of its bend: labels stand beyond it, the farther the more of their width meets it.
    rise, away = 3 * 0.42 * 0.58, 10 + abs(uy) * max(3.1 * len(label) - 2, 0.0)
    x = start[0] + 0.42 * dx + rise * side[0] + uy * away
    return points, (x, start[1] + 0.42 * dy + rise * side[1] - ux * away + 4)


def _arrow(points: Sequence[Point], weight: float, negative: bool) -> str:
    colour = css_colour(SERIES[negative])
    a, b, c, d = (f"{x:.1f},{y:.1f}" for x, y in points)
    look = (
        f'stroke-width="{1 + 4 * weight:.1f}" stroke-opacity="{0.35 + 0.6 * weight:.2f}"{DASHED * negative}'
    )
    (x, y), turn = points[3], math.atan2(points[3][1] - points[2][1], points[3][0] - points[2][0])
    wing = 6 + 4 * weight
    corners = [(x, y)] + [
        (x - wing * math.cos(turn + t), y - wing * math.sin(turn + t)) for t in (0.45, -0.45)
    ]
    head = " ".join(f"{px:.1f},{py:.1f}" for px, py in corners)
    way = f'<path d="M{a} C{b} {c} {d}" fill="none" stroke="{colour}" {look}/>'
    return f'{way}<polygon points="{head}" fill="{colour}"/>'


def _node(node: Data, x: float, y: float) -> str:
    """A disc with its name; the ring is filled as far as its weight goes."""
    ring, around = min(max(node.get("ring") or 0.0, 0.0), 1.0), 2 * math.pi * (_RADIUS - 2)
    look = f'fill="{css_colour(PAPER)}" stroke="{css_colour(INK)}" stroke-width="1.2"'
    marks = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{_RADIUS:g}" {look}/>']
    marks.append(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{_RADIUS - 2:g}" fill="none" stroke="{css_colour(SERIES[2])}" '
        f'stroke-width="3.5" stroke-dasharray="{ring * around:.1f} {around:.1f}" '
        f'transform="rotate(-90 {x:.1f} {y:.1f})"/>'
    )
    if (node.get("initial") or 0.0) > 0.005:
        way = f"M{x - _RADIUS - 20:.1f},{y:.1f} h16 m-6,-4 l6,4 l-6,4"
        marks.append(f'<path d="{way}" fill="none" stroke="{css_colour(INK)}" stroke-width="1.8"/>')
    return told(node.get("title") or node["label"], *marks, text(x, y + 4, node["label"], size=12))
