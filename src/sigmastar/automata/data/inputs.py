"""From what users have to `Strings`: lists of strings, tuples or arrays, or (X, lengths).

The end of a string, where it stands among next symbols.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import Alphabet, Symbol
from sigmastar.core.errors import InputError, UnknownSymbolError

Corpus = Strings | Iterable[Iterable[Symbol]]
Unknown = Literal["error", "zero"]
UNKNOWNS: tuple[Unknown, ...] = ("error", "zero")


def as_strings(
    sequences: Corpus,
    lengths: Sequence[int] | None = None,
    alphabet: Alphabet | None = None,
    unknown: Unknown = "error",
    remedy: str = "leave such strings out, or set unknown='zero' to give them no probability",
) -> Strings:
    """Code a corpus; what looks like one but is not is refused with a word on what to pass instead."""
    if unknown not in UNKNOWNS:
        raise ValueError(f"unknown={unknown!r} must be one of {', '.join(UNKNOWNS)}")
    if lengths is None and not isinstance(sequences, Strings):
        _refuse_lookalikes(sequences)
    try:
        return Strings.of(sequences, lengths, alphabet, allow_unknown=unknown == "zero")
    except UnknownSymbolError as problem:
        raise UnknownSymbolError(f"{problem}; {remedy}") from None


def as_alphabet(alphabet: Alphabet | Iterable[Symbol] | None) -> Alphabet | None:
    return alphabet if alphabet is None or isinstance(alphabet, Alphabet) else Alphabet(alphabet)


def _refuse_lookalikes(sequences: Any) -> None:
    if isinstance(sequences, (str, bytes)):
        raise InputError("X is one string; pass a list of strings, as in [X]")
    if isinstance(sequences, np.ndarray) and sequences.ndim != 1:
        raise InputError(
            f"X is an array of shape {sequences.shape}; pass a list of strings (X.tolist() if every row is "
            "one), or one flat array of symbols with the lengths of the strings, fit(X, lengths=lengths)"
        )
    if not isinstance(sequences, Iterable):
        raise InputError(f"X is {sequences!r}; pass a list of strings, or (X, lengths)")


class _End:
    """There is one, `END`; it equals itself alone, copied and pickled too."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "END"

    def __reduce__(self) -> str:
        return "END"


END = _End()
"""The end of the string among next symbols: no symbol of an alphabet is equal to it."""
