"""Training of chains of tags with a margin: stochastic gradient descent on sentences.

    score(y) = sum_i W[features of i, y_i] + B[y_{i-1}, y_i] + L[past class] . R[future class]
    loss     = log sum_y exp(score(y) + cost x wrong tags) - score(gold)

The loss is the smooth bound of the structured hinge; its gradient is the marginals of the chain with the cost
added, less the gold counts. Candidates hang on the types of words, as in `refined_tags`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.jit import kernel

Array = NDArray[np.float64]
Codes = NDArray[np.int32]
Longs = NDArray[np.int64]


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
    n_tags, rank, total = weights.shape[1], left.shape[1], 0.0
    for place in range(len(order)):
        first, last = offsets[order[place]], offsets[order[place] + 1]
        length, widest = last - first, 1
        for i in range(first, last):
            widest = max(widest, starts[types[i] + 1] - starts[types[i]])
        nodes, pairs = np.zeros((length, widest)), np.zeros((length, widest, widest))
        alpha, beta = np.zeros((length, widest)), np.zeros((length, widest))
        shift = 0.0
        for i in range(first, last):
            c0, n, t = starts[types[i]], starts[types[i] + 1] - starts[types[i]], i - first
            for k in range(feature_starts[i], feature_starts[i + 1]):
                if features[k] >= 0 and not dropped[k]:
                    row = weights[features[k]]
                    for b in range(n):
                        nodes[t, b] += row[tags[c0 + b]]
            right_true = 0
            for b in range(n):
                if tags[c0 + b] == gold[i]:
                    right_true = b
                    total -= nodes[t, b]
                else:
                    nodes[t, b] += cost
            before = starts[types[i - 1]] if i > first else 0
            m = starts[types[i - 1] + 1] - before if i > first else 1
            peak = -np.inf
            for a in range(m):
                for b in range(n):
                    if i == first:
                        value = arrows[n_tags, tags[c0 + b]]
                    else:
                        value = arrows[tags[before + a], tags[c0 + b]]
                        r, c = rows[before + a], columns[c0 + b]
                        for k in range(rank):
                            value += left[r, k] * right[c, k]
                    if i == last - 1:
                        value += arrows[tags[c0 + b], n_tags]
                    was = i == first or tags[before + a] == gold[i - 1]
                    if b == right_true and was:
                        total -= value
                    pairs[t, a, b] = value + nodes[t, b]
                    peak = max(peak, pairs[t, a, b])
            mass = 0.0
            for a in range(m):
                for b in range(n):
                    pairs[t, a, b] = np.exp(pairs[t, a, b] - peak)
                    alpha[t, b] += pairs[t, a, b] * (alpha[t - 1, a] if t > 0 else 1.0)
            for b in range(n):
                mass += alpha[t, b]
            for b in range(n):
                alpha[t, b] /= mass
            shift += peak + np.log(mass)
        total += shift
        for b in range(widest):
            beta[length - 1, b] = 1.0
        for i in range(last - 1, first - 1, -1):
            c0, n, t = starts[types[i]], starts[types[i] + 1] - starts[types[i]], i - first
            before = starts[types[i - 1]] if i > first else 0
            m = starts[types[i - 1] + 1] - before if i > first else 1
            whole, top = 0.0, 0.0
            for a in range(m):
                sums = 0.0
                for b in range(n):
                    value = pairs[t, a, b] * beta[t, b]
                    sums += value
                    pairs[t, a, b] = value * (alpha[t - 1, a] if t > 0 else 1.0)
                    whole += pairs[t, a, b]
                if t > 0:
                    beta[t - 1, a] = sums
                    top = max(top, sums)
            if t > 0:
                for a in range(m):
                    beta[t - 1, a] /= top
            for a in range(m):
                was = i == first or tags[before + a] == gold[i - 1]
                for b in range(n):
                    is_gold = tags[c0 + b] == gold[i]
                    g = pairs[t, a, b] / whole - (1.0 if was and is_gold else 0.0)
                    if a == 0:
                        nodes[t, b] = 0.0
                    pairs[t, a, b] = g
                for b in range(n):
                    nodes[t, b] += pairs[t, a, b]
        for i in range(first, last):
            c0, n, t = starts[types[i]], starts[types[i] + 1] - starts[types[i]], i - first
            before = starts[types[i - 1]] if i > first else 0
            m = starts[types[i - 1] + 1] - before if i > first else 1
            for b in range(n):
                g = nodes[t, b]
                if abs(g) < 1e-4:
                    continue
                tag = tags[c0 + b]
                for k in range(feature_starts[i], feature_starts[i + 1]):
                    f = features[k]
                    if f >= 0 and not dropped[k]:
                        weight_steps[f, tag] += g * g
                        weights[f, tag] -= rate * g / np.sqrt(weight_steps[f, tag])
                if i == last - 1:
                    arrow_steps[tag, n_tags] += g * g
                    arrows[tag, n_tags] -= rate * g / np.sqrt(arrow_steps[tag, n_tags])
            for a in range(m):
                s = tags[before + a] if i > first else n_tags
                for b in range(n):
                    g = pairs[t, a, b]
                    if abs(g) < 1e-4:
                        continue
                    tag = tags[c0 + b]
                    arrow_steps[s, tag] += g * g
                    arrows[s, tag] -= rate * g / np.sqrt(arrow_steps[s, tag])
                    if i > first:
                        r, c = rows[before + a], columns[c0 + b]
                        for k in range(rank):
                            u, v = left[r, k], right[c, k]
                            by_left, by_right = g * v + decay * u, g * u + decay * v
                            factor_steps[r, k] += by_left * by_left
                            left[r, k] -= rate * by_left / np.sqrt(factor_steps[r, k])
                            at = left.shape[0] + c
                            factor_steps[at, k] += by_right * by_right
                            right[c, k] -= rate * by_right / np.sqrt(factor_steps[at, k])
    return total
