"""Trees with at most two children a node, and back.

A phrase X with children c1 .. ck becomes k - 1 nodes; those between are labelled @X:

    right   (X c1 (@X c2 (@X c3 c4)))
    left    (X (@X (@X c1 c2) c3) c4)
    head    the head meets what stands right of it, from the inside out, then what stands left of it

Markovisation: an intermediate label remembers the last `horizontal` children that were split off above it,
@X|c2|c1; with `vertical` 2 or more, phrases remember their parents, X^P. `debinarise` takes all of it
back, whatever it was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sigmastar.core.errors import InputError
from sigmastar.trees.data.head_rules import GENERIC, HeadRules
from sigmastar.trees.data.transforms import is_preterminal
from sigmastar.trees.data.tree import Tree, fold

BETWEEN, SIBLING, PARENT = "@", "|", "^"

Order = Callable[[str, Sequence[str]], list[bool]]
"""From a label and its children's: for each cut, from the outside in, whether the left child is cut off."""


def right(label: str, children: Sequence[str]) -> list[bool]:
    """Children are cut off from the left."""
    return [True] * (len(children) - 1)


def left(label: str, children: Sequence[str]) -> list[bool]:
    """Children are cut off from the right."""
    return [False] * (len(children) - 1)


def head_outward(rules: HeadRules = GENERIC) -> Order:
    """Children left of the head are cut off first, then those right of it."""

    def order(label: str, children: Sequence[str]) -> list[bool]:
        head = rules.head(label, children)
        return [True] * head + [False] * (len(children) - 1 - head)

    return order


def binarise(tree: Tree, order: Order = right, horizontal: int = 0, vertical: int = 1) -> Tree:
    """A tree whose nodes have one or two children.

    >>> flat = Tree("X", tuple(Tree(name, (name.lower(),)) for name in "ABCD"))
    >>> print(binarise(flat, right, horizontal=1))
    (X (A a) (@X|A (B b) (@X|B (C c) (D d))))
    >>> print(binarise(flat, left))
    (X (@X (@X (A a) (B b)) (C c)) (D d))
    """
    if horizontal < 0 or vertical < 1:
        raise ValueError("horizontal must be 0 or more, and vertical 1 or more")
    annotated = _with_parents(tree, vertical)

    def build(node: Tree, below: list[Tree | str]) -> Tree:
        if len(below) < 3:
            return Tree(node.label, tuple(below))
        return _binary(node.label, below, order, horizontal)

    return fold(annotated, build)


def _binary(label: str, children: list[Tree | str], order: Order, horizontal: int) -> Tree:
    names = [child if isinstance(child, str) else _plain(child.label) for child in children]
    first, last, seen = 0, len(children), list[str]()
    cuts = list[tuple[bool, Tree | str, str]]()  # whether on the left, the child, the label above both
    above = label
    for on_left in order(_plain(label), names):
        at = first if on_left else last - 1
        first, last = first + on_left, last - (not on_left)
        cuts.append((on_left, children[at], above))
        seen.insert(0, names[at])
        above = BETWEEN + label + "".join(SIBLING + name for name in seen[:horizontal])
    inner = children[first]
    for on_left, child, name in reversed(cuts):
        inner = Tree(name, (child, inner) if on_left else (inner, child))
    assert not isinstance(inner, str)
    return inner


def debinarise(tree: Tree) -> Tree:
    """The inverse of `binarise`: intermediate nodes and what labels remember are gone.

    >>> print(debinarise(Tree("X^S", (Tree("A", ("a",)), Tree("@X^S|A", ("b", "c"))))))
    (X (A a) b c)
    """

    def build(node: Tree, below: list[Tree | str]) -> Tree:
        children = list[Tree | str]()
        for child in below:
            is_between = not isinstance(child, str) and child.label.startswith(BETWEEN)
            children.extend(child.children if is_between and isinstance(child, Tree) else [child])
        if node.label.startswith(BETWEEN):
            return Tree(node.label, tuple(children))
        return Tree(_plain(node.label), tuple(children))

    return fold(tree, build)


def _plain(label: str) -> str:
    return label.split(PARENT, 1)[0] if label[:1] != PARENT else label


def _with_parents(tree: Tree, vertical: int) -> Tree:
    """Phrases with the labels of the vertical - 1 phrases above them; tags stay as they are."""
    names = list[str]()
    waiting: list[tuple[Tree, tuple[str, ...]]] = [(tree, ())]
    while waiting:
        node, parents = waiting.pop()
        _require_free(node.label)
        remembered = () if is_preterminal(node) else parents[: vertical - 1]
        names.append(node.label + "".join(PARENT + name for name in remembered))
        waiting.extend(
            (child, (node.label, *parents)[: vertical - 1])
            for child in node.children
            if not isinstance(child, str)
        )
    in_order = iter(reversed(names))  # the order in which `fold` builds
    return fold(tree, lambda node, below: Tree(next(in_order), tuple(below)))


def _require_free(label: str) -> None:
    if label.startswith(BETWEEN) or PARENT in label[1:]:
        raise InputError(f"the label {label!r} holds a mark of binarisation (@ or ^); rename it first")
