"""Options of `sample` that restrict strings to a language; what they do is in the record of one family."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from typing import Any, TypeVar

import click

from sigmastar.core.family import families, load

Function = TypeVar("Function", bound=Callable[..., Any])
NAMES = ("constraint", "contains", "avoids", "length")

_OPTIONS = (
    click.option(
        "--constraint",
        multiple=True,
        metavar="REGEX",
        help="Regular expression over symbols that the whole string matches, as 'a .* (b|c)+'; repeatable.",
    ),
    click.option(
        "--contains", multiple=True, metavar="PHRASE", help="Phrase that every string contains; repeatable."
    ),
    click.option(
        "--avoids", multiple=True, metavar="PHRASE", help="Phrase that no string contains; repeatable."
    ),
    click.option("--length", metavar="N|LOW-HIGH", help="Number of symbols per string, or its bounds."),
)


def constraint_options(function: Function) -> Function:
    """A command with options that restrict strings."""
    return reduce(lambda wrapped, option: option(wrapped), reversed(_OPTIONS), function)


def constrained(
    model: Any, options: Mapping[str, Any], split: Callable[[str], Iterable[str]], max_length: int
) -> Any:
    """A model under the constraints of the options, or itself without any.

    Parameters
    ----------
    model : object
        A model of strings.
    options : mapping
        What `constraint_options` brought.
    split : callable
        How a phrase falls into symbols.
    max_length : int
        Largest number of symbols of a string.

    Returns
    -------
    object
        With the `sample` of the model.
    """
    if not any(options[name] for name in NAMES):
        return model
    place = next(family.constrained for family in families().values() if family.constrained)
    return load(place)(model, options, split, max_length)
