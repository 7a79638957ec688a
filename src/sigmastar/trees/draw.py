"""Phrase structure trees: as SVG text, and with lines for the terminal."""

from __future__ import annotations

from collections.abc import Collection
from html import escape

from sigmastar.core.figures import FONT, INK, MUTED, PAPER, SERIES, css_colour
from sigmastar.trees.data.tree import Tree, fold

Span = tuple[str, int, int]

_SPACE, _CHARACTER, _STEP, _MARGIN = 14.0, 7.2, 44.0, 18.0


def draw_tree(tree: Tree, gold: Tree | None = None) -> str:
    """A tree above its words; with `gold`, phrases that it lacks are in another colour and dashed.

    Parameters
    ----------
    tree : Tree
        The tree to draw.
    gold : Tree, optional
        The right tree of the same sentence.

    Returns
    -------
    str
        The picture as SVG.
    """
    right = None if gold is None else set(_spans(gold))
    words = list(tree.words())
    middles, width = _places(tree)
    drawing = _Drawing(middles, right)
    height = fold(tree, drawing.build).height
    bottom = _MARGIN + _STEP * height
    lines = [_line(drawing.parts[c], drawing.parts[p], height, wrong) for p, c, wrong in drawing.edges]
    texts = [_text(part, height) for part in drawing.parts]
    size = f"{width:.0f} {bottom + 0.8 * _MARGIN:.0f}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" width="{size.split()[0]}" '
        f'height="{size.split()[1]}" role="img" aria-label="Tree of: {escape(" ".join(words))}">'
        f'<rect width="100%" height="100%" fill="{css_colour(PAPER)}"/>{"".join(lines)}{"".join(texts)}</svg>'
    )


def tree_text(tree: Tree, marked: Collection[Span] = ()) -> str:
    """A tree in lines, a node a line, tags beside their words; `marked` phrases get a star.

    Parameters
    ----------
    tree : Tree
        The tree to write.
    marked : collection of tuple
        Label, first word, and the word behind the last one, of each phrase to mark.

    Returns
    -------
    str
        Lines for the terminal.

    Examples
    --------
    >>> print(tree_text(Tree("S", (Tree("NP", ("she",)), Tree("VP", (Tree("VB", ("runs",)), "fast"))))))
    S
    ├─ NP she
    └─ VP
       ├─ VB runs
       └─ fast
    """
    spans = iter(_spans(tree, preorder=True))
    lines = list[str]()
    waiting: list[tuple[Tree | str, str, str]] = [(tree, "", "")]
    while waiting:
        node, first, rest = waiting.pop()
        if isinstance(node, str):
            lines.append(first + node)
            continue
        span = next(spans)
        star = " *" if span in marked else ""
        if len(node.children) == 1 and isinstance(node.children[0], str):
            lines.append(f"{first}{node.label} {node.children[0]}{star}")
            continue
        lines.append(first + node.label + star)
        last = len(node.children) - 1
        waiting.extend(
            (child, rest + ("└─ " if k == last else "├─ "), rest + ("   " if k == last else "│  "))
            for k, child in reversed(list(enumerate(node.children)))
        )
    return "\n".join(lines)


def _spans(tree: Tree, preorder: bool = False) -> list[Span]:
    """The label and span of every node, children first, or in the order of `nodes`."""
    found = list[Span]()
    places = list[int]()
    waiting: list[tuple[Tree | str, int]] = [(tree, -1)]
    n_words = 0
    while waiting:
        node, place = waiting.pop()
        if isinstance(node, str):
            n_words += 1
        elif place >= 0:
            found[place] = (node.label, found[place][1], n_words)
            places.append(place)
        else:
            found.append((node.label, n_words, n_words))
            waiting.append((node, len(found) - 1))
            waiting.extend((child, -1) for child in reversed(node.children))
    return found if preorder else [found[place] for place in places]


class _Part:
    """A node or word: where it stands, how far above the words, and its text."""

    def __init__(self, text: str, x: float, height: int, colour: str, is_word: bool, wrong: bool) -> None:
        self.text, self.x, self.height, self.colour = text, x, height, colour
        self.is_word, self.wrong = is_word, wrong
        self.number = 0


class _Drawing:
    """Parts from the words up: a node stands above the middle of its children."""

    def __init__(self, middles: list[float], right: set[Span] | None) -> None:
        self.middles, self.right = iter(middles), right
        self.parts: list[_Part] = []
        self.edges: list[tuple[int, int, bool]] = []
        self.n_words = 0
        self.begins: list[int] = []

    def build(self, node: Tree, below: list[_Part | str]) -> _Part:
        children = [self._word(child) if isinstance(child, str) else child for child in below]
        begin = self.begins[children[0].number]
        span = (node.label, begin, self.n_words)
        wrong = self.right is not None and span not in self.right
        height = 1 + max(child.height for child in children)
        x = (children[0].x + children[-1].x) / 2
        is_tag = len(below) == 1 and isinstance(below[0], str)
        colour = SERIES[1] if wrong else MUTED if is_tag else SERIES[0]
        part = self._add(_Part(node.label, x, height, colour, False, wrong), begin)
        self.edges += [(part.number, child.number, wrong) for child in children]
        return part

    def _word(self, word: str) -> _Part:
        part = self._add(_Part(word, next(self.middles), 0, INK, True, False), self.n_words)
        self.n_words += 1
        return part

    def _add(self, part: _Part, begin: int) -> _Part:
        part.number = len(self.parts)
        self.parts.append(part)
        self.begins.append(begin)
        return part


def _places(tree: Tree) -> tuple[list[float], float]:
    """The middle of each word, wide enough for it and for the label above it."""
    x, middles = _SPACE, list[float]()
    for node in tree.nodes():
        for child in node.children:
            if isinstance(child, str):
                size = _CHARACTER * max(len(child), len(node.label), 2)
                middles.append(x + size / 2)
                x += size + _SPACE
    return middles, x


def _y(part: _Part, height: int) -> float:
    return _MARGIN + _STEP * (height - part.height)


def _line(child: _Part, parent: _Part, height: int, wrong: bool) -> str:
    dash = ' stroke-dasharray="5 3"' if wrong else ""
    colour = css_colour(SERIES[1] if wrong else MUTED)
    bend = _y(parent, height) + 14
    path = f"M{parent.x:.1f},{bend - 8:.1f} V{bend:.1f} H{child.x:.1f} V{_y(child, height) - 13:.1f}"
    return f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.2"{dash}/>'


def _text(part: _Part, height: int) -> str:
    weight = "" if part.is_word else ' font-weight="600"'
    return (
        f'<text x="{part.x:.1f}" y="{_y(part, height):.1f}" text-anchor="middle" font-size="13"{weight} '
        f'font-family="{escape(FONT)}" fill="{css_colour(part.colour)}">{escape(part.text)}</text>'
    )
