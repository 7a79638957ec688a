"""Which strings a basis of a grammar's Hankel matrix generates (section 5.3 of Bailly et al. 2013).

With outsides P and insides S, the most frequent contexts and substrings of a sample, a string is generated if
it can be cut into an outside of P around an inside of S, or around two of them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.automata.data.strings import Strings
from sigmastar.grammars.data.substrings import Substrings

Array = NDArray[np.float64]
Integers = NDArray[np.int64]


def basis_yields(strings: Strings, counts: Array, n_outsides: int, n_insides: int) -> Integers:
    """The numbers of the distinct strings that the most frequent outsides and insides generate."""
    table = Substrings.of(strings)
    spans = [_spans(table, strings, length) for length in np.unique(strings.lengths).tolist()]
    inside = np.concatenate([part[1].ravel() for part in spans])
    outside = np.concatenate([part[2].ravel() for part in spans])
    weights = np.concatenate([np.repeat(counts[part[0]], part[1].shape[1]) for part in spans])
    good_inside = np.zeros(table.n_nodes, bool)
    good_inside[_heaviest(inside, weights, n_insides, np.arange(table.level_starts[1]))] = True
    outsides = np.sort(_heaviest(outside, weights, n_outsides, np.zeros(1, np.int64)))  # 0: the bare hole
    kept = []
    for chosen, _, contexts, whole in spans:
        length = whole.shape[1] - 1
        reached = good_inside[whole] & (whole >= 0)
        cut = reached.copy()  # span (i, j) is an inside, or two of them
        for i in range(length):
            for j in range(i + 2, length + 1):
                cut[:, i, j] |= (reached[:, i, i + 1 : j] & reached[:, i + 1 : j, j]).any(axis=1)
        first, last = np.triu_indices(length + 1, 1)
        known = np.isin(contexts, outsides)
        kept.append(chosen[(known & cut[:, first, last]).any(axis=1)])
    return np.sort(np.concatenate(kept))


def _spans(table: Substrings, strings: Strings, length: int) -> tuple[Integers, Integers, Integers, Integers]:
    """Strings of a length; the insides and the keys of the outsides of their spans; insides by (i, j)."""
    chosen = np.flatnonzero(strings.lengths == length)
    i, j = np.triu_indices(length + 1, 1)
    whole = np.full((len(chosen), length + 1, length + 1), -1, dtype=np.int64)
    whole[:, i, j] = table.at(strings.offsets[chosen][:, None] + i, (j - i)[None, :])
    size = table.n_nodes + 1
    contexts = (whole[:, 0, i] + 1) * size + whole[:, j, length] + 1
    return chosen, whole[:, i, j], contexts, whole


def _heaviest(numbers: Integers, weights: Array, size: int, always: Integers) -> Integers:
    """The `size` heaviest of the numbers, those that always stand among them."""
    values, position = np.unique(numbers, return_inverse=True)
    totals = np.bincount(position, weights)
    totals[np.isin(values, always)] = np.inf
    return values[np.argsort(-totals, kind="stable")[: max(size, len(always))]]
