"""Formats of corpora: one table of readers and writers.

To add a format, write a reader and a writer and name them in `FORMATS`: `--format` of the commands, what a
model file says of its data, and the writer of samples come from there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, TextIO

from sigmastar.automata.data.lines import read_lines, write_lines
from sigmastar.automata.data.pautomac import read_pautomac, write_pautomac
from sigmastar.automata.data.spice import read_spice
from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import Alphabet


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
        """What a model file says; plain lines where it says nothing of use."""
        if not isinstance(known, Mapping) or known.get("format") not in FORMATS:
            return cls()
        return cls(str(known["format"]), bool(known.get("characters")), known.get("separator"))

    def to_header(self) -> dict[str, Any]:
        return asdict(self)

    def read(self, path: str, alphabet: Alphabet | None = None, allow_unknown: bool = False) -> Strings:
        """Read a file; without `alphabet` the symbols that are met become it."""
        return FORMATS[self.format].read(self, path, alphabet, allow_unknown)

    def write(self, strings: Strings, stream: TextIO) -> None:
        """Write strings so that `read` gives them back."""
        FORMATS[self.format].write(self, strings, stream)


class Format(NamedTuple):
    """A format: its reader, its writer, and whether `characters` and `separator` mean something in it."""

    read: Callable[[Layout, str, Alphabet | None, bool], Strings]
    write: Callable[[Layout, Strings, TextIO], None]
    is_plain: bool = False


def _read_lines(layout: Layout, path: str, alphabet: Alphabet | None, allow_unknown: bool) -> Strings:
    return read_lines(path, layout.separator, layout.characters, alphabet, allow_unknown)


def _write_lines(layout: Layout, strings: Strings, stream: TextIO) -> None:
    write_lines(strings, stream, "" if layout.characters else layout.separator or " ")


FORMATS: Mapping[str, Format] = {
    "lines": Format(_read_lines, _write_lines, is_plain=True),
    "pautomac": Format(
        lambda layout, *rest: read_pautomac(*rest), lambda layout, *rest: write_pautomac(*rest)
    ),
    "spice": Format(lambda layout, *rest: read_spice(*rest), lambda layout, *rest: write_pautomac(*rest)),
}
