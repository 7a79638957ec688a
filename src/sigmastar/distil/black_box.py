"""Black boxes: anything that answers questions about strings.

One of two methods suffices:

    next_distributions(prefixes) -> array    a row per prefix: a column per symbol, the end of the string last
    scores(strings) -> array                 a number per string

and one of two attributes: `alphabet`, the symbols that strings are made of, or `alphabet_size`, if they are
the numbers from 0. Strings come as a list of tuples of symbols. What a black box has beside that is used,
because it saves work:

    distributions_along(strings)             per string an array: a row per prefix, the empty one first
    start(n), step(states, symbols)          both -> (states, rows): n prefixes that are read together

where `states` is an array, or tuples, lists and dictionaries of arrays, whose first axes are the n prefixes,
and `symbols` is an integer array of columns. `as_black_box` makes one from what people have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.sequence import SequenceModel, next_distribution
from sigmastar.core.alphabet import Alphabet, Symbol
from sigmastar.core.arrays import Floats, Indices
from sigmastar.core.errors import InputError

Texts = Sequence[Sequence[Symbol]]


@runtime_checkable
class NextSymbols(Protocol):
    """A black box that tells what comes next."""

    def next_distributions(self, prefixes: Texts) -> Any: ...


@runtime_checkable
class Scores(Protocol):
    """A black box that gives every string a number."""

    def scores(self, strings: Texts) -> Any: ...


BlackBox = NextSymbols | Scores


@dataclass(frozen=True, eq=False)
class FunctionBox:
    """A Python function as a black box: see `from_function`."""

    function: Callable[[Texts], Any]
    alphabet: Alphabet

    def next_distributions(self, prefixes: Texts) -> Any:
        """What comes after each prefix."""
        return self.function(prefixes)


@dataclass(frozen=True, eq=False)
class TopsBox:
    """A Python function that gives the top of distributions as a black box: see `from_function`."""

    function: Callable[[Texts], Any]
    alphabet: Alphabet

    def next_distributions(self, prefixes: Texts) -> Floats:
        """What comes after each prefix; the mass that is left is spread over the other outcomes evenly."""
        columns, told = (np.asarray(part) for part in self.function(prefixes))
        n_outcomes = len(self.alphabet) + 1
        if columns.shape != told.shape or columns.ndim != 2 or not np.issubdtype(columns.dtype, np.integer):
            raise InputError(
                f"the tops of {len(prefixes)} answers have shapes {columns.shape} and {told.shape}: two "
                "arrays of one shape are needed, whole numbers of columns and probabilities"
            )
        if columns.size and not (columns.min() >= 0 and columns.max() < n_outcomes):
            raise InputError(
                f"a column of a top is not between 0 and {n_outcomes - 1}, the end of the string"
            )
        left = 1.0 - told.sum(axis=1)
        if not (left > -1e-3).all():
            raise InputError("the probabilities of a top sum to more than one")
        rows = np.tile((np.maximum(left, 0.0) / max(n_outcomes - columns.shape[1], 1))[:, None], n_outcomes)
        np.put_along_axis(rows, columns, told, axis=1)
        return rows


@dataclass(frozen=True, eq=False)
class ScoreFunctionBox:
    """A Python function that scores strings as a black box: see `from_function`."""

    function: Callable[[Texts], Any]
    alphabet: Alphabet

    def scores(self, strings: Texts) -> Any:
        """A number per string."""
        return self.function(strings)


def from_function(
    function: Callable[[Texts], Any], alphabet: Iterable[Symbol], answers: str = "next"
) -> FunctionBox | TopsBox | ScoreFunctionBox:
    """A Python function as a black box.

    Parameters
    ----------
    function : callable
        From a list of strings, each a tuple of symbols, to an array: a row per string, or a number; of tops
        to two arrays, columns and probabilities, a row per string.
    alphabet : iterable
        The symbols, in the order of the columns.
    answers : {"next", "tops", "scores"}
        Whether it gives distributions of the next symbol, the end in the last column; their most likely
        outcomes alone, as services for large alphabets do, the rest of the mass spread evenly; or numbers.

    Returns
    -------
    FunctionBox, TopsBox or ScoreFunctionBox
        The black box.

    Examples
    --------
    >>> coin = from_function(lambda prefixes: [[0.25, 0.25, 0.5]] * len(prefixes), "ab")
    >>> coin.next_distributions([("a", "b")])
    [[0.25, 0.25, 0.5]]
    >>> tops = from_function(lambda prefixes: ([[2]] * len(prefixes), [[0.8]] * len(prefixes)), "ab", "tops")
    >>> tops.next_distributions([("a", "b")]).round(2).tolist()
    [[0.1, 0.1, 0.8]]
    """
    kinds: dict[str, type[FunctionBox] | type[TopsBox] | type[ScoreFunctionBox]]
    kinds = {"next": FunctionBox, "tops": TopsBox, "scores": ScoreFunctionBox}
    if answers not in kinds:
        raise ValueError(f"answers={answers!r} must be one of {', '.join(map(repr, kinds))}")
    return kinds[answers](function, Alphabet(alphabet))


@dataclass(frozen=True, eq=False)
class ModelBox:
    """A model of strings of this package as a black box."""

    model: SequenceModel

    @property
    def alphabet(self) -> Alphabet:
        """The symbols of the model."""
        return self.model.alphabet

    def next_distributions(self, prefixes: Texts) -> Floats:
        """What comes after each prefix."""
        return next_distribution(self.model, Strings.of(prefixes, alphabet=self.alphabet))

    def distributions_along(self, strings: Texts) -> list[Floats]:
        """What comes after every prefix of each string."""
        coded = Strings.of(strings, alphabet=self.alphabet)
        cuts = (coded.offsets + np.arange(len(coded) + 1))[1:-1]
        return np.split(self.model.gap_distributions(coded), cuts)


def as_black_box(source: Any) -> BlackBox:
    """A black box from an object.

    Parameters
    ----------
    source : object
        Anything with the methods of this module; a model of strings of this package, or an estimator that was
        fitted to strings.

    Returns
    -------
    BlackBox
        `source` itself where it has the methods.
    """
    fitted = getattr(source, "model_", source) if hasattr(source, "get_params") else source
    if isinstance(fitted, SequenceModel) and not isinstance(fitted, NextSymbols):
        return ModelBox(fitted)
    if isinstance(source, (NextSymbols, Scores)) and not isinstance(source, type):
        alphabet_of(source)
        return source
    kind = source.__name__ if isinstance(source, type) else type(source).__name__
    if callable(source) and hasattr(source, "forward"):
        raise InputError(
            f"a module of PyTorch ({kind}) does not tell its symbols; use TorchBox(module, alphabet, "
            "start=.., end=..), or from_causal_model(model, tokens, start=.., end=..), of sigmastar.distil"
        )
    if callable(source) and not isinstance(source, type):
        raise InputError(f"a function ({kind}) does not tell its symbols; use from_function(f, alphabet)")
    raise InputError(
        f"{kind} is no black box: it has neither next_distributions(prefixes) nor scores(strings), nor is it "
        "a model of strings"
    )


def alphabet_of(black_box: BlackBox) -> Alphabet:
    """The symbols of a black box."""
    symbols = getattr(black_box, "alphabet", None)
    if symbols is not None:
        return symbols if isinstance(symbols, Alphabet) else Alphabet(symbols)
    size = getattr(black_box, "alphabet_size", None)
    if isinstance(size, (int, np.integer)) and size > 0:
        return Alphabet(range(int(size)))
    raise InputError(f"{type(black_box).__name__} has neither alphabet nor alphabet_size, a positive number")


def rows_of(states: Any, rows: Indices) -> Any:
    """The states of some of the prefixes that are read together, in any nesting of arrays."""
    if isinstance(states, dict):
        return {name: rows_of(part, rows) for name, part in states.items()}
    if isinstance(states, (tuple, list)):
        parts = [rows_of(part, rows) for part in states]
        return type(states)(*parts) if hasattr(states, "_fields") else type(states)(parts)
    return states[rows]


def checked_rows(answers: Any, n_rows: int, n_columns: int) -> Floats:
    """Answers as distributions: of the right shape, finite, not negative, made to sum to one exactly."""
    rows = np.array(answers, dtype=np.float64)
    if rows.shape != (n_rows, n_columns):
        raise InputError(
            f"the black box answered {n_rows} questions by an array of shape {rows.shape}, not "
            f"({n_rows}, {n_columns}): a column per symbol, and one for the end"
        )
    sums = rows.sum(axis=1)
    if not np.isfinite(sums).all() or rows.min(initial=0.0) < 0.0 or (np.abs(sums - 1.0) > 1e-3).any():
        raise InputError("an answer of the black box is no distribution: rows must be >= 0 and sum to one")
    return np.asarray(rows / sums[:, None])


def checked_scores(answers: Any, n_rows: int) -> Floats:
    """Answers as numbers, one per string."""
    scores = np.array(answers, dtype=np.float64)
    if scores.shape != (n_rows,) or not np.isfinite(scores).all():
        raise InputError(
            f"the black box answered {n_rows} questions by an array of shape {scores.shape}; "
            "finite numbers, one per string, are needed"
        )
    return scores
