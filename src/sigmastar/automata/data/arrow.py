"""Columns of Arrow, pandas and others as strings: codes from their buffers, without an object per symbol.

A column of text is read by characters, from its bytes; a column of lists by the items of the lists, which
Arrow numbers itself where they are not numbered already (`dictionary`). Rows without a value are refused.

pyarrow is imported by those who bring its columns, not here; a column of polars goes through the Arrow stream
(`__arrow_c_stream__`) where pyarrow is installed.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np

from sigmastar.automata.data.strings import Strings, alphabet_of
from sigmastar.core.alphabet import Alphabet, Symbol
from sigmastar.core.arrays import Int64s
from sigmastar.core.errors import InputError

_LARGEST_POINT = 0x110000  # of Unicode


def arrow_column(given: object) -> Any:
    """The Arrow array behind a column, or None where there is none.

    Parameters
    ----------
    given : object
        A pyarrow array, chunked or not; a pandas Series whose values Arrow holds; a column of `datasets`; a
        column of polars.

    Returns
    -------
    pyarrow.Array or None
        In one piece.
    """
    if type(given).__module__.startswith("pyarrow"):
        found: Any = given
    elif "Arrow" in type(getattr(given, "array", None)).__name__:  # of pandas
        found = given.array.__arrow_array__()  # type: ignore[attr-defined]
    elif type(given).__module__.startswith("datasets.") and hasattr(given, "column_name"):
        found = _of_dataset(given)
    elif hasattr(given, "__arrow_c_stream__") and type(given).__module__.partition(".")[0] == "polars":
        try:
            found = import_module("pyarrow").chunked_array(given)
        except ImportError:
            return None
    else:
        return None
    if found is None:
        return None
    if not hasattr(found, "null_count"):
        raise InputError("X is a table; pass one of its columns, as in fit(table['text'])")
    return found.combine_chunks() if hasattr(found, "combine_chunks") else found


def _of_dataset(column: Any) -> Any:
    """What stands behind a column of a `datasets.Dataset`, where rows are neither chosen nor reordered."""
    source = column.source
    is_whole = getattr(source, "_indices", column) is None and hasattr(source, "data")
    return source.data.column(column.column_name) if is_whole else None


def strings_of_column(column: Any, alphabet: Alphabet | None = None, allow_unknown: bool = False) -> Strings:
    """The strings of an Arrow array: text by characters, lists by their items.

    Parameters
    ----------
    column : pyarrow.Array
        Of text, of lists, or of numbers for either (`dictionary`).
    alphabet : Alphabet or None
        Symbols to code by; None: those that occur, sorted.
    allow_unknown : bool
        Whether other symbols are coded as unknown, and no error.

    Returns
    -------
    Strings
        As `Strings.of` has them.
    """
    if column.null_count:
        row = int(np.flatnonzero(np.asarray(column.is_null()))[0]) + 1
        raise InputError(f"string {row} has no value; leave such rows out, as dropna() does")
    kind = str(column.type)
    if kind.startswith("dictionary"):
        column = column.dictionary_decode()
        kind = str(column.type)
    if kind == "string_view":
        column, kind = column.cast("large_string"), "large_string"
    if kind in ("string", "large_string"):
        symbols, local, offsets = _characters(column, np.int64 if kind.startswith("large") else np.int32)
    elif "list" in kind.partition("<")[0]:
        symbols, local, offsets = _items(column)
    else:
        raise InputError(f"X is a column of type {kind}; pass one of strings, or of lists of symbols")
    if alphabet is None:
        alphabet = alphabet_of([symbols])
    return Strings(Alphabet(symbols), local.astype(np.int32), offsets).recoded(alphabet, allow_unknown)


def _characters(column: Any, width: Any) -> tuple[Sequence[Symbol], Any, Int64s]:
    """Code points of the bytes of all rows, and where each row begins among them."""
    _, ends, data = column.buffers()
    if not len(column) or data is None:
        return (), np.zeros(0, np.int32), np.zeros(len(column) + 1, np.int64)
    bounds = np.frombuffer(ends, width)[column.offset : column.offset + len(column) + 1].astype(np.int64)
    content = np.frombuffer(data, np.uint8)[bounds[0] : bounds[-1]]
    begins = np.append(0, np.cumsum((content & 0xC0) != 0x80))  # other bytes go on with a character
    points = np.frombuffer(content.tobytes().decode().encode("utf-32-le"), np.uint32)
    met = np.zeros(_LARGEST_POINT, bool)
    met[points] = True
    known = np.flatnonzero(met)
    places = np.zeros(_LARGEST_POINT, np.int32)
    places[known] = np.arange(len(known))
    return tuple(map(chr, known.tolist())), places[points], begins[bounds - bounds[0]]


def _items(column: Any) -> tuple[Sequence[Symbol], Any, Int64s]:
    """Numbers of the items of all rows, and where each row begins among them."""
    lengths = np.asarray(column.value_lengths()).astype(np.int64)
    values = column.flatten()
    if values.null_count:
        raise InputError("a symbol has no value; leave such strings out, or name the gaps")
    if not str(values.type).startswith("dictionary"):
        values = values.dictionary_encode()
    numbers = np.asarray(values.indices).astype(np.int64)
    met = np.flatnonzero(np.bincount(numbers, minlength=len(values.dictionary)))
    places = np.zeros(len(values.dictionary), np.int32)
    places[met] = np.arange(len(met))
    symbols = values.dictionary.take(met).to_pylist() if len(met) else []
    return tuple(symbols), places[numbers], np.append(0, np.cumsum(lengths))
