"""Words as treebanks write them, and as the world does: `-LRB-` for `(`, `1\\/2` for `1/2`.

A bracket would end a node and a bare slash or star would say something else in the Penn Treebank; it
writes six kinds of brackets as names, and a backslash before slashes and stars.
"""

from __future__ import annotations

import re

BRACKETS = {"(": "-LRB-", ")": "-RRB-", "[": "-LSB-", "]": "-RSB-", "{": "-LCB-", "}": "-RCB-"}
_PLAIN = {name: bracket for bracket, name in BRACKETS.items()}
_NAMES = re.compile("|".join(_PLAIN))
_INSIDE = re.compile(r"[()]")


def escaped(word: str) -> str:
    """A word as the Penn Treebank writes it.

    >>> [escaped(word) for word in ("(", "1/2", "f(x)")]
    ['-LRB-', '1\\\\/2', 'f-LRB-x-RRB-']
    """
    if word in BRACKETS:
        return BRACKETS[word]
    word = re.sub(r"(?<!\\)([/*])", r"\\\1", word) if len(word) > 1 else word
    return _INSIDE.sub(lambda found: BRACKETS[found[0]], word)


def unescaped(word: str) -> str:
    """A word as it is written outside of treebanks.

    >>> [unescaped(word) for word in ("-LRB-", "1\\\\/2", "*")]
    ['(', '1/2', '*']
    """
    return _NAMES.sub(lambda found: _PLAIN[found[0]], re.sub(r"\\([/*])", r"\1", word))
