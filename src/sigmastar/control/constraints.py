"""Constraints as users write them: expressions, phrases, lengths, automata."""

from __future__ import annotations

from collections.abc import Sequence

from sigmastar.automata.model.dfa import DFA
from sigmastar.control.languages import Bounds, Constraint, Contains, Language, Matches, Not, everything_of
from sigmastar.core.alphabet import Symbol
from sigmastar.core.errors import InputError


def matches(pattern: str, characters: bool | None = None) -> Constraint:
    """The strings of a regular expression over symbols.

    Parameters
    ----------
    pattern : str
        Symbols divided by blanks, with `.`, `|`, `*`, `+`, `?`, `{2,5}`, `[a b]`, `[^a b]` and groups. It
        describes whole strings: write `.*` where anything may come. A backslash, or quotes, make special
        characters plain.
    characters : bool, optional
        Whether every character is a symbol, blanks too if the alphabet has them; if left out, where the
        alphabet has no longer symbols.

    Returns
    -------
    Constraint
        To be combined by `&`, `|` and `~`.

    Examples
    --------
    >>> matches("a(ba)*").dfa("ab").n_states
    2
    """
    return Matches(pattern, characters)


def contains(*phrases: Sequence[Symbol]) -> Constraint:
    """The strings that contain each of some phrases, in any order.

    Parameters
    ----------
    *phrases : sequences of symbols
        Symbols that stand side by side; text is a sequence of characters.

    Returns
    -------
    Constraint
        To be combined by `&`, `|` and `~`.

    Examples
    --------
    >>> contains("ab", "ba").dfa("abc").n_states
    8
    """
    return everything_of(_each("contains", phrases))


def avoids(*phrases: Sequence[Symbol]) -> Constraint:
    """The strings that contain none of some phrases.

    Parameters
    ----------
    *phrases : sequences of symbols
        Symbols that stand side by side; text is a sequence of characters.

    Returns
    -------
    Constraint
        To be combined by `&`, `|` and `~`.

    Examples
    --------
    >>> avoids("aa", "b").dfa("abc").n_states
    2
    """
    return everything_of([Not(found) for found in _each("avoids", phrases)])


def _each(name: str, phrases: tuple[Sequence[Symbol], ...]) -> list[Contains]:
    if not phrases:
        raise InputError(f"{name}() needs a phrase at least")
    return [Contains(tuple(phrase)) for phrase in phrases]


def length(low: int = 0, high: int | None = None) -> Constraint:
    """The strings of some lengths.

    Parameters
    ----------
    low : int
        Least number of symbols.
    high : int, optional
        Largest number of symbols; none if left out.

    Returns
    -------
    Constraint
        To be combined by `&`, `|` and `~`.

    Examples
    --------
    >>> (contains("a") & length(3, 3)).dfa("ab").n_states
    6
    """
    if high is not None and high < low:
        raise InputError(f"no string has at least {low} and at most {high} symbols")
    return Bounds(low, high)


def as_constraint(value: Constraint | DFA | str) -> Constraint:
    """A constraint from what people have: one, an automaton, or a regular expression.

    Parameters
    ----------
    value : Constraint, DFA or str
        A string is a regular expression, as `matches` reads it.

    Returns
    -------
    Constraint
        The constraint.
    """
    if isinstance(value, DFA):
        return Language(value)
    if not isinstance(value, (Constraint, str)):
        raise InputError(
            f"{type(value).__name__} is no constraint: use matches, contains, avoids or length, "
            "a deterministic automaton, or a regular expression as text"
        )
    return matches(value) if isinstance(value, str) else value
