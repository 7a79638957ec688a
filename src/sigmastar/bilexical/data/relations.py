"""Pairs of words from files: any relation between tags of a treebank, one across a preposition, or a table.

    amod            (head word, modifier word) of every arc of that relation
    prep:with       (word above, noun below) of every noun that has the preposition as a `case` child,
                    in Universal Dependencies; the word above is the head of the noun

Forms are lower-cased. Relations match with their subtypes (`nmod` takes `nmod:poss`) unless a subtype is
named.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sigmastar.bilexical.data.pairs import WordPairs, read_pairs
from sigmastar.core.arrays import Flags, Int64s
from sigmastar.core.errors import InputError
from sigmastar.dependency.data.conllu import read_treebank
from sigmastar.dependency.data.treebank import DependencyTreebank

PREPOSITION = "prep:"
_NAMED = 12  # relations or prepositions, in messages
_NOUNS_BELOW = ("obl", "nmod")
TREEBANKS = (".conllu", ".dp")
_LAYOUT = {"relation": None, "head_tag": None, "modifier_tag": None, "given": "head"}


@dataclass(frozen=True)
class Pattern:
    """The arcs of a treebank that make pairs.

    Parameters
    ----------
    relation : str
        Such as `amod`, or `prep:with` for what is above and below a preposition.
    head_tag, modifier_tag : str
        Universal tags of the two words; an empty one takes any.
    """

    relation: str
    head_tag: str = ""
    modifier_tag: str = ""

    def pairs(self, treebank: DependencyTreebank) -> WordPairs:
        """The (head, modifier) pairs of a treebank, one per arc."""
        head = absolute_heads(treebank)
        found = self._arcs(treebank, head) & (head >= 0)
        tags = np.array(treebank.upos, dtype=object)
        if self.modifier_tag:
            found &= tags == self.modifier_tag
        if self.head_tag:
            found &= np.where(head >= 0, tags[head], "") == self.head_tag
        forms = [form.lower() for form in treebank.form]
        return [(forms[head[at]], forms[at]) for at in np.flatnonzero(found).tolist()]

    def _arcs(self, treebank: DependencyTreebank, head: Int64s) -> Flags:
        if not self.relation.startswith(PREPOSITION):
            return _of_relation(treebank, self.relation)
        word = self.relation.removeprefix(PREPOSITION)
        forms = np.array([form.lower() == word for form in treebank.form], dtype=bool)
        cases = np.flatnonzero(forms & _of_relation(treebank, "case") & (head >= 0))
        below = np.zeros(len(head), dtype=bool)
        below[head[cases]] = True
        is_below = [_of_relation(treebank, name) for name in _NOUNS_BELOW]
        return below & (is_below[0] | is_below[1])


def layout_of(learned: Mapping[str, Any]) -> dict[str, Any]:
    """How the pairs of a model were read, by its record; older ones have it among the settings."""
    parts = [learned.get(name) for name in ("settings", "layout")]
    known = {name: value for part in parts if isinstance(part, Mapping) for name, value in part.items()}
    return {name: known.get(name, default) for name, default in _LAYOUT.items()}


def pattern_of(layout: Mapping[str, Any]) -> Pattern | None:
    """The arcs of a treebank that options or a model file name."""
    if not layout["relation"]:
        return None
    names = (layout[name] or "" for name in ("relation", "head_tag", "modifier_tag"))
    return Pattern(*map(str, names))


def relation_pairs(treebank: DependencyTreebank, pattern: Pattern, file: str | None = None) -> WordPairs:
    """The pairs of a pattern in a treebank.

    Parameters
    ----------
    treebank
        Sentences with tags, heads and relations.
    pattern
        The arcs to take.
    file
        Name for messages.

    Returns
    -------
    list of tuple
        (head, modifier) pairs in lower case. Where there are none, an `InputError` names relations of the
        treebank.
    """
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


def read_relation(paths: Sequence[str], pattern: Pattern | None = None, given: str = "head") -> WordPairs:
    """(given word, asked word) pairs of treebanks or of tables.

    Parameters
    ----------
    paths
        Files that end in `.conllu` or `.dp`, perhaps compressed, are treebanks, all others tables.
    pattern
        The arcs to take from treebanks.
    given
        "head" or "modifier": the first word of each pair.

    Returns
    -------
    list of tuple
        Pairs of words.
    """
    found = [pair for path in paths for pair in _file_pairs(path, pattern)]
    return [(modifier, head) for head, modifier in found] if given == "modifier" else found


def is_treebank(path: str) -> bool:
    """Whether a file is a treebank, by its name."""
    return path.removesuffix(".gz").removesuffix(".zst").endswith(TREEBANKS)


def _file_pairs(path: str, pattern: Pattern | None) -> WordPairs:
    if not is_treebank(path):
        return read_pairs(path)
    if pattern is None:
        raise InputError("a treebank needs a relation such as amod or prep:with", file=path)
    return relation_pairs(read_treebank(path), pattern, path)


def _prepositions(treebank: DependencyTreebank) -> list[str]:
    """The most frequent ones."""
    words = zip(treebank.form, _of_relation(treebank, "case").tolist(), strict=True)
    return [
        word for word, _ in Counter(form.lower() for form, is_case in words if is_case).most_common(_NAMED)
    ]


def absolute_heads(treebank: DependencyTreebank) -> Int64s:
    """The place of the head of each word in the whole treebank; -1 for roots."""
    starts = np.repeat(treebank.sentence_offsets[:-1], treebank.lengths)
    return np.where(treebank.head > 0, treebank.head + starts - 1, -1).astype(np.int64)


def _of_relation(treebank: DependencyTreebank, relation: str) -> Flags:
    names = {
        name: name == relation or (":" not in relation and name.split(":")[0] == relation)
        for name in set(treebank.deprel)
    }
    return np.fromiter((names[name] for name in treebank.deprel), bool, len(treebank.deprel))
