"""Chains of tags scored by features and a low-rank Hankel block: scores, and training with a margin.

    score(y) = sum_i W[features of i, y_i] + B[y_{i-1}, y_i] + L[past class] . R[future class]
    loss     = log sum_y exp(score(y) + cost x wrong tags) - score(gold)

The loss is the smooth bound of the structured hinge; its gradient is the marginals of the chain with the cost
added, less the gold counts. Steps are those of AdaGrad. Candidates belong to types of words, as in `chains`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sigmastar.core.adagrad import step
from sigmastar.core.arrays import Floats, Int32s, Int64s, Singles
from sigmastar.core.jit import kernel, part
from sigmastar.taggers.kernels.chains import Chain, Lattice

LEAST_GRADIENT = 1e-4


class TokenFeatures(NamedTuple):
    """Codes of the features of token i: `starts[i]:starts[i + 1]`; codes below zero are none."""

    starts: Int64s
    codes: Int32s


class MarginWeights(NamedTuple):
    """W, B with the edge last, L and R; or the sums of squared gradients of all of them."""

    features: Singles
    arrows: Floats
    left: Floats
    right: Floats


class Schedule(NamedTuple):
    """The cost of a wrong tag, the size of steps, and the pull of L and R to zero (nuclear norm of L R^T)."""

    cost: float
    rate: float
    decay: float


@kernel
def margin_scores(
    lattice: Lattice,
    low: int,
    high: int,
    features: TokenFeatures,
    classes: Int32s,
    weights: MarginWeights,
    found: Chain,
) -> None:
    """Fill the scores of sentences low..high; `classes` are the Hankel classes of candidates."""
    offsets, types, starts, tags = lattice.offsets, lattice.types, lattice.starts, lattice.tags
    moves, edge = weights.arrows, weights.arrows.shape[0] - 1
    for s in range(low, high):
        for i in range(offsets[s], offsets[s + 1]):
            c0, n, u = starts[types[i]], starts[types[i] + 1] - starts[types[i]], lattice.token_starts[i]
            firsts = found.firsts[u : u + n]
            for b in range(n):
                firsts[b] = moves[edge, tags[c0 + b]] if i == offsets[s] else 0.0
                if i == offsets[s + 1] - 1:
                    firsts[b] += moves[tags[c0 + b], edge]
            _score_nodes(i, tags[c0 : c0 + n], features, weights.features, firsts)
            if i == offsets[s]:
                continue
            before, block = starts[types[i - 1]], lattice.block_starts[i]
            for a in range(starts[types[i - 1] + 1] - before):
                for b in range(n):
                    value = moves[tags[before + a], tags[c0 + b]]
                    for k in range(weights.left.shape[1]):
                        value += weights.left[classes[before + a], k] * weights.right[classes[c0 + b], k]
                    found.arrows[block + a * n + b] = value


@kernel
def _score_nodes(i: int, tags: Int32s, features: TokenFeatures, weights: Singles, nodes: Floats) -> None:
    """Add the weights of the features of token i for each candidate."""
    for k in range(features.starts[i], features.starts[i + 1]):
        code = features.codes[k]
        if code >= 0:
            for b in range(len(tags)):
                nodes[b] += weights[code, tags[b]]


@kernel
def train_margin(
    order: Int64s,
    lattice: Lattice,
    gold: Int32s,
    features: TokenFeatures,
    classes: Int32s,
    schedule: Schedule,
    weights: MarginWeights,
    squares: MarginWeights,
) -> float:
    """One pass of AdaGrad steps over sentences in the order given; the sum of their losses.

    Weights and the sums of squared gradients are changed in place.
    """
    total, offsets, types, starts = 0.0, lattice.offsets, lattice.types, lattice.starts
    for s in order:
        first, last = offsets[s], offsets[s + 1]
        widest = 1
        for i in range(first, last):
            widest = max(widest, starts[types[i] + 1] - starts[types[i]])
        nodes, pairs = np.zeros((last - first, widest)), np.zeros((last - first, widest, widest))
        alpha, beta = np.zeros((last - first + 1, widest)), np.ones(widest)
        alpha[0, 0] = 1.0  # of the edge; row t + 1 is that of token t
        for i in range(first, last):
            t, x, y = i - first, types[i], types[i - 1] if i > first else -1
            here = lattice.tags[starts[x] : starts[x + 1]]
            _score_nodes(i, here, features, weights.features, nodes[t])
            total -= _add_cost(here, gold[i], schedule.cost, nodes[t])
            golds = (gold[i - 1], gold[i])
            total -= _score_pairs(i == last - 1, (y, x), golds, lattice, classes, weights, nodes[t], pairs[t])
            total += _forward(_width(y, starts), len(here), alpha[t], pairs[t], alpha[t + 1])
        for i in range(last - 1, first - 1, -1):
            t, x, y = i - first, types[i], types[i - 1] if i > first else -1
            _backward(_width(y, starts), _width(x, starts), alpha[t], pairs[t], beta)
            _less_gold((y, x), (gold[i - 1], gold[i]), lattice, pairs[t], nodes[t])
        for i in range(first, last):
            t, x, y = i - first, types[i], types[i - 1] if i > first else -1
            here = lattice.tags[starts[x] : starts[x + 1]]
            _step_nodes(i, i == last - 1, here, features, schedule.rate, nodes[t], weights, squares)
            _step_pairs((y, x), lattice, classes, schedule, pairs[t], weights, squares)
    return total


@part
def _width(x: int, starts: Int64s) -> int:
    """The number of candidates of a type; the edge, -1, has one."""
    return starts[x + 1] - starts[x] if x >= 0 else 1


@part
def _add_cost(tags: Int32s, gold: int, cost: float, nodes: Floats) -> float:
    """Add the cost to all candidates but the gold one, whose score is returned."""
    score = 0.0
    for b in range(len(tags)):
        if tags[b] == gold:
            score = nodes[b]
        else:
            nodes[b] += cost
    return score


@part
def _score_pairs(
    is_last: bool,
    types: tuple[int, int],
    gold: tuple[int, int],
    lattice: Lattice,
    classes: Int32s,
    weights: MarginWeights,
    nodes: Floats,
    pairs: Floats,
) -> float:
    """Scores of pairs of candidates of two types (-1: the edge); that of the gold pair is returned."""
    starts, tags, arrows = lattice.starts, lattice.tags, weights.arrows
    y, x = types
    edge, c0, score = arrows.shape[0] - 1, starts[x], 0.0
    before = starts[y] if y >= 0 else 0
    for a in range(_width(y, starts)):
        source = tags[before + a] if y >= 0 else edge
        for b in range(starts[x + 1] - c0):
            value = arrows[source, tags[c0 + b]]
            if y >= 0:
                r, c = classes[before + a], classes[c0 + b]
                for k in range(weights.left.shape[1]):
                    value += weights.left[r, k] * weights.right[c, k]
            if is_last:
                value += arrows[tags[c0 + b], edge]
            if tags[c0 + b] == gold[1] and (y < 0 or source == gold[0]):
                score = value
            pairs[a, b] = value + nodes[b]
    return score


@part
def _forward(m: int, n: int, before: Floats, pairs: Floats, alpha: Floats) -> float:
    """alpha of a token, of sum one; `pairs` are exponentiated. The logarithm of what was divided by."""
    peak, mass = -np.inf, 0.0
    for a in range(m):
        for b in range(n):
            peak = max(peak, pairs[a, b])
    for a in range(m):
        for b in range(n):
            pairs[a, b] = np.exp(pairs[a, b] - peak)
            alpha[b] += pairs[a, b] * before[a]
    for b in range(n):
        mass += alpha[b]
    for b in range(n):
        alpha[b] /= mass
    return peak + float(np.log(mass))


@part
def _backward(m: int, n: int, before: Floats, pairs: Floats, beta: Floats) -> None:
    """Marginals of pairs in place; beta, of the token, becomes that of the token before."""
    earlier, whole, top = np.zeros(m), 0.0, 0.0
    for a in range(m):
        for b in range(n):
            value = pairs[a, b] * beta[b]
            earlier[a] += value
            pairs[a, b] = value * before[a]
            whole += pairs[a, b]
        top = max(top, earlier[a])
    for a in range(m):
        beta[a] = earlier[a] / top
        for b in range(n):
            pairs[a, b] /= whole


@part
def _less_gold(
    types: tuple[int, int], gold: tuple[int, int], lattice: Lattice, pairs: Floats, nodes: Floats
) -> None:
    """Gradients of pairs, marginals less gold counts, in place; `nodes` gets those of candidates."""
    starts, tags = lattice.starts, lattice.tags
    y, x = types
    nodes[:] = 0.0
    for a in range(_width(y, starts)):
        was = y < 0 or tags[starts[y] + a] == gold[0]
        for b in range(starts[x + 1] - starts[x]):
            if was and tags[starts[x] + b] == gold[1]:
                pairs[a, b] -= 1.0
            nodes[b] += pairs[a, b]


@part
def _step_nodes(
    i: int,
    is_last: bool,
    tags: Int32s,
    features: TokenFeatures,
    rate: float,
    nodes: Floats,
    weights: MarginWeights,
    squares: MarginWeights,
) -> None:
    """A step of the weights of features, and of moves to the edge."""
    for b in range(len(tags)):
        if abs(nodes[b]) < LEAST_GRADIENT:
            continue
        for k in range(features.starts[i], features.starts[i + 1]):
            if features.codes[k] >= 0:
                step(weights.features, squares.features, (features.codes[k], tags[b]), nodes[b], rate)
        if is_last:
            place = (tags[b], weights.arrows.shape[0] - 1)
            step(weights.arrows, squares.arrows, place, nodes[b], rate)


@part
def _step_pairs(
    types: tuple[int, int],
    lattice: Lattice,
    classes: Int32s,
    schedule: Schedule,
    pairs: Floats,
    weights: MarginWeights,
    squares: MarginWeights,
) -> None:
    """A step of the moves between tags, and of the factors of the Hankel block."""
    starts, tags, left, right = lattice.starts, lattice.tags, weights.left, weights.right
    y, x = types
    c0, before = starts[x], (starts[y] if y >= 0 else 0)
    for a in range(_width(y, starts)):
        source = tags[before + a] if y >= 0 else weights.arrows.shape[0] - 1
        for b in range(starts[x + 1] - c0):
            g = pairs[a, b]
            if abs(g) < LEAST_GRADIENT:
                continue
            step(weights.arrows, squares.arrows, (source, tags[c0 + b]), g, schedule.rate)
            if y >= 0:
                r, c = classes[before + a], classes[c0 + b]
                for k in range(left.shape[1]):
                    u, v = left[r, k], right[c, k]
                    step(left, squares.left, (r, k), g * v + schedule.decay * u, schedule.rate)
                    step(right, squares.right, (c, k), g * u + schedule.decay * v, schedule.rate)
