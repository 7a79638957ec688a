"""Treebanks in brackets, in the manner of the Penn Treebank: `(S (NP (PRP she)) (VP (VBZ runs)))`.

A tree may take several lines and a line may hold several trees; blanks do not matter. The empty outer
label of the Penn Treebank, `( (S ..) )`, is taken off. Labels with functions (`NP-SBJ`) and traces
(`(-NONE- *T*-1)`) stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import islice
from typing import Any, TextIO

from sigmastar.data.files import TextPath, display_name, open_text
from sigmastar.errors import InputError
from sigmastar.structures.trees import Tree, bracketed

_TOKENS = re.compile(r"\(\s*[^\s()]*|\)|[^\s()]+")
_BROKEN = re.compile(r"[\s()]")


class _Misplaced(Exception):
    """What is wrong, and with which token."""

    def __init__(self, problem: str, token: int) -> None:
        super().__init__(problem)
        self.problem, self.token = problem, token


def read_brackets(path: TextPath) -> list[Tree]:
    """All trees of a file, plain or compressed; unbalanced brackets are told with their line."""
    return parse_brackets("\n".join(open_text(path)), display_name(path))


def parse_brackets(text: str, file: str | None = None) -> list[Tree]:
    """All trees in a text.

    >>> [str(tree) for tree in parse_brackets("( (S (NP she) (VP runs)) ) (X y)")]
    ['(S (NP she) (VP runs))', '(X y)']
    """
    try:
        return [_without_outer(tree) for tree in _parsed(_TOKENS.findall(text))]
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
    """A tree a line; a label or word that the format cannot hold is an error."""
    for number, tree in enumerate(trees, 1):
        for node in tree.nodes():
            for text in (node.label, *(child for child in node.children if isinstance(child, str))):
                if _BROKEN.search(text) or not (text or text is node.label):
                    raise InputError(
                        f"tree {number}: {text!r} cannot be written; write -LRB- for (, -RRB- for )"
                    )
        stream.write(bracketed(tree) + "\n")
