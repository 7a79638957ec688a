"""Pairs of words from a treebank: any relation between tags, or across a preposition.

    amod            (head word, modifier word) of every arc of that relation
    prep:with       (word above, noun below) of every noun that has the preposition as a `case` child,
                    in Universal Dependencies; the word above is the head of the noun

Forms are lower-cased. Relations match with their subtypes (`nmod` takes `nmod:poss`) unless a subtype is
named.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.errors import InputError
from sigmastar.dependency.data.treebank import DependencyTreebank

PREPOSITION = "prep:"
_NAMED = 12  # relations or prepositions, in messages
_NOUNS_BELOW = ("obl", "nmod")

WordPairs = list[tuple[str, str]]


@dataclass(frozen=True)
class Pattern:
    """Which arcs of a treebank make pairs; an empty tag takes any."""

    relation: str
    head_tag: str = ""
    modifier_tag: str = ""

    def pairs(self, treebank: DependencyTreebank) -> WordPairs:
        """The (head, modifier) pairs of a treebank, one an arc."""
        head = absolute_heads(treebank)
        found = self._arcs(treebank, head) & (head >= 0)
        tags = np.array(treebank.upos, dtype=object)
        if self.modifier_tag:
            found &= tags == self.modifier_tag
        if self.head_tag:
            found &= np.where(head >= 0, tags[head], "") == self.head_tag
        forms = [form.lower() for form in treebank.form]
        return [(forms[head[at]], forms[at]) for at in np.flatnonzero(found).tolist()]

    def _arcs(self, treebank: DependencyTreebank, head: NDArray[np.int64]) -> NDArray[np.bool_]:
        if not self.relation.startswith(PREPOSITION):
            return _of_relation(treebank, self.relation)
        word = self.relation.removeprefix(PREPOSITION)
        forms = np.array([form.lower() == word for form in treebank.form], dtype=bool)
        cases = np.flatnonzero(forms & _of_relation(treebank, "case") & (head >= 0))
        below = np.zeros(len(head), dtype=bool)
        below[head[cases]] = True
        is_below = [_of_relation(treebank, name) for name in _NOUNS_BELOW]
        return below & (is_below[0] | is_below[1])


def relation_pairs(treebank: DependencyTreebank, pattern: Pattern, file: str | None = None) -> WordPairs:
    """The pairs of a pattern; where there are none, an error that names relations of the treebank."""
    found = pattern.pairs(treebank)
    if found:
        return found
    kind, names = "relations", [name for name, _ in Counter(treebank.deprel).most_common(_NAMED)]
    if pattern.relation.startswith(PREPOSITION):
        kind, names = "prepositions", _prepositions(treebank)
    there_are = f"{kind} are {', '.join(names)} .."
    raise InputError(
        f"there are no pairs of relation {pattern.relation!r} with these tags; {there_are}", file=file
    )


def _prepositions(treebank: DependencyTreebank) -> list[str]:
    """The most frequent ones."""
    words = zip(treebank.form, _of_relation(treebank, "case").tolist(), strict=True)
    return [
        word for word, _ in Counter(form.lower() for form, is_case in words if is_case).most_common(_NAMED)
    ]


def absolute_heads(treebank: DependencyTreebank) -> NDArray[np.int64]:
    """The place of the head of each word in the whole treebank; -1 for roots."""
    starts = np.repeat(treebank.sentence_offsets[:-1], treebank.lengths)
    return np.where(treebank.head > 0, treebank.head + starts - 1, -1).astype(np.int64)


def _of_relation(treebank: DependencyTreebank, relation: str) -> NDArray[np.bool_]:
    names = {
        name: name == relation or (":" not in relation and name.split(":")[0] == relation)
        for name in set(treebank.deprel)
    }
    return np.fromiter((names[name] for name in treebank.deprel), bool, len(treebank.deprel))
