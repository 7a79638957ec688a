"""Marginals of tags on a lattice: every token has a few candidate tags.

Candidates hang on the type of a word: those of type x are `starts[x]:starts[x + 1]` of `tags`. Tables over
the candidates of tokens, and over pairs of candidates of neighbours, are flat: the candidates of token i
stand from `token_starts[i]` on, the pairs (a before, b at i) from `block_starts[i]` on, row by row.

    refined tags    every tag t has states; alpha_i = (alpha_{i-1} P) o e(x_i),  beta_{i-1} = P (e(x_i) o beta_i)
                    mu(i, a) = sum_{z in a} alpha beta,   mu(i, a, b) = sum_{z in a, z' in b} alpha P e beta
    chains          the same with one state a tag and a potential for each pair
    MBR             argmax_y sum_i mu(i, y_{i-1}, y_i), the N best by the same recursion

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
) -> None:
    """Fill the marginals of sentences low..high; `logs` gets the logarithm of each normaliser."""
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
                            if value > 0.0:
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
                        if value > 0.0:
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


@kernel
def chain_marginals(
    offsets: Longs,
    low: int,
    high: int,
    token_starts: Longs,
    block_starts: Longs,
    firsts: Array,
    arrows: Array,
    unigrams: Array,
    bigrams: Array,
    logs: Array,
) -> None:
    """Marginals of chains with log-potentials: `firsts` at tokens (all of them), `arrows` at pairs."""
    for s in range(low, high):
        first, last = offsets[s], offsets[s + 1]
        if first == last:
            continue
        total = 0.0
        for i in range(first, last):
            u, n = token_starts[i], token_starts[i + 1] - token_starts[i]
            peak = firsts[u]
            for b in range(n):
                peak = max(peak, firsts[u + b])
            if i == first:
                for b in range(n):
                    unigrams[u + b] = np.exp(firsts[u + b] - peak)
            else:
                v, m = token_starts[i - 1], token_starts[i] - token_starts[i - 1]
                top = arrows[block_starts[i]]
                for k in range(m * n):
                    top = max(top, arrows[block_starts[i] + k])
                for b in range(n):
                    unigrams[u + b] = 0.0
                for a in range(m):
                    for b in range(n):
                        k = block_starts[i] + a * n + b
                        bigrams[k] = np.exp(arrows[k] - top + firsts[u + b] - peak)  # kept for the way back
                        unigrams[u + b] += unigrams[v + a] * bigrams[k]
                total += top
            mass = 0.0
            for b in range(n):
                mass += unigrams[u + b]
            for b in range(n):
                unigrams[u + b] /= mass
            total += peak + np.log(mass)
        logs[s] = total
        u, n = token_starts[last - 1], token_starts[last] - token_starts[last - 1]
        beta = np.ones(n)
        for i in range(last - 1, first, -1):
            u, n = token_starts[i], token_starts[i + 1] - token_starts[i]
            v, m = token_starts[i - 1], token_starts[i] - token_starts[i - 1]
            earlier, pairs, top = np.zeros(m), 0.0, 0.0
            for a in range(m):
                for b in range(n):
                    k = block_starts[i] + a * n + b
                    value = bigrams[k] * beta[b]
                    earlier[a] += value
                    bigrams[k] = unigrams[v + a] * value
                    pairs += bigrams[k]
                top = max(top, earlier[a])
            for k in range(m * n):
                bigrams[block_starts[i] + k] /= pairs
            for b in range(n):
                mu = 0.0
                for a in range(m):
                    mu += bigrams[block_starts[i] + a * n + b]
                unigrams[u + b] = mu
            beta = earlier / top
        if last - first > 1:
            n = token_starts[first + 2] - token_starts[first + 1]
            for a in range(token_starts[first + 1] - token_starts[first]):
                mu = 0.0
                for b in range(n):
                    mu += bigrams[block_starts[first + 1] + a * n + b]
                unigrams[token_starts[first] + a] = mu


@kernel
def best_sequences(
    offsets: Longs,
    low: int,
    high: int,
    token_starts: Longs,
    block_starts: Longs,
    firsts: Array,
    arrows: Array,
    n_best: int,
    found: Codes,
    values: Array,
) -> None:
    """The n best sequences by the sum of what tokens and pairs of candidates are worth.

    `found[k, i]` gets the candidate of token i in the k-th best, -1 where there are not so many;
    `values[k, s]` what it is worth.
    """
    for s in range(low, high):
        first, last = offsets[s], offsets[s + 1]
        widest = 1
        for i in range(first, last):
            widest = max(widest, token_starts[i + 1] - token_starts[i])
        worth = np.full((last - first, widest, n_best), -np.inf)
        back = np.zeros((last - first, widest, n_best), np.int32)
        for i in range(first, last):
            u, n = token_starts[i], token_starts[i + 1] - token_starts[i]
            for b in range(n):
                if i == first:
                    worth[0, b, 0] = firsts[u + b]
                    continue
                m = token_starts[i] - token_starts[i - 1]
                for a in range(m):
                    gain = arrows[block_starts[i] + a * n + b] + firsts[u + b]
                    for k in range(n_best):
                        value = worth[i - 1 - first, a, k] + gain
                        if value <= worth[i - first, b, n_best - 1]:
                            break
                        place = n_best - 1
                        while place > 0 and value > worth[i - first, b, place - 1]:
                            worth[i - first, b, place] = worth[i - first, b, place - 1]
                            back[i - first, b, place] = back[i - first, b, place - 1]
                            place -= 1
                        worth[i - first, b, place] = value
                        back[i - first, b, place] = a * n_best + k
        if first == last:
            continue
        ends = worth[last - 1 - first].copy()
        for k in range(n_best):
            b, rank = 0, 0
            for c in range(ends.shape[0]):
                for r in range(n_best):
                    if ends[c, r] > ends[b, rank]:
                        b, rank = c, r
            values[k, s] = ends[b, rank]
            if ends[b, rank] == -np.inf:
                for i in range(first, last):
                    found[k, i] = -1
                continue
            ends[b, rank] = -np.inf
            for i in range(last - 1, first - 1, -1):
                found[k, i] = b
                b, rank = back[i - first, b, rank] // n_best, back[i - first, b, rank] % n_best


@kernel
def signed_marginals(
    offsets: Longs,
    low: int,
    high: int,
    types: Codes,
    starts: Longs,
    token_starts: Longs,
    block_starts: Longs,
    weights: Array,
    operator_of: Codes,
    initial: Array,
    operators: Array,
    final: Array,
    unigrams: Array,
    bigrams: Array,
    logs: Array,
) -> None:
    """The same for signed operators: candidate c of a type acts as weights[c] x operators[operator_of[c]].

    `logs` gets log |normaliser|, NaN where the normaliser is not positive. Marginals are raw: they sum to 1
    over the candidates but can be negative.
    """
    n = len(initial)
    longest = 1
    for s in range(low, high):
        longest = max(longest, offsets[s + 1] - offsets[s])
    widest = 1
    for x in range(len(starts) - 1):
        widest = max(widest, starts[x + 1] - starts[x])
    alpha = np.zeros((longest + 1, n))
    lefts = np.zeros((widest, n))
    rights = np.zeros((widest, n))
    later = np.zeros((widest, n))
    for s in range(low, high):
        first, last = offsets[s], offsets[s + 1]
        if first == last:
            continue
        alpha[0] = initial
        total = 0.0
        for i in range(first, last):
            x, row = types[i], alpha[i - first + 1]
            row[:] = 0.0
            for c in range(starts[x], starts[x + 1]):
                row += weights[c] * (alpha[i - first] @ operators[operator_of[c]])
            scale = np.abs(row).max()
            if scale > 0.0:
                row /= scale
                total += np.log(scale)
        whole = 0.0
        for j in range(n):
            whole += alpha[last - first, j] * final[j]
        logs[s] = total + np.log(whole) if whole > 0.0 else np.nan
        beta = final.copy()
        for i in range(last - 1, first - 1, -1):
            x, mass = types[i], 0.0
            n_here = starts[x + 1] - starts[x]
            sums = np.zeros(n)
            for c in range(starts[x], starts[x + 1]):
                k = c - starts[x]
                rights[k] = weights[c] * (operators[operator_of[c]] @ beta)
                sums += rights[k]
                mu = 0.0
                for j in range(n):
                    mu += alpha[i - first, j] * rights[k, j]
                unigrams[token_starts[i] + k] = mu
                mass += mu
            divisor = mass if mass != 0.0 else 1.0
            for k in range(n_here):
                unigrams[token_starts[i] + k] /= divisor
            if i + 1 < last:
                y, pairs = types[i + 1], 0.0
                n_later = starts[y + 1] - starts[y]
                for c in range(starts[x], starts[x + 1]):
                    k = c - starts[x]
                    lefts[k] = weights[c] * (alpha[i - first] @ operators[operator_of[c]])
                    for d in range(n_later):
                        mu = 0.0
                        for j in range(n):
                            mu += lefts[k, j] * later[d, j]
                        bigrams[block_starts[i + 1] + k * n_later + d] = mu
                        pairs += mu
                divisor = pairs if pairs != 0.0 else 1.0
                for k in range(n_here * n_later):
                    bigrams[block_starts[i + 1] + k] /= divisor
            scale = np.abs(sums).max()
            if scale > 0.0:
                beta = sums / scale
                for k in range(n_here):
                    later[k] = rights[k] / scale
            else:
                beta = sums
                later[:n_here] = rights[:n_here]
