"""Training of chains of tags with a margin: stochastic gradient descent on sentences.

    score(y) = sum_i W[features of i, y_i] + B[y_{i-1}, y_i] + L[past class] . R[future class]
    loss     = log sum_y exp(score(y) + cost x wrong tags) - score(gold)

The loss is the smooth bound of the structured hinge; its gradient is the marginals of the chain with the cost
added, less the gold counts. Candidates hang on the types of words, as in `refined_tags`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.jit import kernel, part

Array = NDArray[np.float64]
Codes = NDArray[np.int32]
Longs = NDArray[np.int64]
LEAST_GRADIENT = 1e-4


@kernel
def train_margin(
    order: Longs,
    offsets: Longs,
    types: Codes,
    starts: Longs,
    tags: Codes,
    gold: Codes,
    feature_starts: Longs,
    features: Codes,
    rows: Codes,
    columns: Codes,
    cost: float,
    rate: float,
    decay: float,
    dropped: NDArray[np.bool_],
    weights: NDArray[np.float32],
    weight_steps: NDArray[np.float32],
    arrows: Array,
    arrow_steps: Array,
    left: Array,
    right: Array,
    factor_steps: Array,
) -> float:
    """One pass of AdaGrad steps over sentences in the order given; the sum of their losses.

    `rows` and `columns` are the Hankel classes of candidates; `decay` pulls L and R to zero, which is the
    nuclear norm of L R^T. Weights and the sums of squared steps are changed in place.
    """
    total = 0.0
    for s in order:
        first, last = offsets[s], offsets[s + 1]
        widest = 1
        for i in range(first, last):
            widest = max(widest, starts[types[i] + 1] - starts[types[i]])
        nodes, pairs = np.zeros((last - first, widest)), np.zeros((last - first, widest, widest))
        alpha, beta = np.zeros((last - first, widest)), np.ones(widest)
        for i in range(first, last):
            x, t = types[i], i - first
            y = types[i - 1] if i > first else -1
            _score_nodes(i, x, starts, tags, feature_starts, features, dropped, weights, nodes[t])
            total -= _add_cost(x, gold[i], starts, tags, cost, nodes[t])
            total -= _score_pairs(
                i == last - 1, y, x, gold[i - 1], gold[i], starts, tags, rows, columns, arrows, left, right,
                nodes[t], pairs[t],
            )  # fmt: skip
            total += _forward(y, x, starts, alpha[t - 1], pairs[t], alpha[t])
        for i in range(last - 1, first - 1, -1):
            x, t = types[i], i - first
            y = types[i - 1] if i > first else -1
            _backward(y, x, starts, alpha[t - 1], pairs[t], beta)
            _less_gold(y, x, gold[i - 1], gold[i], starts, tags, pairs[t], nodes[t])
        for i in range(first, last):
            x, t = types[i], i - first
            y = types[i - 1] if i > first else -1
            _step_nodes(
                i, i == last - 1, x, starts, tags, feature_starts, features, dropped, rate, nodes[t],
                weights, weight_steps, arrows, arrow_steps,
            )  # fmt: skip
            _step_pairs(
                y, x, starts, tags, rows, columns, rate, decay, pairs[t], arrows, arrow_steps,
                left, right, factor_steps,
            )  # fmt: skip
    return total


@part
def _score_nodes(
    i: int,
    x: int,
    starts: Longs,
    tags: Codes,
    feature_starts: Longs,
    features: Codes,
    dropped: NDArray[np.bool_],
    weights: NDArray[np.float32],
    nodes: Array,
) -> None:
    """Sums of weights of the features of token i, of type x, for each candidate."""
    c0, n = starts[x], starts[x + 1] - starts[x]
    for k in range(feature_starts[i], feature_starts[i + 1]):
        if features[k] >= 0 and not dropped[k]:
            row = weights[features[k]]
            for b in range(n):
                nodes[b] += row[tags[c0 + b]]


@part
def _add_cost(x: int, gold: int, starts: Longs, tags: Codes, cost: float, nodes: Array) -> float:
    """Add the cost to all candidates but the gold one, whose score is returned."""
    score = 0.0
    for b in range(starts[x + 1] - starts[x]):
        if tags[starts[x] + b] == gold:
            score = nodes[b]
        else:
            nodes[b] += cost
    return score


@part
def _score_pairs(
    is_last: bool,
    y: int,
    x: int,
    gold_before: int,
    gold: int,
    starts: Longs,
    tags: Codes,
    rows: Codes,
    columns: Codes,
    arrows: Array,
    left: Array,
    right: Array,
    nodes: Array,
    pairs: Array,
) -> float:
    """Scores of pairs of candidates of types y (-1: the edge) and x; that of the gold one is returned."""
    edge, c0, score = arrows.shape[0] - 1, starts[x], 0.0
    before = starts[y] if y >= 0 else 0
    for a in range(starts[y + 1] - before if y >= 0 else 1):
        source = tags[before + a] if y >= 0 else edge
        for b in range(starts[x + 1] - c0):
            value = arrows[source, tags[c0 + b]]
            if y >= 0:
                r, c = rows[before + a], columns[c0 + b]
                for k in range(left.shape[1]):
                    value += left[r, k] * right[c, k]
            if is_last:
                value += arrows[tags[c0 + b], edge]
            if tags[c0 + b] == gold and (y < 0 or source == gold_before):
                score = value
            pairs[a, b] = value + nodes[b]
    return score


@part
def _forward(y: int, x: int, starts: Longs, before: Array, pairs: Array, alpha: Array) -> float:
    """alpha of a token, of sum one; `pairs` are exponentiated. The logarithm of what was divided by."""
    n, m = starts[x + 1] - starts[x], (starts[y + 1] - starts[y] if y >= 0 else 1)
    peak, mass = -np.inf, 0.0
    for a in range(m):
        for b in range(n):
            peak = max(peak, pairs[a, b])
    for a in range(m):
        for b in range(n):
            pairs[a, b] = np.exp(pairs[a, b] - peak)
            alpha[b] += pairs[a, b] * (before[a] if y >= 0 else 1.0)
    for b in range(n):
        mass += alpha[b]
    for b in range(n):
        alpha[b] /= mass
    return peak + float(np.log(mass))


@part
def _backward(y: int, x: int, starts: Longs, before: Array, pairs: Array, beta: Array) -> None:
    """Marginals of pairs in place; beta, of the token, becomes that of the token before."""
    n, m = starts[x + 1] - starts[x], (starts[y + 1] - starts[y] if y >= 0 else 1)
    earlier, whole, top = np.zeros(m), 0.0, 0.0
    for a in range(m):
        for b in range(n):
            value = pairs[a, b] * beta[b]
            earlier[a] += value
            pairs[a, b] = value * (before[a] if y >= 0 else 1.0)
            whole += pairs[a, b]
        top = max(top, earlier[a])
    for a in range(m):
        beta[a] = earlier[a] / top
        for b in range(n):
            pairs[a, b] /= whole


@part
def _less_gold(
    y: int, x: int, gold_before: int, gold: int, starts: Longs, tags: Codes, pairs: Array, nodes: Array
) -> None:
    """Gradients of pairs, marginals less gold counts, in place; `nodes` gets those of candidates."""
    nodes[:] = 0.0
    for a in range(starts[y + 1] - starts[y] if y >= 0 else 1):
        was = y < 0 or tags[starts[y] + a] == gold_before
        for b in range(starts[x + 1] - starts[x]):
            if was and tags[starts[x] + b] == gold:
                pairs[a, b] -= 1.0
            nodes[b] += pairs[a, b]


@part
def _step_nodes(
    i: int,
    is_last: bool,
    x: int,
    starts: Longs,
    tags: Codes,
    feature_starts: Longs,
    features: Codes,
    dropped: NDArray[np.bool_],
    rate: float,
    nodes: Array,
    weights: NDArray[np.float32],
    weight_steps: NDArray[np.float32],
    arrows: Array,
    arrow_steps: Array,
) -> None:
    """A step of the weights of features, and of moves to the edge."""
    edge = arrows.shape[0] - 1
    for b in range(starts[x + 1] - starts[x]):
        g, tag = nodes[b], tags[starts[x] + b]
        if abs(g) < LEAST_GRADIENT:
            continue
        for k in range(feature_starts[i], feature_starts[i + 1]):
            f = features[k]
            if f >= 0 and not dropped[k]:
                weight_steps[f, tag] += g * g
                weights[f, tag] -= rate * g / np.sqrt(weight_steps[f, tag])
        if is_last:
            arrow_steps[tag, edge] += g * g
            arrows[tag, edge] -= rate * g / np.sqrt(arrow_steps[tag, edge])


@part
def _step_pairs(
    y: int,
    x: int,
    starts: Longs,
    tags: Codes,
    rows: Codes,
    columns: Codes,
    rate: float,
    decay: float,
    pairs: Array,
    arrows: Array,
    arrow_steps: Array,
    left: Array,
    right: Array,
    factor_steps: Array,
) -> None:
    """A step of the moves between tags, and of the factors of the Hankel block."""
    c0, before = starts[x], (starts[y] if y >= 0 else 0)
    for a in range(starts[y + 1] - before if y >= 0 else 1):
        source = tags[before + a] if y >= 0 else arrows.shape[0] - 1
        for b in range(starts[x + 1] - c0):
            g, tag = pairs[a, b], tags[c0 + b]
            if abs(g) < LEAST_GRADIENT:
                continue
            arrow_steps[source, tag] += g * g
            arrows[source, tag] -= rate * g / np.sqrt(arrow_steps[source, tag])
            if y >= 0:
                r, c = rows[before + a], columns[c0 + b]
                for k in range(left.shape[1]):
                    u, v = left[r, k], right[c, k]
                    by_left, by_right = g * v + decay * u, g * u + decay * v
                    factor_steps[r, k] += by_left * by_left
                    left[r, k] -= rate * by_left / np.sqrt(factor_steps[r, k])
                    at = left.shape[0] + c
                    factor_steps[at, k] += by_right * by_right
                    right[c, k] -= rate * by_right / np.sqrt(factor_steps[at, k])
