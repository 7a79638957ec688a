"""Bars, strips of symbols, heat maps and lines as SVG text, from the numbers of views (`core.exhibit`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sigmastar.core.figures import GRID, INK, MUTED, PAPER, SERIES, css_colour
from sigmastar.core.page import format_cell
from sigmastar.core.svg import CHARACTER, box, dot, drawing, line, short, text, told
from sigmastar.core.tree_and_arc_drawings import DASHED

Data = Mapping[str, Any]
WIDE = 640.0
"""How wide a drawing is that takes the room it has."""
HALO = f' paint-order="stroke" stroke="{css_colour(PAPER)}" stroke-width="3.5" stroke-linejoin="round"'
"""Attributes of a name that stands above other marks."""


def share(value: float | None) -> str:
    """A probability in few characters.

    >>> share(0.25), share(0.004), share(1e-7), share(None)
    ('0.25', '0.004', '1e-07', '–')
    """
    if value is None:
        return "\N{EN DASH}"
    if value >= 0.0995:
        return f"{value:.2f}"
    return f"{value:.3f}" if value >= 0.00095 else format_cell(float(f"{value:.1g}"))


def draw_bars(data: Data, name: str) -> str | None:
    rows = data["bars"]
    if not rows:
        return None
    top = max(max(abs(row["value"] or 0.0) for row in rows), 1e-9)
    left = 24 + CHARACTER * max(min(len(row["name"]), 28) for row in rows)
    values = [row["value"] for row in rows]
    counts = (
        all(float(value).is_integer() for value in values if value is not None) and top > 1
    )  # else shares
    parts = []
    for place, row in enumerate(rows):
        y, value = 22.0 * place + 12, row["value"] or 0.0
        colour = css_colour(SERIES[value < 0])
        parts += [
            text(left - 12, y + 12, short(row["name"], 28), anchor="end"),
            box(left, y, 320, 15, f'fill="{css_colour(GRID)}"'),
            box(left, y, max(1.0, 320 * abs(value) / top), 15, f'fill="{colour}"'),
            text(
                left + 388,
                y + 12,
                format_cell(row["value"]) if counts else share(row["value"]),
                MUTED,
                anchor="end",
            ),
        ]
    return drawing(left + 400, 22.0 * len(rows) + 20, name, parts)


def draw_strip(data: Data, name: str) -> str | None:
    values = [token.get("value") or 0.0 for token in data["tokens"]]
    most = max([*values, data.get("least") or 1e-9])  # of what is full
    x, y, widest, parts = 12.0, 10.0, 0.0, []
    for token in data["tokens"]:
        value, word = token.get("value"), str(token["text"])
        below = token.get("below") or ("∞" if value is None else format_cell(round(value, 1)))
        wide = 14 + CHARACTER * max(len(word), 0.85 * len(below), 1)
        if x + wide > WIDE and x > 12:
            x, y = 12.0, y + 54
        strength = 1.0 if value is None else value / most
        frame = f'stroke="{css_colour(SERIES[1])}"{DASHED}' if token.get("wrong") else 'stroke="none"'
        marks = (
            box(x, y, wide, 40, f'fill="{css_colour(GRID)}" fill-opacity="0.55" {frame}'),
            line(x, y + 40, x + wide, y + 40, GRID, ' stroke-width="4"'),
            line(
                x, y + 40, x + wide, y + 40, SERIES[1], f' stroke-width="4" stroke-opacity="{strength:.2f}"'
            ),
            text(x + wide / 2, y + 17, word),
            text(x + wide / 2, y + 32, below, MUTED, 11),
        )
        parts.append(told(token.get("title") or f"{word}: {below}", *marks))
        x += wide + 6
        widest = max(widest, x)
    return drawing(widest + 6, y + 54, name, parts) if parts else None


def draw_heat(data: Data, name: str) -> str | None:
    rows, columns = data["rows"], data["columns"]
    if not rows or not columns:
        return None
    left = 16 + CHARACTER * max(min(len(str(row)), 18) for row in rows)
    longest = CHARACTER * max(min(len(str(column)), 14) for column in columns)
    size = max(18.0, min(46.0, (WIDE - left) / len(columns)))
    turned = longest > size - 4
    top = min(110.0, 16 + 0.75 * longest) if turned else 26.0
    parts = []
    for r, row in enumerate(rows):
        parts.append(text(left - 8, top + 22 * r + 15, short(row, 18), size=11, anchor="end"))
        for c, column in enumerate(columns):
            value = data["values"][r][c] or 0.0
            strength = 0.04 + 0.9 * math.sqrt(min(max(value, 0.0), 1.0))
            look = f'fill="{css_colour(SERIES[0])}" fill-opacity="{strength:.2f}"'
            cell = box(left + size * c + 1, top + 22 * r + 1, size - 2, 20, look)
            parts.append(told(f"{row} \N{MULTIPLICATION SIGN} {column}: {share(value)}", cell))
    ring = f'fill="none" stroke="{css_colour(SERIES[1])}" stroke-width="2"'
    parts += [
        box(left + size * c + 2, top + 22 * r + 2, size - 4, 18, ring) for r, c in data.get("marks", ())
    ]
    for c, column in enumerate(columns):
        x = left + size * (c + 0.5)
        turn = f' transform="rotate(-50 {x:.1f} {top - 8:.1f})"' if turned else ""
        anchor = "start" if turned else "middle"
        parts.append(text(x - 3 * turned, top - 8, short(column, 14), INK, 11, anchor, turn))
    return drawing(left + size * len(columns) + (60 if turned else 12), top + 22 * len(rows) + 8, name, parts)


class Scale:
    """From numbers to places between two ends, evenly or by logarithms."""

    def __init__(self, low: float, high: float, start: float, end: float, log: bool = False) -> None:
        self.by: Callable[[float], float] = math.log if log else float
        self.low, self.size = self.by(low), (self.by(high) - self.by(low)) or 1.0
        self.start, self.length = start, end - start

    def __call__(self, value: float) -> float:
        return self.start + self.length * (self.by(value) - self.low) / self.size


def _ticks(low: float, high: float, log: bool, least: float = 0.0) -> list[float]:
    """A few round numbers between two."""
    if log:
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        between = (1, 2, 5) if len(powers) <= 3 else (1,)
        found = [by * 10.0**power for power in powers[:: max(1, len(powers) // 6)] for by in between]
        return [tick for tick in found if low <= tick <= high]
    rough = (high - low or 1.0) / 5
    power = 10.0 ** math.floor(math.log10(rough))
    step = max(next((by * power for by in (1, 2, 5) if by * power >= rough), 10 * power), least)
    first = math.ceil(low / step)
    return [float(f"{step * k:.6g}") for k in range(first, math.floor(high / step + 1e-9) + 1)]


def _range(values: Sequence[float], log: bool) -> tuple[float, float]:
    """What an axis spans: the values, and a little room."""
    low, high = min(values), max(values)
    if log:
        return 0.8 * low, 1.25 * high
    room = 0.08 * (high - low or abs(high) or 1.0)
    return low - room, high + room


def _number(value: float) -> str:
    return format_cell(int(value)) if float(value).is_integer() and abs(value) < 1e6 else f"{value:.4g}"


def draw_lines(data: Data, name: str) -> str | None:
    log, levels = bool(data.get("log")), data.get("levels") or []
    seen = [value for series in data["series"] for value in series["y"]] + [level["y"] for level in levels]
    seen = [value for value in seen if value is not None and (not log or value > 0)]
    if not seen or not data["x"]:
        return None
    left, right, top, bottom = 72.0, WIDE - 18, 22.0, 236.0
    low, high = _range(seen, log)
    x = Scale(min(data["x"]), max(data["x"]), left, right)
    y = Scale(low, high, bottom, top, log)
    parts = [line(left, bottom, right, bottom, MUTED)]
    for tick in _ticks(low, high, log):
        parts += [
            line(left, y(tick), right, y(tick), GRID),
            text(left - 8, y(tick) + 4, _number(tick), MUTED, 11, "end"),
        ]
    whole = 1.0 if all(float(at).is_integer() for at in data["x"]) else 0.0
    parts += [
        text(x(t), bottom + 18, _number(t), MUTED, 11)
        for t in _ticks(min(data["x"]), max(data["x"]), False, whole)
    ]
    for level in levels:
        parts.append(
            line(left, y(level["y"]), right, y(level["y"]), SERIES[1], f' stroke-width="1.5"{DASHED}')
        )
        parts.append(
            text(right - 2, y(level["y"]) - 6, f"{level['name']} {level['y']:.3g}", SERIES[1], 11, "end")
        )
    for mark in data.get("marks") or ():
        parts.append(line(x(mark["x"]), top, x(mark["x"]), bottom, SERIES[2], ' stroke-width="1.5"'))
        late = x(mark["x"]) > right - 110
        parts.append(
            text(
                x(mark["x"]) + (-6 if late else 6),
                top + 12,
                mark["name"],
                SERIES[2],
                11,
                "end" if late else "start",
            )
        )
    parts += [_curve(data, number, x, y, log) for number in range(len(data["series"]))]
    middle = (top + bottom) / 2
    parts.append(text((left + right) / 2, bottom + 38, data.get("x_name", ""), MUTED, 11))
    parts.append(
        text(13, middle, data.get("y_name", ""), MUTED, 11, more=f' transform="rotate(-90 13 {middle:.0f})"')
    )
    return drawing(WIDE, bottom + 46, name, parts)


def _curve(data: Data, number: int, x: Scale, y: Scale, log: bool) -> str:
    """A series: its line, its points, its name at the end where there are several."""
    series, colour = data["series"][number], SERIES[(0, 1, 2, 5)[number % 4]]
    pairs = zip(data["x"], series["y"], strict=False)
    good = [
        (x(at), y(value), at, value) for at, value in pairs if value is not None and (not log or value > 0)
    ]
    path = " ".join(f"{px:.1f},{py:.1f}" for px, py, _, _ in good)
    drawn = f'<polyline points="{path}" fill="none" stroke="{css_colour(colour)}" stroke-width="2"/>'
    size = 2 if len(good) > 60 else 3.5
    for px, py, at, value in good:
        drawn += told(f"{series['name']}: {_number(value)} at {_number(at)}", dot(px, py, size, colour))
    if len(data["series"]) > 1 and good:
        drawn += text(good[-1][0] - 4, good[-1][1] - 8, short(series["name"], 24), colour, 11, "end", HALO)
    return drawn
