"""Data that look like lists: tables, mappings and sets are refused, columns of Arrow become lists."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from sigmastar.core.errors import InputError

_OF_TEXT = ("text", "tokens", "words", "sentence", "sentences", "string", "strings")


def rows_of(given: Any) -> Any:
    """The rows of a column of pyarrow as lists, text and numbers; all else as it is.

    Items of such a column are scalars of Arrow, which look like lists and text and are neither.

    Parameters
    ----------
    given : object
        What was given for data.

    Returns
    -------
    object
        A list of a column.
    """
    is_column = type(given).__module__.startswith("pyarrow") and hasattr(given, "null_count")
    return given.to_pylist() if is_column else given


def refuse_lookalikes(X: Any, method: str = "fit") -> None:
    """Refuse tables, mappings and sets, with what to pass instead.

    Parameters
    ----------
    X : object
        What was given for a list of strings, sentences or trees.
    method : str
        The name of the method that it was given to.
    """
    if hasattr(X, "columns") and (hasattr(X, "iloc") or hasattr(X, "__dataframe__")):
        raise InputError(f"X is a table; pass one column of it, as in {method}(X[{_text_column(X)!r}])")
    if isinstance(X, Mapping):
        parts = [key for key in X if hasattr(X[key], "column_names")]
        lists = f"X[{parts[0]!r}][{_text_column(X[parts[0]])!r}]" if parts else "list(X.values())"
        raise InputError(f"X is a mapping; pass a list, as in {method}({lists})")
    if isinstance(X, Set):
        raise InputError(f"X is a set, which has no fixed order; pass a list, as in {method}(sorted(X))")


def _text_column(table: Any) -> str:
    """The column that most likely holds strings: by its name, else the first."""
    names = map(str, table.column_names if hasattr(table, "column_names") else table.columns)  # of Arrow too
    return next(iter(sorted(names, key=lambda name: name not in _OF_TEXT)), "text")
