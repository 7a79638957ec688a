"""Alignment units: pairs of short strings that aligned pairs are strings of.

An alignment of (x, y) is a sequence of units whose input sides spell x and whose output sides spell y.
A side may be empty (epsilon), not both. As symbols of an alphabet, units turn aligned pairs into
strings, and every model of strings into a model of aligned pairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import Alphabet, Symbol
from sigmastar.transducers.data.string_pairs import StringPairs

Codes = NDArray[np.int32]
UnitArrays = tuple[Codes, Codes, Codes, Codes, NDArray[np.int64], Codes]
Unit = tuple[tuple[Symbol, ...], tuple[Symbol, ...]]
Shape = tuple[int, int]

SHAPES: tuple[Shape, ...] = ((1, 1), (1, 0), (1, 2), (2, 1))
"""How many symbols of either side a unit holds, as learners have it if not told otherwise."""
EMPTY = "_"  # how an empty side is written


@dataclass(frozen=True, eq=False)
class Units:
    """The units of a model, over an alphabet of inputs and one of outputs."""

    alphabet: Alphabet  # of units
    inputs: Alphabet
    outputs: Alphabet

    def __post_init__(self) -> None:
        for unit in self.alphabet:
            if not _is_unit(unit):
                raise ValueError(f"{unit!r} is not a unit: a pair of tuples of symbols, not both empty")

    @classmethod
    def of(cls, units: Iterable[Unit]) -> Units:
        """Units over the symbols that they hold."""
        listed = list(units)
        sides = ([symbol for unit in listed for symbol in unit[side]] for side in (0, 1))
        first, second = (Alphabet(dict.fromkeys(symbols)) for symbols in sides)
        return cls(Alphabet(listed), first, second)

    @cached_property
    def input_codes(self) -> Codes:
        """A row a unit, ended by -1."""
        return _codes([unit[0] for unit in self._units], self.inputs)

    @cached_property
    def output_codes(self) -> Codes:
        return _codes([unit[1] for unit in self._units], self.outputs)

    @cached_property
    def input_lengths(self) -> Codes:
        return np.asarray((self.input_codes >= 0).sum(axis=1), dtype=np.int32)

    @cached_property
    def output_lengths(self) -> Codes:
        return np.asarray((self.output_codes >= 0).sum(axis=1), dtype=np.int32)

    @cached_property
    def by_first_input(self) -> tuple[NDArray[np.int64], Codes]:
        """For each input symbol the range of its units in a list, those without input last."""
        first = np.where(self.input_lengths > 0, self.input_codes[:, 0], len(self.inputs))
        order = np.argsort(first, kind="stable").astype(np.int32)
        return np.searchsorted(first[order], np.arange(len(self.inputs) + 2)), order

    @cached_property
    def arrays(self) -> UnitArrays:
        """What kernels ask for: codes and lengths of both sides, and the units by first input."""
        lengths = (self.input_lengths, self.output_lengths)
        return (self.input_codes, self.output_codes, *lengths, *self.by_first_input)

    @property
    def _units(self) -> tuple[Unit, ...]:
        return self.alphabet.symbols  # type: ignore[return-value]

    def __len__(self) -> int:
        return len(self.alphabet)

    def swapped(self) -> Units:
        """The same units, read in the other direction; their codes stay."""
        return Units(Alphabet((right, left) for left, right in self._units), self.outputs, self.inputs)

    def spell(self, aligned: Strings) -> StringPairs:
        """The pairs that strings of units spell."""
        return StringPairs(
            _spelt(aligned, self.input_codes, self.input_lengths, self.inputs),
            _spelt(aligned, self.output_codes, self.output_lengths, self.outputs),
        )


def written(unit: Unit) -> str:
    """A unit as text, `in:out`."""
    return ":".join("".join(map(str, side)) or EMPTY for side in unit)


def _is_unit(unit: object) -> bool:
    return (
        isinstance(unit, tuple)
        and len(unit) == 2
        and all(isinstance(side, tuple) for side in unit)
        and bool(unit[0] or unit[1])
    )


def _codes(sides: Sequence[tuple[Symbol, ...]], alphabet: Alphabet) -> Codes:
    longest = max((len(side) for side in sides), default=0)
    codes = np.full((len(sides), longest + 1), -1, dtype=np.int32)
    for row, side in enumerate(sides):
        codes[row, : len(side)] = alphabet.encode(side)
    return codes


def _spelt(aligned: Strings, codes: Codes, lengths: Codes, alphabet: Alphabet) -> Strings:
    cells = codes[aligned.codes]
    totals = np.concatenate([[0], np.cumsum(lengths[aligned.codes], dtype=np.int64)])
    return Strings(alphabet, cells[cells >= 0], totals[aligned.offsets])
