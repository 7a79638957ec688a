"""Reading the data that a command is given, in the format that it is told or that the model knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import click
import numpy as np

from sigmastar.automata.data.lines import read_lines
from sigmastar.automata.data.pautomac import read_pautomac
from sigmastar.automata.data.spice import read_spice
from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.cli.paths import described_file
from sigmastar.core.errors import UnknownSymbolError
from sigmastar.core.provenance import hash_strings

_REMEDY = "leave such strings out, or use --unknown zero to give them no probability"


@dataclass(frozen=True)
class Layout:
    """How strings stand in a file."""

    format: str = "lines"
    characters: bool = False
    separator: str | None = None

    @classmethod
    def of(
        cls,
        file_format: str | None,
        characters: bool | None,
        separator: str | None,
        learned: Mapping[str, Any] | None = None,
    ) -> Layout:
        """What the options say; where they say nothing, how the model's own data stood."""
        if characters and separator is not None:
            raise click.UsageError("give --separator or --characters, not both")
        if file_format is not None and file_format not in READERS:
            raise click.UsageError(f"--format {file_format} is for taggers; strings are {', '.join(READERS)}")
        if file_format in ("pautomac", "spice") and (characters or separator is not None):
            raise click.UsageError(f"--separator and --characters are for --format lines, not {file_format}")
        if file_format is None and not characters and separator is None:
            return cls.of_header((learned or {}).get("layout"))
        return cls(file_format or "lines", bool(characters), separator)

    @classmethod
    def of_header(cls, known: object) -> Layout:
        """What a model file says; plain lines where it says nothing of use."""
        if not isinstance(known, Mapping) or known.get("format") not in READERS:
            return cls()
        return cls(str(known["format"]), bool(known.get("characters")), known.get("separator"))

    def read(self, path: str, alphabet: Alphabet | None = None, unknown: str = "error") -> Strings:
        """Read a file; a symbol outside `alphabet` is an error that says what to do, or unknown."""
        try:
            return READERS[self.format](self, path, alphabet, unknown == "zero")
        except UnknownSymbolError as problem:
            raise UnknownSymbolError(
                f"{problem.problem}; {_REMEDY}", file=problem.file, line=problem.line
            ) from None

    def to_header(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def joint(self) -> str:
        """What stands between symbols when strings are written."""
        return "" if self.characters else self.separator or " "


Reader = Callable[[Layout, str, Alphabet | None, bool], Strings]

READERS: Mapping[str, Reader] = {
    "lines": lambda layout, *rest: read_lines(rest[0], layout.separator, layout.characters, *rest[1:]),
    "pautomac": lambda layout, *rest: read_pautomac(*rest),
    "spice": lambda layout, *rest: read_spice(*rest),
}


def read_all(paths: Sequence[str], layout: Layout) -> Strings:
    """One corpus of several files, over all of their symbols."""
    if paths.count("-") > 1:
        raise click.UsageError("standard input (-) can be read once only")
    corpora = [layout.read(path) for path in paths]
    if len(corpora) == 1:
        return corpora[0]
    alphabet = Alphabet(sorted({symbol for corpus in corpora for symbol in corpus.alphabet}))  # type: ignore[type-var]
    offsets = np.concatenate([[0], *(corpus.lengths for corpus in corpora)]).cumsum()
    return Strings(alphabet, np.concatenate([c.recoded(alphabet).codes for c in corpora]), offsets)


def describe(paths: Sequence[str], strings: Strings) -> dict[str, Any]:
    """What a model file says of the data it was learned from."""
    return {
        "files": [described_file(path) for path in paths],
        "n_strings": len(strings),
        "n_symbols": strings.n_symbols,
        "sha256": hash_strings(strings),
    }
