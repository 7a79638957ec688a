"""Files of questions and answers: a cache that survives an interrupt, and a black box that was recorded.

A file is a line of JSON (what is asked, and the alphabet) and pieces, one per batch of answers:

    8 bytes  number of questions, number of symbols (two uint32, little-endian)
    lengths of the strings (int32), their codes (int32), the answers (float64), CRC-32 of all that

A piece is appended when its answers are there. What an interrupt left unfinished at the end is cut off.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from sigmastar.automata.data.strings import Strings, joined
from sigmastar.core.alphabet import Alphabet, Symbol
from sigmastar.core.arrays import Floats
from sigmastar.core.errors import InputError
from sigmastar.distil.black_box import Texts

FORMAT = "sigmastar answers 1"
_COUNTS = struct.Struct("<II")
_CRC = struct.Struct("<I")


class AnswerFile:
    """A file that answers are appended to.

    Parameters
    ----------
    path : str or path
        The file; it is made where there is none, and must be of the same black box where there is one.
    asks : {"next", "scores"}
        What is asked.
    alphabet : Alphabet
        The symbols.
    """

    def __init__(self, path: str | os.PathLike[str], asks: str, alphabet: Alphabet) -> None:
        self.path, self.alphabet = os.fspath(path), alphabet
        self.width = len(alphabet) + 1 if asks == "next" else 1
        self._head = _head_line(asks, alphabet)
        if not os.path.exists(self.path) or os.path.getsize(self.path) == 0:
            Path(self.path).write_bytes(self._head)

    def read(self) -> Iterator[tuple[Strings, Floats]]:
        """All pieces that are whole; what follows them is cut off."""
        with open(self.path, "r+b") as stream:
            head = stream.readline()
            if head != self._head:
                raise InputError(_foreign(head), file=self.path)
            while True:
                end = stream.tell()
                piece = _read_piece(stream, self.alphabet, self.width)
                if piece is None:
                    stream.truncate(end)
                    return
                yield piece

    def append(self, strings: Strings, answers: Floats) -> None:
        """Add a piece, and hand it to the system."""
        body = _COUNTS.pack(len(strings), strings.n_symbols)
        body += strings.lengths.astype("<i4").tobytes() + strings.codes.astype("<i4").tobytes()
        body += np.ascontiguousarray(answers, "<f8").tobytes()
        with open(self.path, "ab") as stream:
            stream.write(body + _CRC.pack(zlib.crc32(body)))


class RecordedBox:
    """The answers of a file as a black box: it answers what was asked before, and nothing else.

    Parameters
    ----------
    path : str or path
        A file that a cache left, or lines of JSON, {"string": [..], "next": [..]} or {"string": [..],
        "score": number}, of which the first is {"alphabet": [..]}.

    Attributes
    ----------
    recorded : Strings
        What can be asked.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        self.asks, self.recorded, self._answers = _read_lines(self.path) or _read_answers(self.path)
        self.alphabet = self.recorded.alphabet
        self._rows = {string: row for row, string in enumerate(keys_of(self.recorded))}
        method = {"next": "next_distributions", "scores": "scores"}[self.asks]
        setattr(self, method, self._look_up)

    def _look_up(self, strings: Texts) -> Floats:
        coded = Strings.of(strings, alphabet=self.alphabet)
        rows = [self._rows.get(key, -1) for key in keys_of(coded)]
        if rows and min(rows) < 0:
            missing = " ".join(map(str, coded[rows.index(-1)])) or "the empty string"
            raise InputError(f"no answer is recorded for {missing}", file=self.path)
        found = self._answers[rows]
        return found if self.asks == "next" else found[:, 0]


def keys_of(strings: Strings) -> Iterator[bytes]:
    """What strings are remembered by: the bytes of their codes."""
    codes = strings.codes
    return (codes[begin:end].tobytes() for begin, end in pairwise(strings.offsets.tolist()))


def _head_line(asks: str, alphabet: Alphabet) -> bytes:
    symbols = [s if isinstance(s, str) else int(s) if isinstance(s, np.integer) else s for s in alphabet]
    try:
        text = json.dumps({"format": FORMAT, "asks": asks, "alphabet": symbols})
    except TypeError:
        raise InputError("a file of answers needs symbols that are text or numbers") from None
    return text.encode() + b"\n"


def _foreign(head: bytes) -> str:
    if FORMAT.encode() in head:
        return "holds answers of another black box; give another file, or remove this one"
    return "is no file of answers; give another name"


def _read_piece(stream: BinaryIO, alphabet: Alphabet, width: int) -> tuple[Strings, Floats] | None:
    counts = stream.read(_COUNTS.size)
    if len(counts) < _COUNTS.size:
        return None
    n, n_symbols = _COUNTS.unpack(counts)
    size = 4 * n + 4 * n_symbols + 8 * n * width
    body = stream.read(size) if size <= os.fstat(stream.fileno()).st_size else b""
    check = stream.read(_CRC.size)
    if len(check) < _CRC.size or _CRC.unpack(check)[0] != zlib.crc32(counts + body):
        return None
    lengths = np.frombuffer(body, "<i4", n)
    codes = np.frombuffer(body, "<i4", n_symbols, 4 * n).astype(np.int32)
    if lengths.sum() != n_symbols or codes.min(initial=0) < 0 or codes.max(initial=0) >= len(alphabet):
        return None
    answers = np.frombuffer(body, "<f8", n * width, 4 * (n + n_symbols)).reshape(n, width)
    return Strings(alphabet, codes, np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])), answers


def _read_answers(path: str) -> tuple[str, Strings, Floats]:
    with open(path, "rb") as stream:
        head = stream.readline(1 << 24)
    try:
        told = json.loads(head)
        asks, alphabet = told["asks"], Alphabet(told["alphabet"])
    except (ValueError, KeyError, TypeError):
        raise InputError("is no file of questions and answers", file=path) from None
    pieces = list(AnswerFile(path, asks, alphabet).read())
    strings = Strings(alphabet, np.empty(0, np.int32), np.zeros(1, np.int64))
    for piece, _ in pieces:
        strings = joined(strings, piece)
    width = len(alphabet) + 1 if asks == "next" else 1
    return asks, strings, np.concatenate([np.zeros((0, width)), *(answers for _, answers in pieces)])


def _read_lines(path: str) -> tuple[str, Strings, Floats] | None:
    """A file that people made: lines of JSON; None where it is a file that a cache left."""
    with open(path, encoding="utf-8", errors="replace") as stream:
        first = stream.readline(1 << 24)
        if FORMAT in first:
            return None
        alphabet = _line(first, path, 1, "alphabet")
        texts, answers, name = list[list[Symbol]](), list[Any](), ""
        for number, line in enumerate(stream, 2):
            if line.strip():
                name = name or ("next" if '"next"' in line else "score")
                texts.append(_line(line, path, number, "string"))
                answers.append(_line(line, path, number, name))
    strings = Strings.of(texts, alphabet=Alphabet(alphabet))
    rows = np.array(answers, dtype=np.float64).reshape(len(texts), -1)
    return ("next" if name == "next" else "scores"), strings, rows


def _line(text: str, path: str, number: int, name: str) -> Any:
    try:
        return json.loads(text)[name]
    except (ValueError, KeyError, TypeError):
        raise InputError(f"a line of JSON with {name!r} was expected", file=path, line=number) from None
