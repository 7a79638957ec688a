"""Outside vectors of contexts (Bailly et al. 2013, equations 10 and 11).

alpha(x; z) = sum over x = x1 x2 of alpha(x1; z) A (beta(x2) (x) I)
            + sum over z = z1 z2 of alpha(x; z2) A (I (x) beta(z1))
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.jit import kernel

Array = NDArray[np.float64]
Integers = NDArray[np.int64]


@kernel
def _insides(codes: Integers, words: Array, composition: Array) -> Array:
    """beta of every span [begin, end] of one string."""
    length, n = len(codes), words.shape[1]
    chart = np.zeros((length + 1, length + 1, n))
    for i in range(length):
        if codes[i] >= 0:
            chart[i, i + 1] = words[codes[i]]
    for width in range(2, length + 1):
        for i in range(length - width + 1):
            for k in range(i + 1, i + width):
                for r in range(n):
                    for a in range(n):
                        for b in range(n):
                            chart[i, i + width, r] += (
                                composition[r, a, b] * chart[i, k, a] * chart[k, i + width, b]
                            )
    return chart


@kernel
def outside_of_context(
    left: Integers, right: Integers, initial: Array, words: Array, composition: Array
) -> Array:
    """alpha(left; right), unscaled: for contexts of moderate length."""
    n, n_left, n_right = len(initial), len(left), len(right)
    before, after = _insides(left, words, composition), _insides(right, words, composition)
    chart = np.zeros((n_left + 1, n_right + 1, n))  # [p, q]: the context left[:p]; right[n_right - q:]
    chart[0, 0] = initial
    for p in range(n_left + 1):
        for q in range(n_right + 1):
            for k in range(p):
                for r in range(n):
                    for a in range(n):
                        for b in range(n):
                            chart[p, q, b] += chart[k, q, r] * composition[r, a, b] * before[k, p, a]
            for k in range(q):
                for r in range(n):
                    for a in range(n):
                        for b in range(n):
                            chart[p, q, a] += (
                                chart[p, k, r] * composition[r, a, b] * after[n_right - q, n_right - k, b]
                            )
    found: Array = chart[n_left, n_right]
    return found
