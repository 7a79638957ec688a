"""Alignment units: pairs of short strings that aligned pairs are strings of.

An alignment of (x, y) is a sequence of units whose input sides spell x and whose output sides spell y.
A side may be empty (epsilon), not both. As symbols of an alphabet, units turn aligned pairs into
strings, and every model of strings into a model of aligned pairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import Alphabet, Symbol
from sigmastar.core.arrays import Int32s, Int64s
from sigmastar.core.parts import check_header
from sigmastar.transducers.data.string_pairs import StringPairs

Unit = tuple[tuple[Symbol, ...], tuple[Symbol, ...]]
Shape = tuple[int, int]

SHAPES: tuple[Shape, ...] = ((1, 1), (1, 0), (1, 2), (2, 1))
"""The numbers of symbols of either side that a unit may hold, by default."""


_LONGEST = 100  # side of a unit in a file: one long side would make long rows of all


class UnitArrays(NamedTuple):
    """Units as kernels read them: a row of codes per unit and side, ended by -1, and units by first input."""

    input_codes: Int32s
    output_codes: Int32s
    input_lengths: Int32s
    output_lengths: Int32s
    first_starts: Int64s  # units whose input begins with symbol a: first_units[first_starts[a] : .. [a + 1]]
    first_units: Int32s  # those without input last


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
    def arrays(self) -> UnitArrays:
        """The units as kernels read them."""
        inputs, outputs = (
            _codes([unit[side] for unit in self._units], alphabet)
            for side, alphabet in ((0, self.inputs), (1, self.outputs))
        )
        read, written = (np.asarray((side >= 0).sum(axis=1), dtype=np.int32) for side in (inputs, outputs))
        first = np.where(read > 0, inputs[:, 0], len(self.inputs))
        order = np.argsort(first, kind="stable").astype(np.int32)
        starts = np.searchsorted(first[order], np.arange(len(self.inputs) + 2))
        return UnitArrays(inputs, outputs, read, written, starts, order)

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
            _spelt(aligned, self.arrays.input_codes, self.arrays.input_lengths, self.inputs),
            _spelt(aligned, self.arrays.output_codes, self.arrays.output_lengths, self.outputs),
        )

    def to_header(self) -> dict[str, Any]:
        """The units as a model file holds them."""
        return {"units": self.alphabet, "inputs": self.inputs, "outputs": self.outputs}

    @classmethod
    def from_header(cls, header: dict[str, Any]) -> Units:
        """The units of a model file; symbols outside their alphabets are refused."""
        check_header(header, {"units": Alphabet, "inputs": Alphabet, "outputs": Alphabet})
        units = cls(header["units"], header["inputs"], header["outputs"])
        if any(len(side) > _LONGEST for unit in units._units for side in unit):
            raise ValueError(f"a side of a unit has more than {_LONGEST} symbols")
        _ = units.arrays  # encodes them, and raises where a symbol is not known
        return units


def backward(strings: Strings) -> Strings:
    """Every string from its last symbol to its first.

    Examples
    --------
    >>> list(backward(Strings.of(["abc", "", "de"])))
    [('c', 'b', 'a'), (), ('e', 'd')]
    """
    place = np.arange(strings.n_symbols)
    ends = np.repeat(strings.offsets[:-1] + strings.offsets[1:] - 1, strings.lengths)
    return Strings(strings.alphabet, strings.codes[ends - place], strings.offsets)


def _is_unit(unit: object) -> bool:
    return (
        isinstance(unit, tuple)
        and len(unit) == 2
        and all(isinstance(side, tuple) for side in unit)
        and bool(unit[0] or unit[1])
    )


def _codes(sides: Sequence[tuple[Symbol, ...]], alphabet: Alphabet) -> Int32s:
    longest = max((len(side) for side in sides), default=0)
    codes = np.full((len(sides), longest + 1), -1, dtype=np.int32)
    for row, side in enumerate(sides):
        codes[row, : len(side)] = alphabet.encode(side)
    return codes


def _spelt(aligned: Strings, codes: Int32s, lengths: Int32s, alphabet: Alphabet) -> Strings:
    cells = codes[aligned.codes]
    totals = np.concatenate([[0], np.cumsum(lengths[aligned.codes], dtype=np.int64)])
    return Strings(alphabet, cells[cells >= 0], totals[aligned.offsets])
