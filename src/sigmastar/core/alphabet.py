"""Alphabets: finite ordered sets of symbols, each with an integer code."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from sigmastar.core.errors import UnknownSymbolError

Symbol = Hashable

UNKNOWN = -1
"""The code of a symbol outside the alphabet: every operator of it is zero."""


UNKNOWN_CLASS = "<unk>"
"""The symbol that stands for all that are not in the alphabet, where a model has one."""


@dataclass(frozen=True)
class Alphabet:
    """Symbols in a fixed order; the code of a symbol is its position.

    >>> Alphabet("ab").encode("abba")
    [0, 1, 1, 0]
    """

    symbols: tuple[Symbol, ...]

    def __init__(self, symbols: Iterable[Symbol]) -> None:
        object.__setattr__(self, "symbols", tuple(symbols))
        if len(self.codes) != len(self.symbols):
            raise ValueError("an alphabet holds each symbol once")

    @cached_property
    def codes(self) -> dict[Symbol, int]:
        return {symbol: code for code, symbol in enumerate(self.symbols)}

    def encode(self, symbols: Iterable[Symbol]) -> list[int]:
        try:
            return [self.codes[symbol] for symbol in symbols]
        except KeyError as missing:
            raise UnknownSymbolError(
                f"symbol {missing.args[0]!r} is not among the {len(self)} symbols of the alphabet"
            ) from None

    def decode(self, codes: Iterable[int]) -> tuple[Symbol, ...]:
        return tuple(self.symbols[code] for code in codes)

    def __len__(self) -> int:
        return len(self.symbols)

    def __iter__(self) -> Iterator[Symbol]:
        return iter(self.symbols)

    def __contains__(self, symbol: object) -> bool:
        return symbol in self.codes


def written_codes(alphabet: Alphabet) -> dict[str, int]:
    """The code of each symbol by how it is written: the symbol 7 reads as "7"."""
    table = {str(symbol): code for code, symbol in enumerate(alphabet)}
    return table | {symbol: code for symbol, code in alphabet.codes.items() if isinstance(symbol, str)}
