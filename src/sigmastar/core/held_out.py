"""Data held out to choose by: sizes, ranks, weights, and when to stop.

    many items           a random share of them, at most `ENOUGH`
    few long sequences   the last tenth of each, by position
    neither              None: then nothing is held out, and nothing may be called held-out evidence

Everything works on numbers of items and on offsets (sequence k has the positions offsets[k] to
offsets[k + 1]), so that any kind of data can be split by it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sigmastar.core.arrays import Array, Flags, Int64s

SHARE = 0.1
ENOUGH = 5_000
"""Items tell models apart; more would only cost time."""
FEW = 2
"""Fewer items than this cannot be split by item."""
SHORTEST_TAIL = 1


@dataclass(frozen=True, eq=False)
class Split:
    """The numbers of the items to learn from, and of those to choose by, both in rising order."""

    kept: Int64s
    held: Int64s


@dataclass(frozen=True, eq=False)
class Tails:
    """Sequences cut in two: the positions before `cuts` are learnt from, those from there on choose.

    Evidence is the probability of the tail given what stands before it.
    """

    offsets: Int64s
    cuts: Int64s  # of each sequence, between its offsets; its end where it has no tail

    @property
    def lengths(self) -> Int64s:
        """The lengths of the tails."""
        return np.asarray(self.offsets[1:] - self.cuts)

    @property
    def is_held(self) -> Flags:
        """Of each position, whether it is held out."""
        found = np.zeros(int(self.offsets[-1]) + 1, dtype=np.int64)
        np.add.at(found, self.cuts, 1)
        np.add.at(found, self.offsets[1:], -1)
        return np.cumsum(found[:-1]) > 0

    @property
    def kept_offsets(self) -> Int64s:
        """The offsets of what is left of the sequences, where they stand one after the other."""
        return np.append(0, np.cumsum(self.cuts - self.offsets[:-1])).astype(np.int64)


def n_held(n_items: int, share: float = SHARE, most: int | None = ENOUGH) -> int:
    """How many items of so many are held out: at least one, and never all."""
    wanted = round(min(share, most / n_items if most is not None else 1.0) * n_items)
    return min(max(wanted, 1), n_items - 1)


def split(
    n_items: int,
    rng: np.random.Generator,
    share: float = SHARE,
    most: int | None = ENOUGH,
    least: int = FEW,
) -> Split | None:
    """A random share of the items.

    Parameters
    ----------
    n_items
        How many there are.
    rng
        The source of chance: one permutation of the items is drawn.
    share
        Of the items, to be held out.
    most
        Items that are enough; None: no limit.
    least
        Fewer items than this are not split.

    Returns
    -------
    Split or None
        None where nothing can be held out.

    Examples
    --------
    >>> found = split(20, np.random.default_rng(0))
    >>> len(found.kept), len(found.held)
    (18, 2)
    >>> split(1, np.random.default_rng(0)) is None
    True
    """
    if n_items < max(least, 2) or share <= 0.0:
        return None
    order, size = rng.permutation(n_items), n_held(n_items, share, most)
    return Split(np.sort(order[size:]), np.sort(order[:size]))


def tails(offsets: Int64s, share: float = SHARE) -> Tails | None:
    """The last part of every sequence.

    Parameters
    ----------
    offsets
        Where the sequences begin and end.
    share
        Of each sequence, rounded down: the beginning stays.

    Returns
    -------
    Tails or None
        None where all sequences are too short to have a tail.

    Examples
    --------
    >>> tails(np.array([0, 30, 35])).cuts.tolist()
    [27, 35]
    """
    lengths = np.diff(offsets)
    sizes = np.floor(share * lengths + 1e-9).astype(np.int64)
    if sizes.sum() < SHORTEST_TAIL:
        return None
    return Tails(np.asarray(offsets, dtype=np.int64), np.asarray(offsets[1:] - sizes, dtype=np.int64))


def folds(
    n_items: int,
    rng: np.random.Generator,
    n_folds: int,
    share: float | None = None,
    groups: Array | None = None,
) -> list[Split]:
    """Random choices of items to hold out, none of them twice.

    Parameters
    ----------
    n_items
        How many there are.
    rng
        The source of chance.
    n_folds
        At most so many choices.
    share
        Of the groups, that each choice holds; None: together the choices hold everything once.
    groups
        A number from 0 for each item; items of one group are never on both sides. None: each item for itself.

    Returns
    -------
    list of Split
        Empty where there are fewer than two groups: then nothing can be held out.

    Examples
    --------
    >>> [fold.held.size for fold in folds(10, np.random.default_rng(0), 3)]
    [4, 3, 3]
    """
    n_groups = n_items if groups is None else int(groups.max(initial=-1)) + 1
    if n_groups < 2:
        return []
    place = rng.permutation(n_groups)
    if share is None:
        n_folds = min(n_folds, n_groups)
        fold = place * n_folds // n_groups
    else:
        size = n_held(n_groups, share, None)
        n_folds, fold = min(n_folds, n_groups // size), place // size
    of_item = fold if groups is None else fold[groups]
    return [Split(np.flatnonzero(of_item != k), np.flatnonzero(of_item == k)) for k in range(n_folds)]
