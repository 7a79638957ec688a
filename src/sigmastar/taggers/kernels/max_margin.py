"""Taggings scored by a low-rank Hankel block over two words with their tags on either side of every gap.

    score(y) = sum_j nodes(j, y_j) + sum over gaps j of  u(y_{j-2}, y_{j-1}) . v(y_j, y_{j+1})
    u = sum of the rows of L of what the prefix holds,   v = sum of the rows of R of what the suffix holds

Sentences are padded by two edges on either side, so that every gap has a prefix and a suffix. The best
tagging, and sums over all of them, go by states of three tags:

    m_j(b, c, d) = max_a  m_{j-1}(a, b, c) + u(a, b) . v(c, d) + nodes(j + 1, d)

Pairs of candidates of neighbours are flat, as in `chains`; each has a row of codes for what it holds as a
prefix, and one for what it holds as a suffix.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.jit import kernel, part
from sigmastar.taggers.kernels.chains import Lattice, Marginals


class Bistrings(NamedTuple):
    """What each pair of candidates of neighbours holds, as a prefix and as a suffix.

    Codes in falling order, so that those that are there stand in front; -1: nothing from here on.
    """

    prefix: Int32s
    suffix: Int32s


class Factors(NamedTuple):
    """L and R, or gradients in them."""

    left: Floats
    right: Floats


class _Sentence(NamedTuple):
    """One padded sentence; places are counted from its first candidate, pair and state of three tags."""

    sizes: Int64s  # candidates of each token
    nodes_at: Int64s
    pairs_at: Int64s  # of each token and the one before it
    states_at: Int64s  # of each token and the two behind it
    nodes: Floats
    u: Floats
    v: Floats
    gap: Floats  # room for u . v of all prefixes and suffixes of one gap


@kernel
def hinge(
    lattice: Lattice, nodes: Floats, bistrings: Bistrings, gold: Int32s, factors: Factors, slopes: Factors
) -> float:
    """The sum over sentences of the best score less that of the gold candidates.

    The cost of a wrong tag is already among the nodes. Subgradients are added to `slopes`.
    """
    total = 0.0
    for s in range(len(lattice.offsets) - 1):
        first, last = lattice.offsets[s], lattice.offsets[s + 1]
        sentence = _sentence(lattice, s, nodes, bistrings, factors)
        found, right = np.zeros(last - first, np.int32), gold[first:last]
        total += _best(sentence, found)
        low = lattice.block_starts[first]
        for k in range(2, last - first - 1):
            if k < last - first - 2:
                total -= sentence.nodes[sentence.nodes_at[k] + right[k]]
            p, q = _pair(sentence, k - 1, right), _pair(sentence, k + 1, right)
            x, y = _pair(sentence, k - 1, found), _pair(sentence, k + 1, found)
            total -= _form(sentence.u[p], sentence.v[q])
            if p != x or q != y:
                _push(bistrings.prefix[low + p], -1.0, sentence.v[q], slopes.left)
                _push(bistrings.suffix[low + q], -1.0, sentence.u[p], slopes.right)
                _push(bistrings.prefix[low + x], 1.0, sentence.v[y], slopes.left)
                _push(bistrings.suffix[low + y], 1.0, sentence.u[x], slopes.right)
    return total


@kernel
def best_taggings(
    lattice: Lattice,
    low: int,
    high: int,
    nodes: Floats,
    bistrings: Bistrings,
    factors: Factors,
    found: Int32s,
) -> None:
    """The candidates of largest score, of sentences low..high."""
    for s in range(low, high):
        place = slice(lattice.offsets[s], lattice.offsets[s + 1])
        _best(_sentence(lattice, s, nodes, bistrings, factors), found[place])


@kernel
def hankel_marginals(
    lattice: Lattice,
    low: int,
    high: int,
    nodes: Floats,
    bistrings: Bistrings,
    factors: Factors,
    found: Marginals,
) -> None:
    """Marginals of p(y) prop. to exp score(y), of sentences low..high."""
    for s in range(low, high):
        first, last = lattice.offsets[s], lattice.offsets[s + 1]
        sentence = _sentence(lattice, s, nodes, bistrings, factors)
        forward, behind = np.zeros(sentence.states_at[-1]), np.zeros(sentence.states_at[-1])
        total = 0.0
        for k in range(1, last - first - 1):
            here = forward[sentence.states_at[k - 1] : sentence.states_at[k]]
            if k == 1:
                _begin(sentence, here)
            else:
                _gap(sentence, k)
                _sum_forward(
                    sentence, k, forward[sentence.states_at[k - 2] : sentence.states_at[k - 1]], here
                )
            total += _scaled(here)
        found.logs[s] = total
        for k in range(last - first - 2, 0, -1):
            there = behind[sentence.states_at[k - 1] : sentence.states_at[k]]
            if k == last - first - 2:
                there[:] = 1.0
            else:
                _gap(sentence, k + 1)
                _sum_backward(
                    sentence, k + 1, behind[sentence.states_at[k] : sentence.states_at[k + 1]], there
                )
                _scaled(there)
            here = forward[sentence.states_at[k - 1] : sentence.states_at[k]]
            _add_marginals(lattice, first + k, here, there, found)


@part
def _sentence(lattice: Lattice, s: int, nodes: Floats, bistrings: Bistrings, factors: Factors) -> _Sentence:
    """Places of everything in a sentence; u and v of its pairs."""
    first, last = lattice.offsets[s], lattice.offsets[s + 1]
    starts, pairs, n = lattice.token_starts, lattice.block_starts, last - first
    sizes, states, widest = np.zeros(n, np.int64), np.zeros(n - 1, np.int64), 1
    for k in range(n):
        sizes[k] = starts[first + k + 1] - starts[first + k]
    for k in range(n - 2):
        states[k + 1] = states[k] + sizes[k] * sizes[k + 1] * sizes[k + 2]
        if k < n - 3:
            widest = max(widest, sizes[k] * sizes[k + 1] * sizes[k + 2] * sizes[k + 3])
    low, high = pairs[first], pairs[last]
    return _Sentence(
        sizes,
        starts[first : last + 1] - starts[first],
        pairs[first : last + 1] - low,
        states,
        nodes[starts[first] : starts[last]],
        _projected(bistrings.prefix[low:high], factors.left),
        _projected(bistrings.suffix[low:high], factors.right),
        np.zeros(widest),
    )


@part
def _projected(codes: Int32s, rows: Floats) -> Floats:
    """Sums of the rows that codes name."""
    sums = np.zeros((len(codes), rows.shape[1]))
    for p in range(len(codes)):
        for f in range(codes.shape[1]):
            if codes[p, f] < 0:
                break
            row = rows[codes[p, f]]
            for k in range(len(row)):
                sums[p, k] += row[k]
    return sums


@part
def _form(u: Floats, v: Floats) -> float:
    value = 0.0
    for k in range(len(u)):
        value += u[k] * v[k]
    return value


@part
def _push(codes: Int32s, sign: float, row: Floats, slopes: Floats) -> None:
    """Add a row to the slopes of what a pair holds."""
    for f in range(len(codes)):
        if codes[f] < 0:
            break
        for k in range(len(row)):
            slopes[codes[f], k] += sign * row[k]


@part
def _pair(sentence: _Sentence, k: int, chosen: Int32s) -> int:
    """The place of the pair of candidates chosen at k - 1 and k."""
    return int(sentence.pairs_at[k] + chosen[k - 1] * sentence.sizes[k] + chosen[k])


@part
def _gap(sentence: _Sentence, k: int) -> None:
    """u(a, b) . v(c, d) + nodes(k + 1, d) of the gap before token k, in the order (a, b), (c, d)."""
    first, second = sentence.pairs_at[k - 1], sentence.pairs_at[k + 1]
    n, m = sentence.pairs_at[k] - first, sentence.pairs_at[k + 2] - second
    size, node = sentence.sizes[k + 1], sentence.nodes_at[k + 1]
    for p in range(n):
        for q in range(m):
            value = _form(sentence.u[first + p], sentence.v[second + q])
            sentence.gap[p * m + q] = value + sentence.nodes[node + q % size]


@part
def _begin(sentence: _Sentence, states: Floats) -> None:
    """The states of the first three tokens, two of which are edges."""
    for d in range(len(states)):
        states[d] = sentence.nodes[sentence.nodes_at[2] + d]


@part
def _best(sentence: _Sentence, found: Int32s) -> float:
    """The best tagging, and its score."""
    at, sizes, n = sentence.states_at, sentence.sizes, len(found)
    worth, back = np.full(at[-1], -np.inf), np.zeros(at[-1], np.int32)
    _begin(sentence, worth[: at[1]])
    for k in range(2, n - 1):
        _gap(sentence, k)
        _extend(sentence, k, worth[at[k - 2] : at[k - 1]], worth[at[k - 1] : at[k]], back[at[k - 1] : at[k]])
    state, end = 0, worth[at[n - 3] : at[n - 2]]
    for b in range(len(end)):
        if end[b] > end[state]:
            state = b
    value = float(end[state])
    for k in range(n - 2, 1, -1):  # the state is of k - 1, k and k + 1
        b, c = state // (sizes[k + 1] * sizes[k]), state // sizes[k + 1] % sizes[k]
        found[k + 1], found[k], found[k - 1] = state % sizes[k + 1], c, b
        state = (back[at[k - 1] + state] * sizes[k - 1] + b) * sizes[k] + c
    return value


@part
def _extend(sentence: _Sentence, k: int, here: Floats, there: Floats, back: Int32s) -> None:
    """The best ways to states (k - 1, k, k + 1) from states (k - 2, k - 1, k)."""
    x, n, m = sentence.sizes[k - 1], sentence.sizes[k], sentence.sizes[k + 1]
    for p in range(sentence.sizes[k - 2] * x):
        a, b = p // x, p % x
        for q in range(n * m):
            value = here[p * n + q // m] + sentence.gap[p * n * m + q]
            state = b * n * m + q
            if value > there[state]:
                there[state], back[state] = value, a


@part
def _sum_forward(sentence: _Sentence, k: int, here: Floats, there: Floats) -> None:
    """As `_extend`, with log-sums; `here` are shares of one, `there` become logarithms."""
    x, n, m = sentence.sizes[k - 1], sentence.sizes[k], sentence.sizes[k + 1]
    top = -np.inf
    for e in range(sentence.sizes[k - 2] * x * n * m):
        top = max(top, sentence.gap[e])
    for p in range(sentence.sizes[k - 2] * x):
        for q in range(n * m):
            value = here[p * n + q // m] * np.exp(sentence.gap[p * n * m + q] - top)
            there[p % x * n * m + q] += value
    for e in range(len(there)):
        there[e] = np.log(max(there[e], 1e-300)) + top


@part
def _sum_backward(sentence: _Sentence, k: int, there: Floats, here: Floats) -> None:
    """Shares of states (k - 1, k, k + 1) to logarithms of states (k - 2, k - 1, k)."""
    x, n, m = sentence.sizes[k - 1], sentence.sizes[k], sentence.sizes[k + 1]
    top = -np.inf
    for e in range(sentence.sizes[k - 2] * x * n * m):
        top = max(top, sentence.gap[e])
    for p in range(sentence.sizes[k - 2] * x):
        for q in range(n * m):
            value = there[p % x * n * m + q] * np.exp(sentence.gap[p * n * m + q] - top)
            here[p * n + q // m] += value
    for e in range(len(here)):
        here[e] = np.log(max(here[e], 1e-300)) + top


@part
def _scaled(states: Floats) -> float:
    """Logarithms to shares of one; the logarithm of their sum."""
    top, mass = -np.inf, 0.0
    for e in range(len(states)):
        top = max(top, states[e])
    for e in range(len(states)):
        states[e] = np.exp(states[e] - top)
        mass += states[e]
    for e in range(len(states)):
        states[e] /= mass
    return top + float(np.log(mass))


@part
def _add_marginals(lattice: Lattice, i: int, forward: Floats, behind: Floats, found: Marginals) -> None:
    """Marginals of token i, and of it with the one before, from the states (i - 1, i, i + 1)."""
    u, v = lattice.token_starts[i], lattice.token_starts[i + 1]
    n, m = v - u, lattice.token_starts[i + 2] - v
    mass = 0.0
    for e in range(len(forward)):
        mass += forward[e] * behind[e]
    for e in range(len(forward)):
        share = forward[e] * behind[e] / mass
        found.unigrams[u + e // m % n] += share
        found.bigrams[lattice.block_starts[i] + e // m] += share
