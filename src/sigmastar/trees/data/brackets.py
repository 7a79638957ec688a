r"""Treebanks in brackets, in the manner of the Penn Treebank: `(S (NP (PRP she)) (VP (VBZ runs)))`.

A tree may take several lines and a line may hold several trees; blanks do not matter. The empty outer
label of the Penn Treebank, `( (S ..) )`, is taken off. Labels with functions (`NP-SBJ`) and traces
(`(-NONE- *T*-1)`) stay as they are, see `plain_label`. Words stay too: a bracket would end a node, and a bare
slash or star would mean something else, so the Penn Treebank writes `-LRB-` and `1\/2`, see `escaped`.

A compiled pass over the bytes finds the nodes, and trees are built level by level. Text that is not of
the usual form, words beside brackets or brackets that do not close, is read token by token, which also
finds the line of an error.

The compiled pass finds nodes, their pieces and their depths.

Behind an opening bracket stands a piece: a label, and for preterminals a word and a closing bracket. Pieces
repeat, so each different one is kept once, found by an open-addressed hash (FNV-1a) of its bytes. Text that
holds anything else (words beside brackets, nodes without children, open brackets) is not regular:
there is then nothing to return.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice, repeat
from typing import Any, NamedTuple, TextIO

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.arrays import Array, Int64s
from sigmastar.core.errors import InputError
from sigmastar.core.jit import kernel, part
from sigmastar.core.skipping import by_tree
from sigmastar.core.text_files import TextPath, decoded, display_name, line_blocks, reading_policy, skips
from sigmastar.trees.data.tree import Tree, bracketed, n_bare_words, with_tags

_OPEN, _CLOSE = ord("("), ord(")")
_SEED, _PRIME = np.uint64(14695981039346656037), np.uint64(1099511628211)


class Scanned(NamedTuple):
    """Of each node: its piece, depth and number of children; of each piece where its label and word stand."""

    is_regular: bool
    piece: Int64s
    depth: Int64s
    n_children: Int64s
    places: Int64s  # pieces x (begin and end of the label, begin and end of the word; -1 without a word)


@kernel
def _is_blank(byte: int) -> bool:
    return byte == 32 or 9 <= byte <= 13


@kernel
def _read(text: NDArray[np.uint8], at: int, code: np.uint64) -> tuple[int, np.uint64]:
    """Where the label or word that begins here ends, and its hash after what came before."""
    while at < len(text):
        byte = text[at]
        if byte <= 41 and (_is_blank(byte) or byte in (_OPEN, _CLOSE)):
            break
        code = (code ^ np.uint64(byte)) * _PRIME
        at += 1
    return at, (code ^ np.uint64(1)) * _PRIME


@kernel
def _skip_blanks(text: NDArray[np.uint8], at: int) -> int:
    while at < len(text) and _is_blank(text[at]):
        at += 1
    return at


@kernel
def _equal(text: NDArray[np.uint8], a: int, a_end: int, b: int, b_end: int) -> bool:
    if a_end - a != b_end - b:
        return False
    step = 0
    while step < a_end - a and text[a + step] == text[b + step]:
        step += 1
    return step == a_end - a


@part
def _same_piece(
    text: NDArray[np.uint8], places: Int64s, k: int, begin: int, end: int, word: int, word_end: int
) -> bool:
    if (word < 0) != (places[k, 2] < 0) or not _equal(text, places[k, 0], places[k, 1], begin, end):
        return False
    return word < 0 or _equal(text, places[k, 2], places[k, 3], word, word_end)


@part
def _doubled(text: NDArray[np.uint8], places: Int64s, slots: Int64s) -> tuple[Int64s, Int64s]:
    """Room for twice as many pieces, with all of them in their new slots."""
    more, wider = np.zeros((2 * len(places), 4), np.int64), np.full(2 * len(slots), -1, np.int64)
    for k in range(len(places)):
        for place in range(4):
            more[k, place] = places[k, place]
        _, code = _read(text, places[k, 0], _SEED)
        if places[k, 2] >= 0:
            _, code = _read(text, places[k, 2], code)
        slot = np.int64(code & np.uint64(len(wider) - 1))
        while wider[slot] >= 0:
            slot = (slot + 1) & (len(wider) - 1)
        wider[slot] = k
    return more, wider


@kernel
def scan_brackets(text: NDArray[np.uint8], n_nodes: int) -> Scanned:
    """The nodes of `text`, which has `n_nodes` opening brackets, from left to right."""
    piece, depth = np.zeros(n_nodes, np.int64), np.zeros(n_nodes, np.int64)
    n_children, open_nodes = np.zeros(n_nodes, np.int64), np.zeros(n_nodes + 1, np.int64)
    places, n_places = np.zeros((1024, 4), np.int64), 0
    slots = np.full(4096, -1, np.int64)  # a power of two, at most half full
    node, level, at = 0, 0, _skip_blanks(text, 0)
    while at < len(text):
        if text[at] == _CLOSE:
            level -= 1
            if level < 0 or n_children[open_nodes[level]] == 0:
                return Scanned(False, piece, depth, n_children, places)
            at = _skip_blanks(text, at + 1)
            continue
        if text[at] != _OPEN:
            return Scanned(False, piece, depth, n_children, places)
        begin = _skip_blanks(text, at + 1)
        end, code = _read(text, begin, _SEED)
        word = _skip_blanks(text, end)
        word_end, whole = _read(text, word, code)
        at = _skip_blanks(text, word_end)
        depth[node] = level
        if level:
            n_children[open_nodes[level - 1]] += 1
        if word_end > word:
            if at >= len(text) or text[at] != _CLOSE:
                return Scanned(False, piece, depth, n_children, places)
            at = _skip_blanks(text, at + 1)
            code = whole
        else:
            word = word_end = -1
            open_nodes[level] = node
            level += 1
        if n_places == len(places):
            places, slots = _doubled(text, places, slots)
        slot = np.int64(code & np.uint64(len(slots) - 1))
        while slots[slot] >= 0 and not _same_piece(text, places, slots[slot], begin, end, word, word_end):
            slot = (slot + 1) & (len(slots) - 1)
        if slots[slot] < 0:
            places[n_places, 0], places[n_places, 1] = begin, end
            places[n_places, 2], places[n_places, 3] = word, word_end
            slots[slot] = n_places
            n_places += 1
        piece[node] = slots[slot]
        node += 1
    return Scanned(level == 0, piece, depth, n_children, places[:n_places])


_TOKENS = re.compile(r"\(\s*[^\s()]*|\)|[^\s()]+", re.ASCII)
TRACE = "-NONE-"  # the label over a trace
BRACKETS = {"(": "-LRB-", ")": "-RRB-", "[": "-LSB-", "]": "-RSB-", "{": "-LCB-", "}": "-RCB-"}
_FUNCTION = re.compile(r"(?<=.)[-=|#].*")  # NP-SBJ-1, PP=2, ADVP|PRT; not -LRB-
_SMALL = 100_000  # characters: compiling, at the very first call, takes longer than reading these
_BROKEN = re.compile(r"[\s()]", re.ASCII)


class _Irregular(Exception):
    """Text for the slower reader."""


class _Misplaced(Exception):
    """What is wrong, and with which token."""

    def __init__(self, problem: str, token: int) -> None:
        super().__init__(problem)
        self.problem, self.token = problem, token


@skips(by_tree)
def read_brackets(path: TextPath) -> list[Tree]:
    """All trees of a file, plain or compressed; unbalanced brackets are an error with its line.

    Parameters
    ----------
    path : str or path
        The file to read.

    Returns
    -------
    list of Tree
        In the order of the file.
    """
    file = display_name(path)
    return parse_brackets("".join(decoded(block, file) for block in line_blocks(path)), file)


def parse_brackets(text: str, file: str | None = None) -> list[Tree]:
    """All trees in a text.

    Parameters
    ----------
    text : str
        Trees one after another; line ends are spaces.
    file : str, optional
        The name of the file for messages of errors.

    Returns
    -------
    list of Tree
        Without outer brackets that have no label.

    Examples
    --------
    >>> [str(tree) for tree in parse_brackets("( (S (NP she) (VP runs)) ) (X y)")]
    ['(S (NP she) (VP runs))', '(X y)']
    """
    parsed = _parsed_by_tokens if len(text) < _SMALL else _parsed_quickly
    with _no_collection():
        trees = [_without_outer(tree) for tree in parsed(text, file)]
    policy = reading_policy()
    if (tag := policy.bare_words) is not None:
        policy.n_bare_words += sum(map(n_bare_words, trees))
        trees = [with_tags(tree, tag) for tree in trees]
    return trees


def as_trees(trees: str | Iterable[Any]) -> list[Tree | str]:
    """Trees from whatever holds them.

    Parameters
    ----------
    trees : text, or iterable of Tree, text or nltk trees
        Text is read as brackets: alone it may hold many trees, as an item one. An item without brackets is a
        lone word.

    Returns
    -------
    list of Tree or str
        One per tree.

    Examples
    --------
    >>> [str(tree) for tree in as_trees(["(S (A x) (B y))", "x"])]
    ['(S (A x) (B y))', 'x']
    """
    if isinstance(trees, str):
        return list(parse_brackets(trees))
    if isinstance(trees, Tree):
        raise InputError("give a list of trees, not one tree")
    return [_as_tree(tree) for tree in trees]


def is_nltk(tree: object) -> bool:
    """Whether something is a tree as NLTK has them: a list with a label."""
    return not isinstance(tree, Tree) and callable(getattr(tree, "label", None))


def _as_tree(tree: Any) -> Tree | str:
    if isinstance(tree, Tree) or (isinstance(tree, str) and "(" not in tree):
        return tree
    if isinstance(tree, str):
        found = parse_brackets(tree)
        if len(found) != 1:
            raise InputError(f"{tree!r} holds {len(found)} trees; give one per item")
        return found[0]
    if not is_nltk(tree):
        raise InputError(f"{tree!r} is no tree; give a Tree, or text such as (S (NP she) (VP runs))")
    return Tree(str(tree.label()), tuple(c if isinstance(c, str) else _as_tree(c) for c in tree))


def _parsed_quickly(text: str, file: str | None) -> list[Tree]:
    try:
        return _parsed_by_pieces(text.encode())
    except _Irregular:
        return _parsed_by_tokens(text, file)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Trees have no cycles: looking for some takes longer than reading."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _parsed_by_pieces(content: bytes) -> list[Tree]:
    nodes = scan_brackets(np.frombuffer(content, np.uint8), content.count(b"("))
    if not nodes.is_regular:
        raise _Irregular
    depth = nodes.depth.astype(np.min_scalar_type(int(nodes.depth.max(initial=0))))  # few bits sort faster
    order = np.argsort(depth, kind="stable")
    levels = np.split(order, np.cumsum(np.bincount(nodes.depth))[:-1])
    return _built(levels, _pieces(content, nodes.places)[nodes.piece], nodes.n_children)


def _pieces(content: bytes, places: Int64s) -> Array:
    """The different pieces: labels, and whole preterminals."""
    text = content.decode("latin-1")  # one character per byte, so that places hold
    plain, new = content.isascii(), tuple.__new__
    found: list[Any] = []
    for begin, end, word, word_end in places.tolist():
        label, below = text[begin:end], text[word:word_end] if word >= 0 else None
        if not plain:
            label, below = _utf8(label), None if below is None else _utf8(below)
        found.append(label if below is None else new(Tree, (label, (below,))))
    return np.fromiter(found, np.dtype(object), len(found))


def _utf8(text: str) -> str:
    return text.encode("latin-1").decode()


def _built(levels: list[Int64s], pieces: Array, n_children: Int64s) -> list[Tree]:
    """From the deepest level up: the nodes of a level, in their order, take the next ones of the level below.

    Each step is one call for a whole level, since there are too many nodes for a loop in Python.
    """
    below: list[Any] = []
    for nodes in reversed(levels):
        level, counts = pieces[nodes], n_children[nodes]
        inner = np.flatnonzero(counts)
        children = map(islice, repeat(iter(below)), counts[inner].tolist())
        parts = zip(level[inner].tolist(), map(tuple, children), strict=True)
        level[inner] = np.fromiter(map(tuple.__new__, repeat(Tree), parts), np.dtype(object), len(inner))
        below = level.tolist()
    return below


def _parsed_by_tokens(text: str, file: str | None) -> list[Tree]:
    try:
        return _parsed(_TOKENS.findall(text))
    except _Misplaced as found:
        place = next(islice(_TOKENS.finditer(text), found.token, None))
        raise InputError(found.problem, file=file, line=text.count("\n", 0, place.start()) + 1) from None


def _parsed(tokens: list[str]) -> list[Tree]:
    trees: list[Any] = []
    stack: list[list[Any]] = []  # of each open node: its label, then its children
    top, begin = trees, 0
    for number, token in enumerate(tokens):
        if token[0] == "(":
            if not stack:
                begin = number
            top = [token[1:].lstrip()]
            stack.append(top)
        elif not stack:
            raise _Misplaced(_outside(token), number)
        elif token != ")":
            top.append(token)
        elif len(top) == 1:
            raise _Misplaced(f"a node {top[0]!r} without children; give it a word or leave it out", number)
        else:
            label, *children = stack.pop()
            top = stack[-1] if stack else trees
            top.append(Tree(label, tuple(children)))
    if stack:
        raise _Misplaced(f"the tree that begins here lacks {len(stack)} closing brackets", begin)
    return trees


def _outside(token: str) -> str:
    if token == ")":
        return "a closing bracket without an opening one; remove it"
    return f"{token!r} stands outside of all brackets; write (LABEL {token})"


def _without_outer(tree: Tree) -> Tree:
    if tree.label or len(tree.children) != 1 or isinstance(tree.children[0], str):
        return tree
    return tree.children[0]


def write_brackets(trees: Iterable[Tree], stream: TextIO) -> None:
    """One tree per line; a label or word that the format cannot hold is an error.

    Parameters
    ----------
    trees : iterable of Tree
        The trees to write.
    stream : text file
        Open for writing.
    """
    for number, tree in enumerate(trees, 1):
        for node in tree.nodes():
            for text in (node.label, *(child for child in node.children if isinstance(child, str))):
                if _BROKEN.search(text) or not (text or text is node.label):
                    raise InputError(
                        f"tree {number}: {text!r} cannot be written; write -LRB- for (, -RRB- for )"
                    )
        stream.write(bracketed(tree) + "\n")


def plain_label(label: str) -> str:
    """A label without functions and indices.

    Parameters
    ----------
    label : str
        As a treebank writes it.

    Returns
    -------
    str
        What stands before the first function or index.

    Examples
    --------
    >>> plain_label("NP-SBJ-1"), plain_label("-LRB-")
    ('NP', '-LRB-')
    """
    return label if label.startswith("-") else _FUNCTION.sub("", label)


def escaped(word: str) -> str:
    """A word as the Penn Treebank writes it.

    Parameters
    ----------
    word : str
        As in running text.

    Returns
    -------
    str
        Brackets by name, slashes and stars behind a backslash.

    Examples
    --------
    >>> [escaped(word) for word in ("(", "1/2", "f(x)")]
    ['-LRB-', '1\\\\/2', 'f-LRB-x-RRB-']
    """
    if word in BRACKETS:
        return BRACKETS[word]
    word = re.sub(r"(?<!\\)([/*])", r"\\\1", word) if len(word) > 1 else word
    return re.sub(r"[()]", lambda found: BRACKETS[found[0]], word)
