"""The PAutomaC format of corpora and solutions (Verwer, Eyraud, de la Higuera 2012).

    n_strings alphabet_size
    length symbol symbol ...          one line per string, symbols 0 .. alphabet_size - 1

Blocks of lines are parsed at once, as arrays of digits; only a block that does not pass its checks is
walked line by line, to find what is wrong and where.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, pairwise
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import UNKNOWN, Alphabet, written_codes
from sigmastar.core.arrays import Floats, Indices, Int32s, Int64s
from sigmastar.core.errors import InputError, UnknownSymbolError
from sigmastar.core.skipping import by_line
from sigmastar.core.text_files import (
    Block,
    TextPath,
    display_name,
    line_blocks,
    open_text,
    reading_policy,
    skips,
    whole_number,
)

LARGEST_ALPHABET = 10_000_000
_ANY_ALPHABET = 1_000_000  # that a file may promise; more symbols than this only where so many stand in it
_LONGEST_NUMBER = 9
_BLANK = np.zeros(256, dtype=bool)
_BLANK[[9, 10, 11, 12, 13, 32]] = True
_DIGIT = np.zeros(256, dtype=bool)
_DIGIT[48:58] = True


@skips(by_line, n_header=1)
def read_pautomac(path: TextPath, alphabet: Alphabet | None = None, allow_unknown: bool = False) -> Strings:
    """Read a corpus; its alphabet is 0 .. size - 1 as in the header, or the one given.

    Parameters
    ----------
    path : path
        File to read, plain, gzip or zstandard; - is standard input.
    alphabet : Alphabet, optional
        Symbols to expect; without it those that are met become it.
    allow_unknown : bool
        Whether other symbols are unknown ones instead of an error.

    Returns
    -------
    Strings
        The corpus.
    """
    file = display_name(path)
    blocks = line_blocks(path)
    n_strings, size, rest = _header(blocks, file)
    parts = [_parse(block, size, file) for block in chain(rest, blocks)]
    lengths = np.concatenate([lengths for lengths, _ in parts] or [np.zeros(0, dtype=np.int64)])
    codes = np.concatenate([codes for _, codes in parts] or [np.zeros(0, dtype=np.int32)])
    if len(lengths) != n_strings and reading_policy().on_error == "stop":
        raise InputError(
            f"the header promises {n_strings} strings, the file holds {len(lengths)}; "
            "is it cut short? (the empty string is a line 0)",
            file=file,
            line=1,
        )
    if size > max(_ANY_ALPHABET, len(codes)):
        raise InputError(
            f"the header promises an alphabet of {size} symbols, the file holds {len(codes)} symbols; "
            "is it cut short?",
            file=file,
            line=1,
        )
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    strings = Strings(Alphabet(range(size)), codes, offsets)
    return strings if alphabet is None else _recoded(strings, alphabet, allow_unknown, file)


def write_pautomac(strings: Strings, stream: TextIO) -> None:
    """Write a corpus; symbols are written as their codes.

    Parameters
    ----------
    strings : Strings
        The corpus.
    stream : text stream
        Where to write.
    """
    if len(strings.codes) and strings.codes.min() < 0:
        raise InputError("a string holds an unknown symbol, which the PAutomaC format has no number for")
    stream.write(f"{len(strings)} {len(strings.alphabet)}\n")
    offsets = strings.offsets.tolist()
    for start, end in pairwise(offsets):
        stream.write(" ".join(map(str, (end - start, *strings.codes[start:end].tolist()))) + "\n")


def read_solution(path: TextPath) -> Floats:
    """The probabilities of a test set: their number, then one per line.

    Parameters
    ----------
    path : path
        File to read, plain, gzip or zstandard; - is standard input.

    Returns
    -------
    array
        The probabilities, in the order of the test strings.
    """
    file, lines = display_name(path), enumerate(open_text(path), 1)
    count = _count(next(lines, (1, ""))[1], file)
    values = [_probability(line, file, number) for number, line in lines if line.strip()]
    if len(values) != count:
        raise InputError(
            f"the first line promises {count} probabilities, the file holds {len(values)}", file=file, line=1
        )
    return np.array(values, dtype=np.float64)


def _count(line: str, file: str) -> int:
    if not line.strip():
        raise InputError(
            "the file is empty; expected the number of probabilities in its first line", file=file
        )
    count = whole_number(line)
    if count is None:
        raise InputError(
            f"the first line is {line.strip()[:40]!r}, expected the number of probabilities",
            file=file,
            line=1,
        )
    return count


def _probability(line: str, file: str, number: int) -> float:
    try:
        value = float(line)
    except ValueError:
        raise InputError(f"{line.strip()[:40]!r} is not a number", file=file, line=number) from None
    if not 0.0 < value <= 1.0:
        raise InputError(f"{value} is not a positive probability", file=file, line=number)
    return value


def _header(blocks: Iterator[Block], file: str) -> tuple[int, int, list[Block]]:
    """The numbers in the first line, and the rest of the first block."""
    block = next(blocks, None)
    if block is None:
        raise InputError(
            "the file is empty; expected a first line 'number-of-strings alphabet-size'", file=file
        )
    first, _, rest = block.content.partition(b"\n")
    words = first.split()
    if len(words) != 2 or not all(word.isdigit() and len(word) < 19 for word in words):
        raise InputError(
            f"the first line is {first[:40].decode(errors='replace')!r}, expected "
            "'number-of-strings alphabet-size'; is this the PAutomaC format?",
            file=file,
            line=1,
        )
    n_strings, size = map(int, words)
    if size > LARGEST_ALPHABET:
        raise InputError(
            f"an alphabet of {size} symbols is beyond the limit of {LARGEST_ALPHABET}", file=file, line=1
        )
    return n_strings, size, [Block(2, rest)] if rest else []


def _parse(block: Block, size: int, file: str) -> tuple[Int64s, Int32s]:
    """The lengths and the codes of the strings in a block of lines."""
    text = np.frombuffer(block.content, dtype=np.uint8)
    blank = _BLANK[text]
    edges = np.flatnonzero(np.diff(blank, prepend=True, append=True))
    starts, ends = edges[::2], edges[1::2]
    if not len(starts):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int32)
    if not (blank | _DIGIT[text]).all() or (ends - starts).max() > _LONGEST_NUMBER:
        raise _located(block, size, file)
    values = _numbers(text, starts, ends)
    line = np.searchsorted(np.flatnonzero(text == 10), starts)
    heads = np.flatnonzero(np.diff(line, prepend=-1))
    lengths = np.diff(heads, append=len(values)) - 1
    symbols = np.delete(values, heads)
    if not np.array_equal(values[heads], lengths) or (len(symbols) and symbols.max() >= size):
        raise _located(block, size, file)
    return lengths, symbols.astype(np.int32)


def _numbers(text: NDArray[np.uint8], starts: Indices, ends: Indices) -> Int64s:
    """Horner's rule over the digits of all numbers at once."""
    values = text[starts].astype(np.int64) - 48
    widths = ends - starts
    for place in range(1, int(widths.max())):
        longer = np.flatnonzero(widths > place)
        values[longer] = 10 * values[longer] + text[starts[longer] + place] - 48
    return values


