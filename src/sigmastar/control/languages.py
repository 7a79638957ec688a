"""Constraints: languages that strings of a model must lie in, put together by `&`, `|` and `~`.

    matches("the .* dog") & ~contains(["a", "cat"]) & length(5, 20)

A constraint knows no alphabet; `dfa(alphabet)` is the least deterministic automaton of it over one. Bounds of
the length at the top of an intersection are told apart from the rest: whoever reads symbol by symbol knows
the length, so that they need no states.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from sigmastar.automata.model.dfa import DEAD, DFA
from sigmastar.control.machines import Columns, Machine, combine, of_lengths, of_phrase, of_positions
from sigmastar.control.patterns import Reader
from sigmastar.core.alphabet import Alphabet, Symbol


class Constraint(ABC):
    """A set of strings; `&`, `|` and `~` make others from it."""

    def __and__(self, other: Constraint) -> Constraint:
        return Both(self, other)

    def __or__(self, other: Constraint) -> Constraint:
        return ~(~self & ~other)

    def __invert__(self) -> Constraint:
        return Not(self)

    def dfa(self, alphabet: Alphabet | Iterable[Symbol]) -> DFA:
        """The least deterministic automaton.

        Parameters
        ----------
        alphabet : Alphabet or iterable
            The symbols.

        Returns
        -------
        DFA
            It accepts the strings of the constraint.
        """
        symbols = alphabet if isinstance(alphabet, Alphabet) else Alphabet(alphabet)
        columns = Columns(symbols, tuple(sorted(self._named(symbols))))
        return self._machine(columns).spread(columns)

    def bounds(self) -> tuple[Constraint, Bounds]:
        """The constraint without the lengths that stand in its outermost intersection, and these."""
        kept = [part for part in self._parts() if not isinstance(part, Bounds)]
        lengths = [part for part in self._parts() if isinstance(part, Bounds)]
        highs = [part.high for part in lengths if part.high is not None]
        low = max((part.low for part in lengths), default=0)
        return everything_of(kept or [Bounds()]), Bounds(low, min(highs, default=None))

    def _parts(self) -> Iterator[Constraint]:
        yield self

    @abstractmethod
    def _named(self, alphabet: Alphabet) -> set[int]:
        """The codes of the symbols that the constraint names."""

    @abstractmethod
    def _machine(self, columns: Columns) -> Machine:
        """The least machine over columns that hold all symbols that are named."""


@dataclass(frozen=True)
class Both(Constraint):
    """The strings of two constraints."""

    first: Constraint
    second: Constraint

    def _parts(self) -> Iterator[Constraint]:
        yield from self.first._parts()
        yield from self.second._parts()

    def _named(self, alphabet: Alphabet) -> set[int]:
        return self.first._named(alphabet) | self.second._named(alphabet)

    def _machine(self, columns: Columns) -> Machine:
        return combine(self.first._machine(columns), self.second._machine(columns), np.logical_and)


@dataclass(frozen=True)
class Not(Constraint):
    """The strings that a constraint excludes."""

    inner: Constraint

    def __invert__(self) -> Constraint:
        return self.inner

    def _named(self, alphabet: Alphabet) -> set[int]:
        return self.inner._named(alphabet)

    def _machine(self, columns: Columns) -> Machine:
        return self.inner._machine(columns).complement()


@dataclass(frozen=True)
class Bounds(Constraint):
    """Strings of at least `low` and at most `high` symbols; all strings by default."""

    low: int = 0
    high: int | None = None

    def __post_init__(self) -> None:
        if self.low < 0 or (self.high is not None and self.high < 0):
            raise ValueError(f"lengths {self.low} and {self.high} must not be negative")

    def _named(self, alphabet: Alphabet) -> set[int]:
        return set()

    def _machine(self, columns: Columns) -> Machine:
        return of_lengths(self.low, self.high, columns.n_columns)


@dataclass(frozen=True)
class Matches(Constraint):
    """The strings of a regular expression."""

    pattern: str
    characters: bool | None = None

    def _read(self, alphabet: Alphabet) -> tuple[Reader, bool, int, int]:
        single = all(isinstance(symbol, str) and len(symbol) == 1 for symbol in alphabet)
        reader = Reader(self.pattern, alphabet, single if self.characters is None else self.characters)
        whole = reader.read()
        return reader, whole.empty, whole.starts, whole.ends

    def _named(self, alphabet: Alphabet) -> set[int]:
        return {code for codes in self._read(alphabet)[0].positions.symbols for code in codes}

    def _machine(self, columns: Columns) -> Machine:
        reader, empty, starts, ends = self._read(columns.alphabet)
        positions = reader.positions
        masks = [0] * columns.n_columns
        for position, (codes, negated) in enumerate(
            zip(positions.symbols, positions.is_negated, strict=True)
        ):
            for column, code in enumerate((*columns.named, -1)):
                masks[column] |= ((code in codes) != negated) << position
        return of_positions(starts, positions.follows, ends, masks, empty)


@dataclass(frozen=True)
class Contains(Constraint):
    """The strings that contain a phrase."""

    phrase: tuple[Symbol, ...]

    def _named(self, alphabet: Alphabet) -> set[int]:
        return set(alphabet.encode(self.phrase))

    def _machine(self, columns: Columns) -> Machine:
        at = {code: column for column, code in enumerate(columns.named)}
        return of_phrase([at[code] for code in columns.alphabet.encode(self.phrase)], columns.n_columns)


@dataclass(frozen=True, eq=False)
class Language(Constraint):
    """The strings that a deterministic automaton accepts."""

    automaton: DFA

    def _named(self, alphabet: Alphabet) -> set[int]:
        columns = self.automaton.over(alphabet).next_state
        _, kind, counts = np.unique(columns, axis=1, return_inverse=True, return_counts=True)
        return set(np.flatnonzero(kind.reshape(-1) != counts.argmax()).tolist()) if len(alphabet) else set()

    def _machine(self, columns: Columns) -> Machine:
        dfa = self.automaton.over(columns.alphabet)
        others = np.setdiff1d(np.arange(len(columns.alphabet)), columns.named)
        sink = dfa.n_states
        table = np.full((sink + 1, columns.n_columns), sink, dtype=np.int64)
        chosen = [*columns.named, *others[:1].tolist()]
        table[:sink, : len(chosen)] = np.where(
            dfa.next_state[:, chosen] == DEAD, sink, dfa.next_state[:, chosen]
        )
        order = np.arange(sink + 1)
        order[[0, dfa.start]] = order[[dfa.start, 0]]  # a machine begins in state 0
        accepting = np.append(dfa.accepting, False)
        return combine(Machine(order[table][order], accepting[order]), _anything(columns), np.logical_and)


def _anything(columns: Columns) -> Machine:
    return of_lengths(0, None, columns.n_columns)


def everything_of(parts: Sequence[Constraint]) -> Constraint:
    """The strings of all of some constraints."""
    return reduce(lambda first, second: first & second, parts)
