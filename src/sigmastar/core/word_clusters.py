"""Classes of words from raw text: states from two views, of words without their tokens.

C[w, (side, v)]     how often v stands beside w, on either side: v is frequent, any other, or the edge
points of words     correlations of sqrt(C) (`core.views`)
classes             k-means of the directions of points, once per size
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from scipy import sparse

from sigmastar.core.arrays import Floats, Int64s
from sigmastar.core.clusters import k_means
from sigmastar.core.errors import InputError
from sigmastar.core.progress import Progress, silent
from sigmastar.core.resources import one_blas_thread
from sigmastar.core.views import correlate, damped, directions
from sigmastar.core.word_classes import WordClasses, plain

SIZES = (64, 256, 1024)
LEAST = 3  # occurrences of a word that has classes
N_CONTEXTS = 6000
N_DIMENSIONS = 100
DAMPING = 5.0


def learn_word_classes(
    sentences: Iterable[Sequence[str]], rng: np.random.Generator, progress: Progress = silent
) -> WordClasses:
    """Classes of the words that occur often enough.

    Parameters
    ----------
    sentences : iterable of sequences of str
        Words in their order.
    rng : Generator
        Where clusters begin.
    progress : callable
        Told of the stages.

    Returns
    -------
    WordClasses
        Of three sizes.
    """
    progress("words of raw text", 0.0)
    words, sequence = _numbered(sentences)
    totals = np.bincount(sequence[sequence >= 0], minlength=len(words))
    kept = np.flatnonzero(totals >= LEAST)
    if len(kept) < 2:
        raise InputError(f"raw text has no two words that occur {LEAST} times: give more text, or none")
    progress("classes of words", 0.3)
    counts = _beside(sequence, totals, kept)
    with one_blas_thread():
        n_dimensions = min(N_DIMENSIONS + 1, *(size - 1 for size in counts.shape))
        points = directions(correlate(counts, n_dimensions, damped(DAMPING)).without_constant().left(0.5))
    weights = np.sqrt(totals[kept].astype(np.float64))
    columns = []
    for number, size in enumerate(SIZES):
        progress(f"classes of words: {size}", 0.5 + number / 6)
        columns.append(k_means(points, min(size, len(kept)), rng, weights=weights).labels)
    return WordClasses(tuple(words[i] for i in kept.tolist()), np.column_stack(columns).astype(np.int32))


def _numbered(sentences: Iterable[Sequence[str]]) -> tuple[list[str], Int64s]:
    """The distinct words, and all sentences in one row, with -1 before, between and behind them."""
    numbers: dict[str, int] = {}
    row = [-1]
    for sentence in sentences:
        row += [numbers.setdefault(plain(word), len(numbers)) for word in sentence]
        row.append(-1)
    return list(numbers), np.array(row, dtype=np.int64)


def _beside(sequence: Int64s, totals: Int64s, kept: Int64s) -> sparse.csr_array:
    """Roots of how often words stand on both sides of those that are kept."""
    n_near = min(N_CONTEXTS, len(totals))
    near = np.full(len(totals) + 1, n_near, dtype=np.int64)  # any other word
    near[np.argsort(-totals, kind="stable")[:n_near]] = np.arange(n_near)
    near[-1] = n_near + 1  # the edge
    row_of = np.full(len(totals) + 1, -1, dtype=np.int64)
    row_of[kept] = np.arange(len(kept))
    at = np.flatnonzero(row_of[sequence] >= 0)
    rows, shape = row_of[sequence[at]], (len(kept), n_near + 2)
    ones: Floats = np.ones(len(at))
    sides = [sparse.csr_array((ones, (rows, near[sequence[at + k]])), shape=shape) for k in (-1, 1)]
    counts = sparse.csr_array(sparse.hstack(sides))
    counts.sum_duplicates()
    counts.data = np.sqrt(counts.data)
    return counts
