"""Pairs of strings of any two lengths: what transducers are learned from and judged on.

As a file they are a table, `input TAB output`, each side characters or tokens between spaces; further columns
are left alone. The same input on several lines has several outputs, all of them right.

Alignment units: pairs of short strings that aligned pairs are strings of.

An alignment of (x, y) is a sequence of units whose input sides spell x and whose output sides spell y.
A side may be empty (epsilon), not both. As symbols of an alphabet, units turn aligned pairs into
strings, and every model of strings into a model of aligned pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import Alphabet, Symbol
from sigmastar.core.arrays import Array, Int32s, Int64s
from sigmastar.core.errors import InputError
from sigmastar.core.held_out import Split, folds
from sigmastar.core.progress import counted, tell
from sigmastar.core.skipping import by_line
from sigmastar.core.stored_parts import check_header
from sigmastar.core.text_files import TextPath, display_name, open_text, skips

Pair = tuple[Sequence[Symbol], Sequence[Symbol]]
Word = tuple[str, ...]

SIDES: Mapping[str, Callable[[str], Word]] = MappingProxyType(
    {"chars": tuple, "tokens": lambda text: tuple(text.split())}
)
"""How the text of a side becomes symbols."""


@dataclass(frozen=True, eq=False)
class StringPairs:
    """Pair `i` is `inputs[i]` with `outputs[i]`.

    Parameters
    ----------
    inputs, outputs : Strings
        Of equal number.
    """

    inputs: Strings
    outputs: Strings

    def __post_init__(self) -> None:
        if len(self.inputs) != len(self.outputs):
            raise ValueError(f"{len(self.inputs)} inputs cannot be paired with {len(self.outputs)} outputs")

    @classmethod
    def of(
        cls,
        pairs: Iterable[Pair] | StringPairs,
        inputs: Alphabet | None = None,
        outputs: Alphabet | None = None,
        allow_unknown: bool = False,
    ) -> StringPairs:
        """Code pairs of sequences.

        Parameters
        ----------
        pairs : iterable of pairs
            Each an input and an output, sequences of hashable symbols.
        inputs, outputs : Alphabet or None
            Symbols of either side; None: those that occur.
        allow_unknown : bool
            Whether symbols outside the alphabets are coded as unknown, and no error.

        Returns
        -------
        StringPairs
            The coded pairs.

        Examples
        --------
        >>> StringPairs.of([("ab", ["A", "B"]), ("b", ["B"])]).outputs.codes.tolist()
        [0, 1, 1]
        """
        if isinstance(pairs, StringPairs):
            return pairs.recoded(inputs, outputs, allow_unknown)
        rows = [_two(pair) for pair in pairs]
        return cls(
            Strings.of([row[0] for row in rows], alphabet=inputs, allow_unknown=allow_unknown),
            Strings.of([row[1] for row in rows], alphabet=outputs, allow_unknown=allow_unknown),
        )

    def recoded(
        self, inputs: Alphabet | None, outputs: Alphabet | None, allow_unknown: bool = False
    ) -> StringPairs:
        return StringPairs(
            self.inputs.recoded(inputs, allow_unknown), self.outputs.recoded(outputs, allow_unknown)
        )

    def __len__(self) -> int:
        return len(self.inputs)

    def __iter__(self) -> Iterator[tuple[tuple[Symbol, ...], tuple[Symbol, ...]]]:
        return zip(self.inputs, self.outputs, strict=True)

    def select(self, indices: Array | Sequence[int]) -> StringPairs:
        return StringPairs(self.inputs.select(indices), self.outputs.select(indices))

    def swapped(self) -> StringPairs:
        """The other direction."""
        return StringPairs(self.outputs, self.inputs)

    def references(self) -> dict[tuple[Symbol, ...], list[tuple[Symbol, ...]]]:
        """Every input once, in the order of the data, with all its outputs."""
        found: dict[tuple[Symbol, ...], list[tuple[Symbol, ...]]] = {}
        for left, right in self:
            found.setdefault(left, []).append(right)
        return found

    def folds(self, share: float, n_folds: int, rng: np.random.Generator) -> list[Split]:
        """Random choices of pairs to hold out, none twice, by input: equal inputs are on one side."""
        numbers: dict[bytes, int] = {}
        codes, offsets = self.inputs.codes, self.inputs.offsets.tolist()
        keys = (codes[low:high].tobytes() for low, high in pairwise(offsets))
        groups = np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)
        found = folds(len(self), rng, n_folds, share, groups)
        if not found:
            raise InputError("at least two different inputs are needed to hold some out")
        return found

    def split(self, share: float, rng: np.random.Generator) -> tuple[StringPairs, StringPairs]:
        """A random split into (kept, held out) by input."""
        (fold,) = self.folds(share, 1, rng)
        return self.select(fold.kept), self.select(fold.held)


def require_pairs(pairs: StringPairs, purpose: str = "learn from") -> StringPairs:
    """Refuse an empty corpus."""
    if len(pairs) == 0:
        raise InputError(f"there are no pairs to {purpose}")
    return pairs


def _two(pair: Pair) -> Pair:
    if isinstance(pair, str) or len(pair) != 2:
        raise InputError(f"expected pairs (input, output), got {pair!r}")
    return pair


@skips(by_line)
def read_transductions(
    path: TextPath, inputs: str = "chars", outputs: str = "tokens"
) -> list[tuple[Word, Word]]:
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
    found, n_wider = [], 0
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
        n_wider += len(cells) > 2
    if not found:
        raise InputError("the file holds no pairs", file=display_name(path))
    if n_wider:
        lines = counted(n_wider, "line")
        tell(f"note: {display_name(path)}: columns behind the second are left out, in {lines}")
    return found


def read_inputs(path: TextPath, side: str = "chars") -> list[Word]:
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
    return ("" if side == "chars" else " ").join(map(str, symbols))


Unit = tuple[tuple[Symbol, ...], tuple[Symbol, ...]]
Shape = tuple[int, int]

SHAPES: tuple[Shape, ...] = ((1, 1), (1, 0), (1, 2), (2, 1))
"""The numbers of symbols of either side that a unit may hold, by default."""


_LONGEST = 100  # side of a unit in a file: one long side would make long rows of all


class Lattice(NamedTuple):
    """The edit lattice of a pair: `edges[i, j, shape]` is the unit that leaves a cell in a shape, or -1."""

    edges: Int64s
    shapes: Int64s


class PairCodes(NamedTuple):
    """Pairs of strings: codes of both sides in a row, and where each string ends."""

    x: Int32s
    x_ends: Int64s
    y: Int32s
    y_ends: Int64s


class UnitKeys(NamedTuple):
    """Units by key: their shapes, bases and digits of keys, and a table with open addressing."""

    shapes: Int64s
    radix: Int64s
    table: Int64s  # as long as a power of two


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


def distinct(strings: Strings) -> tuple[Int64s, Int64s]:
    """Where each string that differs from all before stands first, and the number of each string."""
    _, first, number = np.unique(hashes_of(strings), return_index=True, return_inverse=True)
    return first, number


def known_symbols(inputs: Strings, alphabet: Alphabet) -> Strings:
    """Inputs without the symbols that an alphabet lacks."""
    coded = inputs.recoded(alphabet, allow_unknown=True)
    kept = coded.codes >= 0
    ends = np.append(0, np.cumsum(kept))[coded.offsets]
    return coded if kept.all() else Strings(alphabet, coded.codes[kept], ends)


def hashes_of(strings: Strings) -> NDArray[np.uint64]:
    """A number for each string: different strings have different ones, but for 64-bit accidents."""
    place = np.arange(strings.n_symbols) - np.repeat(strings.offsets[:-1], strings.lengths)
    random = np.random.default_rng(0x5163).integers(0, 2**64, int(place.max(initial=0)) + 1, dtype=np.uint64)
    mixed = (strings.codes.astype(np.uint64) + np.uint64(2)) * (random[place] | np.uint64(1))
    mixed = (mixed ^ (mixed >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9)
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed, dtype=np.uint64)])
    return np.asarray(sums[strings.offsets[1:]] - sums[strings.offsets[:-1]], dtype=np.uint64)
