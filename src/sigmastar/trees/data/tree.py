"""Trees over a sentence: a label, and children that are trees or words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, NamedTuple, TypeVar

from sigmastar.core.notebook import shown

Result = TypeVar("Result")


@shown  # named tuples have no other bases
class Tree(NamedTuple):
    """A node of a tree; a child that is plain text is a word.

    >>> list(Tree("S", (Tree("NP", ("she",)), Tree("VP", ("runs",)))).words())
    ['she', 'runs']
    """

    label: str
    children: tuple[Tree | str, ...]

    def words(self) -> Iterator[str]:
        """The words below, from left to right."""
        waiting: list[Tree | str] = [self]
        while waiting:  # not by recursion: trees may be deeper than Python's stack
            node = waiting.pop()
            if isinstance(node, str):
                yield node
            else:
                waiting.extend(reversed(node.children))

    def nodes(self) -> Iterator[Tree]:
        """This node and all below it that are not words, parents first, from left to right."""
        waiting: list[Tree | str] = [self]
        while waiting:
            node = waiting.pop()
            if not isinstance(node, str):
                yield node
                waiting.extend(reversed(node.children))

    def __str__(self) -> str:
        return bracketed(self)


def fold(tree: Tree, build: Callable[[Tree, list[Result | str]], Result]) -> Result:
    """Build from the words up: `build` gets a node and what was built of its children; words stay words.

    Parameters
    ----------
    tree : Tree
        The tree to walk through.
    build : callable
        From a node and the list of what its children became to the result of the node.

    Returns
    -------
    object
        What was built of the root.

    Examples
    --------
    >>> fold(Tree("S", (Tree("NP", ("she",)), "runs")), lambda node, below: len(below))
    2
    """
    nodes, waiting = list[Tree](), [tree]
    while waiting:
        node = waiting.pop()
        nodes.append(node)
        waiting.extend([child for child in node.children if not isinstance(child, str)])
    done: list[Result] = []  # of nodes whose parent is still to come, from left to right
    for node in reversed(nodes):
        n_below = sum(not isinstance(child, str) for child in node.children)
        inner = iter(done[len(done) - n_below :])
        del done[len(done) - n_below :]
        done.append(build(node, [c if isinstance(c, str) else next(inner) for c in node.children]))
    return done[0]


def n_bare_words(tree: Tree) -> int:
    """The number of words that stand beside other children of a node."""
    return sum(_bare(node) for node in tree.nodes())


def with_tags(tree: Tree, tag: str) -> Tree:
    """The tree with a tag over each word that stands beside other children of a node.

    Parameters
    ----------
    tree : Tree
        The tree to change.
    tag : str
        Label of the new nodes.

    Returns
    -------
    Tree
        In which words have no siblings.

    Examples
    --------
    >>> str(with_tags(Tree("S", (Tree("NP", ("she",)), "runs")), "XX"))
    '(S (NP she) (XX runs))'
    """

    def build(node: Tree, below: list[Tree | str]) -> Tree:
        if not _bare(node):
            return Tree(node.label, tuple(below))
        return Tree(node.label, tuple(Tree(tag, (c,)) if isinstance(c, str) else c for c in below))

    return fold(tree, build) if n_bare_words(tree) else tree


def _bare(node: Tree) -> int:
    return sum(isinstance(child, str) for child in node.children) if len(node.children) > 1 else 0


def bracketed(tree: Tree) -> str:
    """A tree in brackets, on one line.

    Parameters
    ----------
    tree : Tree
        The tree to write.

    Returns
    -------
    str
        The text, without a line end.

    Examples
    --------
    >>> bracketed(Tree("S", (Tree("NP", ("she",)), Tree("VP", ("runs",)))))
    '(S (NP she) (VP runs))'
    """
    written: list[str] = []
    waiting: list[Tree | str | None] = [tree]
    while waiting:
        node = waiting.pop()
        if node is None:
            written.append(")")
        elif isinstance(node, str):
            written.append(f" {node}")
        else:
            written.append(f" ({node.label}")
            waiting.append(None)
            waiting.extend(reversed(node.children))
    return "".join(written)[1:]


def to_nltk(tree: Tree | str) -> Any:
    """The same tree as an `nltk.Tree`, which learners take too.

    Parameters
    ----------
    tree : Tree or str
        A tree; a lone word stays one.

    Returns
    -------
    nltk.Tree
        With words as its leaves.
    """
    other = import_module("nltk.tree").Tree  # which few users have
    return tree if isinstance(tree, str) else fold(tree, lambda node, below: other(node.label, below))
