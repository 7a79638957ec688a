"""Labels and words as treebanks write them: `NP-SBJ-1` for NP, `-NONE-` over a trace, `-LRB-` for `(`.

A bracket would end a node and a bare slash or star would say something else in the Penn Treebank; it writes
six kinds of brackets as names, and a backslash before slashes and stars.
"""

from __future__ import annotations

import re

TRACE = "-NONE-"
_FUNCTION = re.compile(r"(?<=.)[-=|#].*")  # NP-SBJ-1, PP=2, ADVP|PRT; not -LRB-

BRACKETS = {"(": "-LRB-", ")": "-RRB-", "[": "-LSB-", "]": "-RSB-", "{": "-LCB-", "}": "-RCB-"}
_INSIDE = re.compile(r"[()]")


def plain_label(label: str) -> str:
    """A label without functions and indices.

    >>> plain_label("NP-SBJ-1"), plain_label("-LRB-")
    ('NP', '-LRB-')
    """
    return label if label.startswith("-") else _FUNCTION.sub("", label)


def escaped(word: str) -> str:
    """A word as the Penn Treebank writes it.

    >>> [escaped(word) for word in ("(", "1/2", "f(x)")]
    ['-LRB-', '1\\\\/2', 'f-LRB-x-RRB-']
    """
    if word in BRACKETS:
        return BRACKETS[word]
    word = re.sub(r"(?<!\\)([/*])", r"\\\1", word) if len(word) > 1 else word
    return _INSIDE.sub(lambda found: BRACKETS[found[0]], word)
