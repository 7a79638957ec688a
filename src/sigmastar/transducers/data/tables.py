"""Pairs of strings as a table: `input TAB output`, each side characters or tokens between spaces.

Further columns are left alone. The same input on several lines has several outputs, all of them right.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from sigmastar.core.errors import InputError
from sigmastar.core.text_files import TextPath, display_name, open_text

Symbols = tuple[str, ...]
SIDES: Mapping[str, Callable[[str], Symbols]] = MappingProxyType(
    {"chars": tuple, "tokens": lambda text: tuple(text.split())}
)
"""How the text of a side becomes symbols."""
_GLUE = {"chars": "", "tokens": " "}


def read_transductions(
    path: TextPath, inputs: str = "chars", outputs: str = "tokens"
) -> list[tuple[Symbols, Symbols]]:
    """Read pairs of strings; an empty side is an error.

    Parameters
    ----------
    path : str, path or stream
        The table; `-` is standard input.
    inputs, outputs : str
        Symbols of either side: "chars", or "tokens" between spaces.

    Returns
    -------
    list of pairs
        Inputs and outputs as tuples of symbols.
    """
    found = []
    left, right = SIDES[inputs], SIDES[outputs]
    for number, line in enumerate(open_text(path), 1):
        if not line.strip():
            continue
        cells = line.split("\t")
        pair = (left(cells[0]), right(cells[1])) if len(cells) > 1 else ((), ())
        if not pair[0] or not pair[1]:
            raise InputError(
                f"expected 'input TAB output', both not empty, found {line[:60]!r}",
                file=display_name(path),
                line=number,
            )
        found.append(pair)
    if not found:
        raise InputError("the file holds no pairs", file=display_name(path))
    return found


def read_inputs(path: TextPath, side: str = "chars") -> list[Symbols]:
    """Read the first column alone, whether or not others follow.

    Parameters
    ----------
    path : str, path or stream
        The table; `-` is standard input.
    side : str
        Symbols: "chars", or "tokens" between spaces.

    Returns
    -------
    list of tuples
        Symbols of each input.
    """
    split = SIDES[side]
    found = [split(line.split("\t")[0]) for line in open_text(path) if line.strip()]
    if not found:
        raise InputError("the file holds no strings", file=display_name(path))
    return found


def joined(symbols: Iterable[object], side: str) -> str:
    """A side as text."""
    return _GLUE[side].join(map(str, symbols))
