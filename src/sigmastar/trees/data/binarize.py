"""Trees with at most two children per node, and back; which child of a phrase is its head.

A phrase X with children c1 .. ck becomes k - 1 nodes; those between are labelled @X:

    right   (X c1 (@X c2 (@X c3 c4)))
    left    (X (@X (@X c1 c2) c3) c4)
    head    the head meets what stands right of it, from the inside out, then what stands left of it

Markovization: an intermediate label remembers the last `horizontal` children that were split off above it,
@X|c2|c1; with `vertical` 2 or more, phrases remember their parents, X^P. `debinarize` takes all of it back,
whatever it was.

Head rules try groups of labels one after another; each group is looked for from the left or from the right.
`ENGLISH` is the table of Collins (1999, appendix A) for the Penn Treebank. `GENERIC` names no label: it takes
a child of the phrase's own label, else the last phrase or word that is not punctuation.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from sigmastar.core.errors import InputError
from sigmastar.trees.data.transforms import is_preterminal
from sigmastar.trees.data.tree import Tree, fold


@dataclass(frozen=True)
class HeadRules:
    """For each label groups of child labels, the best first: `(from_left, labels)`; no labels match all."""

    rules: Mapping[str, Sequence[tuple[bool, frozenset[str]]]] = field(
        default_factory=lambda: MappingProxyType({})
    )

    def head(self, label: str, children: Sequence[str]) -> int:
        """The number of the head among the labels of children.

        >>> ENGLISH.head("NP", ["DT", "JJ", "NN", "PP"]), GENERIC.head("XP", ["A", "XP", "B", "."])
        (2, 1)
        """
        for from_left, labels in self.rules.get(label, ()):
            numbers = range(len(children)) if from_left else range(len(children) - 1, -1, -1)
            for number in numbers:
                if not labels or children[number] in labels:
                    return number
        return _generic_head(label, children)


def _generic_head(label: str, children: Sequence[str]) -> int:
    if label in children:
        return children.index(label)
    plain = [number for number, child in enumerate(children) if not is_punctuation(child)]
    return plain[-1] if plain else len(children) - 1


def is_punctuation(label: str) -> bool:
    """Whether a tag names punctuation by being some, as `,` and `-LRB-` do."""
    return label in {"-LRB-", "-RRB-", "PUNCT", "PU"} or (
        bool(label) and all(unicodedata.category(character)[0] in "PS" for character in label)
    )


def _table(text: str) -> HeadRules:
    """One line per label: `NP: > NN NNS | < NP`, groups with > from the left and < from the right."""
    rules = {}
    for line in text.strip().splitlines():
        label, _, groups = line.partition(": ")
        parts = [group.split() for group in groups.split(" | ")]
        rules[label] = [(part[0] == ">", frozenset(part[1:])) for part in parts]
    return HeadRules(MappingProxyType(rules))


def _ordered(direction: str, labels: str) -> str:
    """Labels tried one by one, then the outermost child."""
    return " | ".join([*(f"{direction} {label}" for label in labels.split()), direction])


_NOUNS = "NN NNP NNPS NNS NX POS JJR"
_ENGLISH = {
    "ADJP": _ordered(">", "NNS QP NN $ ADVP JJ VBN VBG ADJP JJR NP JJS DT FW RBR RBS SBAR RB"),
    "ADVP": _ordered("<", "RB RBR RBS FW ADVP TO CD JJR JJ IN NP JJS NN"),
    "CONJP": _ordered("<", "CC RB IN"),
    "FRAG": "<",
    "INTJ": ">",
    "LST": _ordered("<", "LS :"),
    "NAC": _ordered(">", "NN NNS NNP NNPS NP NAC EX $ CD QP PRP VBG JJ JJS JJR ADJP FW"),
    "NP": f"< {_NOUNS} | > NP | < $ ADJP PRN | < CD | < JJ JJS RB QP | <",
    "NX": f"< {_NOUNS} | > NP | < $ ADJP PRN | < CD | < JJ JJS RB QP | <",
    "PP": _ordered("<", "IN TO VBG VBN RP FW"),
    "PRN": ">",
    "PRT": _ordered("<", "RP"),
    "QP": _ordered(">", "$ IN NNS NN JJ RB DT CD NCD QP JJR JJS"),
    "RRC": _ordered("<", "VP NP ADVP ADJP PP"),
    "S": _ordered(">", "TO IN VP S SBAR ADJP UCP NP"),
    "SBAR": _ordered(">", "WHNP WHPP WHADVP WHADJP IN DT S SQ SINV SBAR FRAG"),
    "SBARQ": _ordered(">", "SQ S SINV SBARQ FRAG"),
    "SINV": _ordered(">", "VBZ VBD VBP VB MD VP S SINV ADJP NP"),
    "SQ": _ordered(">", "VBZ VBD VBP VB MD VP SQ"),
    "UCP": "<",
    "VP": _ordered(">", "TO VBD VBN MD VBZ VB VBG VBP VP ADJP NN NNS NP"),
    "WHADJP": _ordered(">", "CC WRB JJ ADJP"),
    "WHADVP": _ordered("<", "CC WRB"),
    "WHNP": _ordered(">", "WDT WP WP$ WHADJP WHPP WHNP"),
    "WHPP": _ordered("<", "IN TO FW"),
}

GENERIC = HeadRules()
ENGLISH = _table("\n".join(f"{label}: {groups}" for label, groups in _ENGLISH.items()))

BETWEEN, SIBLING, PARENT = "@", "|", "^"

Order = Callable[[str, Sequence[str]], list[bool]]
"""From a label and its children's: for each cut, from the outside in, whether the left child is cut off."""


