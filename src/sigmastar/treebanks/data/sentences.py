"""Sentences to parse: words, words with tags, or trees in brackets that stand for their words.

In a file a sentence is a line of words, or of `word_TAG`; trees begin with a bracket and a label.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sigmastar.core.errors import InputError
from sigmastar.core.habits import no_words
from sigmastar.core.skipping import by_tree
from sigmastar.core.text_files import TextPath, display_name, open_text, skips
from sigmastar.trees.data.brackets import (
    BRACKETS,
    TRACE,
    as_trees,
    escaped,
    is_nltk,
    parse_brackets,
    plain_label,
)
from sigmastar.trees.data.tree import Tree

Sentence = tuple[Sequence[str], Sequence[str] | None]
"""Words, and their tags or None."""
Words = Sequence[str] | tuple[Sequence[str], Sequence[str]] | Tree

_BRACKET = re.compile(r"\(\s*\(|\(\S")  # `(S`, `( (S`; a sentence may begin with `( `


def tagged_words(tree: Tree) -> tuple[list[str], list[str]]:
    """The words of a tree and their tags, without traces and functions."""
    words, tags = list[str](), list[str]()
    waiting: list[tuple[Tree | str, str]] = [(tree, "")]
    while waiting:
        node, above = waiting.pop()
        if not isinstance(node, str):
            waiting.extend((child, node.label) for child in reversed(node.children))
        elif above != TRACE:
            words.append(node)
            tags.append(plain_label(above))
    return words, tags


def as_sentence(sentence: Words) -> Sentence:
    """Words, and tags or None."""
    if isinstance(sentence, Tree) or is_nltk(sentence):
        (tree,) = as_trees([sentence])
        return ([tree], None) if isinstance(tree, str) else (tagged_words(tree)[0], None)
    if isinstance(sentence, str):
        raise InputError(no_words(sentence))
    if isinstance(sentence, tuple) and len(sentence) == 2 and not isinstance(sentence[0], str):
        words, tags = sentence
        return [str(word) for word in words], [str(tag) for tag in tags]
    texts = [word for word in sentence if isinstance(word, str)]
    if len(texts) < len(sentence):
        raise InputError("a sentence is a list of words, or a pair (words, tags)")
    return texts, None


@dataclass(frozen=True)
class Input:
    """Words, their tags where they are given, and the tree where it is."""

    words: list[str]
    tags: list[str] | None = None
    tree: Tree | None = None

    @property
    def sentence(self) -> Sentence:
        return self.words, self.tags

    @classmethod
    def of_tree(cls, tree: Tree, tagged: bool) -> Input:
        """The words of a tree without its traces, and its tags if asked for."""
        words, tags = tagged_words(tree)
        return cls(words, tags if tagged else None, tree)

    @classmethod
    def of_line(cls, line: str, tagged: bool, known: Collection[str] = ()) -> Input:
        """The words of a line, as a treebank writes them."""
        tokens = line.split()
        if not tagged:
            return cls([_as_known(token, known) for token in tokens])
        pairs = [token.rpartition("_") for token in tokens]
        for token, (word, _, tag) in zip(tokens, pairs, strict=True):
            if not word or not tag:
                raise InputError(f"{token!r} has no tag; write word_TAG, as in dog_NN, or leave --tags out")
        return cls([_as_known(word, known) for word, _, _ in pairs], [tag for _, _, tag in pairs])


@skips(by_tree)
def read_inputs(path: TextPath, tagged: bool, known: Collection[str] = ()) -> list[Input]:
    """Trees, if the first line begins with a bracket and a label, else one sentence per line."""
    lines = list(open_text(path))
    first = next((line for line in lines if line.strip()), "").strip()
    if _BRACKET.match(first):
        trees = parse_brackets("\n".join(lines), display_name(path))
        return [Input.of_tree(tree, tagged) for tree in trees]
    found = list[Input]()
    for number, line in enumerate(lines, 1):
        try:
            found.append(Input.of_line(line, tagged, known))
        except InputError as problem:
            raise InputError(problem.problem, file=display_name(path), line=number) from None
    return found


def _as_known(word: str, known: Collection[str]) -> str:
    """Brackets by name always; other escapes where the treebank has the escaped word alone."""
    if word in BRACKETS:
        return BRACKETS[word]
    other = escaped(word)
    if other in known and word not in known:
        return other
    return word.replace("(", BRACKETS["("]).replace(")", BRACKETS[")"])


def require_words(words: Sequence[str], tags: Sequence[str] | None) -> None:
    """Refuse a sentence without words, and tags that are not as many as the words."""
    if not words:
        raise InputError("a sentence without words has no tree; leave it out")
    if tags is not None and len(tags) != len(words):
        raise InputError(f"{len(words)} words, but {len(tags)} tags; give every word one tag")
