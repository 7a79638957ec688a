"""An n-gram of averaged answers: the baseline, and what a signed automaton falls back on.

p(y | c) = (sum over gaps in c of d(y) + K p(y | shorter c)) / (number of gaps in c + K)
"""

from __future__ import annotations

import numpy as np

from sigmastar.automata.data.contexts import grow_contexts
from sigmastar.automata.model.ngram_smoothing import Backoff, NgramModel
from sigmastar.distil.asked_strings import Asked

MOST_CONTEXTS = 5000
_DEPTH = 3
_CELLS = 1 << 24
_PRIOR = 1.0  # gaps that the shorter context counts for


def averaged_ngram(asked: Asked) -> NgramModel:
    """The mean answer in each context of at most three symbols."""
    strings, rows = asked.strings, asked.rows
    n_outcomes = rows.shape[1]
    most = max(1, min(MOST_CONTEXTS, _CELLS // n_outcomes))
    contexts = grow_contexts(strings, "past", most, 2, _DEPTH)
    classes = contexts.classify(strings)
    order = np.argsort(classes, kind="stable")
    starts = np.searchsorted(classes[order], np.arange(contexts.n_classes))
    counts = np.bincount(classes, minlength=contexts.n_classes).astype(np.float64)
    sums = np.zeros((contexts.n_classes, n_outcomes))
    met = np.flatnonzero(counts)
    if len(met):
        sums[met] = np.add.reduceat(rows[order], starts[met], axis=0)
    for depth in range(int(contexts.depth.max()), 0, -1):  # a context holds all that are longer
        level = np.flatnonzero(contexts.depth == depth)
        np.add.at(sums, contexts.parent[level], sums[level])
        np.add.at(counts, contexts.parent[level], counts[level])
    own = sums / (counts + _PRIOR)[:, None]
    outcomes = np.tile(np.arange(n_outcomes, dtype=np.int32), contexts.n_classes)
    row_starts = np.arange(contexts.n_classes + 1, dtype=np.int64) * n_outcomes
    rest = 1.0 - own.sum(axis=1)
    return NgramModel(
        strings.alphabet, contexts, Backoff(row_starts, outcomes, own.ravel(), np.clip(rest, 0.0, 1.0))
    )
