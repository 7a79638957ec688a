"""Reading text files: plain, gzip or zstandard, or standard input, as a stream of whole lines.

The kind is found by the first bytes, not by the name. Text is UTF-8, or UTF-16 or UTF-32 with a byte order
mark, or of the encoding that the policy names; lines end in LF, CR LF, or all in CR. Whatever is wrong is an
`InputError` that names the file and the line; see `core.skipping` for going on after it.
"""

from __future__ import annotations

import codecs
import hashlib
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import wraps
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Concatenate, NamedTuple, ParamSpec, TypeVar, cast

from sigmastar.core.errors import InputError

if TYPE_CHECKING:
    from sigmastar.core.skipping import Record

_CHUNK = 1 << 16
_GZIP, _ZSTANDARD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
PARQUET = b"PAR1"
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True)
class Held:
    """The content of a file that has been read already, under its name."""

    name: str
    content: bytes

    def __fspath__(self) -> str:
        return self.name


TextPath = str | os.PathLike[str]

P = ParamSpec("P")
Result = TypeVar("Result")
Reader = Callable[Concatenate[TextPath, P], Result]


class LeftOut(NamedTuple):
    """A record that was passed over: where it stands, and why."""

    file: str
    line: int
    problem: str


@dataclass
class ReadingPolicy:
    """How files are read, and what was met: see `core.skipping.reading`."""

    encoding: str | None = None
    on_error: str = "stop"
    bare_words: str | None = None
    fields: str | None = None  # of records, whose texts are the lines: `core.records`
    left_out: list[LeftOut] = field(default_factory=list)
    n_bare_words: int = 0

    def __post_init__(self) -> None:
        if self.on_error not in ("stop", "skip"):
            raise ValueError(f"on_error is 'stop' or 'skip', not {self.on_error!r}")
        if self.encoding is not None:
            try:
                codecs.lookup(self.encoding)
            except LookupError:
                raise ValueError(
                    f"there is no encoding {self.encoding!r}; give a name such as utf-16, latin-1 or cp1252"
                ) from None


_POLICY: ContextVar[ReadingPolicy] = ContextVar("reading", default=ReadingPolicy())  # noqa: B039


def reading_policy() -> ReadingPolicy:
    """The policy of the `with` block around."""
    return _POLICY.get()


@contextmanager
def use_policy(policy: ReadingPolicy) -> Iterator[ReadingPolicy]:
    """Read files by a policy inside a `with` block."""
    token = _POLICY.set(policy)
    try:
        yield policy
    finally:
        _POLICY.reset(token)


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


def whole_number(text: str) -> int | None:
    """The number that digits spell; None for all else, and for more digits than a number here can have.

    Examples
    --------
    >>> whole_number(" 12 "), whole_number("-1"), whole_number("9" * 5000)
    (12, None, None)
    """
    digits = text.strip()
    return int(digits) if digits.isdecimal() and len(digits) < 19 else None


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
    file = display_name(path)
    for block in _blocks(path):
        if (at := block.content.find(b"\0")) >= 0:
            _refuse_parquet(block, file)
            raise InputError(
                "binary data (a NUL byte) where UTF-8 was expected; if it is UTF-16, use --encoding utf-16",
                file=file,
                line=block.first_line + block.content.count(b"\n", 0, at),
            )
        yield block


def hold(path: TextPath) -> Held:
    """The whole content of a file, in UTF-8 and with LF ends, whatever it is."""
    return Held(display_name(path), b"".join(block.content for block in _blocks(path)))


def _blocks(path: TextPath) -> Iterator[Block]:
    fields = reading_policy().fields
    if fields is None or isinstance(path, Held):
        return _bare_blocks(path)
    from sigmastar.core.records import is_parquet, parquet_lines, record_lines  # most files hold lines

    if is_parquet(path):
        return parquet_lines(os.fspath(path), fields)
    return record_lines(_bare_blocks(path), fields, display_name(path))


