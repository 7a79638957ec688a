"""Formats of corpora: one table of readers and writers, and plain lines.

To add a format, write a reader and a writer and name them in `FORMATS`: `--format` of the commands, what a
model file holds of its data, and the writer of samples come from there.

Plain lines hold one string each, its symbols separated by blanks, by a separator, or one per character. An
empty line is the empty string. The corpus is coded while it is read: symbols get codes in the order in which
they are met, and one pass at the end sorts the alphabet.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

import numpy as np

from sigmastar.automata.data.pautomac import read_pautomac, write_pautomac
from sigmastar.automata.data.spice import read_spice
from sigmastar.automata.data.strings import Strings, is_corpus
from sigmastar.core.alphabet import UNKNOWN, Alphabet, written_codes
from sigmastar.core.arrays import Int32s
from sigmastar.core.errors import InputError, UnknownSymbolError
from sigmastar.core.progress import tell
from sigmastar.core.records import RECORDS
from sigmastar.core.skipping import by_line
from sigmastar.core.text_files import TextPath, display_name, reading_policy, skips, text_blocks

if TYPE_CHECKING:  # most calls read files
    from sigmastar.corpus.reading import StringCorpus


@dataclass(frozen=True)
class Layout:
    """How strings stand in a file.

    Parameters
    ----------
    format : str
        A name in `FORMATS`.
    characters : bool
        Of lines: whether every character is a symbol.
    separator : str or None
        Of lines: what stands between symbols; None: blanks.
    """

    format: str = "lines"
    characters: bool = False
    separator: str | None = None

    @classmethod
    def of_header(cls, known: object) -> Layout:
        """The layout in a model file; plain lines where there is none of use."""
        if not isinstance(known, Mapping) or known.get("format") not in FORMATS:
            return cls()
        return cls(str(known["format"]), bool(known.get("characters")), known.get("separator"))

    def to_header(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def chosen(
        cls,
        format: str | None,
        characters: bool | None,
        separator: str | None,
        otherwise: object = None,
    ) -> Layout:
        """The layout that options ask for; where none does, that of a header."""
        if characters and separator is not None:
            raise ValueError("give --separator or --characters, not both")
        is_split = bool(characters) or separator is not None
        if format is not None and not FORMATS[format].is_plain and is_split:
            plain = " or ".join(name for name, known in FORMATS.items() if known.is_plain)
            raise ValueError(f"--separator and --characters are for --format {plain}, not {format}")
        if format is None and not is_split:
            return cls.of_header(otherwise)
        return cls(format or "lines", bool(characters), separator)

    def read(self, path: str, alphabet: Alphabet | None = None, allow_unknown: bool = False) -> Strings:
        """Read a file, or a corpus folder; without `alphabet` the symbols that are met become it."""
        if is_corpus(path):
            from sigmastar.automata.data.corpora import read_corpus  # most calls read files

            return read_corpus(path, alphabet, allow_unknown)
        return FORMATS[self.format].read(self, path, alphabet, allow_unknown)

    def write(self, strings: Strings, stream: TextIO) -> None:
        """Write strings so that `read` gives them back."""
        FORMATS[self.format].write(self, strings, stream)


class Format(NamedTuple):
    """A format: its reader, its writer, and whether `characters` and `separator` mean something in it."""

    read: Callable[[Layout, str, Alphabet | None, bool], Strings]
    write: Callable[[Layout, Strings, TextIO], None]
    is_plain: bool = False


Splitter = Callable[[str], Iterable[str]]


class _Growing(dict[str, int]):
    """Codes in the order of first use."""

    def __missing__(self, symbol: str) -> int:
        code = self[symbol] = len(self)
        return code


class _Open(dict[str, int]):
    """Fixed codes; every other symbol is unknown."""

    def __missing__(self, symbol: str) -> int:
        return UNKNOWN


@skips(by_line)
def read_lines(
    path: TextPath,
    separator: str | None = None,
    characters: bool = False,
    alphabet: Alphabet | None = None,
    allow_unknown: bool = False,
) -> Strings:
    """Read a corpus of plain lines; `-` is standard input.

    Without `alphabet` the symbols met become it, sorted. With one, other symbols are an error, or
    `UNKNOWN` if `allow_unknown`; symbols that are not text match by how they are written.

    Parameters
    ----------
    path : path
        File to read, plain, gzip or zstandard; - is standard input.
    separator : str, optional
        Text between symbols; blanks if left out.
    characters : bool
        Whether every character is a symbol.
    alphabet : Alphabet, optional
        Symbols to expect; without it those that are met become it.
    allow_unknown : bool
        Whether other symbols are unknown ones instead of an error.

    Returns
    -------
    Strings
        The corpus.
    """
    table = _table(alphabet, allow_unknown)
    codes, lengths = _read(path, splitter(separator, characters), table)
    if not len(lengths):
        raise InputError(
            "the file is empty; give a file with one string of symbols per line", file=display_name(path)
        )
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(np.frombuffer(lengths, dtype=np.int64), out=offsets[1:])
    flat = np.frombuffer(codes, dtype=np.int32) if codes else np.zeros(0, dtype=np.int32)
    return Strings(alphabet, flat, offsets) if alphabet else _sorted(table, flat, offsets)


def splitter(separator: str | None = None, characters: bool = False) -> Splitter:
    """How a line falls into symbols."""
    if characters:
        if separator is not None:
            raise ValueError("give a separator or characters=True, not both")
        return str
    if separator is None:
        return str.split
    if not separator:
        raise ValueError(
            "an empty separator cannot split a line; use --characters (in Python characters=True) for one "
            "symbol per character"
        )
    return lambda line: line.split(separator) if line else []


def write_lines(strings: Strings, stream: TextIO, separator: str = " ") -> None:
    """Write one string per line.

    Parameters
    ----------
    strings : Strings
        The corpus.
    stream : text stream
        Where to write.
    separator : str
        Text between symbols.
    """
    written = [_writable(symbol, separator) for symbol in map(str, strings.alphabet)]
    if len(strings.codes) and strings.codes.min() < 0:
        raise InputError("a string holds an unknown symbol, which cannot be written")
    offsets = strings.offsets.tolist()
    alone = strings.codes[strings.offsets[:-1][strings.lengths == 1]]
    if "" in written and (alone == written.index("")).any():
        raise InputError(
            "the string of one empty symbol cannot be written: it would read as the empty string"
        )
    for start, end in pairwise(offsets):
        stream.write(separator.join([written[code] for code in strings.codes[start:end].tolist()]) + "\n")


def _read(path: TextPath, split: Splitter, table: dict[str, int]) -> tuple[array[int], array[int]]:
    codes, lengths, look_up = array("i"), array("q"), table.__getitem__
    for first_line, lines in text_blocks(path):
        done = len(lengths)
        try:
            for line in lines:
                before = len(codes)
                codes.extend(map(look_up, split(line)))
                lengths.append(len(codes) - before)
        except KeyError as missing:
            raise UnknownSymbolError(
                f"symbol {missing.args[0]!r} is not among the {len(table)} symbols of the alphabet",
                file=display_name(path),
                line=first_line + len(lengths) - done,
            ) from None
    return codes, lengths


def _table(alphabet: Alphabet | None, allow_unknown: bool) -> dict[str, int]:
    if alphabet is None:
        return _Growing()
    return _Open(written_codes(alphabet)) if allow_unknown else written_codes(alphabet)


def _sorted(
    table: dict[str, int], codes: Int32s, offsets: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> Strings:
    symbols = sorted(table)
    rank = np.empty(len(symbols), dtype=np.int32)
    rank[[table[symbol] for symbol in symbols]] = np.arange(len(symbols), dtype=np.int32)
    return Strings(Alphabet(symbols), rank[codes] if len(symbols) else codes, offsets)


def _writable(symbol: str, separator: str) -> str:
    broken = not symbol if separator == " " else bool(not separator and len(symbol) != 1)
    if (
        broken
        or (separator and separator in symbol)
        or "\n" in symbol
        or (separator == " " and symbol.split() != [symbol])
    ):
        raise InputError(
            f"symbol {symbol!r} cannot be written in a line separated by {separator!r}; "
            "choose another separator or rename the symbol"
        )
    return symbol


def read_or_open(paths: Sequence[str], layout: Layout) -> Strings | StringCorpus:
    """The strings of files, or a single corpus on disk, of which nothing is read yet."""
    if len(paths) == 1 and is_corpus(paths[0]):
        from sigmastar.corpus.reading import StringCorpus

        return StringCorpus.open(paths[0])
    return _read_all(paths, layout)


def _read_all(paths: Sequence[str], layout: Layout) -> Strings:
    """One corpus of several files, over all of their symbols."""
    told = [_tell_mistaken(path, layout) for path in paths]
    corpora = [layout.read(path) for path in paths]
    for path, corpus, is_told in zip(paths, corpora, told, strict=True):
        if not is_told:
            _tell_unsplit(path, corpus, layout)
    if len(corpora) == 1:
        return corpora[0]
    alphabet = Alphabet(sorted({symbol for corpus in corpora for symbol in corpus.alphabet}))  # type: ignore[type-var]
    offsets = np.concatenate([[0], *(corpus.lengths for corpus in corpora)]).cumsum()
    return Strings(alphabet, np.concatenate([c.recoded(alphabet).codes for c in corpora]), offsets)


def _tell_mistaken(path: str, layout: Layout) -> bool:
    """A note where the name of a file is that of records or trees, and lines are read; whether there is."""
    if layout.format != "lines" or layout.separator is not None or reading_policy().fields is not None:
        return False
    name = path.lower().removesuffix(".gz").removesuffix(".zst")
    if name.endswith(RECORDS):
        tell(f"note: {path} is read as plain lines; --field NAME reads a field of its records")
    elif name.endswith((".conllu", ".mrg")):
        tell(f"note: {path} is read as plain lines; learn tagger, dependency and treebank read trees")
    elif ".pautomac." in name:
        tell(f"note: {path} is read as plain lines; --format pautomac reads files of PAutomaC")
    return name.endswith((*RECORDS, ".conllu", ".mrg")) or ".pautomac." in name


def _tell_unsplit(path: str, strings: Strings, layout: Layout) -> None:
    """A note where lines begin as JSON does, or none was split, though they are longer than a character."""
    is_default = layout.format == "lines" and layout.separator is None and not layout.characters
    if not is_default or reading_policy().fields is not None:
        return
    if len(strings) and str((*strings[0], "")[0]).startswith('{"'):
        tell(f"note: the lines of {path} look like records; --field NAME reads a field of them")
    elif strings.lengths.max(initial=0) == 1 and max(len(str(symbol)) for symbol in strings.alphabet) > 1:
        tell(f"note: no line of {path} has a blank: each is one symbol; --characters reads characters")


FORMATS: Mapping[str, Format] = {
    "lines": Format(
        lambda layout, path, *rest: read_lines(path, layout.separator, layout.characters, *rest),
        lambda layout, strings, stream: write_lines(
            strings, stream, "" if layout.characters else layout.separator or " "
        ),
        is_plain=True,
    ),
    "pautomac": Format(
        lambda layout, *rest: read_pautomac(*rest), lambda layout, *rest: write_pautomac(*rest)
    ),
    "spice": Format(lambda layout, *rest: read_spice(*rest), lambda layout, *rest: write_pautomac(*rest)),
}