def right(label: str, children: Sequence[str]) -> list[bool]:
    """Children are cut off from the left.

    Parameters
    ----------
    label : str
        Of the phrase; not used.
    children : sequence of str
        Their labels.

    Returns
    -------
    list of bool
        For each cut True: the left child is cut off.
    """
    return [True] * (len(children) - 1)


def left(label: str, children: Sequence[str]) -> list[bool]:
    """Children are cut off from the right.

    Parameters
    ----------
    label : str
        Of the phrase; not used.
    children : sequence of str
        Their labels.

    Returns
    -------
    list of bool
        For each cut False: the right child is cut off.
    """
    return [False] * (len(children) - 1)


def head_outward(rules: HeadRules = GENERIC) -> Order:
    """Children left of the head are cut off first, then those right of it.

    Parameters
    ----------
    rules : HeadRules
        Which child is the head.

    Returns
    -------
    callable
        An order for `binarize`.
    """

    def order(label: str, children: Sequence[str]) -> list[bool]:
        head = rules.head(label, children)
        return [True] * head + [False] * (len(children) - 1 - head)

    return order


def binarize(tree: Tree, order: Order = right, horizontal: int = 0, vertical: int = 1) -> Tree:
    """A tree whose nodes have one or two children.

    Parameters
    ----------
    tree : Tree
        The tree to change.
    order : callable
        Which child is cut off next: `right`, `left` or `head_outward(rules)`.
    horizontal : int
        How many children that were cut off before an intermediate label remembers.
    vertical : int
        How many labels a phrase remembers, its own and those above it.

    Returns
    -------
    Tree
        With intermediate nodes, whose labels begin with @.

    Examples
    --------
    >>> flat = Tree("X", tuple(Tree(name, (name.lower(),)) for name in "ABCD"))
    >>> print(binarize(flat, right, horizontal=1))
    (X (A a) (@X|A (B b) (@X|B (C c) (D d))))
    >>> print(binarize(flat, left))
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


def debinarize(tree: Tree) -> Tree:
    """The inverse of `binarize`: intermediate nodes and what labels remember are gone.

    Parameters
    ----------
    tree : Tree
        The tree to change.

    Returns
    -------
    Tree
        With as many children per node as before.

    Examples
    --------
    >>> print(debinarize(Tree("X^S", (Tree("A", ("a",)), Tree("@X^S|A", ("b", "c"))))))
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
        raise InputError(f"the label {label!r} holds a mark of binarization (@ or ^); rename it first")
