"""What the parts of a stored model must be, declared once per class and checked before they are used.

    PARTS = Parts(
        header={"alphabet": Alphabet},
        sizes={"symbols": "alphabet"},
        arrays={"initial": floats("states"), "transitions": floats("symbols", "states", "states")},
    )
    sizes = cls.PARTS.check(arrays, header)         the first line of `from_parts`

Shapes are written in named sizes. A size is the length of a list of the header, or is given by the caller, or
is set by the first array that has it; from then on all arrays must agree. A file with a right checksum may
still have been made to harm: kernels follow indices without a look at bounds. So every array has a range, and
arrays that the class does not declare are refused. All checks take linear time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.alphabet import Alphabet

LARGEST = 1e150
"""The largest weight of a model: products of two stay finite."""

Size = str | int
Check = type | Callable[[Any], str]
"""A type, or a function that says what a value should have been; nothing where it is right."""

_SINGLE = "float32", "float64"


@dataclass(frozen=True)
class ArrayPart:
    """What one array must be."""

    types: tuple[str, ...]  # that it may have
    shape: tuple[Size, ...]  # names of sizes, names with a number added (`words+1`), or numbers
    least: float | None = None  # of its numbers
    most: float | str | None = None  # likewise; a size stands for the largest index below it
    order: str = ""  # "rising"; "starts": from 0 up to the size `most`; "parents": below their places
    sums: bool = False  # whether the numbers along the last axis sum to one
    is_optional: bool = False  # whether it may be missing

    def or_none(self) -> ArrayPart:
        """The same, for an array that may be missing."""
        return replace(self, is_optional=True)


def floats(
    *shape: Size,
    least: float = -LARGEST,
    most: float = LARGEST,
    types: tuple[str, ...] = ("float64",),
    sums: bool = False,
) -> ArrayPart:
    """Finite real numbers."""
    return ArrayPart(types, shape, least, most, sums=sums)


def singles(*shape: Size, least: float = -LARGEST, most: float = LARGEST) -> ArrayPart:
    """Finite real numbers in single or double precision."""
    return floats(*shape, least=least, most=most, types=_SINGLE)


def integers(*shape: Size, least: float, most: float, type: str = "int64") -> ArrayPart:
    """Whole numbers of a range, both ends included."""
    return ArrayPart((type,), shape, least, most)


def indices(*shape: Size, of: str, least: int = 0, type: str = "int32") -> ArrayPart:
    """Numbers from `least` up to the last place of a list as long as the size `of`."""
    return ArrayPart((type,), shape, least, of)


def rising(*shape: Size, of: str) -> ArrayPart:
    """Sorted indices, none of them twice."""
    return ArrayPart(("int64",), shape, 0, of, order="rising")


def row_starts(rows: str, of: str) -> ArrayPart:
    """Where each of `rows` begins in arrays of length `of`, and where the last one ends."""
    return ArrayPart(("int64",), (f"{rows}+1",), 0, of, order="starts")


def parents(size: str) -> ArrayPart:
    """The place above each place of a trie: before it; the first is its own."""
    return ArrayPart(("int32",), (size,), 0, size, order="parents")


@dataclass(frozen=True)
class Parts:
    """The parts of a class of models.

    Parameters
    ----------
    arrays : mapping
        What each array must be.
    header : mapping
        What each entry of the description must be; names that end in `?` may be missing.
    sizes : mapping
        Sizes that are lengths of entries of the description, by name.
    inner : tuple of str
        Prefixes of arrays that belong to parts with a declaration of their own.
    members : str
        An entry of the description that lists parts whose arrays begin with `0.`, `1.`, ..
    """

    arrays: Mapping[str, ArrayPart] = field(default_factory=dict)
    header: Mapping[str, Check] = field(default_factory=dict)
    sizes: Mapping[str, str] = field(default_factory=dict)
    inner: tuple[str, ...] = ()
    members: str = ""

    def check(
        self,
        arrays: Mapping[str, NDArray[Any]],
        header: Mapping[str, Any],
        inner: Iterable[str] = (),
        /,
        **sizes: int,
    ) -> dict[str, int]:
        """Refuse parts of a file that are not as declared; all sizes by name.

        `inner` are more prefixes of arrays that others look after, `sizes` those that are known already. What
        is wrong is a `ValueError` that names the array or entry, or a `KeyError` where it is missing.
        """
        check_header(header, self.header)
        known = sizes | {name: len(header[entry]) for name, entry in self.sizes.items()}
        numbered = [f"{k}." for k in range(len(header[self.members]))] if self.members else []
        prefixes = (*self.inner, *inner, *numbered)
        for name in arrays:
            if name not in self.arrays and not name.startswith(prefixes or "\0"):
                raise ValueError(f"the array {name!r} is not one of this kind of model")
        present = {name: part for name, part in self.arrays.items() if name in arrays or not part.is_optional}
        for name, part in present.items():
            _check_shape(name, arrays[name], part, known)
        for name, part in present.items():  # ranges may need the sizes of arrays further down
            _check_numbers(name, arrays[name], part, known)
        return known


def check_header(header: Mapping[str, Any], wanted: Mapping[str, Check]) -> None:
    """Refuse a description whose entries are not of the types wanted."""
    if not isinstance(header, Mapping):
        raise ValueError("the description is no table")
    for entry, check in wanted.items():
        name = entry.removesuffix("?")
        if name != entry and name not in header:
            continue
        value = header[name]
        if isinstance(check, type):
            fault = "" if type(value) is check else f"of type {check.__name__}"
        else:
            fault = check(value)
        if fault:
            raise ValueError(f"{name!r} must be {fault}")


def _check_shape(name: str, array: NDArray[Any], part: ArrayPart, sizes: dict[str, int]) -> None:
    if array.dtype.name not in part.types:
        raise ValueError(f"the array {name!r} is of type {array.dtype}, not {' or '.join(part.types)}")
    fits = array.ndim == len(part.shape)
    for wanted, size in zip(part.shape, array.shape, strict=False):
        if isinstance(wanted, int):
            fits = fits and size == wanted
            continue
        base, _, more = wanted.partition("+")
        fits = fits and sizes.setdefault(base, size - int(more or 0)) == size - int(more or 0) >= 0
    if not fits:
        shape = ", ".join(f"{wanted}={_length(wanted, sizes)}" for wanted in part.shape)
        raise ValueError(f"the array {name!r} of shape {array.shape} does not fit ({shape})")


def _length(wanted: Size, sizes: Mapping[str, int]) -> Size:
    if isinstance(wanted, int):
        return wanted
    base, _, more = wanted.partition("+")
    return sizes[base] + int(more or 0) if base in sizes else "?"


def _check_numbers(name: str, array: NDArray[Any], part: ArrayPart, sizes: Mapping[str, int]) -> None:
    if part.order == "starts":
        _check_starts(name, array, int(_length(str(part.most), sizes)))
        return
    most = int(_length(part.most, sizes)) - 1 if isinstance(part.most, str) else part.most
    if array.size and part.least is not None and most is not None:
        low, high = array.min().item(), array.max().item()
        if not part.least <= low <= high <= most:  # NaN is in no range
            raise ValueError(f"the array {name!r} must hold numbers from {part.least:g} to {most:g}")
    if part.order == "rising" and (array[1:] <= array[:-1]).any():
        raise ValueError(f"the array {name!r} must rise from each number to the next")
    if part.order == "parents" and (array[:1].any() or (array[1:] >= np.arange(1, len(array))).any()):
        raise ValueError(f"the array {name!r} must lead from each place to one before it")
    if part.sums and array.size and np.abs(array.sum(axis=-1) - 1.0).max() > 1e-6:
        raise ValueError(f"the rows of the array {name!r} must sum to one")


def _check_starts(name: str, array: NDArray[Any], end: int) -> None:
    if array[0] != 0 or array[-1] != end or (array[1:] < array[:-1]).any():
        raise ValueError(f"the array {name!r} must rise from 0 to {end}")


def rises_within(array: NDArray[Any], starts: NDArray[Any]) -> bool:
    """Whether the numbers of each row rise, where the rows of a flat array begin at `starts`."""
    falls = array[1:] <= array[:-1]
    inner = starts[1:-1]
    falls[inner[(inner > 0) & (inner < len(array))] - 1] = False
    return not falls.any()


# Entries of descriptions.


def texts(value: Any) -> str:
    """A list of strings."""
    return "" if _is_list(value) and all(type(text) is str for text in value) else "a list of strings"


def distinct_texts(value: Any) -> str:
    """A list of strings, none of them twice."""
    fault = texts(value)
    return fault or ("" if len(set(value)) == len(value) else "a list of strings that differ")


def lists_of_texts(value: Any) -> str:
    """A list of lists of strings, none of them empty."""
    right = _is_list(value) and all(value) and not any(map(texts, value))
    return "" if right else "a list of lists of strings"


def tuples_of_texts(length: int) -> Callable[[Any], str]:
    """A list of tuples of so many strings."""

    def check(value: Any) -> str:
        is_right = _is_list(value) and all(
            type(item) is tuple and len(item) == length and not texts(item) for item in value
        )
        return "" if is_right else f"a list of {length} strings each"

    return check


def real(value: Any) -> str:
    """A finite number."""
    return between(-LARGEST, LARGEST)(value) and "a finite number"


def between(least: float, most: float) -> Callable[[Any], str]:
    """A finite number of a range, both ends included."""

    def check(value: Any) -> str:
        is_number = type(value) in (int, float) and math.isfinite(value)
        return "" if is_number and least <= value <= most else f"a number from {least:g} to {most:g}"

    return check


share = between(0.0, 1.0)
"""A number from 0 to 1."""


def whole(least: int, most: int) -> Callable[[Any], str]:
    """A whole number of a range, both ends included."""

    def check(value: Any) -> str:
        is_right = type(value) is int and least <= value <= most
        return "" if is_right else f"a whole number from {least} to {most}"

    return check


def one_of(*values: str) -> Callable[[Any], str]:
    """One of some words."""
    return lambda value: "" if type(value) is str and value in values else " or ".join(map(repr, values))


def lists(value: Any) -> str:
    """A list of anything."""
    return "" if _is_list(value) else "a list"


def tables(value: Any) -> str:
    """A list of tables, each the description of a part; there is at least one."""
    right = _is_list(value) and len(value) > 0 and all(type(item) is dict for item in value)
    return "" if right else "a list of tables"


def text_alphabet(value: Any) -> str:
    """An alphabet of strings."""
    right = type(value) is Alphabet and all(type(symbol) is str for symbol in value)
    return "" if right else "an alphabet of strings"


def _is_list(value: Any) -> bool:
    return type(value) in (list, tuple)
