"""Sentences: trees in brackets, or strings, one per line with blanks between words."""

from __future__ import annotations

from typing import Any

from sigmastar.automata.data.corpora import read_corpus
from sigmastar.automata.data.strings import Strings, is_corpus
from sigmastar.core.skipping import by_tree
from sigmastar.core.text_files import TextPath, display_name, open_text, skips
from sigmastar.trees.data.brackets import as_trees as read_trees
from sigmastar.trees.data.brackets import parse_brackets
from sigmastar.trees.data.tree import Tree

Sentences = list[Tree] | list[list[str]]


def read_sentences(path: TextPath) -> Sentences:
    """Trees, if the first line begins with a bracket, else the words of each line, or of a corpus on disk."""
    if is_corpus(path):
        return [list(map(str, string)) for string in read_corpus(path)]
    return _of_text(path)


@skips(by_tree)
def _of_text(path: TextPath) -> Sentences:
    lines = list(open_text(path))
    first = next((line for line in lines if line.strip()), "")
    if first.lstrip().startswith("("):
        return parse_brackets("\n".join(lines), display_name(path))
    return [line.split() for line in lines]


def as_trees(data: Any) -> list[Tree] | None:
    """Trees, texts in brackets and nltk's trees as trees; None for strings."""
    if isinstance(data, Strings) or is_corpus(data) or (isinstance(data, str) and not _is_tree(data)):
        return None
    rows = [data] if isinstance(data, str) else list(data)
    if not rows or not all(map(_is_tree, rows)):
        return None
    texts = (parse_brackets(row) if isinstance(row, str) else [row] for row in rows)
    return [tree for tree in read_trees([tree for row in texts for tree in row]) if isinstance(tree, Tree)]


def _is_tree(row: Any) -> bool:
    if isinstance(row, str):
        return row.lstrip().startswith("(")
    return isinstance(row, Tree) or callable(getattr(row, "label", None))


def words_of(sentence: Tree | list[str]) -> list[str]:
    """The words of a tree or a string."""
    return list(sentence.words()) if isinstance(sentence, Tree) else sentence
