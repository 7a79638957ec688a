"""Words and their counts in a hash table, filled from bytes by compiled code.

Words are bytes, one after the other in `text`; word k ends where word k + 1 begins. A slot holds the number
of a word, or -1. Lines fall into words at the same blanks as `str.split` has, those of Unicode included, so
that a corpus is what the readers of text files give.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.arrays import Int32s, Int64s
from sigmastar.core.jit import kernel, part

Bytes: TypeAlias = NDArray[np.uint8]

_FIRST_SLOTS, _FIRST_BYTES = 1 << 12, 1 << 16
_PRIME, _BASIS = 0x100000001B3, 0xCBF29CE484222325  # of the hash of Fowler, Noll and Vo
_MIX = 32  # high bits are folded into the low ones, which choose the slot


class _Table(NamedTuple):
    """The arrays of a table; `sizes` has the number of words, and of bytes in use."""

    slots: Int32s
    hashes: NDArray[np.uint64]
    starts: Int64s
    counts: Int64s
    text: Bytes
    sizes: Int64s


class Words(NamedTuple):
    """Distinct words, in some order, with their counts."""

    text: Bytes
    starts: Int64s
    counts: Int64s

    @classmethod
    def of(cls, words: Sequence[bytes], counts: Sequence[int]) -> Words:
        """From a list."""
        starts = np.concatenate([[0], np.cumsum([len(word) for word in words], dtype=np.int64)])
        return cls(_writable(b"".join(words)), starts.astype(np.int64), np.array(counts, np.int64))

    def __len__(self) -> int:
        return len(self.counts)

    def spelled(self, number: int) -> bytes:
        """A word as bytes."""
        return self.text[self.starts[number] : self.starts[number + 1]].tobytes()

    def only(self, numbers: Int64s) -> Words:
        """Some of the words, in the order of their numbers."""
        sizes = np.diff(self.starts)[numbers]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        places = np.arange(starts[-1]) + np.repeat(self.starts[numbers] - starts[:-1], sizes)
        return Words(self.text[places], starts, self.counts[numbers])


class WordTable:
    """A table that grows: codes in the order of first use."""

    def __init__(self, words: Words | None = None) -> None:
        self._table = _empty(_FIRST_SLOTS, _FIRST_BYTES)
        if words is not None:
            self.add(words)

    def __len__(self) -> int:
        return int(self._table.sizes[0])

    @property
    def words(self) -> Words:
        """All words, in the order of their codes."""
        n, n_bytes = self._table.sizes
        return Words(self._table.text[:n_bytes], self._table.starts[: n + 1], self._table.counts[:n])

    def encode(self, lines: bytes, characters: bool = False) -> tuple[Int32s, Int32s]:
        """The codes of the words of whole lines, and how many each line holds; every word counts once."""
        content = _writable(lines if lines.endswith(b"\n") else lines + b"\n")
        codes = np.empty(len(content) if characters else len(content) // 2 + 1, np.int32)
        lengths, state = np.empty(int((content == 10).sum()), np.int32), np.zeros(4, np.int64)
        while not _encode(content, characters, self._table, codes, lengths, state):
            self._grow(int(state[3]))
        return codes[: state[1]], lengths

    def add(self, words: Words) -> Int32s:
        """Add counts of words; their codes."""
        codes, done = np.empty(len(words), np.int32), 0
        while (done := _add(words, self._table, codes, done)) < len(words):
            self._grow(int(words.starts[done + 1] - words.starts[done]))
        return codes

    def find(self, words: Words) -> Int32s:
        """The codes of words, -1 where there is none."""
        codes = np.empty(len(words), np.int32)
        _find(words, self._table, codes)
        return codes

    def _grow(self, n_bytes: int) -> None:
        old, (n, used) = self._table, self._table.sizes
        wide = len(old.slots) * (2 if 2 * n + 2 > len(old.slots) else 1)
        room = len(old.text)
        while used + n_bytes > room:
            room *= 2
        self._table = new = _empty(wide, room)
        for name in ("hashes", "starts", "counts"):
            getattr(new, name)[: n + 1] = getattr(old, name)[: n + 1]
        new.text[:used] = old.text[:used]
        new.sizes[:] = old.sizes
        _fill_slots(new)


def _writable(content: bytes) -> Bytes:
    """As an array of the kind that kernels are compiled for: they know arrays to be read alone as others."""
    return np.frombuffer(bytearray(content), np.uint8)


def _empty(n_slots: int, n_bytes: int) -> _Table:
    n = n_slots // 2 + 1
    return _Table(
        np.full(n_slots, -1, np.int32),
        np.zeros(n, np.uint64),
        np.zeros(n, np.int64),
        np.zeros(n, np.int64),
        np.empty(n_bytes, np.uint8),
        np.zeros(2, np.int64),
    )


@part
def _blank(content: Bytes, at: int) -> int:
    """How many bytes the blank at a place has; 0 where there is none. A line end is one."""
    byte = content[at]
    if byte < 0x80:
        return 1 if byte == 32 or 9 <= byte <= 13 or 28 <= byte <= 31 else 0
    if byte == 0xC2:
        return 2 if content[at + 1] == 0x85 or content[at + 1] == 0xA0 else 0
    if byte < 0xE1 or byte > 0xE3 or at + 2 >= len(content):
        return 0
    second, third = content[at + 1], content[at + 2]
    if byte == 0xE2:
        if second == 0x80:
            return 3 if third <= 0x8A or third == 0xA8 or third == 0xA9 or third == 0xAF else 0
        return 3 if second == 0x81 and third == 0x9F else 0
    if byte == 0xE1:
        return 3 if second == 0x9A and third == 0x80 else 0
    return 3 if second == 0x80 and third == 0x80 else 0


@part
def _character(content: Bytes, at: int) -> int:
    byte = content[at]
    return 1 if byte < 0x80 else 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4


@kernel
def _hash(text: Bytes, begin: int, end: int) -> np.uint64:
    value = np.uint64(_BASIS)
    for at in range(begin, end):
        value = (value ^ np.uint64(text[at])) * np.uint64(_PRIME)
    return value ^ (value >> np.uint64(_MIX))


@kernel
def _slot(text: Bytes, begin: int, end: int, value: np.uint64, table: _Table) -> np.int64:
    """The slot of a word, or the free one where it belongs."""
    mask = np.int64(len(table.slots) - 1)
    slot = np.int64(value & np.uint64(mask))
    while True:
        word = table.slots[slot]
        if word < 0:
            return slot
        start = table.starts[word]
        if table.hashes[word] == value and table.starts[word + 1] - start == end - begin:
            k = 0
            while k < end - begin and table.text[start + k] == text[begin + k]:
                k += 1
            if k == end - begin:
                return slot
        slot = (slot + 1) & mask


@kernel
def _code(text: Bytes, begin: int, end: int, table: _Table) -> np.int64:
    """The code of a word, which is entered if it is new; -1 where the table must grow first."""
    value = _hash(text, begin, end)
    slot = _slot(text, begin, end, value, table)
    word = table.slots[slot]
    if word >= 0:
        return np.int64(word)
    word, used = table.sizes[0], table.sizes[1]
    if 2 * word + 2 > len(table.slots) or used + end - begin > len(table.text):
        return np.int64(-1)
    for k in range(end - begin):
        table.text[used + k] = text[begin + k]
    table.slots[slot], table.hashes[word], table.counts[word] = word, value, 0
    table.starts[word + 1] = used + end - begin
    table.sizes[0], table.sizes[1] = word + 1, used + end - begin
    return np.int64(word)


@kernel
def _encode(
    content: Bytes, characters: bool, table: _Table, codes: Int32s, lengths: Int32s, state: Int64s
) -> bool:
    """Whether all is done; `state`: place, codes and lines so far, size of a word that had no room."""
    at, n_codes, n_lines = state[0], state[1], state[2]
    first = 0  # code of the line that was interrupted
    for line in range(n_lines):
        first += lengths[line]
    while at < len(content):
        if content[at] == 10:
            lengths[n_lines] = n_codes - first
            first, n_lines, at = n_codes, n_lines + 1, at + 1
            continue
        width = 0 if characters else _blank(content, at)
        if width:
            at += width
            continue
        end = at + (_character(content, at) if characters else 1)
        while not characters and not _blank(content, end):
            end += 1
        code = _code(content, at, end, table)
        if code < 0:
            state[0], state[1], state[2], state[3] = at, n_codes, n_lines, end - at
            return False
        table.counts[code] += 1
        codes[n_codes] = code
        n_codes, at = n_codes + 1, end
    state[1], state[2] = n_codes, n_lines
    return True


@kernel
def _add(words: Words, table: _Table, codes: Int32s, done: int) -> int:
    for word in range(done, len(words.counts)):
        code = _code(words.text, words.starts[word], words.starts[word + 1], table)
        if code < 0:
            return word
        table.counts[code] += words.counts[word]
        codes[word] = code
    return len(words.counts)


@kernel
def _find(words: Words, table: _Table, codes: Int32s) -> None:
    for word in range(len(words.counts)):
        begin, end = words.starts[word], words.starts[word + 1]
        codes[word] = table.slots[_slot(words.text, begin, end, _hash(words.text, begin, end), table)]


@kernel
def _fill_slots(table: _Table) -> None:
    mask = np.uint64(len(table.slots) - 1)
    for word in range(table.sizes[0]):
        slot = np.int64(table.hashes[word] & mask)
        while table.slots[slot] >= 0:
            slot = (slot + 1) & np.int64(mask)
        table.slots[slot] = word
