"""Small changes of trees that compose: what a grammar does not need is taken away, chains become one node.

    without_traces     (NP (-NONE- *)) is gone, and with it what is empty then
    without_functions  NP-SBJ-1 becomes NP
    collapse, expand   (S (VP (VB go))) becomes (S::VP (VB go)), and back
    with_root, without_root

`collapse` and `with_root` have inverses; the first two forget.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce

from sigmastar.core.errors import InputError
from sigmastar.trees.data.brackets import TRACE, plain_label
from sigmastar.trees.data.tree import Tree, fold

Transform = Callable[[Tree], Tree]

CHAIN = "::"
"""Between the labels of a collapsed chain. No treebank's labels hold it."""


def composed(*transforms: Transform) -> Transform:
    """One transform after another, the first one first.

    Parameters
    ----------
    *transforms : callable
        Each from a tree to a tree.

    Returns
    -------
    callable
        From a tree to a tree.
    """
    return lambda tree: reduce(lambda before, transform: transform(before), transforms, tree)


def without_traces(tree: Tree, empty: str = TRACE) -> Tree:
    """The tree without empty elements, and without phrases of nothing else.

    Parameters
    ----------
    tree : Tree
        The tree to change.
    empty : str
        The tag of empty elements.

    Returns
    -------
    Tree
        With at least one word.
    """

    def build(node: Tree, below: list[Tree | str | None]) -> Tree | None:
        kept = tuple(child for child in below if child is not None)
        return Tree(node.label, kept) if kept and node.label != empty else None

    kept = fold(tree, build)
    if kept is None:
        raise InputError(f"the tree {tree} holds nothing but empty elements; leave it out")
    return kept


def without_empty(trees: Iterable[Tree]) -> list[Tree]:
    """Trees without traces; those of nothing else are left out.

    Parameters
    ----------
    trees : iterable of Tree
        The trees to change.

    Returns
    -------
    list of Tree
        Those that have words.
    """
    return [without_traces(tree) for tree in trees if any(_has_words(node) for node in tree.nodes())]


def _has_words(node: Tree) -> bool:
    return node.label != TRACE and any(isinstance(child, str) for child in node.children)


def without_functions(tree: Tree) -> Tree:
    """Plain labels everywhere.

    Parameters
    ----------
    tree : Tree
        The tree to change.

    Returns
    -------
    Tree
        Of the same shape.

    Examples
    --------
    >>> print(without_functions(Tree("S", (Tree("NP-SBJ", ("she",)), Tree("VP", ("runs",))))))
    (S (NP she) (VP runs))
    """
    return relabelled(tree, plain_label)


def relabelled(tree: Tree, rename: Callable[[str], str]) -> Tree:
    """The same tree with `rename(label)` for every label.

    Parameters
    ----------
    tree : Tree
        The tree to change.
    rename : callable
        From a label to its new label.

    Returns
    -------
    Tree
        Of the same shape.
    """
    return fold(tree, lambda node, below: Tree(rename(node.label), tuple(below)))


def collapse(tree: Tree, preterminals: bool = False, separator: str = CHAIN) -> Tree:
    """Phrases with a single phrase below them become one node; with `preterminals`, tags join too.

    Parameters
    ----------
    tree : Tree
        The tree to change.
    preterminals : bool
        Whether a tag joins the phrase of which it is the only child.
    separator : str
        What stands between the labels of a chain.

    Returns
    -------
    Tree
        Without chains of phrases.

    Examples
    --------
    >>> print(collapse(Tree("S", (Tree("VP", (Tree("VP", ("a", "b")),)),))))
    (S::VP::VP a b)
    """

    def build(node: Tree, below: list[Tree | str]) -> Tree:
        if separator in node.label:
            raise InputError(f"the label {node.label!r} holds {separator!r}, which marks chains; rename it")
        only = below[0] if len(below) == 1 else ""
        if isinstance(only, str) or (is_preterminal(only) and not preterminals):
            return Tree(node.label, tuple(below))
        return Tree(node.label + separator + only.label, only.children)

    return fold(tree, build)


def expand(tree: Tree, separator: str = CHAIN) -> Tree:
    """The inverse of `collapse`.

    Parameters
    ----------
    tree : Tree
        The tree to change.
    separator : str
        What stands between the labels of a chain.

    Returns
    -------
    Tree
        With a node per label.
    """

    def build(node: Tree, below: list[Tree | str]) -> Tree:
        *above, label = node.label.split(separator)
        return reduce(lambda lower, name: Tree(name, (lower,)), reversed(above), Tree(label, tuple(below)))

    return fold(tree, build)


def with_root(tree: Tree, label: str = "TOP") -> Tree:
    """The tree below one more node, unless that is there.

    Parameters
    ----------
    tree : Tree
        The tree to change.
    label : str
        Of the node on top.

    Returns
    -------
    Tree
        With a root of that label.
    """
    return tree if tree.label == label else Tree(label, (tree,))


def without_root(tree: Tree, labels: tuple[str, ...] = ("TOP", "ROOT", "S1", "VROOT", "")) -> Tree:
    """The tree without an outer node of a label that stands for none.

    Parameters
    ----------
    tree : Tree
        The tree to change.
    labels : tuple of str
        Of nodes that are taken away.

    Returns
    -------
    Tree
        The first node below that stays.
    """
    while tree.label in labels and len(tree.children) == 1 and not isinstance(tree.children[0], str):
        tree = tree.children[0]
    return tree


def is_preterminal(node: Tree) -> bool:
    """Whether a node is a tag: its one child is a word."""
    return len(node.children) == 1 and isinstance(node.children[0], str)


def tags(tree: Tree) -> list[str]:
    """The label above each word.

    Parameters
    ----------
    tree : Tree
        A tree over words.

    Returns
    -------
    list of str
        One per word.
    """
    return [node.label for node in tree.nodes() for child in node.children if isinstance(child, str)]
