"""Labels of strings: a black box that scores, asked for yes or no; and the strings that it is tried on.

Networks that were trained on a language are regular there, if at all: on strings of another kind they do what
they happen to do. So a stand-in is judged on strings like those that are given: these themselves, the same
with a few symbols replaced, removed or put in, and random ones of their lengths.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.core.arrays import Flags, Floats, Int64s
from sigmastar.distil.questions import Questions

Word = tuple[int, ...]
"""A string as codes."""

MOST_EDITS = 3
_LENGTHS = (1, 30)  # of random strings where none are given


class Labels:
    """A black box whose scores above a threshold mean yes."""

    def __init__(self, questions: Questions, threshold: float) -> None:
        self.questions, self.threshold = questions, threshold
        self.n_symbols = len(questions.alphabet)

    def scores(self, words: Sequence[Word]) -> Floats:
        """Scores less the threshold."""
        return self.questions.scores(self.coded(words)) - self.threshold

    def __call__(self, words: Sequence[Word]) -> Flags:
        return self.scores(words) > 0

    def coded(self, words: Sequence[Word]) -> Strings:
        """Words as a corpus."""
        offsets = np.concatenate([[0], np.cumsum([len(word) for word in words], dtype=np.int64)])
        codes = np.array([code for word in words for code in word], dtype=np.int32)
        return Strings(self.questions.alphabet, codes, offsets)


@dataclass(eq=False)
class Pool:
    """Strings that a stand-in is tried on, with their labels; it grows."""

    labels: Labels
    given: list[Word]
    rng: np.random.Generator
    words: list[Word] = field(default_factory=list)
    truth: Flags = field(default_factory=lambda: np.zeros(0, dtype=bool))
    _padded: Padded | None = None

    @property
    def padded(self) -> Padded:
        """The strings so far as one array."""
        if self._padded is None:
            self._padded = Padded.of(self.words)
        return self._padded

    def grow(self, n_edited: int, n_random: int) -> None:
        """More edited and random strings."""
        fresh = [self.edited() for _ in range(n_edited)] + [self.random() for _ in range(n_random)]
        self.add(fresh)

    def add(self, words: Iterable[Word]) -> None:
        known = set(self.words)
        fresh = [word for word in dict.fromkeys(words) if word not in known]
        self.truth = np.append(self.truth, self.labels(fresh))
        self.words += fresh
        self._padded = None

    def edited(self) -> Word:
        """A given string with one to three symbols replaced, removed or put in."""
        word = list(self.given[self.rng.integers(len(self.given))])
        for _ in range(self.rng.integers(1, MOST_EDITS + 1)):
            kind, symbol = self.rng.integers(3), int(self.rng.integers(self.labels.n_symbols))
            if kind == 0:
                word.insert(int(self.rng.integers(len(word) + 1)), symbol)
            elif word:
                at = int(self.rng.integers(len(word)))
                word[at : at + 1] = [symbol] if kind == 1 else []
        return tuple(word)

    def random(self) -> Word:
        """Random symbols, as many as some given string has."""
        length = len(self.given[self.rng.integers(len(self.given))])
        return tuple(self.rng.integers(0, self.labels.n_symbols, length).tolist())


def some_strings(n_symbols: int, n_words: int, rng: np.random.Generator) -> list[Word]:
    """Random strings, where none are given."""
    lengths = rng.integers(*_LENGTHS, n_words)
    return [tuple(rng.integers(0, n_symbols, length).tolist()) for length in lengths]


@dataclass(frozen=True, eq=False)
class Padded:
    """Words as rows of one array, longest first."""

    codes: Int64s
    lengths: Int64s
    order: Int64s

    @classmethod
    def of(cls, words: Sequence[Word]) -> Padded:
        lengths = np.array([len(word) for word in words], dtype=np.int64)
        order = np.argsort(-lengths, kind="stable")
        codes = np.full((len(words), lengths.max(initial=0)), -1, dtype=np.int64)
        for row, number in enumerate(order):
            codes[row, : lengths[number]] = words[number]
        return cls(codes, lengths[order], order)

    def alive(self, position: int) -> int:
        """How many words have a symbol at a position."""
        return int(np.searchsorted(-self.lengths, -position, "left"))

    def ends(self, table: Int64s) -> Int64s:
        """Where a deterministic automaton is after each word."""
        states = np.zeros(len(self.lengths), dtype=np.int64)
        for position in range(self.codes.shape[1]):
            n = self.alive(position)
            states[:n] = table[states[:n], self.codes[:n, position]]
        found = np.empty_like(states)
        found[self.order] = states
        return found
