"""A grammar from a completed Hankel matrix (Lemma 1 of Bailly et al. 2013, by least squares).

With H ~ P S on the outsides and insides where nothing is open,

    initial = h S^+,  words[a] = P^+ h_a,  A = argmin sum over cuts |P^+ h_(y,z) - A (s_y (x) s_z)|^2 + ridge

A pair (y, z) has a column only where y z occurs, so A is a regression and not a product of inverses;
columns keep their sizes (dividing by them lets rare strings, which are noise, decide).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from sigmastar.grammars.counts.closed_hankel import ClosedHankel
from sigmastar.grammars.model.grammar import WeightedGrammar
from sigmastar.optimise.factored import triples_of_product
from sigmastar.optimise.proximal import Thresholded

Array = NDArray[np.float64]

_CELLS = 4_000_000


def extract(hankel: ClosedHankel, matrix: Thresholded, n_states: int, ridge: float = 1e-6) -> WeightedGrammar:
    """The grammar with `n_states` states whose Hankel matrix is closest to a completed one."""
    outside = matrix.left[: hankel.n_outsides] * matrix.singular_values
    closed = triples_of_product(outside, matrix.right[: hankel.n_insides], relative=1e-12)
    if n_states > closed.rank:
        raise ValueError(
            f"n_states={n_states} exceeds the rank {closed.rank} of the completed matrix; "
            f"use n_states<={closed.rank} or a smaller penalty"
        )
    left, values, right = (
        part[..., :n_states] for part in (closed.left, closed.singular_values, closed.right)
    )
    # P^+ of any column of the matrix is a linear map of that column's coordinates
    to_states = (left / values).T @ outside
    root = (outside[0] @ matrix.right[: hankel.n_insides].T) @ right
    n_words = int(hankel.table.level_starts[1])
    words = np.zeros((len(hankel.table.strings.alphabet), n_states))
    words[hankel.table.word_codes] = right[:n_words]
    cuts = matrix.right[hankel.n_insides :] @ to_states.T
    return WeightedGrammar(
        hankel.table.strings.alphabet, root, words, _composition(hankel, right, cuts, ridge)
    )


def _composition(hankel: ClosedHankel, insides: Array, cuts: Array, ridge: float) -> Array:
    n = insides.shape[1]
    gram, target = np.zeros((n * n, n * n)), np.zeros((n * n, n))
    room = max(1, _CELLS // n**2)
    for low in range(0, len(cuts), room):
        part = slice(low, low + room)
        lefts, rights = insides[hankel.cut_left[part]], insides[hankel.cut_right[part]]
        pairs = (lefts[:, :, None] * rights[:, None, :]).reshape(len(lefts), n * n)
        gram += pairs.T @ pairs
        target += pairs.T @ cuts[part]
    gram += ridge * max(float(np.trace(gram)) / (n * n), 1e-300) * np.eye(n * n)
    solved = linalg.solve(gram, target, assume_a="pos")
    return solved.T.reshape(n, n, n)
