"""Labels of arcs: a linear classifier over hashed indicators of head and modifier.

    P(label | arc) prop. to exp(sum of theta[f, label] over the indicators f of the arc)

Rows of `words` are as in `arc_features`: tag, coarse tag, word, ending; and the hidden state of the word, -1
where there are none. Position 0 of a sentence is its root.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sigmastar.core.adagrad import step_rows
from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.jit import kernel, part
from sigmastar.dependency.kernels.arc_features import cut, mixed

N_INDICATORS = 52
_LEAST = 1e-3  # of a slope to be followed


class LabelledTrees(NamedTuple):
    """Sentences with their trees; sentence q has the positions `starts[q]:starts[q + 1]`."""

    words: Int64s  # rows of positions
    starts: Int64s
    heads: Int32s  # of positions, within their sentence
    labels: Int32s  # of positions


@kernel
def _place(template: int, a: int, b: int, c: int, mask: int) -> int:
    return cut(mixed(mixed(mixed(np.uint64(template), a), b), c), mask)


@part
def _around(heads: Int32s, m: int) -> tuple[int, int, int, int]:
    """The first and the last modifier of m, and its siblings next to it: inwards and outwards; 0: none."""
    h = heads[m]
    first = last = inner = outer = 0
    for k in range(1, len(heads)):
        if heads[k] == m:
            first = k if first == 0 else first
            last = k
        elif heads[k] == h and k != m and (k < h) == (m < h):
            if abs(k - h) < abs(m - h):
                inner = k if inner == 0 or abs(k - m) < abs(inner - m) else inner
            else:
                outer = k if outer == 0 or abs(k - m) < abs(outer - m) else outer
    return first, last, inner, outer


@part
def _set_indicators(words: Int64s, heads: Int32s, m: int, mask: int, found: Int64s) -> None:
    """Which coarse tags are below m, beside it under the same head, and on the other side of the head."""
    h = heads[m]
    beside = below = opposite = 0
    for k in range(1, len(heads)):
        bit = 1 << (words[k, 1] & 31)
        if heads[k] == m:
            below |= bit
        elif heads[k] == h and k != m:
            if (k < h) == (m < h):
                beside |= bit
            else:
                opposite |= bit
    head, mt, mu = 2 * words[h, 0] + (1 if m > h else 0), words[m, 0], words[m, 1]
    found[35] = _place(35, beside, mt, head, mask)
    found[36] = _place(36, below, mt, words[h, 1], mask)
    found[37] = _place(37, below, mt, head, mask)
    found[38] = _place(38, opposite, mt, head, mask)
    found[39] = _place(39, beside, words[h, 2], mu, mask)


@part
def _state_indicators(
    words: Int64s, around: tuple[int, int, int, int, int, int], mask: int, found: Int64s
) -> None:
    """Hidden states of head and modifier, with those of the words around them, and with tags."""
    h, m, first, last, inner, outer = around
    side, z = 1 if m > h else 0, words[:, 4]
    ht, mt, mu = words[h, 0], 2 * words[m, 0] + side, 2 * words[m, 1] + side
    of_m = 2 * z[m] + side
    found[40] = _place(40, of_m, z[h], 0, mask)
    found[41] = _place(41, of_m, ht, 0, mask)
    found[42] = _place(42, mt, z[h], 0, mask)
    found[43] = _place(43, z[inner], mt, z[h], mask)
    found[44] = _place(44, z[outer], mt, z[h], mask)
    found[45] = _place(45, z[first], mt, z[h], mask)
    found[46] = _place(46, z[last], mt, z[h], mask)
    found[47] = _place(47, z[inner], mu, ht, mask)
    found[48] = _place(48, z[outer], mu, ht, mask)
    found[49] = _place(49, z[first], mu, ht, mask)
    found[50] = _place(50, of_m, z[m - 1], 0, mask)
    found[51] = _place(51, of_m, z[m + 1] if m + 1 < len(words) else -2, 0, mask)


@kernel
def _indicators(words: Int64s, heads: Int32s, m: int, mask: int, found: Int64s) -> None:
    h, end = heads[m], len(words) - 1
    side = (1 if m > h else 0) + (2 if abs(m - h) == 1 else 0)
    ht, hu, hw, hs = words[h, :4]
    mt, mu, mw, ms = words[m, :4]
    first, last, inner, outer = _around(heads, m)
    before, after = words[m - 1, 0], words[m + 1, 0] if m < end else -2
    place = 2 * (inner == 0) + (outer == 0)
    grand = words[heads[h], 0] if h > 0 else -2
    found[0] = _place(0, side, ht, mt, mask)
    found[1] = _place(1, side, hu, mu, mask)
    found[2], found[3] = _place(2, side, mt, 0, mask), _place(3, side, ht, 0, mask)
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
    found[15] = _place(15, grand, ht, mt, mask)
    found[16] = _place(16, min(abs(m - h), 10), hu, mu, mask)
    found[17] = _place(17, words[first, 0], mt, ht, mask)
    found[18] = _place(18, words[last, 0], mt, ht, mask)
    found[19] = _place(19, ms, mt, ht, mask)
    found[20] = _place(20, words[first, 2], mt, hu, mask)  # a preposition or a conjunction, as a word
    found[21] = _place(21, words[first, 2], hw, mu, mask)
    found[22] = _place(22, words[last, 2], mt, hu, mask)
    found[23] = _place(23, words[inner, 0], mt, ht, mask)
    found[24] = _place(24, words[outer, 0], mt, ht, mask)
    found[25] = _place(25, words[inner, 1], words[outer, 1], mu, mask)
    found[26] = _place(26, hs, mt, side, mask)
    found[27] = _place(27, hs, ms, side, mask)
    found[28] = _place(28, words[m - 1, 2], mt, side, mask)
    found[29] = _place(29, words[m + 1, 2] if m < end else -2, mt, side, mask)
    found[30] = _place(30, mw, hu, words[first, 1], mask)
    found[31] = _place(31, mw, before, after, mask)
    found[32] = _place(32, words[inner, 2], mt, ht, mask)
    found[33] = _place(33, words[outer, 2], mt, ht, mask)
    found[34] = _place(34, words[last, 2], hu, mu, mask)
    _set_indicators(words, heads, m, mask, found)
    _state_indicators(words, (h, m, first, last, inner, outer), mask, found)


@part
def _scores(rows: Int64s, heads: Int32s, m: int, theta: Floats, found: Int64s, scores: Floats) -> None:
    """The places of the indicators of the arc to m, and the sums of their rows in theta."""
    _indicators(rows, heads, m, theta.shape[0] - 1, found)
    scores[:] = 0.0
    for k in range(N_INDICATORS):
        row = theta[found[k]]
        for label in range(len(scores)):
            scores[label] += row[label]


@kernel
def predict_labels(words: Int64s, heads: Int32s, starts: Int64s, theta: Floats, root: int) -> Int32s:
    """The best label of every position's arc (roots: -1). `heads` are counted within the sentence.

    Arcs between words do not get the label `root`; -1: there is no such label.
    """
    found, scores = np.empty(N_INDICATORS, np.int64), np.empty(theta.shape[1])
    labels = np.full(len(words), -1, np.int32)
    for q in range(len(starts) - 1):
        rows, tops = words[starts[q] : starts[q + 1]], heads[starts[q] : starts[q + 1]]
        for m in range(1, len(rows)):
            _scores(rows, tops, m, theta, found, scores)
            if root >= 0 and tops[m] > 0:
                scores[root] = -np.inf
            labels[starts[q] + m] = np.argmax(scores)
    return labels


@kernel
def descend_labels(trees: LabelledTrees, order: Int64s, theta: Floats, squares: Floats, rate: float) -> None:
    """One pass of adaptive gradient steps of the negative log-likelihood, sentences in the given order."""
    found, scores, starts = np.empty(N_INDICATORS, np.int64), np.empty(theta.shape[1]), trees.starts
    for q in order:
        rows, tops = trees.words[starts[q] : starts[q + 1]], trees.heads[starts[q] : starts[q + 1]]
        for m in range(1, len(rows)):
            _scores(rows, tops, m, theta, found, scores)
            scores -= scores.max()
            slopes = np.exp(scores)
            slopes /= slopes.sum()
            slopes[trees.labels[starts[q] + m]] -= 1.0
            step_rows(theta, squares, found, slopes, rate, _LEAST)