def _located(block: Block, size: int, file: str) -> InputError:
    """Walk the lines of a bad block to what is wrong with it."""
    for number, line in enumerate(block.content.split(b"\n"), block.first_line):
        words = line.decode(errors="replace").split()
        if problem := _problem(words, size) if words else None:
            return InputError(problem, file=file, line=number)
    return InputError("the lines do not follow the PAutomaC format", file=file, line=block.first_line)


def _problem(words: list[str], size: int) -> str | None:
    for word in words:
        if not word.removeprefix("-").isdecimal() or not word.isascii():
            return f"{word[:40]!r} is not an integer"
    if int(words[0][:18]) != len(words) - 1:
        return f"the line states length {words[0][:18]} but has {len(words) - 1} symbols"
    for word in words[1:]:
        if word.startswith("-") or len(word) > _LONGEST_NUMBER or int(word) >= size:
            return f"symbol {word[:40]} is outside 0..{size - 1}, the alphabet of the header"
    return None


def _recoded(strings: Strings, alphabet: Alphabet, allow_unknown: bool, file: str) -> Strings:
    """The strings over a given alphabet, whose symbols may be numbers or text."""
    if alphabet == strings.alphabet:
        return strings
    written = written_codes(alphabet)
    table = np.array([written.get(str(s), UNKNOWN) for s in strings.alphabet], dtype=np.int32)
    codes = table[strings.codes]
    if not allow_unknown and (codes < 0).any():
        at = int(np.argmax(codes < 0))
        raise UnknownSymbolError(
            f"symbol {strings.codes[at]} is not among the {len(alphabet)} symbols of the alphabet",
            file=file,
            line=1 + int(np.searchsorted(strings.offsets, at, side="right")),
        )
    return Strings(alphabet, codes, strings.offsets)
