"""Expected counts of refined tags where the tags are given: the E-step.

Token i has tag t_i, so only the states of t_i are in play: forward and backward run over those alone,

    alpha_i = (alpha_{i-1} P) o r(x_i, t_i),    E[z -> z'] = sum_i alpha_{i-1}[z] P[z, z'] r_i[z'] beta_i[z']

Row and column Z of the moves are the edge of the sentence.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.jit import kernel, part


class Tokens(NamedTuple):
    """Sentences of tokens with their tags, and their pairs of word and tag."""

    offsets: Int64s
    tags: Int32s
    pairs: Int32s


class GivenTags(NamedTuple):
    """A refined tagger where tags are given: moves with the edge last, and r of pairs x states."""

    states: Int64s
    moves: Floats
    ratios: Floats


@kernel
def refined_expectations(
    tokens: Tokens, low: int, high: int, model: GivenTags, expected: Floats, memberships: Floats
) -> float:
    """Add the counts of sentences low..high to `expected` (moves) and `memberships` (pairs x states)."""
    offsets, tags, pairs, ratios = tokens.offsets, tokens.tags, tokens.pairs, model.ratios
    edge, width = model.moves.shape[0] - 1, ratios.shape[1]
    longest = 1
    for s in range(low, high):
        longest = max(longest, offsets[s + 1] - offsets[s])
    alpha, beta, later, total = np.zeros((longest, width)), np.zeros(width), np.zeros(width), 0.0
    for s in range(low, high):
        first, last = offsets[s], offsets[s + 1]
        if first == last:
            continue
        for i in range(first, last):
            tag_before = -1 if i == first else tags[i - 1]
            before = alpha[max(i - 1 - first, 0)]
            total += _forward(tag_before, tags[i], model, ratios[pairs[i]], before, alpha[i - first])
        total += _finish(tags[last - 1], model, alpha[last - 1 - first], beta, expected)
        for i in range(last - 1, first, -1):
            _remember(beta, alpha[i - first], memberships[pairs[i]])
            before = alpha[i - 1 - first]
            _backward(tags[i - 1], tags[i], model, ratios[pairs[i]], before, beta, later, expected)
        _remember(beta, alpha[0], memberships[pairs[first]])
        z0 = model.states[tags[first]]
        for j in range(model.states[tags[first] + 1] - z0):
            expected[edge, z0 + j] += alpha[0, j] * beta[j]
    return total


@part
def _forward(
    tag_before: int, tag: int, model: GivenTags, ratio: Floats, before: Floats, row: Floats
) -> float:
    """The next forward vector, summing to one; the logarithm of its mass. -1 is the edge."""
    states, moves = model.states, model.moves
    z0, n = states[tag], states[tag + 1] - states[tag]
    row[:] = 0.0
    if tag_before < 0:
        for j in range(n):
            row[j] = moves[moves.shape[0] - 1, z0 + j]
    else:
        w0 = states[tag_before]
        for h in range(states[tag_before + 1] - w0):
            value, arrow = before[h], moves[w0 + h, z0 : z0 + n]
            for j in range(n):
                row[j] += value * arrow[j]
    mass = 0.0
    for j in range(n):
        row[j] *= ratio[j]
        mass += row[j]
    for j in range(n):
        row[j] /= mass
    return float(np.log(mass))


@part
def _finish(tag: int, model: GivenTags, row: Floats, beta: Floats, expected: Floats) -> float:
    """The backward vector at the last token, and the end counted; the logarithm of its mass."""
    edge, z0, mass = model.moves.shape[0] - 1, model.states[tag], 0.0
    n = model.states[tag + 1] - z0
    beta[:] = 0.0
    for j in range(n):
        beta[j] = model.moves[z0 + j, edge]
        mass += row[j] * beta[j]
    for j in range(n):
        beta[j] /= mass
        expected[z0 + j, edge] += row[j] * beta[j]
    return float(np.log(mass))


@kernel
def _remember(beta: Floats, row: Floats, belief: Floats) -> None:
    """Add the posterior of a token to what is believed of its word and tag; beyond the states all is zero."""
    for j in range(len(beta)):
        belief[j] += row[j] * beta[j]


@part
def _backward(
    tag_before: int,
    tag: int,
    model: GivenTags,
    ratio: Floats,
    before: Floats,
    beta: Floats,
    later: Floats,
    expected: Floats,
) -> None:
    """The backward vector of the token before, in place, with the moves between both counted."""
    moves, z0, w0, mass = model.moves, model.states[tag], model.states[tag_before], 0.0
    n, m = model.states[tag + 1] - z0, model.states[tag_before + 1] - w0
    for j in range(n):
        later[j] = ratio[j] * beta[j]
    beta[:] = 0.0
    for h in range(m):
        value, arrow = 0.0, moves[w0 + h, z0 : z0 + n]
        for j in range(n):
            value += arrow[j] * later[j]
        beta[h] = value
        mass += before[h] * value
    for h in range(m):
        value = before[h] / mass
        arrow, counted = moves[w0 + h, z0 : z0 + n], expected[w0 + h, z0 : z0 + n]
        for j in range(n):
            counted[j] += value * arrow[j] * later[j]
        beta[h] /= mass
