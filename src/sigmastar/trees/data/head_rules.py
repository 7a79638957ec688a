"""Which child of a phrase is its head: rules by label.

A rule tries groups of labels one after another; each group is looked for from the left or from the right.
`ENGLISH` is the table of Collins (1999, appendix A) for the Penn Treebank. `GENERIC` knows no label: it
takes a child of the phrase's own label, else the last phrase or word that is not punctuation.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType


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


def head_rules_for(labels: Iterable[str]) -> HeadRules:
    """The rules that fit a treebank: English ones where most of its labels are the Penn Treebank's."""
    found = set(labels)
    known = {"S", "SBAR", "VP", "NP", "PP", "ADJP", "ADVP", "WHNP", "QP", "PRN", "SINV", "FRAG", "NX", "PRT"}
    known |= {
        "NN",
        "NNS",
        "NNP",
        "NNPS",
        "VB",
        "VBD",
        "VBZ",
        "VBP",
        "VBN",
        "VBG",
        "DT",
        "JJ",
        "RB",
        "IN",
        "CC",
    }
    return ENGLISH if len(known & found) >= 20 else GENERIC


def _table(text: str) -> HeadRules:
    """A line a label: `NP: > NN NNS | < NP`, groups with > from the left and < from the right."""
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
