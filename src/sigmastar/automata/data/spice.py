"""The SPiCe format (Balle et al. 2016): prefixes, and what may follow each of them.

Corpora and prefixes are in the PAutomaC format. A line of targets belongs to one prefix:

    denominator symbol probability symbol probability ...      best first, symbol -1 is the end
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sigmastar.automata.data.pautomac import read_pautomac
from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.errors import InputError
from sigmastar.core.text_files import TextPath, display_name, open_text

END_OF_STRING = -1


@dataclass(frozen=True, eq=False)
class SpiceTargets:
    """Next symbols with their probabilities; line i is `offsets[i]:offsets[i + 1]` of the flat arrays."""

    denominators: Floats
    symbols: Int32s
    probabilities: Floats
    offsets: Int64s

    def __len__(self) -> int:
        return len(self.denominators)

    def first(self, n: int) -> SpiceTargets:
        """The first n lines; problem 4 has one line more than it has prefixes."""
        if n > len(self):
            raise InputError(f"{n} prefixes need {n} target lines, there are {len(self)}")
        end = int(self.offsets[n])
        return SpiceTargets(
            self.denominators[:n], self.symbols[:end], self.probabilities[:end], self.offsets[: n + 1]
        )


def read_spice(path: TextPath, alphabet: Alphabet | None = None, allow_unknown: bool = False) -> Strings:
    """Read whole strings or prefixes.

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
        The strings or prefixes.
    """
    return read_pautomac(path, alphabet, allow_unknown)


def read_spice_targets(path: TextPath) -> SpiceTargets:
    """Read what may follow each prefix.

    Parameters
    ----------
    path : path
        File to read, plain, gzip or zstandard; - is standard input.

    Returns
    -------
    SpiceTargets
        Next symbols with their probabilities, one line per prefix.
    """
    file = display_name(path)
    denominators: list[float] = []
    symbols: list[int] = []
    probabilities: list[float] = []
    offsets = [0]
    for number, line in enumerate(open_text(path), 1):
        if not line.strip():
            continue
        try:
            denominator, codes, values = _parsed(line.split())
        except ValueError as problem:
            raise InputError(str(problem), file=file, line=number) from None
        denominators.append(denominator)
        symbols += codes
        probabilities += values
        offsets.append(len(symbols))
    if not denominators:
        raise InputError("the file is empty; expected lines 'denominator symbol probability ...'", file=file)
    return SpiceTargets(
        np.array(denominators), np.array(symbols, dtype=np.int32), np.array(probabilities), np.array(offsets)
    )


def _parsed(words: list[str]) -> tuple[float, list[int], list[float]]:
    if len(words) % 2 == 0 or len(words) < 3:
        raise ValueError(
            f"expected 'denominator symbol probability ...', an odd number of words, found {len(words)}"
        )
    denominator, values = _number(words[0]), [_number(word) for word in words[2::2]]
    symbols = [_symbol(word) for word in words[1::2]]
    if denominator <= 0 or not np.isfinite(denominator):
        raise ValueError(f"the denominator {words[0]} is not positive")
    if not all(0.0 <= value <= 1.0 + 1e-9 for value in values):
        raise ValueError("a probability lies outside 0..1")
    if len(set(symbols)) < len(symbols):
        raise ValueError("a symbol is given twice")
    return denominator, symbols, values


def _number(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise ValueError(f"{word[:40]!r} is not a number") from None


def _symbol(word: str) -> int:
    if not word.removeprefix("-").isdecimal() or len(word) > 9 or int(word) < END_OF_STRING:
        raise ValueError(
            f"{word[:40]!r} is not a symbol: expected an integer, or -1 for the end of the string"
        )
    return int(word)
