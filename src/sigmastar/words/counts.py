"""Two views of every token: the past that it ends, and the future that it begins.

Pasts and futures fall into disjoint classes: a frequent pair of words, else a word, else one of all others,
as many classes as there are words. The counts of how often past and future classes meet at a gap are scaled
to correlations (`core.views`) and decomposed; a class lies at U S or V S, drawn to the origin by d / (d + 20)
where it was met d times. A token has the point of the past class behind it and that of the future class
before it.

Ends of strings are tokens like others, coded behind the words.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import sparse

from sigmastar.automata.data.contexts import grow_contexts
from sigmastar.automata.data.strings import Strings
from sigmastar.core.arrays import Int32s, Int64s, Singles
from sigmastar.core.factors import quick_svd
from sigmastar.core.integer_counts import tally_pairs
from sigmastar.core.views import correlate

DIMENSIONS = 150
FEWEST_CLASSES = 2000
_LEAST_COUNT, _DEPTH = 5, 2  # of contexts
_SHRINKAGE = 20.0
_ROUNDS = 3  # of the decomposition beyond those that its dimensions need


@dataclass(frozen=True, eq=False)
class TokenViews:
    """The classes of every token, and where classes lie."""

    past: Int32s  # of the gap behind each token
    future: Int32s  # of the gap before it
    pasts: Singles  # classes x dimensions
    futures: Singles

    @property
    def n_tokens(self) -> int:
        return len(self.past)


def token_views(strings: Strings, n_dimensions: int = DIMENSIONS, n_classes: int | None = None) -> TokenViews:
    """Classes of tokens and their correlations.

    Parameters
    ----------
    strings : Strings
        The corpus.
    n_dimensions : int
        Of each of the two parts of a point, at most.
    n_classes : int or None
        Of pasts and of futures, at most; None: as many as words, but 2,000 at least.

    Returns
    -------
    TokenViews
        In the order of `strings.outcomes`.
    """
    most = n_classes or max(len(strings.alphabet), FEWEST_CLASSES)
    pasts, futures = (
        grow_contexts(strings, direction, most, _LEAST_COUNT, _DEPTH) for direction in ("past", "future")
    )
    past, future = pasts.classify(strings), futures.classify(strings)
    counts = _counts(past, future, pasts.n_classes, futures.n_classes)
    solver = partial(quick_svd, n_rounds=_ROUNDS)
    found = correlate(counts, n_dimensions + 1, solver=solver).without_constant()
    sizes = np.bincount(past, minlength=pasts.n_classes), np.bincount(future, minlength=futures.n_classes)
    behind = np.append(past[1:], np.int32(pasts.start)).astype(np.int32)
    return TokenViews(behind, future, *map(_drawn, (found.left(1.0), found.right(1.0)), sizes))


def _counts(past: Int32s, future: Int32s, n_pasts: int, n_futures: int) -> sparse.csr_array:
    keys, counts = tally_pairs(past, future, n_pasts, n_futures)
    at = keys.astype(np.int64)
    starts = np.searchsorted(at, np.arange(n_pasts + 1, dtype=np.int64) * n_futures)
    return sparse.csr_array((counts.astype(np.float64), at % n_futures, starts), shape=(n_pasts, n_futures))


def _drawn(points: np.ndarray, sizes: Int64s) -> Singles:
    shrunk = points * (sizes / (sizes + _SHRINKAGE))[:, None]
    return np.ascontiguousarray(shrunk, dtype=np.float32)
