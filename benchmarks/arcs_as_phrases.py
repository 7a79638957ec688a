"""Phrase trees made of dependency trees, for languages that have no treebank of brackets at hand.

A word with dependents is the head of a phrase of all that it dominates, labelled with its part of speech;
sentences whose arcs cross are left out.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sigmastar.dependency import DependencyTreebank, projective_sentences, read_treebank
from sigmastar.trees.data.tree import Tree


def read_as_phrases(path: Path) -> list[Tree]:
    """The projective sentences of a CoNLL-U file."""
    bank = read_treebank(path)
    kept = bank.select(np.flatnonzero(projective_sentences(bank.head, bank.sentence_offsets)))
    bounds = zip(kept.sentence_offsets[:-1].tolist(), kept.sentence_offsets[1:].tolist(), strict=True)
    return [_phrase_tree(kept, low, high) for low, high in bounds]


def _phrase_tree(bank: DependencyTreebank, low: int, high: int) -> Tree:
    below: list[list[int]] = [[] for _ in range(high - low + 1)]
    for word, head in enumerate(bank.head[low:high].tolist(), 1):
        below[head].append(word)

    def phrase(word: int) -> Tree:
        tag = bank.upos[low + word - 1]
        leaf = Tree(tag, (bank.form[low + word - 1],))
        if not below[word]:
            return leaf
        parts = [leaf if other == word else phrase(other) for other in sorted([*below[word], word])]
        return Tree(f"{tag}P", tuple(parts))

    return Tree("S", tuple(phrase(word) for word in below[0]))
