"""Labelled spans scored by what stands at their ends, and trees of them: log-linear, without a grammar.

    P(tree | sentence) = exp(sum over its spans of s(label, i, j)) / Z,    s = sum of weights of features

Features are words and tags at both ends of a span, inside and outside, alone and in pairs, its width, and the
tags in it, each hashed to a row of the weights; columns are labels (Hall, Durrett and Klein 2014 have such
features, Stern, Andreas and Klein 2017 such trees). Spans without a label stand for several children:

    inner(i, j) = sum over k of full(i, k) rest(k, j)            full = L inner,   rest = (1 + L) inner
    L(i, j)     = sum over labels of exp s(label, i, j)          at words full = rest = 1 + L

so that only the last part of a phrase may go without one, and every tree is built in one way. All sums are of
logarithms. Sentences come with two marks before and two behind: word i stands at i + 2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.adagrad import step_rows
from sigmastar.core.arrays import Floats, Int64s, Singles
from sigmastar.core.jit import fast_kernel, part

Bytes = NDArray[np.uint8]

N_ROWS = 1 << 17
N_BEGIN, N_END, N_CELL = 10, 10, 18
PAD = 2
_NEVER = -1e30
_KEPT = 1e-3  # smaller gradients are left out


@part
def cell_by_width(i: int, j: int, n: int) -> int:
    """The number of the span from i to j among the spans of a string of length n, short ones first."""
    return (j - i - 1) * n - (j - i - 1) * (j - i - 2) // 2 + i


@fast_kernel
def _stirred(mixed: np.uint64, part: int) -> np.uint64:
    mixed = (mixed ^ np.uint64(part + 1)) * np.uint64(0xFF51AFD7ED558CCD)
    return mixed ^ (mixed >> np.uint64(32))


@fast_kernel
def _row(template: int, a: int, b: int, c: int, d: int) -> int:
    """Where the weights of a feature stand."""
    mixed = np.uint64(template) * np.uint64(0x9E3779B97F4A7C15)
    mixed = _stirred(_stirred(_stirred(_stirred(mixed, a), b), c), d)
    return np.int64(mixed & np.uint64(N_ROWS - 1))  # type: ignore[return-value]


@part
def _bin(width: int) -> int:
    if width <= 5:
        return width
    return 6 + (width > 7) + (width > 10) + (width > 15) + (width > 20) + (width > 30)


@fast_kernel
def _end_rows(words: Int64s, tags: Int64s, i: int, begin: Int64s, end: Int64s) -> None:
    """Features of spans that begin with word i, and of those whose last word it is."""
    w, t, p = words[i + PAD], tags[i + PAD], i + PAD
    begin[0], begin[1] = _row(1, w, 0, 0, 0), _row(2, t, 0, 0, 0)
    begin[2], begin[3] = _row(3, words[p - 1], 0, 0, 0), _row(4, tags[p - 1], 0, 0, 0)
    begin[4], begin[5] = _row(5, tags[p - 1], t, 0, 0), _row(6, t, tags[p + 1], 0, 0)
    begin[6], begin[7] = _row(7, tags[p - 2], tags[p - 1], 0, 0), _row(8, words[p - 1], t, 0, 0)
    begin[8], begin[9] = _row(9, tags[p - 1], w, 0, 0), _row(10, tags[p - 1], t, tags[p + 1], 0)
    end[0], end[1] = _row(11, w, 0, 0, 0), _row(12, t, 0, 0, 0)
    end[2], end[3] = _row(13, words[p + 1], 0, 0, 0), _row(14, tags[p + 1], 0, 0, 0)
    end[4], end[5] = _row(15, t, tags[p + 1], 0, 0), _row(16, tags[p - 1], t, 0, 0)
    end[6], end[7] = _row(17, tags[p + 1], tags[p + 2], 0, 0), _row(18, w, tags[p + 1], 0, 0)
    end[8], end[9] = _row(19, t, words[p + 1], 0, 0), _row(20, tags[p - 1], t, tags[p + 1], 0)


@fast_kernel
def _cell_rows(words: Int64s, tags: Int64s, i: int, j: int, rows: Int64s) -> None:
    """Features of both ends together, of the span from word i to word j - 1."""
    a, z, width = i + PAD, j - 1 + PAD, _bin(j - i)
    first, last, before, after = tags[a], tags[z], tags[a - 1], tags[z + 1]
    rows[0], rows[1] = _row(21, width, 0, 0, 0), _row(22, first, last, 0, 0)
    rows[2], rows[3] = _row(23, before, after, 0, 0), _row(24, before, first, last, after)
    rows[4], rows[5] = _row(25, before, first, after, 0), _row(26, first, last, after, 0)
    rows[6], rows[7] = _row(27, width, first, 0, 0), _row(28, width, last, after, 0)
    rows[8], rows[9] = _row(29, words[a - 1], words[z + 1], 0, 0), _row(30, words[a], words[z], 0, 0)
    rows[10], rows[11] = _row(31, words[a - 1], last, 0, 0), _row(32, first, words[z + 1], 0, 0)
    rows[12], rows[13] = _row(33, words[a], after, 0, 0), _row(34, before, words[z], 0, 0)
    rows[14], rows[15] = _row(35, width, before, after, 0), _row(36, words[a - 1], words[a], after, 0)
    rows[16] = _row(37, before, words[z], words[z + 1], 0)
    rows[17] = _row(38 + min(z - a, 4), first, tags[min(a + 1, z)], tags[max(z - 1, a)], last)


@fast_kernel
def _add(weights: Singles, row: int, total: Singles) -> None:
    weight = weights[row]
    for label in range(len(total)):
        total[label] += weight[label]


@part
def _ends(words: Int64s, tags: Int64s, weights: Singles) -> tuple[Singles, Singles, Singles]:
    """Weights of each word as the first of a span and as the last; of the tags up to each word."""
    n, n_labels = len(words) - 2 * PAD, weights.shape[1]
    begin, end = np.zeros(N_BEGIN, np.int64), np.zeros(N_END, np.int64)
    first, last = np.zeros((n, n_labels), np.float32), np.zeros((n, n_labels), np.float32)
    upto = np.zeros((n + 1, n_labels), np.float32)
    for i in range(n):
        _end_rows(words, tags, i, begin, end)
        for f in range(N_BEGIN):
            _add(weights, begin[f], first[i])
        for f in range(N_END):
            _add(weights, end[f], last[i])
        upto[i + 1] = upto[i]
        _add(weights, _row(50, tags[i + PAD], 0, 0, 0), upto[i + 1])
    return first, last, upto


@fast_kernel
def span_scores(words: Int64s, tags: Int64s, weights: Singles, alive: Bytes) -> Singles:
    """s(label, i, j) of all cells that are alive, [cell, label]; cells by width."""
    n, n_labels = len(words) - 2 * PAD, weights.shape[1]
    first, last, upto = _ends(words, tags, weights)
    scores, rows = np.zeros((len(alive), n_labels), np.float32), np.zeros(N_CELL, np.int64)
    for width in range(1, n + 1):
        for i in range(n - width + 1):
            j, c = i + width, cell_by_width(i, i + width, n)
            if alive[c]:
                _cell_rows(words, tags, i, j, rows)
                mine = scores[c]
                for label in range(n_labels):
                    mine[label] = first[i, label] + last[j - 1, label] + upto[j, label] - upto[i, label]
                for f in range(N_CELL):
                    _add(weights, rows[f], mine)
    return scores


@part
def _log_sum(values: Singles) -> float:
    top, total = values.max(), 0.0
    for label in range(len(values)):
        total += np.exp(np.float64(values[label] - top))
    return float(top + np.log(total))


@fast_kernel
def _log_one_more(value: float) -> float:
    """log(1 + exp(value))."""
    return value if value > 30.0 else np.log1p(np.exp(value))


@part
def _insides(n: int, labels: Floats) -> tuple[Floats, Floats, Floats]:
    """full, rest and inner of all cells, as logarithms, from L."""
    full, rest, inner = np.full(len(labels), _NEVER), np.full(len(labels), _NEVER), np.zeros(len(labels))
    terms = np.zeros(n + 1)
    for i in range(n):
        full[i] = rest[i] = _log_one_more(labels[i])
    for width in range(2, n + 1):
        for i in range(n - width + 1):
            j, c, top = i + width, cell_by_width(i, i + width, n), _NEVER
            for k in range(i + 1, j):
                terms[k - i] = full[cell_by_width(i, k, n)] + rest[cell_by_width(k, j, n)]
                top = max(top, terms[k - i])
            inner[c] = top
            if top > 0.5 * _NEVER:
                total = 0.0
                for k in range(1, width):
                    if terms[k] > top - 30.0:
                        total += np.exp(terms[k] - top)
                inner[c] += np.log(total)
                rest[c] = _log_one_more(labels[c]) + inner[c]
                if labels[c] > 0.5 * _NEVER:
                    full[c] = labels[c] + inner[c]
    return full, rest, inner


@part
def _visits(n: int, full: Floats, rest: Floats, inner: Floats) -> Floats:
    """How probable it is that each cell is one child, labelled or a word; from the root down."""
    as_child, as_rest = np.zeros(len(full)), np.zeros(len(full))
    as_child[-1] = 1.0
    for width in range(n, 0, -1):
        for i in range(n - width + 1):
            j, c = i + width, cell_by_width(i, i + width, n)
            labelled = 1.0 if width == 1 else np.exp(max(full[c] - rest[c], -700.0))
            as_child[c] += as_rest[c] * labelled
            here = as_child[c] + as_rest[c] * (1.0 - labelled)
            if width > 1 and here > 1e-12:
                for k in range(i + 1, j):
                    left, right = cell_by_width(i, k, n), cell_by_width(k, j, n)
                    share = full[left] + rest[right] - inner[c]
                    if share > -30.0:
                        flow = here * np.exp(share)
                        as_child[left] += flow
                        as_rest[right] += flow
    return as_child


@fast_kernel
def span_posteriors(n: int, scores: Singles, alive: Bytes) -> tuple[Singles, float]:
    """mu(label, i, j), [cell, label], and log Z; -inf where cells that are alive make no tree."""
    labels = np.full(len(alive), _NEVER)
    for c in range(len(alive)):
        if alive[c]:
            labels[c] = _log_sum(scores[c])
    full, rest, inner = _insides(n, labels)
    posteriors = np.zeros(scores.shape, np.float32)
    if full[-1] < 0.5 * _NEVER:
        return posteriors, -np.inf
    visits = _visits(n, full, rest, inner)
    for c in range(len(alive)):
        if alive[c] and visits[c] > 1e-12:
            norm = _log_one_more(labels[c]) if c < n else labels[c]
            for label in range(scores.shape[1]):
                posteriors[c, label] = visits[c] * np.exp(scores[c, label] - norm)
    return posteriors, full[-1]


class SpanWeights(NamedTuple):
    """Weights of features and labels, and the sums of squares of their gradients; changed in place."""

    weights: Singles
    squares: Singles  # begin at 0.01


class SpanText(NamedTuple):
    """Sentences with their trees: words and tags with marks between sentences, gold columns of cells."""

    starts: Int64s
    words: Int64s
    tags: Int64s
    cell_starts: Int64s
    gold: NDArray[np.int8]
    alive: Bytes  # changed in place


@part
def _learn_sentence(
    words: Int64s, tags: Int64s, gold: NDArray[np.int8], alive: Bytes, model: SpanWeights,
    pace: tuple[float, float],
) -> float:  # fmt: skip
    """Follow the gradient of log P(tree) of one sentence, and give log P.

    `pace` is the rate, and the posterior below which cells die.
    """
    (weights, squares), n = model, len(words) - 2 * PAD
    scores = span_scores(words, tags, weights, alive)
    slopes, log_total = span_posteriors(n, scores, alive)
    first, last = np.zeros((n, weights.shape[1]), np.float32), np.zeros((n, weights.shape[1]), np.float32)
    within, rows = np.zeros((n + 1, weights.shape[1]), np.float32), np.zeros(N_CELL, np.int64)
    value = -log_total
    for width in range(1, n + 1):
        for i in range(n - width + 1):
            j, c = i + width, cell_by_width(i, i + width, n)
            if not alive[c]:
                continue
            mass, slope = slopes[c].sum(), slopes[c]
            if gold[c] >= 0:
                value += scores[c, gold[c]]
                slope[gold[c]] -= 1.0
            elif mass < pace[1]:
                alive[c] = 0
            if gold[c] >= 0 or mass > _KEPT:
                _cell_rows(words, tags, i, j, rows)
                step_rows(weights, squares, rows, slope, pace[0], _KEPT)
                for label in range(len(slope)):
                    first[i, label] += slope[label]
                    last[j - 1, label] += slope[label]
                    within[i, label] += slope[label]
                    within[j, label] -= slope[label]
    _learn_ends(words, tags, (first, last, within), model, pace[0])
    return value


@part
def _learn_ends(
    words: Int64s, tags: Int64s, slopes: tuple[Singles, Singles, Singles], model: SpanWeights, rate: float
) -> None:
    """Steps of the features of first words, of last words, and of the tags within."""
    begin, end, bag = np.zeros(N_BEGIN, np.int64), np.zeros(N_END, np.int64), np.zeros(1, np.int64)
    (first, last, within), (weights, squares) = slopes, model
    for i in range(len(first)):
        _end_rows(words, tags, i, begin, end)
        step_rows(weights, squares, begin, first[i], rate, _KEPT)
        step_rows(weights, squares, end, last[i], rate, _KEPT)
        if i > 0:
            within[i] += within[i - 1]
        bag[0] = _row(50, tags[i + PAD], 0, 0, 0)
        step_rows(weights, squares, bag, within[i], rate, _KEPT)


@fast_kernel
def learn_spans(order: Int64s, text: SpanText, model: SpanWeights, pace: tuple[float, float]) -> float:
    """One pass over all sentences; the sum of log P(tree) met on the way."""
    total = 0.0
    for s in order:
        mine = slice(text.starts[s], text.starts[s + 1])
        cells = slice(text.cell_starts[s], text.cell_starts[s + 1])
        gold, alive = text.gold[cells], text.alive[cells]
        total += _learn_sentence(text.words[mine], text.tags[mine], gold, alive, model, pace)
    return total
