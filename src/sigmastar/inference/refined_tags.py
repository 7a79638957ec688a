"""Marginals of refined tags: every token has a few candidate tags, every tag its states.

Candidates hang on the type of a word: those of type x are `starts[x]:starts[x + 1]` of `tags`. Tables over
the candidates of tokens, and over pairs of candidates of neighbours, are flat: the candidates of token i
stand from `token_starts[i]` on, the pairs (a before, b at i) from `block_starts[i]` on, row by row.

    alpha_i = (alpha_{i-1} P) o e(x_i),         beta_{i-1} = P (e(x_i) o beta_i)
    mu(i, a) = sum_{z in a} alpha beta,         mu(i, a, b) = sum_{z in a, z' in b} alpha P e beta

Vectors are rescaled at every token and the scales carried as logarithms.
Tutorial of Balle, Carreras and Quattoni (2014), "Prediction with WFTaggers".
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.jit import kernel

Array = NDArray[np.float64]
Codes = NDArray[np.int32]
Longs = NDArray[np.int64]


@kernel
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
    widest = 1
    for x in range(len(starts) - 1):
        width = 0
        for c in range(starts[x], starts[x + 1]):
            width += states[tags[c] + 1] - states[tags[c]]
        widest = max(widest, width)
    longest = 1
    for s in range(low, high):
        longest = max(longest, offsets[s + 1] - offsets[s])
    alpha = np.zeros((longest, widest))
    beta = np.zeros(widest)
    weighted = np.zeros(widest)
    part = np.zeros(widest)
    for s in range(low, high):
        first, last = offsets[s], offsets[s + 1]
        if first == last:
            continue
        total = 0.0
        for i in range(first, last):
            x, row, mass, at = types[i], alpha[i - first], 0.0, 0
            for c in range(starts[x], starts[x + 1]):
                z0, width = states[tags[c]], states[tags[c] + 1] - states[tags[c]]
                if i == first:
                    for j in range(width):
                        row[at + j] = initial[z0 + j]
                else:
                    for j in range(width):
                        row[at + j] = 0.0
                    before, y = 0, types[i - 1]
                    for d in range(starts[y], starts[y + 1]):
                        w0, wide = states[tags[d]], states[tags[d] + 1] - states[tags[d]]
                        for h in range(wide):
                            value = alpha[i - 1 - first, before + h]
                            if value > least:
                                arrow = transitions[w0 + h, z0 : z0 + width]
                                for j in range(width):
                                    row[at + j] += value * arrow[j]
                        before += wide
                for j in range(width):
                    row[at + j] *= emissions[c, j]
                    mass += row[at + j]
                at += width
            if mass <= 0.0:  # nothing leads here: begin anew with what the word alone says
                at = 0
                for c in range(starts[x], starts[x + 1]):
                    width = states[tags[c] + 1] - states[tags[c]]
                    for j in range(width):
                        row[at + j] = emissions[c, j] + 1e-300
                        mass += row[at + j]
                    at += width
            for j in range(at):
                row[j] /= mass
            total += np.log(mass)
        at = 0
        for c in range(starts[types[last - 1]], starts[types[last - 1] + 1]):
            for z in range(states[tags[c]], states[tags[c] + 1]):
                beta[at] = final[z]
                at += 1
        for i in range(last - 1, first - 1, -1):
            x, row = types[i], alpha[i - first]
            mass, at = 0.0, 0
            for c in range(starts[x], starts[x + 1]):
                width = states[tags[c] + 1] - states[tags[c]]
                mu = 0.0
                for j in range(width):
                    mu += row[at + j] * beta[at + j]
                    weighted[at + j] = emissions[c, j] * beta[at + j]
                unigrams[token_starts[i] + c - starts[x]] = mu
                mass += mu
                at += width
            if i == last - 1:
                total += np.log(max(mass, 1e-300))
            for c in range(starts[x + 1] - starts[x]):
                unigrams[token_starts[i] + c] /= max(mass, 1e-300)
            if i == first:
                break
            y, n_here = types[i - 1], starts[x + 1] - starts[x]
            top, pairs, before = 0.0, 0.0, 0
            for d in range(starts[y], starts[y + 1]):
                w0, wide = states[tags[d]], states[tags[d] + 1] - states[tags[d]]
                for h in range(wide):
                    beta[before + h] = 0.0
                at = 0
                for c in range(starts[x], starts[x + 1]):
                    z0, width = states[tags[c]], states[tags[c] + 1] - states[tags[c]]
                    for h in range(wide):
                        part[h] = 0.0
                    for j in range(width):
                        value = weighted[at + j]
                        if row[at + j] > least:
                            arrow = backwards[z0 + j, w0 : w0 + wide]
                            for h in range(wide):
                                part[h] += value * arrow[h]
                    mu = 0.0
                    for h in range(wide):
                        mu += alpha[i - 1 - first, before + h] * part[h]
                        beta[before + h] += part[h]
                    bigrams[block_starts[i] + (d - starts[y]) * n_here + c - starts[x]] = mu
                    pairs += mu
                    at += width
                for h in range(wide):
                    top = max(top, beta[before + h])
                before += wide
            for k in range((starts[y + 1] - starts[y]) * n_here):
                bigrams[block_starts[i] + k] /= max(pairs, 1e-300)
            if top <= 0.0:
                beta[:before] = 1.0
                top = 1.0
            for h in range(before):
                beta[h] /= top
        logs[s] = total