def _bare_blocks(path: TextPath) -> Iterator[Block]:
    number, rest = 1, list[bytes]()
    for chunk in [path.content] if isinstance(path, Held) else _in_utf8(_chunks(path), display_name(path)):
        end = chunk.rfind(b"\n") + 1
        if not end:
            rest.append(chunk)
            continue
        content = b"".join([*rest, chunk[:end]]).replace(b"\r\n", b"\n")
        rest = [chunk[end:]]
        yield Block(number, content)
        number += content.count(b"\n")
    if last := b"".join(rest):
        if number == 1 and b"\r" in last:  # line ends of old Macintoshes
            last = last.removesuffix(b"\r").replace(b"\r", b"\n") + b"\n"
        yield Block(number, last)


def decoded(block: Block, file: str) -> str:
    """The text of a block; bytes that are no UTF-8 are an error that names their line."""
    try:
        return block.content.decode()
    except UnicodeDecodeError as problem:
        line = block.first_line + block.content.count(b"\n", 0, problem.start)
        byte = block.content[problem.start]
        _refuse_parquet(block, file)
        raise InputError(
            f"byte 0x{byte:02x} is not UTF-8; give the --encoding, such as latin-1 (or is the file binary?)",
            file=file,
            line=line,
        ) from None


def _refuse_parquet(block: Block, file: str) -> None:
    if block.first_line == 1 and block.content.startswith(PARQUET):
        raise InputError("is a Parquet file; --field NAME reads a column of it", file=file) from None


def _in_utf8(chunks: Iterator[bytes], file: str) -> Iterator[bytes]:
    """The content in UTF-8, without a byte order mark."""
    first = next(chunks, b"")
    mark, found = next(((m, name) for m, name in _MARKS if first.startswith(m)), (b"", "utf-8"))
    name = codecs.lookup(found if mark else reading_policy().encoding or found).name
    pieces = chain([first.removeprefix(mark)], chunks)
    return pieces if name == "utf-8" else _transcoded(pieces, name, file)


def _transcoded(chunks: Iterable[bytes], encoding: str, file: str) -> Iterator[bytes]:
    decoder, line = codecs.getincrementaldecoder(encoding)(), 1
    for chunk, is_last in chain(((chunk, False) for chunk in chunks), [(b"", True)]):
        try:
            text = decoder.decode(chunk, is_last)
        except UnicodeError as problem:
            raise InputError(
                f"the text is not {encoding} ({getattr(problem, 'reason', '')}); give another --encoding",
                file=file,
                line=line,
            ) from None
        line += text.count("\n")
        yield text.encode()


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
    except _damages() as problem:
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
            yield from _inflated(everything, _zstandard_decoder)
        else:
            yield head + next(pieces, b"")
            yield from pieces


def _zstandard_decoder() -> Any:
    import zstandard  # most files need none, and processes without it read those

    return zstandard.ZstdDecompressor().decompressobj()


def _damages() -> tuple[type[Exception], ...]:
    """What decoders raise; asked for when something was raised."""
    import zstandard

    return zlib.error, zstandard.ZstdError


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


def skips(
    records: Callable[[bytes], list[Record]], n_header: int = 0
) -> Callable[[Reader[P, Result]], Reader[P, Result]]:
    """A reader that can pass over bad records.

    Parameters
    ----------
    records : callable
        The content of a file as records: `by_line`, `by_blank_line` or `by_tree`.
    n_header : int
        Number of records at the beginning that belong to every piece.

    Returns
    -------
    callable
        A decorator of functions whose first argument is a path.
    """

    def decorate(read: Reader[P, Result]) -> Reader[P, Result]:
        @wraps(read)
        def reader(path: TextPath, *args: P.args, **kwargs: P.kwargs) -> Result:
            if reading_policy().on_error == "stop" or isinstance(path, Held):
                return read(path, *args, **kwargs)
            from sigmastar.core.skipping import sieved  # most calls stop at errors

            return sieved(lambda piece: read(piece, *args, **kwargs), hold(path), records, n_header)

        return cast(Reader[P, Result], reader)

    return decorate
