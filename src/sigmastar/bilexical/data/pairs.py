"""Pairs of words under a relation: a head, a modifier, and how often they were met.

The table has one row per head and one column per modifier. Which word of a relation is the head is a matter
of what is asked: `swapped` gives the other direction.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from sigmastar.core.arrays import Floats, Indices
from sigmastar.core.errors import InputError
from sigmastar.core.held_out import split
from sigmastar.core.skipping import by_line
from sigmastar.core.text_files import TextPath, display_name, open_text, skips, whole_number

WordPairs = list[tuple[str, str]]

TEST, VALIDATION = 0.3, 0.1
"""Shares of the heads that test and validate: section 5 of Madhyastha et al. (2014)."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Counts of pairs, heads by modifiers; both sorted.

    Parameters
    ----------
    heads, modifiers : tuple of str
        The words of the rows and of the columns.
    counts : csr_array
        How often each pair was met.

    Examples
    --------
    >>> pairs = Pairs.of([("car", "red"), ("car", "red"), ("idea", "new")])
    >>> pairs.counts.toarray().tolist()
    [[0.0, 2.0], [1.0, 0.0]]
    >>> len(pairs), list(pairs)
    (3, [('car', 'red'), ('car', 'red'), ('idea', 'new')])
    """

    heads: tuple[str, ...]
    modifiers: tuple[str, ...]
    counts: sparse.csr_array

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]], modifiers: Sequence[str] | None = None) -> Pairs:
        """Count (head, modifier) pairs; with `modifiers`, pairs with others are left out."""
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

    def __len__(self) -> int:
        return self.n_pairs

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """Every pair, as often as it was met."""
        row, column = self.counts.nonzero()
        for h, m, count in zip(row.tolist(), column.tolist(), self.counts[row, column].tolist(), strict=True):
            yield from [(self.heads[h], self.modifiers[m])] * int(count)

    @property
    def n_pairs(self) -> int:
        """Repetitions counted."""
        return int(self.counts.sum())

    @cached_property
    def popularity(self) -> Floats:
        """How often each modifier was met."""
        return np.asarray(self.counts.sum(axis=0), dtype=np.float64).ravel()

    def select(self, heads: Iterable[str]) -> Pairs:
        """The pairs of some heads, with the modifiers as they are."""
        wanted = set(heads)
        rows = [row for row, head in enumerate(self.heads) if head in wanted]
        return Pairs(
            tuple(self.heads[row] for row in rows), self.modifiers, sparse.csr_array(self.counts[rows])
        )

    def of_known(self, known: Container[str]) -> Pairs:
        """The pairs whose words are both known; heads and modifiers without a pair are dropped."""
        heads, modifiers = (_known(side, known) for side in (self.heads, self.modifiers))
        counts = sparse.csr_array(self.counts[heads][:, modifiers])
        heads = heads[np.diff(counts.indptr) > 0]
        modifiers = modifiers[np.bincount(counts.indices, minlength=len(modifiers)) > 0]
        return Pairs(
            tuple(self.heads[row] for row in heads.tolist()),
            tuple(self.modifiers[column] for column in modifiers.tolist()),
            sparse.csr_array(self.counts[heads][:, modifiers]),
        )

    def swapped(self) -> Pairs:
        """The other direction: modifiers become heads."""
        return Pairs(self.modifiers, self.heads, sparse.csr_array(self.counts.T))


@dataclass(frozen=True)
class HeadSplit:
    """The heads that train, validate and test; no head is in two parts.

    Parameters
    ----------
    train, validation, test : tuple of str
        Words, sorted.
    """

    train: tuple[str, ...]
    validation: tuple[str, ...]
    test: tuple[str, ...]


def split_heads(heads: Sequence[str], rng: np.random.Generator) -> HeadSplit:
    """A random split of heads: 60% train, 10% validate, 30% test.

    Parameters
    ----------
    heads
        Distinct words.
    rng
        The source of chance.

    Returns
    -------
    HeadSplit
        The three parts, each sorted.
    """
    words = np.array(heads, dtype=object)
    first = split(len(words), rng, TEST, most=None)
    second = None if first is None else split(len(first.kept), rng, VALIDATION / (1.0 - TEST), most=None)
    if first is None or second is None:
        return HeadSplit(tuple(sorted(heads)), (), ())
    rest = words[first.kept]
    parts = (rest[second.kept], rest[second.held], words[first.held])
    return HeadSplit(*(tuple(sorted(part.tolist())) for part in parts))


@skips(by_line)
def read_pairs(path: TextPath) -> WordPairs:
    """Read a table of pairs: `head TAB modifier`, with a count in a third column where there is one.

    Parameters
    ----------
    path
        The file.

    Returns
    -------
    list of tuple
        (head, modifier) pairs; a pair with count n comes n times.
    """
    found: WordPairs = []
    for number, line in enumerate(open_text(path), 1):
        if not line.strip():
            continue
        cells = line.split("\t")
        if len(cells) not in (2, 3) or not cells[0] or not cells[1]:
            raise InputError(
                f"expected 'head TAB modifier' and perhaps a count, found {line[:60]!r}",
                file=display_name(path),
                line=number,
            )
        found += [(cells[0], cells[1])] * (_count(cells[2], path, number) if len(cells) == 3 else 1)
    if not found:
        raise InputError("the file holds no pairs", file=display_name(path))
    return found


def _count(cell: str, path: TextPath, line: int) -> int:
    count = whole_number(cell)
    if count is None or count > 10_000_000:
        raise InputError(f"count {cell[:40]!r} is not a whole number", file=display_name(path), line=line)
    return count


def _places(words: Sequence[str]) -> dict[str, int]:
    return {word: place for place, word in enumerate(words)}


def _known(words: Sequence[str], known: Container[str]) -> Indices:
    return np.flatnonzero(np.array([word in known for word in words], dtype=bool))
