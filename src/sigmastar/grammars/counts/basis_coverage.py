"""Which strings of a corpus a basis can speak of (Bailly et al. 2013, section 5.3).

Brackets are not known, so every substring is an inside and every context of one an outside; the basis takes
the most frequent of both. A string is covered if it is an outside of the basis around an inside of it, or
around two in a row. The Hankel matrix is then closed on the covered strings.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.automata.data.strings import Strings
from sigmastar.grammars.data.substrings import Substrings

Array = NDArray[np.float64]
Integers = NDArray[np.int64]


def covered_strings(strings: Strings, counts: Array, n_outsides: int, n_insides: int) -> Integers:
    """The numbers of those of distinct strings that a basis of the given size covers."""
    table = Substrings.of(strings)
    begin, end, owner = _spans(strings.lengths)
    first, lengths = strings.offsets[owner], strings.lengths[owner]
    inside = table.at(first + begin, end - begin)
    left = np.where(begin > 0, table.at(first, np.maximum(begin, 1)), -1)
    tail = np.where(end < lengths, lengths - end, 1)
    right = np.where(end < lengths, table.at(np.where(end < lengths, first + end, first), tail), -1)
    outside = (left + 1) * (table.n_nodes + 1) + right + 1
    in_basis = _frequent(outside, counts[owner], n_outsides)
    is_inside = _frequent(inside, counts[owner], n_insides)
    whole = in_basis & is_inside
    composed = in_basis & _is_composed(table, first + begin, end - begin, inside, is_inside)
    return np.unique(owner[whole | composed])


def _spans(lengths: Integers) -> tuple[Integers, Integers, Integers]:
    """Begin, end and string of every span of every string."""
    parts = []
    for length in np.unique(lengths).tolist():
        chosen = np.flatnonzero(lengths == length)
        i, j = np.triu_indices(length + 1, 1)
        parts.append((np.tile(i, len(chosen)), np.tile(j, len(chosen)), np.repeat(chosen, len(i))))
    return tuple(np.concatenate([part[k] for part in parts]) for k in range(3))  # type: ignore[return-value]


def _frequent(numbers: Integers, weights: Array, most: int) -> NDArray[np.bool_]:
    """Which occurrences are of one of the `most` frequent numbers."""
    values, inverse = np.unique(numbers, return_inverse=True)
    totals = np.bincount(inverse, weights)
    kept = np.zeros(len(values), dtype=bool)
    kept[np.argsort(-totals, kind="stable")[:most]] = True
    return kept[inverse]


def _is_composed(
    table: Substrings, at: Integers, lengths: Integers, inside: Integers, is_inside: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Which spans fall into two insides of the basis."""
    known = np.zeros(table.n_nodes, dtype=bool)
    known[inside[is_inside]] = True
    found = np.zeros(len(at), dtype=bool)
    for k in range(1, int(lengths.max(initial=1))):
        long = np.flatnonzero(lengths > k)
        left = table.at(at[long], np.full(len(long), k))
        right = table.at(at[long] + k, lengths[long] - k)
        found[long] |= known[left] & known[right]
    return found
