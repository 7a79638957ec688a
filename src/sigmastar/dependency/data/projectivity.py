"""Projective trees: no two arcs cross, the arc from the root before the first word included.

Training on a tree that is not projective needs one that is: `lift` moves the lower end of the shortest
offending arc to the head of its head until no arc offends (Nivre and Nilsson, 2005). Words below an
arc that spans them, and that are not its head's descendants, make it offend.

Pseudo-projective trees: what lifting moved is written into relations, and undone after parsing.

    lifted word     d  becomes  d|h       h: the relation of the head that it had
    undone          among the words below its head, but not below itself, the first of relation h by breadth

This is the encoding "head" of Nivre and Nilsson (2005). A search goes level by level, from left to right, and
again where other words have moved; it finds the old head unless a word of the same relation comes before it.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence

import numpy as np

from sigmastar.core.arrays import Flags, Int32s, Int64s
from sigmastar.core.errors import InputError
from sigmastar.core.jit import kernel
from sigmastar.dependency.data.treebank import DependencyTreebank


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


MARK = "|"


def lift_with_marks(treebank: DependencyTreebank) -> DependencyTreebank:
    """Projective trees whose relations tell where lifted words came from.

    Parameters
    ----------
    treebank : DependencyTreebank
        Trees with relations, none of which holds a `|`.

    Returns
    -------
    DependencyTreebank
        Lifted as by `lift`; a lifted word of relation d has `d|h`, with h the relation of its former head.

    Examples
    --------
    >>> words, relations = [list("abcd")], [["x", "y", "root", "z"]]
    >>> lifted = lift_with_marks(DependencyTreebank.of(words, words, [[3, 4, 0, 3]], relations))
    >>> lifted.head.tolist(), lifted.deprel
    ([3, 3, 0, 3], ['x', 'y|z', 'root', 'z'])
    >>> undo_lifts(lifted.head, lifted.deprel, lifted.sentence_offsets)
    (array([3, 4, 0, 3], dtype=int32), ['x', 'y', 'root', 'z'])
    """
    if any(MARK in relation for relation in set(treebank.deprel)):
        raise InputError(f"relations hold a {MARK!r}, which marks lifted words; lift without marks")
    heads = lift(treebank.head, treebank.sentence_offsets)
    moved = np.flatnonzero(heads != treebank.head)
    starts = np.repeat(treebank.sentence_offsets[:-1], treebank.lengths)
    relations = list(treebank.deprel)
    for word, old in zip(moved.tolist(), (starts + treebank.head - 1)[moved].tolist(), strict=True):
        relations[word] = f"{treebank.deprel[word]}{MARK}{treebank.deprel[old]}"
    return treebank.with_heads(heads, relations)


def undo_lifts(head: Int32s, deprel: Sequence[str], offsets: Int64s) -> tuple[Int32s, list[str]]:
    """Heads and relations without marks; words whose former head is not found stay where they are.

    Parameters
    ----------
    head, deprel
        Of all words, as `lift_with_marks` leaves them, or as a parser found them.
    offsets : Int64s
        Where sentences begin, and the end of the last.

    Returns
    -------
    tuple of Int32s and list of str
        Trees again: a word never comes under itself.
    """
    plain, sought = list(deprel), defaultdict[int, list[int]](list)
    for word in [number for number, relation in enumerate(deprel) if MARK in relation]:
        plain[word] = deprel[word].partition(MARK)[0]
        sought[int(np.searchsorted(offsets, word, side="right")) - 1].append(word)
    heads = head.copy()
    for sentence, words in sought.items():
        low, high = int(offsets[sentence]), int(offsets[sentence + 1])
        marked = {word - low + 1: deprel[word].partition(MARK)[2] for word in words}
        _undo(heads[low:high], plain[low:high], marked)
    return heads, plain


def _undo(heads: Int32s, relations: list[str], marked: dict[int, str]) -> None:
    """Move the marked words of one sentence, in place; what is not found waits for the others to move."""
    moved = True
    while moved and marked:
        moved = False
        for word, wanted in list(marked.items()):
            former = _former(heads, relations, word, wanted)
            if former:
                heads[word - 1], moved = former, True
                del marked[word]


def _former(heads: Int32s, relations: list[str], word: int, wanted: str) -> int:
    """The first word of the wanted relation below the head of `word`; 0 if there is none."""
    below = defaultdict[int, list[int]](list)
    for modifier, head in enumerate(heads.tolist(), 1):
        if modifier != word:
            below[head].append(modifier)
    waiting = deque(below[int(heads[word - 1])])
    while waiting:
        found = waiting.popleft()
        if relations[found - 1] == wanted:
            return found
        waiting.extend(below[found])
    return 0
