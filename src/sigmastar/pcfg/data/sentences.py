"""Sentences: trees in brackets, or strings, one per line with blanks between words."""

from __future__ import annotations

from typing import Any

from sigmastar.automata.data.strings import Strings
from sigmastar.core.skipping import by_tree, skips
from sigmastar.core.text_files import TextPath, display_name, open_text
from sigmastar.trees.data.brackets import parse_brackets
from sigmastar.trees.data.tree import Tree

Sentences = list[Tree] | list[list[str]]


@skips(by_tree)
def read_sentences(path: TextPath) -> Sentences:
    """Trees, if the first line begins with a bracket, else the words of each line."""
    lines = list(open_text(path))
    first = next((line for line in lines if line.strip()), "")
    if first.lstrip().startswith("("):
        return parse_brackets("\n".join(lines), display_name(path))
    return [line.split() for line in lines]


def as_trees(data: Any) -> list[Tree] | None:
    """Trees, or texts in brackets, as trees; None for strings."""
    if isinstance(data, Strings):
        return None
    rows = list(data)
    if rows and all(isinstance(row, Tree) for row in rows):
        return rows
    if rows and all(isinstance(row, str) and row.lstrip().startswith("(") for row in rows):
        return [tree for row in rows for tree in parse_brackets(row)]
    return None


def words_of(sentence: Tree | list[str]) -> list[str]:
    """The words of a tree or a string."""
    return list(sentence.words()) if isinstance(sentence, Tree) else sentence
