"""What every probabilistic model of strings can do, whatever it is inside.

Sampling from any left-to-right model: all strings grow by one symbol at a time, together. The best entries of
long rows are found without sorting them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Array, Floats, Indices, Int32s, Int64s
from sigmastar.core.jit import kernel


@kernel
def top_of_rows(rows: Array, best: Int64s, values: Floats) -> None:
    """The largest entries of each row, best first, ties in the order of columns."""
    k = best.shape[1]
    for row in range(len(rows)):
        for place in range(k):
            best[row, place], values[row, place] = -1, -np.inf
        bound = -np.inf
        for column in range(rows.shape[1]):
            value = rows[row, column]
            if value > bound:
                place = k - 1
                while place > 0 and values[row, place - 1] < value:
                    best[row, place], values[row, place] = best[row, place - 1], values[row, place - 1]
                    place -= 1
                best[row, place], values[row, place] = column, value
                bound = values[row, k - 1]


@runtime_checkable
class SequenceModel(Protocol):
    """A distribution on strings over `alphabet`, read from left to right."""

    @property
    def alphabet(self) -> Alphabet: ...

    def log_probability(self, strings: Strings) -> Floats:
        """Natural log-probability of each string; -inf where it has none."""
        ...

    def gap_distributions(self, strings: Strings) -> Floats:
        """What comes next at every gap of every string: gaps x (symbols + 1), the end of string last.

        Gaps are in corpus order: a string of length L has L + 1 of them. Memory grows with the
        number of gaps times the alphabet: pass long corpora in pieces.
        """
        ...

    def sample(self, n_strings: int, rng: np.random.Generator, max_length: int = 10_000) -> Strings:
        """Draw strings; one that reaches `max_length` is cut there."""
        ...


def next_distribution(model: SequenceModel, prefixes: Strings) -> Floats:
    """What comes after each prefix: prefixes x (symbols + 1), the end of string last.

    A model may have a method of this name, which looks at no other gap.
    """
    if (direct := getattr(model, "next_distribution", None)) is not None:
        return np.asarray(direct(prefixes))
    last_gaps = prefixes.offsets[1:] + np.arange(len(prefixes))
    return np.asarray(model.gap_distributions(prefixes)[last_gaps])


States = TypeVar("States")

_FEW = 100  # columns that are found without sorting
MAX_CELLS = 4_000_000  # next-symbol probabilities held at a time
_MANY = 1000  # symbols, from which on a table of them is not the quickest way to the best one
_BATCH, _CELLS = 4096, 1 << 23  # strings, and next-symbol probabilities, at a time: they bound the memory


def top_columns(distributions: Floats, k: int) -> Indices:
    """The k largest columns of each row, best first, ties in column order."""
    k = min(k, distributions.shape[1])
    if k > _FEW:
        return np.argsort(-distributions, axis=1, kind="stable")[:, :k]
    best = np.empty((len(distributions), k), np.int64)
    top_of_rows(distributions, best, np.empty(best.shape))
    return best


@runtime_checkable
class KnowsBest(Protocol):
    """A model over many symbols that finds the most probable of them without a table of all."""

    def gap_best(self, strings: Strings, include_end: bool = True) -> Indices: ...


def best_following(model: SequenceModel, strings: Strings, include_end: bool = True) -> Indices:
    """The most probable of what may follow each gap; of equals the first.

    Over many symbols, a model that `KnowsBest` is asked for them, and others for a table of all.
    """
    if isinstance(model, KnowsBest) and len(model.alphabet) >= _MANY:
        return model.gap_best(strings, include_end)
    table = model.gap_distributions(strings)
    return np.asarray((table if include_end else table[:, :-1]).argmax(axis=1))


def pieces(strings: Strings, max_cells: int | None = None) -> Iterator[Strings]:
    """Cut a corpus into runs of strings whose next-symbol tables stay small (one string at least)."""
    return strings.pieces((max_cells or MAX_CELLS) // (len(strings.alphabet) + 1))


def next_pieces(model: SequenceModel, prefixes: Strings) -> Iterator[Strings]:
    """Runs of prefixes whose tables, with a row for each or for each of their gaps, stay small."""
    if not hasattr(model, "next_distribution"):
        yield from pieces(prefixes)
        return
    size = max(1, MAX_CELLS // (len(prefixes.alphabet) + 1))
    for begin in range(0, len(prefixes), size):
        yield prefixes.select(np.arange(begin, min(begin + size, len(prefixes))))


def sample_lockstep(
    alphabet: Alphabet,
    n_strings: int,
    rng: np.random.Generator,
    max_length: int,
    start: Callable[[int], States],
    distributions: Callable[[States], Floats],
    advance: Callable[[States, Indices, Indices], States],
) -> Strings:
    """Draw strings from a model given as a state machine over batches.

    `start(n)` gives n states, `distributions(states)` their rows over the symbols and the end, and
    `advance(states, rows, symbols)` the states that follow in the chosen rows.
    """
    if n_strings < 0 or max_length < 0:
        raise ValueError(f"n_strings={n_strings} and max_length={max_length} must not be negative")
    batch = min(_BATCH, max(1, _CELLS // (len(alphabet) + 1)))
    pieces = [
        _sample_batch(
            min(batch, n_strings - done), len(alphabet), rng, max_length, start, distributions, advance
        )
        for done in range(0, n_strings, batch)
    ]
    lengths = np.concatenate([np.zeros(1, np.int64), *(lengths for lengths, _ in pieces)])
    codes = np.concatenate([np.empty(0, np.int32), *(codes for _, codes in pieces)])
    return Strings(alphabet, codes, np.cumsum(lengths))


def _sample_batch(
    size: int,
    end: int,
    rng: np.random.Generator,
    max_length: int,
    start: Callable[[int], States],
    distributions: Callable[[States], Floats],
    advance: Callable[[States, Indices, Indices], States],
) -> tuple[Int64s, Int32s]:
    alive, states = np.arange(size), start(size)
    owners, drawn = [np.empty(0, np.intp)], [np.empty(0, np.intp)]
    for _ in range(max_length):
        symbols = _draw(distributions(states), rng)
        going = np.flatnonzero(symbols < end)
        if not len(going):
            break
        alive, symbols = alive[going], symbols[going]
        owners.append(alive)
        drawn.append(symbols)
        states = advance(states, going, symbols)
    owner, symbol = np.concatenate(owners), np.concatenate(drawn)
    order = np.argsort(owner, kind="stable")  # steps are in order already
    return np.bincount(owner, minlength=size), symbol[order].astype(np.int32)


def _draw(distributions: Floats, rng: np.random.Generator) -> Indices:
    cumulative = np.cumsum(distributions, axis=1)
    aims = rng.random(len(cumulative)) * cumulative[:, -1]
    drawn: Indices = (cumulative <= aims[:, None]).sum(axis=1)
    return np.asarray(np.minimum(drawn, distributions.shape[1] - 1))
