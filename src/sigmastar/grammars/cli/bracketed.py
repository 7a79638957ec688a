"""Trees in brackets or strings, a line each, as data for grammars without labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.errors import InputError, UnknownSymbolError
from sigmastar.core.text_files import display_name, open_text
from sigmastar.grammars.data.bracketings import Bracketings, its_tag, its_word
from sigmastar.trees.data.brackets import parse_brackets

LEAVES = {"words": its_word, "tags": its_tag}


@dataclass(frozen=True, eq=False)
class Sentences:
    """Strings, and their brackets if the file has them."""

    strings: Strings
    brackets: Bracketings | None = None
    lines: tuple[int, ...] | None = None  # of strings: which lines hold them, if some are empty
    n_lines: int = 0

    @property
    def n_empty(self) -> int:
        """Lines without symbols: no grammar gives them weight."""
        return 0 if self.lines is None else self.n_lines - len(self.lines)

    def by_line(self, values: Sequence[str], empty: str) -> list[str]:
        """One value a line of the file, with `empty` for lines without symbols."""
        if self.lines is None:
            return list(values)
        result = [empty] * self.n_lines
        for line, value in zip(self.lines, values, strict=True):
            result[line] = value
        return result

    def up_to(self, longest: int | None) -> Sentences:
        """Those of at most so many symbols."""
        if longest is None:
            return self
        kept = np.flatnonzero(self.strings.lengths <= longest)
        if not len(kept):
            raise InputError(f"there are no strings of up to {longest} symbols; use a larger --max-length")
        brackets = None if self.brackets is None else self.brackets.select(kept)
        return Sentences(self.strings.select(kept), brackets)

    def __len__(self) -> int:
        return len(self.strings)


def read_bracketed(
    path: str, leaves: str = "words", alphabet: Alphabet | None = None, unknown: str = "error"
) -> Sentences:
    """Trees if the first line begins with a bracket, else the symbols of each line."""
    name, lines = display_name(path), list(open_text(path))
    first = next((line for line in lines if line.strip()), "")
    if not first:
        raise InputError("holds no trees or strings", file=name)
    found = _trees(lines, leaves, name) if first.lstrip().startswith("(") else _strings(lines)
    if alphabet is not None and unknown == "error":
        _require_known(found.strings, alphabet, name)
    return found


def _trees(lines: list[str], leaves: str, name: str) -> Sentences:
    brackets = Bracketings.of_trees(parse_brackets("\n".join(lines), name), LEAVES[leaves])
    if not len(brackets):
        raise InputError("its trees have no words", file=name)
    return Sentences(brackets.strings, brackets)


def _strings(lines: list[str]) -> Sentences:
    rows = [line.split() for line in lines]
    filled = tuple(number for number, row in enumerate(rows) if row)
    return Sentences(Strings.of([rows[number] for number in filled]), None, filled, len(rows))


def _require_known(strings: Strings, alphabet: Alphabet, file: str) -> None:
    """A symbol that the grammar does not know is an error that names its sentence."""
    coded = strings.recoded(alphabet, allow_unknown=True).codes
    if (coded < 0).any():
        at = int(np.argmax(coded < 0))
        number = int(np.searchsorted(strings.offsets, at, side="right"))
        symbol = strings.alphabet.symbols[strings.codes[at]]
        raise UnknownSymbolError(
            f"sentence {number}: {symbol!r} is not a symbol of the grammar; leave such sentences out, or use "
            "--unknown zero to give them no probability",
            file=file,
        )
