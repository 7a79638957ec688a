"""Labels of arcs: a linear classifier over hashed indicators of head and modifier.

    P(label | arc) prop. to exp(sum of theta[f, label] over the indicators f of the arc)

Rows of `words` are as in `arcs`: tag, coarse tag, word; position 0 of a sentence is its root.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.jit import kernel

Array = NDArray[np.float64]
Codes = NDArray[np.int32]
Longs = NDArray[np.int64]

N_INDICATORS = 19


@kernel
def _mixed(key: np.uint64, value: int) -> np.uint64:
    product = (key ^ np.uint64(value + 3)) * np.uint64(0x9E3779B97F4A7C15)
    return product ^ (product >> np.uint64(29))


@kernel
def _place(template: int, a: int, b: int, c: int, mask: int) -> int:
    key = _mixed(_mixed(_mixed(np.uint64(template), a), b), c)
    return np.int64((key ^ (key >> np.uint64(32))) & np.uint64(mask))  # type: ignore[return-value]


@kernel
def _indicators(words: Codes, heads: Codes, m: int, mask: int, found: Longs) -> None:
    h, last = heads[m], len(words) - 1
    side = (1 if m > h else 0) + (2 if abs(m - h) == 1 else 0)
    ht, hu, hw = words[h]
    mt, mu, mw = words[m]
    before = words[m - 1, 0]
    after = words[m + 1, 0] if m < last else -2
    first = last_one = 1
    for k in range(1, len(words)):
        if heads[k] == h and (k < h) == (m < h) and k != m:
            if abs(k - h) < abs(m - h):
                first = 0
            else:
                last_one = 0
    place = 2 * first + last_one
    found[0] = _place(0, side, ht, mt, mask)
    found[1] = _place(1, side, hu, mu, mask)
    found[2] = _place(2, side, mt, 0, mask)
    found[3] = _place(3, side, ht, 0, mask)
    found[4] = _place(4, mw, mt, 0, mask)
    found[5] = _place(5, mw, ht, side, mask)
    found[6] = _place(6, hw, mt, side, mask)
    found[7] = _place(7, hw, mu, 0, mask)
    found[8] = _place(8, hw, mw, 0, mask)
    found[9] = _place(9, mt, before, ht, mask)
    found[10] = _place(10, mt, after, ht, mask)
    found[11] = _place(11, place, mt, ht, mask)
    found[12] = _place(12, place, side, mu, mask)
    found[13] = _place(13, place, hw, mu, mask)
    found[14] = _place(14, before, mt, after, mask)
    grand = words[heads[h], 0] if h > 0 else -2
    found[15] = _place(15, grand, ht, mt, mask)
    found[16] = _place(16, min(abs(m - h), 10), hu, mu, mask)
    own_left = own_right = -1
    for k in range(1, len(words)):
        if heads[k] == m:
            if k < m and own_left < 0:
                own_left = words[k, 0]
            elif k > m:
                own_right = words[k, 0]
    found[17] = _place(17, own_left, mt, ht, mask)
    found[18] = _place(18, own_right, mt, ht, mask)


@kernel
def predict_labels(words: Codes, heads: Codes, starts: Longs, theta: Array) -> Codes:
    """The best label of every position's arc (roots: -1). `heads` are counted within the sentence."""
    n_labels, mask = theta.shape[1], theta.shape[0] - 1
    found, scores = np.empty(N_INDICATORS, np.int64), np.empty(n_labels)
    labels = np.full(len(words), -1, np.int32)
    for q in range(len(starts) - 1):
        rows, tops = words[starts[q] : starts[q + 1]], heads[starts[q] : starts[q + 1]]
        for m in range(1, len(rows)):
            _indicators(rows, tops, m, mask, found)
            scores[:] = 0.0
            for k in range(N_INDICATORS):
                row = theta[found[k]]
                for label in range(n_labels):
                    scores[label] += row[label]
            labels[starts[q] + m] = np.argmax(scores)
    return labels


@kernel
def ascend_labels(
    words: Codes, heads: Codes, labels: Codes, starts: Longs, order: Longs, theta: Array, squares: Array,
    rate: float,
) -> None:  # fmt: skip
    """One pass of adaptive gradient steps of the log-likelihood, sentences in the given order."""
    n_labels, mask = theta.shape[1], theta.shape[0] - 1
    found, scores = np.empty(N_INDICATORS, np.int64), np.empty(n_labels)
    for q in order:
        rows, tops = words[starts[q] : starts[q + 1]], heads[starts[q] : starts[q + 1]]
        for m in range(1, len(rows)):
            _indicators(rows, tops, m, mask, found)
            scores[:] = 0.0
            for k in range(N_INDICATORS):
                row = theta[found[k]]
                for label in range(n_labels):
                    scores[label] += row[label]
            scores -= scores.max()
            chances = np.exp(scores)
            chances /= -chances.sum()
            chances[labels[starts[q] + m]] += 1.0
            for k in range(N_INDICATORS):
                row, sizes = theta[found[k]], squares[found[k]]
                for label in range(n_labels):
                    slope = chances[label]
                    if abs(slope) > 1e-3:
                        sizes[label] += slope * slope
                        row[label] += rate * slope / np.sqrt(sizes[label])
