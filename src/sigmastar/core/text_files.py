"""Reading text files: plain, gzip or zstandard, or standard input, as a stream of whole lines.

The kind is found by the first bytes, not by the name. Text is UTF-8, with or without a byte order
mark; lines end in LF or CR LF. Whatever is wrong is an `InputError` that names the file and the line.
"""

from __future__ import annotations

import hashlib
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import zstandard

from sigmastar.core.atomic import atomic_write
from sigmastar.core.errors import InputError

__all__ = ["Block", "TextPath", "atomic_write", "decoded", "line_blocks", "open_text", "text_blocks"]

TextPath = str | os.PathLike[str]

_CHUNK = 1 << 16
_GZIP, _ZSTANDARD, _BOM = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\xef\xbb\xbf"


class Block(NamedTuple):
    """Some whole lines of a file, and the number of the first of them, counted from 1."""

    first_line: int
    content: bytes


def display_name(path: TextPath) -> str:
    """How messages name a file."""
    return "standard input" if os.fspath(path) == "-" else os.fspath(path)


def described_file(path: str) -> dict[str, str]:
    """The name of a file and its hash, for the header of what is learned from it."""
    if not os.path.isfile(path):
        return {"name": "standard input" if path == "-" else Path(path).name}
    with open(path, "rb") as stream:
        return {"name": Path(path).name, "sha256": hashlib.file_digest(stream, "sha256").hexdigest()}


def open_text(path: TextPath) -> Iterator[str]:
    """The lines of a text file, one by one, without their ends; `-` is standard input."""
    return chain.from_iterable(lines for _, lines in text_blocks(path))


def text_blocks(path: TextPath) -> Iterator[tuple[int, list[str]]]:
    """The lines of a text file in batches, each with the number of its first line."""
    file = display_name(path)
    for block in line_blocks(path):
        lines = decoded(block, file).split("\n")
        if not lines[-1]:  # after the last line end there is no further line
            lines.pop()
        yield block.first_line, lines


def line_blocks(path: TextPath) -> Iterator[Block]:
    """The bytes of a text file in blocks of whole lines, with LF ends; a NUL byte is refused."""
    file, number, rest = display_name(path), 1, list[bytes]()
    for chunk in _without_mark(_chunks(path)):
        end = chunk.rfind(b"\n") + 1
        if not end:
            rest.append(chunk)
            continue
        block = _block(number, b"".join([*rest, chunk[:end]]), file)
        rest = [chunk[end:]]
        yield block
        number += block.content.count(b"\n")
    if last := b"".join(rest):
        yield _block(number, last, file)


def _block(number: int, content: bytes, file: str) -> Block:
    if (at := content.find(b"\0")) >= 0:
        raise InputError(
            "binary data (a NUL byte) where UTF-8 text was expected; is this the right file?",
            file=file,
            line=number + content.count(b"\n", 0, at),
        )
    return Block(number, content.replace(b"\r\n", b"\n"))


def decoded(block: Block, file: str) -> str:
    """The text of a block; bytes that are no UTF-8 are an error that names their line."""
    try:
        return block.content.decode()
    except UnicodeDecodeError as problem:
        line = block.first_line + block.content.count(b"\n", 0, problem.start)
        byte = block.content[problem.start]
        raise InputError(
            f"byte 0x{byte:02x} is not UTF-8; convert the file to UTF-8 (or is it binary?)",
            file=file,
            line=line,
        ) from None


def _without_mark(chunks: Iterator[bytes]) -> Iterator[bytes]:
    yield next(chunks, b"").removeprefix(_BOM)
    yield from chunks


def _chunks(path: TextPath) -> Iterator[bytes]:
    """The content, decompressed if need be, in pieces of any size."""
    file = display_name(path)
    try:
        if os.fspath(path) == "-":
            yield from _decompressed(_pieces(sys.stdin.buffer))
        else:
            with open(path, "rb") as stream:
                yield from _decompressed(_pieces(stream))
    except OSError as problem:
        raise InputError(_cannot_read(problem), file=file) from None
    except EOFError:
        raise InputError(
            "the compressed data ends too early: the file was cut short; get it again", file=file
        ) from None
    except (zlib.error, zstandard.ZstdError) as problem:
        raise InputError(
            f"the compressed data is damaged ({problem}); get the file again", file=file
        ) from None


def _pieces(stream: BinaryIO) -> Iterator[bytes]:
    """Pieces as they come; the first is long enough to tell the kind of file by."""
    head = stream.read(4)
    yield head
    read: Callable[[int], bytes] = getattr(stream, "read1", stream.read)
    while piece := read(_CHUNK):
        yield piece


def _decompressed(pieces: Iterator[bytes]) -> Iterator[bytes]:
    with closing(pieces):  # type: ignore[type-var]
        head = next(pieces)
        everything = chain([head], pieces)
        if head.startswith(_GZIP):
            yield from _inflated(everything, lambda: zlib.decompressobj(wbits=31))
        elif head.startswith(_ZSTANDARD):
            yield from _inflated(everything, lambda: zstandard.ZstdDecompressor().decompressobj())
        else:
            yield head + next(pieces, b"")
            yield from pieces


def _inflated(pieces: Iterable[bytes], decoder_of_member: Callable[[], Any]) -> Iterator[bytes]:
    """Decompress; a file may hold several members one after another, then zeros as padding."""
    decoder, n_members = None, 0
    for piece in pieces:
        while piece := piece if decoder or not n_members else piece.lstrip(b"\0"):
            decoder = decoder or decoder_of_member()
            yield decoder.decompress(piece)
            piece = b""
            if decoder.eof:
                piece, decoder, n_members = decoder.unused_data, None, n_members + 1
    if decoder:
        raise EOFError


def _cannot_read(problem: OSError) -> str:
    if isinstance(problem, FileNotFoundError):
        return "there is no such file; check the name"
    if isinstance(problem, IsADirectoryError):
        return "is a folder; give a file inside it"
    if isinstance(problem, PermissionError):
        return "no permission to read it; check its rights with ls -l"
    return f"cannot be read: {problem.strerror or problem}"
