"""Marginals of weighted finite taggers: signed operators A_x^y, sums over all tags by products of sums.

    alpha_i = alpha_{i-1} sum_b A_{x_i}^b,   mu(i, a) prop. to alpha_{i-1} A_{x_i}^a beta_i
    mu(i, a, b) prop. to alpha_{i-2} A_{x_{i-1}}^a A_{x_i}^b beta_i

Balle, Carreras and Quattoni (2014), "Prediction with WFTaggers". Tables are flat, as in `chains`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sigmastar.core.arrays import Floats, Int32s
from sigmastar.core.jit import kernel, part
from sigmastar.core.scaling import largest_size
from sigmastar.taggers.kernels.chains import Lattice, Marginals


class Operators(NamedTuple):
    """A weighted finite tagger; candidate c of a type acts as weights[c] x operators[operator_of[c]]."""

    initial: Floats
    operators: Floats
    final: Floats
    weights: Floats
    operator_of: Int32s


@kernel
def signed_marginals(lattice: Lattice, low: int, high: int, model: Operators, found: Marginals) -> None:
    """Raw marginals of sentences low..high: they sum to one over the candidates but can be negative.

    Logs get log |normalizer|, NaN where the normalizer is not positive.
    """
    offsets, types, starts = lattice.offsets, lattice.types, lattice.starts
    n, longest, widest = len(model.initial), 1, 1
    for s in range(low, high):
        longest = max(longest, offsets[s + 1] - offsets[s])
    for x in range(len(starts) - 1):
        widest = max(widest, starts[x + 1] - starts[x])
    alpha = np.zeros((longest + 1, n))
    rights, later = np.zeros((widest, n)), np.zeros((widest, n))
    for s in range(low, high):
        first, last = offsets[s], offsets[s + 1]
        if first == last:
            continue
        total = 0.0
        for j in range(n):  # a whole row at once takes seconds to compile
            alpha[0, j] = model.initial[j]
        for i in range(first, last):
            total += _forward(starts[types[i]], starts[types[i] + 1], model, alpha[i - first : i - first + 2])
        whole = 0.0
        for j in range(n):
            whole += alpha[last - first, j] * model.final[j]
        found.logs[s] = total + np.log(whole) if whole > 0.0 else np.nan
        beta, n_later = model.final.copy(), 0
        for i in range(last - 1, first - 1, -1):
            c0, before = starts[types[i]], alpha[i - first]
            here = found.unigrams[lattice.token_starts[i] : lattice.token_starts[i + 1]]
            sums = _unigrams(c0, model, before, beta, rights, here)
            if i + 1 < last:
                block = lattice.block_starts[i + 1]
                pairs = found.bigrams[block : block + len(here) * n_later]
                _pairs(c0, model, before, later[:n_later], pairs)
            n_later = len(here)
            _rescale_back(sums, rights[:n_later], beta, later)


@part
def _rescale_back(sums: Floats, rights: Floats, beta: Floats, later: Floats) -> None:
    """The backward vector of the token before, and its parts by candidates, to a largest entry of one."""
    scale = largest_size(sums)
    divisor = scale if scale > 0.0 else 1.0
    for j in range(len(beta)):
        beta[j] = sums[j] / divisor
        for k in range(len(rights)):
            later[k, j] = rights[k, j] / divisor


@part
def _forward(low: int, high: int, model: Operators, alpha: Floats) -> float:
    """The next forward vector, scaled to a largest entry of one; the logarithm of the scale."""
    row = alpha[1]
    row[:] = 0.0
    for c in range(low, high):
        moved = alpha[0] @ model.operators[model.operator_of[c]]
        for j in range(len(row)):
            row[j] += model.weights[c] * moved[j]
    scale = largest_size(row)
    if scale == 0.0:
        return 0.0
    for j in range(len(row)):
        row[j] /= scale
    return float(np.log(scale))


@part
def _unigrams(
    c0: int, model: Operators, before: Floats, beta: Floats, rights: Floats, found: Floats
) -> Floats:
    """Marginals of the candidates of a token; `rights` gets their backward vectors, the sum is returned."""
    sums, mass = np.zeros(len(beta)), 0.0
    for k in range(len(found)):
        right = model.operators[model.operator_of[c0 + k]] @ beta
        found[k] = 0.0
        for j in range(len(beta)):
            rights[k, j] = model.weights[c0 + k] * right[j]
            sums[j] += rights[k, j]
            found[k] += before[j] * rights[k, j]
        mass += found[k]
    norm = mass if mass != 0.0 else 1.0
    for k in range(len(found)):
        found[k] /= norm
    return sums


@part
def _pairs(c0: int, model: Operators, before: Floats, later: Floats, found: Floats) -> None:
    """Marginals of pairs of candidates, of a token and of the next one with backward vectors `later`."""
    mass, place = 0.0, 0
    for c in range(c0, c0 + len(found) // len(later)):
        left = before @ model.operators[model.operator_of[c]]
        for d in range(len(later)):
            value = 0.0
            for j in range(len(left)):
                value += left[j] * later[d, j]
            found[place] = model.weights[c] * value
            mass += found[place]
            place += 1
    norm = mass if mass != 0.0 else 1.0
    for k in range(len(found)):
        found[k] /= norm
