"""Where to ask: strings that the black box draws itself, sharpened or not, others that it continues, edits.

A network that was trained on strings gives every string some probability, and what is drawn from it soon
leaves the strings that it was trained on. Drawn with a power on the probabilities it stays near them, and
nearer still where it goes on from the beginning of one of them.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.core.arrays import Floats, Indices
from sigmastar.distil.asked_strings import Asked, together
from sigmastar.distil.black_box import rows_of
from sigmastar.distil.questions import Questions


class _Reader:
    """Prefixes that are read together: by states where the black box has them, else whole."""

    def __init__(self, questions: Questions, n: int) -> None:
        self.questions, self.states = questions, None
        self.prefixes: list[tuple[Any, ...]] = [()] * n
        if questions.is_incremental:
            questions.spend(n)
            self.states, self.rows = questions.start(n)
        else:
            self.rows = questions.next_distributions(self.prefixes)

    def step(self, rows: Indices, symbols: Indices) -> None:
        """Go on with some of the prefixes."""
        questions, alphabet = self.questions, self.questions.alphabet.symbols
        if self.states is not None:
            questions.spend(len(rows))
            self.states, self.rows = questions.step(rows_of(self.states, rows), symbols)
            return
        self.prefixes = [
            (*self.prefixes[row], alphabet[code])
            for row, code in zip(rows.tolist(), symbols.tolist(), strict=True)
        ]
        self.rows = questions.next_distributions(self.prefixes)


def draw(
    questions: Questions,
    n: int,
    rng: np.random.Generator,
    max_length: int,
    power: float = 1.0,
    begun: Strings | None = None,
) -> Asked:
    """Strings drawn from the black box symbol by symbol, with what it told on the way.

    Parameters
    ----------
    questions : Questions
        The black box.
    n : int
        Number of strings.
    rng : Generator
        Source of chance.
    max_length : int
        Longer strings are cut.
    power : float
        Of the probabilities, before a symbol is drawn: above one, likely symbols are preferred.
    begun : Strings, optional
        What the strings begin with, one each; the empty string if left out.

    Returns
    -------
    Asked
        The strings and the answers.
    """
    end, alive, reader = len(questions.alphabet), np.arange(n), _Reader(questions, n)
    owners, symbols, rows = [], [], []
    for depth in range(max_length + 1):
        owners.append(alive)
        rows.append(reader.rows)
        drawn = _drawn(reader.rows, rng, power) if depth < max_length else np.full(len(alive), end)
        if begun is not None:
            known = np.flatnonzero(begun.lengths[alive] > depth)
            drawn[known] = begun.codes[begun.offsets[alive[known]] + depth]
        symbols.append(drawn)
        going = np.flatnonzero(drawn < end)
        if len(going) > questions.left:  # the budget is spent: strings end where they are
            symbols[-1], going = np.full(len(drawn), end), going[:0]
        if not len(going):
            break
        alive = alive[going]
        reader.step(going, drawn[going])
    owner, symbol = np.concatenate(owners), np.concatenate(symbols)
    order = np.argsort(owner, kind="stable")
    codes = symbol[order]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=n) - 1)])
    strings = Strings(questions.alphabet, codes[codes < end].astype(np.int32), offsets)
    return Asked(strings, np.concatenate(rows)[order])


def draw_gaps(
    questions: Questions,
    n_gaps: int,
    rng: np.random.Generator,
    max_length: int,
    power: float = 1.0,
    strings: Strings | None = None,
) -> Asked:
    """Strings of about so many gaps in all; where some are given, each goes on where one of them was cut."""

    def some(n: int) -> Asked:
        begun = None if strings is None else beginnings(strings, n, rng)
        return draw(questions, n, rng, max_length, power, begun)

    parts = [some(int(np.clip(n_gaps // (max_length + 1), 2, 256)))]
    have, n = parts[0].strings.n_gaps, len(parts[0])
    while have < 0.9 * n_gaps and questions.left > n:
        n_more = int(np.clip((n_gaps - have) * n / have, 1, 8192))
        parts.append(some(n_more))
        have, n = have + parts[-1].strings.n_gaps, n + n_more
    return together(parts)


def beginnings(strings: Strings, n: int, rng: np.random.Generator) -> Strings:
    """Random ones of some strings, cut at random places."""
    whole = strings.select(rng.integers(len(strings), size=n))
    lengths = rng.integers(whole.lengths + 1)
    places = np.arange(whole.n_symbols) - np.repeat(whole.offsets[:-1], whole.lengths)
    codes = whole.codes[places < np.repeat(lengths, whole.lengths)]
    return Strings(strings.alphabet, codes, np.concatenate([[0], np.cumsum(lengths)]))


def _drawn(rows: Floats, rng: np.random.Generator, power: float) -> Indices:
    raised = (rows / rows.max(axis=1, keepdims=True)) ** power
    cumulative = np.cumsum(raised, axis=1)
    aims = rng.random(len(rows)) * cumulative[:, -1]
    return np.asarray(np.minimum((cumulative <= aims[:, None]).sum(axis=1), rows.shape[1] - 1))


def edited(strings: Strings, rng: np.random.Generator) -> Strings:
    """Every string with one symbol replaced, removed or put in."""
    texts = []
    for begin, end in pairwise(strings.offsets.tolist()):
        codes = strings.codes[begin:end].tolist()
        at, kind = int(rng.integers(len(codes) + 1)), int(rng.integers(3))
        new = int(rng.integers(len(strings.alphabet)))
        texts.append(codes[:at] + [new] * (kind > 0) + codes[at + (kind < 2) :])
    offsets = np.concatenate([[0], np.cumsum([len(text) for text in texts], dtype=np.int64)])
    return Strings(strings.alphabet, np.array([c for text in texts for c in text], np.int32), offsets)
