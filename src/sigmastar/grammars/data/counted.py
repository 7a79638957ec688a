"""Distinct strings with their counts: which are held out, how many are enough, and how long they may be."""

from __future__ import annotations

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.core.arrays import Floats
from sigmastar.core.held_out import n_held, split
from sigmastar.grammars.data.substrings import Substrings, within_length

Counted = tuple[Strings, Floats]
"""Distinct strings, and how often each occurs."""

ENOUGH = 10
"""Fewer strings than this are too few to hold any out."""
FEW = 4000
"""Distinct strings that are enough to choose a start by."""
LEAST_EXACT = 12
"""Symbols of strings that are always seen whole."""
_EXACT = (16, 20, 24, 32, 40, 60, 80, 120, 200)


def held_counts(strings: Strings, counts: Floats, rng: np.random.Generator) -> tuple[Counted, Counted | None]:
    """Distinct strings with their counts, less a random share of these to choose by."""
    total = float(counts.sum())
    if total < ENOUGH:
        return (strings, counts), None
    if (counts == np.round(counts)).all():
        taken = rng.multivariate_hypergeometric(
            counts.astype(np.int64), n_held(int(total)), method="marginals"
        ).astype(float)
    else:  # weights that count nothing: whole strings are held out
        parts = split(len(strings), rng, least=ENOUGH)
        if parts is None:
            return (strings, counts), None
        taken = np.zeros_like(counts)
        taken[parts.held] = counts[parts.held]
    left = counts - taken
    return _with_counts(strings, left), _with_counts(strings, taken)


def _with_counts(strings: Strings, counts: Floats) -> Counted:
    some = np.flatnonzero(counts)
    return strings.select(some), counts[some]


def some_of(corpus: Counted, rng: np.random.Generator) -> Counted:
    """At most `FEW` distinct strings, the frequent ones as likely as their counts."""
    strings, counts = corpus
    if len(strings) <= FEW:
        return corpus
    some = np.sort(rng.choice(len(strings), FEW, replace=False, p=counts / counts.sum()))
    return strings.select(some), counts[some]


def exact_length(strings: Strings, n_cuts: int) -> int:
    """The length up to which all strings together have no more cuts of distinct substrings.

    It is never below `LEAST_EXACT`, nor below the length of half of the strings: what is left of strings of
    which only the length is seen is not enough to learn from.
    """
    least = max(LEAST_EXACT, int(np.median(strings.lengths)))
    for longer in (*_EXACT, int(strings.lengths.max())):
        if longer > least:
            table = Substrings.of(within_length(strings, None, longer)[0])
            if int((np.diff(table.level_starts) * np.arange(table.longest)).sum()) > n_cuts:
                break
            least = longer
    return least
