"""Projective trees: no two arcs cross, the arc from the root before the first word included.

Training on a tree that is not projective needs one that is: `lift` moves the lower end of the shortest
offending arc to the head of its head until no arc offends (Nivre and Nilsson, 2005). Words below an
arc that spans them, and that are not its head's descendants, make it offend.
"""

from __future__ import annotations

import numpy as np

from sigmastar.core.arrays import Flags, Int32s, Int64s
from sigmastar.core.jit import kernel


@kernel
def _offending_arc(head: Int32s) -> int:
    """The word (from 1) under the shortest arc that spans a word its head does not dominate; 0 if none."""
    n = len(head)
    found, shortest = 0, n + 2
    for word in range(1, n + 1):
        top = head[word - 1]
        low, high = min(word, top), max(word, top)
        if high - low >= shortest:
            continue
        for between in range(low + 1, high):
            above = between
            while above != top and above != 0:
                above = head[above - 1]
            if above != top:
                found, shortest = word, high - low
                break
    return found


@kernel
def projective_sentences(head: Int32s, offsets: Int64s) -> Flags:
    """Which sentences are projective.

    Parameters
    ----------
    head : Int32s
        Heads of all words, counted within sentences.
    offsets : Int64s
        Where sentences begin, and the end of the last.

    Returns
    -------
    Flags
        One per sentence.
    """
    verdicts = np.empty(len(offsets) - 1, np.bool_)
    for sentence in range(len(verdicts)):
        verdicts[sentence] = _offending_arc(head[offsets[sentence] : offsets[sentence + 1]]) == 0
    return verdicts


@kernel
def lift(head: Int32s, offsets: Int64s) -> Int32s:
    """Heads of projective trees: offending arcs are lifted, shortest first; projective trees stay.

    Parameters
    ----------
    head, offsets
        As of `projective_sentences`.

    Returns
    -------
    Int32s
        The new heads.
    """
    lifted = head.copy()
    for sentence in range(len(offsets) - 1):
        part = lifted[offsets[sentence] : offsets[sentence + 1]]
        word = _offending_arc(part)
        while word != 0:
            part[word - 1] = part[part[word - 1] - 1]
            word = _offending_arc(part)
    return lifted
