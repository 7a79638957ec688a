"""Trees, arcs, charts of spans and lattices of alignments as SVG text, from plain numbers and names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sigmastar.core.figures import GRID, INK, MUTED, PAPER, SERIES, css_colour
from sigmastar.core.svg import CHARACTER, box, dot, drawing, line, short, text, told

Node = Mapping[str, Any]
"""`label`, and where it is no word `children`; `mark` where it is wrong, `title` where more is known."""
Edge = tuple[int, int, int, int]
"""Where a unit begins and where it ends: input symbols and output symbols that were read before."""
DASHED = ' stroke-dasharray="5 3"'


@dataclass(eq=False)
class _Part:
    """A node or word: where it stands, how far above the words, and what is below it."""

    node: Node
    below: list[_Part] = field(default_factory=list)
    x: float = 0.0
    height: int = 0

    @property
    def is_word(self) -> bool:
        return not self.below

    @property
    def is_tag(self) -> bool:
        return len(self.below) == 1 and self.below[0].is_word


_SPACE, _STEP, _MARGIN = 14.0, 44.0, 18.0


def draw_nodes(root: Node, name: str = "Tree") -> str:
    """A tree above its words; nodes with a mark are in another colour, and dashed."""
    top, order, edges = _parts(root)
    width = _placed(order)
    for part in reversed(order):  # children stand behind their parents
        if part.below:
            part.x = (part.below[0].x + part.below[-1].x) / 2
            part.height = 1 + max(child.height for child in part.below)
    high = top.height

    def y(part: _Part) -> float:
        return _MARGIN + _STEP * (high - part.height)

    lines = [_branch(parent, child, y(parent), y(child)) for parent, child in edges]
    labels = [_label(part, y(part)) for part in order]
    return drawing(width, _MARGIN + _STEP * high + 0.8 * _MARGIN, name, lines + labels)


def _parts(root: Node) -> tuple[_Part, list[_Part], list[tuple[_Part, _Part]]]:
    """The root, all parts in the order of reading, and which stands above which; trees may be very deep."""
    top = _Part(root)
    order, edges, waiting = list[_Part](), list[tuple[_Part, _Part]](), [top]
    while waiting:
        part = waiting.pop()
        order.append(part)
        part.below = [_Part(child) for child in part.node.get("children", ())]
        edges += [(part, child) for child in part.below]
        waiting += reversed(part.below)
    return top, order, edges


def _placed(order: Sequence[_Part]) -> float:
    """Give each word a place, wide enough for it and for the label above it; the width of all."""
    labels = {id(part.below[0]): part.node["label"] for part in order if part.is_tag}
    x = _SPACE
    for part in order:
        if part.is_word:
            size = CHARACTER * max(len(str(part.node["label"])), len(str(labels.get(id(part), ""))), 2)
            part.x = x + size / 2
            x += size + _SPACE
    return x


def _branch(parent: _Part, child: _Part, y: float, to_y: float) -> str:
    wrong = bool(parent.node.get("mark"))
    path = f"M{parent.x:.1f},{y + 6:.1f} V{y + 14:.1f} H{child.x:.1f} V{to_y - 13:.1f}"
    colour = css_colour(SERIES[1] if wrong else MUTED)
    return f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.2"{DASHED if wrong else ""}/>'


def _label(part: _Part, y: float) -> str:
    kind = SERIES[1] if part.node.get("mark") else MUTED if part.is_tag else SERIES[0]
    written = text(
        part.x,
        y,
        part.node["label"],
        INK if part.is_word else kind,
        more="" if part.is_word else ' font-weight="600"',
    )
    return told(part.node["title"], written) if part.node.get("title") else written


_GAP, _RISE, _LINE = 22.0, 24.0, 17.0


@dataclass(frozen=True)
class Arcs:
    """Words with their heads, counted from 1, 0 for the root; what else is known of them is drawn too."""

    words: Sequence[str]
    heads: Sequence[int]
    labels: Sequence[str] | None = None
    tags: Sequence[str] | None = None
    gold: Sequence[int] | None = None
    posteriors: Sequence[float] | None = None


def draw_heads(arcs: Arcs) -> str:
    """Arcs from heads to modifiers, fainter where they are less sure, dashed where they are wrong."""
    if len(arcs.words) != len(arcs.heads):
        raise ValueError(f"{len(arcs.words)} words have {len(arcs.heads)} heads; give one to each word")
    middles, width = _middles(arcs)
    levels = _levels(arcs.heads)
    ground = _RISE * (max(levels, default=1) + 1)
    parts = [_arc(arcs, middles, place, levels[place], ground) for place in range(len(arcs.heads))]
    parts += [text(x, ground + _LINE, word) for x, word in zip(middles, arcs.words, strict=True)]
    if arcs.tags is not None:
        parts += [text(x, ground + 2 * _LINE, tag, MUTED) for x, tag in zip(middles, arcs.tags, strict=True)]
    name = f"Dependency tree of: {' '.join(arcs.words)}"
    return drawing(width, ground + 2 * _LINE + 14, name, parts)


def _middles(arcs: Arcs) -> tuple[list[float], float]:
    """The middle of each word, and the width of all; labels of arcs between neighbours have room between."""
    x, middles = _GAP, list[float]()
    for k, word in enumerate(arcs.words):
        size = CHARACTER * max(len(word), len(arcs.tags[k]) if arcs.tags is not None else 0, 2)
        least = middles[-1] + _between(arcs, k) if middles else 0.0
        middles.append(max(x + size / 2, least))
        x = middles[-1] + size / 2 + _GAP
    return middles, x


def _between(arcs: Arcs, k: int) -> float:
    """How far a word must be from the one before it for what stands on the arc between them."""
    if arcs.labels is None:
        return 0.0
    labels = [arcs.labels[k]] * (arcs.heads[k] == k) + [arcs.labels[k - 1]] * (arcs.heads[k - 1] == k + 1)
    return 14 + 0.8 * CHARACTER * max(map(len, labels)) if labels else 0.0


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


def _arc(arcs: Arcs, middles: Sequence[float], place: int, level: int, ground: float) -> str:
    head, end, top = arcs.heads[place], middles[place], ground - _RISE * level
    wrong = arcs.gold is not None and arcs.gold[place] != head
    colour = css_colour(SERIES[1] if wrong else SERIES[0])
    if head == 0:
        path, label_x, label_y = f"M{end:.1f},4 L{end:.1f},{ground:.1f}", end + 4, 14.0
    else:
        start = middles[head - 1] + (5 if place + 1 > head else -5)
        path = f"M{start:.1f},{ground:.1f} C{start:.1f},{top:.1f} {end:.1f},{top:.1f} {end:.1f},{ground:.1f}"
        label_x, label_y = (start + end) / 2, ground - 0.75 * _RISE * level - 3
    sure = None if arcs.posteriors is None else arcs.posteriors[place]
    faint = "" if sure is None else f' stroke-opacity="{0.25 + 0.75 * min(max(sure, 0.0), 1.0):.2f}"'
    drawn = f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.5"{DASHED * wrong}{faint}/>'
    drawn += f'<path d="M{end - 3:.1f},{ground - 6:.1f} l3,6 l3,-6 z" fill="{colour}"/>'
    if arcs.labels is not None:
        drawn += text(label_x, label_y, arcs.labels[place], MUTED, 10)
    if sure is None:
        return drawn
    above = "root" if head == 0 else arcs.words[head - 1]
    return told(f"{arcs.words[place]} under {above}: {sure:.3f}", drawn)


@dataclass(frozen=True)
class Cell:
    """What is known of a span: a share that shades it, its label, all that is told, whether it is framed."""

    begin: int
    end: int
    share: float
    label: str
    title: str = ""
    best: bool = False


_WIDTH, _HEIGHT, _EDGE, _SHOWN = 46.0, 26.0, 16.0, 0.1


def draw_cells(words: Sequence[str], cells: Sequence[Cell]) -> str:
    """Spans above their words, longer ones higher; those that no cell names are left white."""
    known = {(cell.begin, cell.end): cell for cell in cells}
    for begin, end in known:
        if not 0 <= begin < end <= len(words):
            raise ValueError(f"({begin}, {end}) does not fit a sentence of {len(words)} words")
    unit = max(_WIDTH, 7.4 * max((len(word) for word in words), default=1) + 8)
    width, height = unit * len(words) + 2 * _EDGE, _HEIGHT * (len(words) + 1) + 2 * _EDGE
    parts = [
        _cell(begin, begin + size, known.get((begin, begin + size)), unit, height)
        for size in range(1, len(words) + 1)
        for begin in range(len(words) - size + 1)
    ]
    parts += [
        text(_EDGE + unit * (place + 0.5), height - _EDGE - 6, word, MUTED)
        for place, word in enumerate(words)
    ]
    return drawing(width, height, f"Marginals of spans of: {' '.join(words)}", parts)


def _cell(begin: int, end: int, cell: Cell | None, unit: float, height: float) -> str:
    x, y = _EDGE + unit * (begin + end - 1) / 2, height - _EDGE - _HEIGHT * (end - begin + 1)
    place = (x + 1, y + 1, unit - 2, _HEIGHT - 2)
    frame = box(*place, f'fill="none" stroke="{css_colour(GRID)}"')
    if cell is None:
        return frame
    share = min(max(cell.share, 0.0), 1.0)
    shade = box(*place, f'fill="{css_colour(SERIES[0])}" fill-opacity="{share:.3f}"')
    if cell.best:
        shade += box(*place, f'fill="none" stroke="{css_colour(INK)}" stroke-width="1.5"')
    name = short(cell.label, max(4, int(unit / 7)))
    at = x + unit / 2, y + _HEIGHT / 2 + 4
    written = text(*at, name, PAPER if share > 0.55 else INK, 11) if share >= _SHOWN else ""
    return frame + told(cell.title or f"{cell.label} {cell.share:.3f}", shade, written)


_SIDE, _MARGIN_OF_NAMES = 44.0, 40.0


def draw_ways(
    inputs: Sequence[object], outputs: Sequence[object], edges: Mapping[Edge, tuple[float, str]]
) -> str:
    """Ways from an input to an output: inputs run to the right, outputs down; the wider, the more share."""
    side = max([_SIDE, *(8.0 * len(str(symbol)) + 14 for symbol in inputs)])
    left = max([_MARGIN_OF_NAMES, *(8.0 * len(str(symbol)) + 22 for symbol in outputs)])

    def at(i: int, j: int) -> tuple[float, float]:
        return left + side * i, _MARGIN_OF_NAMES + _SIDE * j

    width, height = at(max(len(inputs), 1), max(len(outputs), 1))
    parts = [dot(*at(i, j), 2, MUTED) for i in range(len(inputs) + 1) for j in range(len(outputs) + 1)]
    parts += [text(at(i, 0)[0] + side / 2, _MARGIN_OF_NAMES - 18, symbol) for i, symbol in enumerate(inputs)]
    parts += [
        text(left - 12, at(0, j)[1] + _SIDE / 2 + 4, symbol, anchor="end") for j, symbol in enumerate(outputs)
    ]
    for (i, j, to_i, to_j), (share, label) in edges.items():
        size = min(abs(share), 1.0)
        look = f' stroke-width="{0.5 + 5 * size:.2f}" stroke-opacity="{0.25 + 0.75 * size:.2f}"'
        way = line(*at(i, j), *at(to_i, to_j), SERIES[share < 0], look + DASHED * (share < 0))
        parts.append(told(f"{label} {share:.3f}".strip(), way))
    name = f"Alignments of {' '.join(map(str, inputs))} with {' '.join(map(str, outputs))}"
    return drawing(width + _MARGIN_OF_NAMES, height + _MARGIN_OF_NAMES, name, parts)
