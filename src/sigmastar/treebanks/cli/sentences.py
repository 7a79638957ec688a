"""Sentences on the command line: words on a line, `word_TAG` on a line, or trees in brackets."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sigmastar.core.errors import InputError
from sigmastar.core.text_files import display_name, open_text
from sigmastar.treebanks.metrics import spans_of
from sigmastar.treebanks.model.parser import Sentence
from sigmastar.trees.data.brackets import parse_brackets
from sigmastar.trees.data.labels import BRACKETS, escaped
from sigmastar.trees.data.tree import Tree

_BRACKET = re.compile(r"\(\s*\(|\(\S")  # `(S`, `( (S`; a sentence may begin with `( `


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
        spans = spans_of(tree)
        return cls(spans.words, spans.tags if tagged else None, tree)

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


def read_inputs(path: str, tagged: bool, known: Collection[str] = ()) -> list[Input]:
    """Trees, if the first line begins with a bracket and a label, else a sentence a line."""
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


def sentences_of(inputs: Sequence[Input]) -> list[Sentence]:
    return [one.sentence for one in inputs]


def _as_known(word: str, known: Collection[str]) -> str:
    """Brackets by name always; other escapes where the treebank has the escaped word alone."""
    if word in BRACKETS:
        return BRACKETS[word]
    other = escaped(word)
    if other in known and word not in known:
        return other
    return word.replace("(", BRACKETS["("]).replace(")", BRACKETS[")"])
