"""Phrase structure trees: as SVG text, and with lines for the terminal."""

from __future__ import annotations

from collections.abc import Collection

from sigmastar.core.tree_and_arc_drawings import Node, draw_nodes
from sigmastar.trees.data.tree import Tree, fold

Span = tuple[str, int, int]


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
    spans = iter(_spans(tree))

    def build(node: Tree, below: list[Node | str]) -> Node:
        span = next(spans)
        children = [{"label": child} if isinstance(child, str) else child for child in below]
        return {"label": node.label, "children": children, "mark": right is not None and span not in right}

    return draw_nodes(fold(tree, build), f"Tree of: {' '.join(tree.words())}")


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
