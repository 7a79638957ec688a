"""One pass over the bytes of a treebank in brackets: its nodes, their pieces and their depths.

Behind an opening bracket stands a piece: a label, and for preterminals a word and a closing bracket. Pieces
repeat, so each different one is kept once, found by an open-addressed hash (FNV-1a) of its bytes. Text that
holds anything else (words beside brackets, nodes without children, open brackets) is not regular:
there is then nothing to return.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.arrays import Int64s
from sigmastar.core.jit import kernel, part

_OPEN, _CLOSE = ord("("), ord(")")
_SEED, _PRIME = np.uint64(14695981039346656037), np.uint64(1099511628211)


class Scanned(NamedTuple):
    """Of each node: its piece, depth and number of children; of each piece where its label and word stand."""

    is_regular: bool
    piece: Int64s
    depth: Int64s
    n_children: Int64s
    places: Int64s  # pieces x (begin and end of the label, begin and end of the word; -1 without a word)


@kernel
def _is_blank(byte: int) -> bool:
    return byte == 32 or 9 <= byte <= 13


@kernel
def _read(text: NDArray[np.uint8], at: int, code: np.uint64) -> tuple[int, np.uint64]:
    """Where the label or word that begins here ends, and its hash after what came before."""
    while at < len(text):
        byte = text[at]
        if byte <= 41 and (_is_blank(byte) or byte in (_OPEN, _CLOSE)):
            break
        code = (code ^ np.uint64(byte)) * _PRIME
        at += 1
    return at, (code ^ np.uint64(1)) * _PRIME


@kernel
def _skip_blanks(text: NDArray[np.uint8], at: int) -> int:
    while at < len(text) and _is_blank(text[at]):
        at += 1
    return at


@kernel
def _equal(text: NDArray[np.uint8], a: int, a_end: int, b: int, b_end: int) -> bool:
    if a_end - a != b_end - b:
        return False
    step = 0
    while step < a_end - a and text[a + step] == text[b + step]:
        step += 1
    return step == a_end - a


@part
def _same_piece(
    text: NDArray[np.uint8], places: Int64s, k: int, begin: int, end: int, word: int, word_end: int
) -> bool:
    if (word < 0) != (places[k, 2] < 0) or not _equal(text, places[k, 0], places[k, 1], begin, end):
        return False
    return word < 0 or _equal(text, places[k, 2], places[k, 3], word, word_end)


@part
def _doubled(text: NDArray[np.uint8], places: Int64s, slots: Int64s) -> tuple[Int64s, Int64s]:
    """Room for twice as many pieces, with all of them in their new slots."""
    more, wider = np.zeros((2 * len(places), 4), np.int64), np.full(2 * len(slots), -1, np.int64)
    for k in range(len(places)):
        for place in range(4):
            more[k, place] = places[k, place]
        _, code = _read(text, places[k, 0], _SEED)
        if places[k, 2] >= 0:
            _, code = _read(text, places[k, 2], code)
        slot = np.int64(code & np.uint64(len(wider) - 1))
        while wider[slot] >= 0:
            slot = (slot + 1) & (len(wider) - 1)
        wider[slot] = k
    return more, wider


@kernel
def scan_brackets(text: NDArray[np.uint8], n_nodes: int) -> Scanned:
    """The nodes of `text`, which has `n_nodes` opening brackets, from left to right."""
    piece, depth = np.zeros(n_nodes, np.int64), np.zeros(n_nodes, np.int64)
    n_children, open_nodes = np.zeros(n_nodes, np.int64), np.zeros(n_nodes + 1, np.int64)
    places, n_places = np.zeros((1024, 4), np.int64), 0
    slots = np.full(4096, -1, np.int64)  # a power of two, at most half full
    node, level, at = 0, 0, _skip_blanks(text, 0)
    while at < len(text):
        if text[at] == _CLOSE:
            level -= 1
            if level < 0 or n_children[open_nodes[level]] == 0:
                return Scanned(False, piece, depth, n_children, places)
            at = _skip_blanks(text, at + 1)
            continue
        if text[at] != _OPEN:
            return Scanned(False, piece, depth, n_children, places)
        begin = _skip_blanks(text, at + 1)
        end, code = _read(text, begin, _SEED)
        word = _skip_blanks(text, end)
        word_end, whole = _read(text, word, code)
        at = _skip_blanks(text, word_end)
        depth[node] = level
        if level:
            n_children[open_nodes[level - 1]] += 1
        if word_end > word:
            if at >= len(text) or text[at] != _CLOSE:
                return Scanned(False, piece, depth, n_children, places)
            at = _skip_blanks(text, at + 1)
            code = whole
        else:
            word = word_end = -1
            open_nodes[level] = node
            level += 1
        if n_places == len(places):
            places, slots = _doubled(text, places, slots)
        slot = np.int64(code & np.uint64(len(slots) - 1))
        while slots[slot] >= 0 and not _same_piece(text, places, slots[slot], begin, end, word, word_end):
            slot = (slot + 1) & (len(slots) - 1)
        if slots[slot] < 0:
            places[n_places, 0], places[n_places, 1] = begin, end
            places[n_places, 2], places[n_places, 3] = word, word_end
            slots[slot] = n_places
            n_places += 1
        piece[node] = slots[slot]
        node += 1
    return Scanned(level == 0, piece, depth, n_children, places[:n_places])
