"""Pairs of words under a relation: a head, a modifier, and how often they were met.

The table has a row a head and a column a modifier. Which word of a relation is the head is a matter of
what is asked: `swapped` gives the other direction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

SHARES = (0.6, 0.1, 0.3)
"""Of the heads that train, validate and test: section 5 of Madhyastha et al. (2014)."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Counts of pairs, heads by modifiers; both sorted."""

    heads: tuple[str, ...]
    modifiers: tuple[str, ...]
    counts: sparse.csr_array

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]], modifiers: Sequence[str] | None = None) -> Pairs:
        """Count (head, modifier) pairs.

        With `modifiers` the columns are given, and pairs with others are left out.

        >>> Pairs.of([("car", "red"), ("car", "red"), ("idea", "new")]).counts.toarray().tolist()
        [[0.0, 2.0], [1.0, 0.0]]
        """
        met = Counter(pairs)
        if modifiers is not None:
            known = set(modifiers)
            met = Counter({pair: count for pair, count in met.items() if pair[1] in known})
        heads = sorted({head for head, _ in met})
        columns = sorted({modifier for _, modifier in met}) if modifiers is None else list(modifiers)
        row_of, column_of = _places(heads), _places(columns)
        rows = [row_of[head] for head, _ in met]
        places = [column_of[modifier] for _, modifier in met]
        counts = sparse.csr_array(
            (np.array(list(met.values()), dtype=np.float64), (rows, places)), shape=(len(heads), len(columns))
        )
        counts.sort_indices()
        return cls(tuple(heads), tuple(columns), counts)

    @property
    def n_pairs(self) -> int:
        """Repetitions counted."""
        return int(self.counts.sum())

    @cached_property
    def popularity(self) -> NDArray[np.float64]:
        """How often each modifier was met."""
        return np.asarray(self.counts.sum(axis=0), dtype=np.float64).ravel()

    def select(self, heads: Iterable[str]) -> Pairs:
        """The pairs of some heads, with the modifiers as they are."""
        wanted = set(heads)
        rows = [row for row, head in enumerate(self.heads) if head in wanted]
        return Pairs(
            tuple(self.heads[row] for row in rows), self.modifiers, sparse.csr_array(self.counts[rows])
        )

    def swapped(self) -> Pairs:
        """The other direction: modifiers become heads."""
        return Pairs(self.modifiers, self.heads, sparse.csr_array(self.counts.T))


@dataclass(frozen=True)
class HeadSplit:
    """Which heads train, validate and test; no head is in two parts."""

    train: tuple[str, ...]
    validation: tuple[str, ...]
    test: tuple[str, ...]


def split_heads(
    heads: Sequence[str], rng: np.random.Generator, shares: tuple[float, float, float] = SHARES
) -> HeadSplit:
    """Deal the heads at random by `shares`."""
    order = [heads[place] for place in rng.permutation(len(heads)).tolist()]
    first = round(shares[0] * len(order))
    second = first + round(shares[1] * len(order))
    parts = (order[:first], order[first:second], order[second:])
    return HeadSplit(*(tuple(sorted(part)) for part in parts))


def _places(words: Sequence[str]) -> dict[str, int]:
    return {word: place for place, word in enumerate(words)}
