"""Marginals of refined tags: every token has a few candidate tags, every tag its states.

Candidates hang on the type of a word: those of type x are `starts[x]:starts[x + 1]` of `tags`. Tables over
the candidates of tokens, and over pairs of candidates of neighbours, are flat: the candidates of token i
stand from `token_starts[i]` on, the pairs (a before, b at i) from `block_starts[i]` on, row by row.

    alpha_i = (alpha_{i-1} P) o e(x_i),         beta_{i-1} = P (e(x_i) o beta_i)
    mu(i, a) = sum_{z in a} alpha beta,         mu(i, a, b) = sum_{z in a, z' in b} alpha P e beta

What candidate c says of its states stands in row `rows[c]` of `emissions`. Vectors are rescaled at every
token and the scales carried as logarithms.
Tutorial of Balle, Carreras and Quattoni (2014), "Prediction with WFTaggers".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.jit import fast_kernel, part

Array = NDArray[np.float64]
Codes = NDArray[np.int32]
Longs = NDArray[np.int64]


@fast_kernel
def refined_marginals(
    offsets: Longs,
    low: int,
    high: int,
    types: Codes,
    starts: Longs,
    tags: Codes,
    token_starts: Longs,
    block_starts: Longs,
    emissions: Array,
    rows: Longs,
    states: Longs,
    initial: Array,
    transitions: Array,
    backwards: Array,
    final: Array,
    unigrams: Array,
    bigrams: Array,
    logs: Array,
    least: float = 0.0,
) -> None:
    """Fill the marginals of sentences low..high; `logs` gets the logarithm of each normaliser.

    States whose share of alpha is at most `least` lead nowhere: most are far below any other.
    """
    widest, longest = 1, 1
    for s in range(low, high):
        longest = max(longest, offsets[s + 1] - offsets[s])
        for i in range(offsets[s], offsets[s + 1]):
            widest = max(widest, _n_states(types[i], starts, tags, states))
    alpha = np.zeros((longest, widest))
    beta, weighted, part = np.zeros(widest), np.zeros(widest), np.zeros(widest)
    for s in range(low, high):
        first, last = offsets[s], offsets[s + 1]
        if first == last:
            continue
        total = 0.0
        for i in range(first, last):
            row, x = alpha[i - first], types[i]
            if i == first:
                _begin(row, x, starts, tags, states, initial)
            else:
                y = types[i - 1]
                _move(alpha[i - 1 - first], row, y, x, starts, tags, states, transitions, least)
            total += np.log(_meet(row, x, starts, tags, states, emissions, rows))
        _begin(beta, types[last - 1], starts, tags, states, final)
        for i in range(last - 1, first - 1, -1):
            row, x, u = alpha[i - first], types[i], token_starts[i]
            mass = _unigrams(row, beta, weighted, x, starts, tags, states, emissions, rows, unigrams[u:])
            if i == last - 1:
                total += np.log(mass)
            if i > first:
                y, before = types[i - 1], alpha[i - 1 - first]
                _move_back(
                    before, row, weighted, beta, part, y, x, starts, tags, states, backwards, least,
                    bigrams[block_starts[i] :],
                )  # fmt: skip
        logs[s] = total


@part
def _n_states(x: int, starts: Longs, tags: Codes, states: Longs) -> int:
    """Of all candidates of a type."""
    count = 0
    for c in range(starts[x], starts[x + 1]):
        count += states[tags[c] + 1] - states[tags[c]]
    return count


@fast_kernel
def _begin(row: Array, x: int, starts: Longs, tags: Codes, states: Longs, edge: Array) -> None:
    """What the edge of a sentence says of the states of a type."""
    at = 0
    for c in range(starts[x], starts[x + 1]):
        for z in range(states[tags[c]], states[tags[c] + 1]):
            row[at] = edge[z]
            at += 1


@part
def _move(
    before: Array,
    row: Array,
    y: int,
    x: int,
    starts: Longs,
    tags: Codes,
    states: Longs,
    transitions: Array,
    least: float,
) -> None:
    """row = before P, from the states of type y to those of type x."""
    at = 0
    for c in range(starts[x], starts[x + 1]):
        z0, width = states[tags[c]], states[tags[c] + 1] - states[tags[c]]
        here = row[at : at + width]
        here[:] = 0.0
        k = 0
        for d in range(starts[y], starts[y + 1]):
            for w in range(states[tags[d]], states[tags[d] + 1]):
                value = before[k]
                k += 1
                if value > least:
                    arrow = transitions[w, z0 : z0 + width]
                    for j in range(width):
                        here[j] += value * arrow[j]
        at += width


@part
def _meet(
    row: Array, x: int, starts: Longs, tags: Codes, states: Longs, emissions: Array, rows: Longs
) -> float:
    """row o e(x), rescaled to sum to one; the sum it had."""
    mass, at = 0.0, 0
    for c in range(starts[x], starts[x + 1]):
        width, says = states[tags[c] + 1] - states[tags[c]], emissions[rows[c]]
        for j in range(width):
            row[at + j] *= says[j]
            mass += row[at + j]
        at += width
    if mass <= 0.0:  # nothing leads here: begin anew with what the word alone says
        at = 0
        for c in range(starts[x], starts[x + 1]):
            for j in range(states[tags[c] + 1] - states[tags[c]]):
                row[at] = emissions[rows[c], j] + 1e-300
                mass += row[at]
                at += 1
    for j in range(at):
        row[j] /= mass
    return mass


@part
def _unigrams(
    row: Array,
    beta: Array,
    weighted: Array,
    x: int,
    starts: Longs,
    tags: Codes,
    states: Longs,
    emissions: Array,
    rows: Longs,
    found: Array,
) -> float:
    """mu(i, a) of each candidate; `weighted` gets e(x) o beta. The mass of all is returned."""
    mass, at = 0.0, 0
    for c in range(starts[x], starts[x + 1]):
        width, says = states[tags[c] + 1] - states[tags[c]], emissions[rows[c]]
        mu = 0.0
        for j in range(width):
            mu += row[at + j] * beta[at + j]
            weighted[at + j] = says[j] * beta[at + j]
        found[c - starts[x]] = mu
        mass += mu
        at += width
    mass = max(mass, 1e-300)
    for c in range(starts[x + 1] - starts[x]):
        found[c] /= mass
    return mass


@part
def _move_back(
    before: Array,
    row: Array,
    weighted: Array,
    beta: Array,
    part: Array,
    y: int,
    x: int,
    starts: Longs,
    tags: Codes,
    states: Longs,
    backwards: Array,
    least: float,
    found: Array,
) -> None:
    """mu(i, a, b) of each pair of candidates; beta = P weighted, from type x to type y, its largest one."""
    top, pairs, k, pair = 0.0, 0.0, 0, 0
    for d in range(starts[y], starts[y + 1]):
        w0, wide = states[tags[d]], states[tags[d] + 1] - states[tags[d]]
        sums, at = beta[k : k + wide], 0
        sums[:] = 0.0
        for c in range(starts[x], starts[x + 1]):
            part[:wide] = 0.0
            for z in range(states[tags[c]], states[tags[c] + 1]):
                if row[at] > least:
                    value, arrow = weighted[at], backwards[z, w0 : w0 + wide]
                    for h in range(wide):
                        part[h] += value * arrow[h]
                at += 1
            mu = 0.0
            for h in range(wide):
                mu += before[k + h] * part[h]
                sums[h] += part[h]
            found[pair] = mu
            pairs += mu
            pair += 1
        for h in range(wide):
            top = max(top, sums[h])
        k += wide
    for p in range(pair):
        found[p] /= max(pairs, 1e-300)
    if top <= 0.0:
        beta[:k] = 1.0
        top = 1.0
    for h in range(k):
        beta[h] /= top
