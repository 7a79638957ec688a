"""Chains of hidden states under any emissions: sums and best paths.

    v_1 = initial * b_1,   v_t = (v_{t-1} T) * b_t      each divided by its sum c_t; log p(x) = sum log c_t
    u_T = 1,               u_t = T (b_{t+1} * u_{t+1}) / c_{t+1}
    gamma_t = v_t * u_t,   xi += v_t (b_{t+1} * u_{t+1})^T * T / c_{t+1}

where b_t are the densities of row t in each state, divided by the largest of them (Rabiner 1989).
"""

from __future__ import annotations

import numpy as np

from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.jit import fast_kernel, kernel


@fast_kernel
def forward_backward(
    densities: Floats, offsets: Int64s, initial: Floats, moves: Floats, posteriors: Floats, together: Floats
) -> Floats:
    """log sum c_t of each series; posteriors are overwritten, expected moves are added to `together`."""
    n = len(initial)
    logs = np.zeros(len(offsets) - 1)
    longest = 0
    for series in range(len(offsets) - 1):
        longest = max(longest, offsets[series + 1] - offsets[series])
    scales, back, weighed = np.ones(longest + 1), np.empty(n), np.empty(n)
    for series in range(len(offsets) - 1):
        begin, end = offsets[series], offsets[series + 1]
        for t in range(begin, end):
            total = 0.0
            if t == begin:
                for q in range(n):
                    posteriors[t, q] = initial[q] * densities[t, q]
                    total += posteriors[t, q]
            else:
                for q in range(n):
                    weighed[q] = 0.0
                for p in range(n):
                    mass = posteriors[t - 1, p]
                    for q in range(n):
                        weighed[q] += mass * moves[p, q]
                for q in range(n):
                    posteriors[t, q] = weighed[q] * densities[t, q]
                    total += posteriors[t, q]
            scales[t - begin] = total
            logs[series] += np.log(total)
            for q in range(n):
                posteriors[t, q] /= total
        for q in range(n):
            back[q] = 1.0
        for t in range(end - 2, begin - 1, -1):
            for q in range(n):
                weighed[q] = densities[t + 1, q] * back[q] / scales[t + 1 - begin]
            for p in range(n):
                mass, total = posteriors[t, p], 0.0
                for q in range(n):
                    share = moves[p, q] * weighed[q]
                    total += share
                    together[p, q] += mass * share
                back[p] = total
                posteriors[t, p] = mass * total
    return logs


@kernel
def best_chains(logs: Floats, offsets: Int64s, initial: Floats, moves: Floats) -> tuple[Int32s, Floats]:
    """The state of each row on the best path of its series, and the log-weight of the path.

    All arguments are logarithms.
    """
    n = len(initial)
    states, best = np.zeros(len(logs), np.int32), np.zeros(len(offsets) - 1)
    back = np.zeros((len(logs), n), np.int32)
    scores, following = np.empty(n), np.empty(n)
    for series in range(len(offsets) - 1):
        begin, end = offsets[series], offsets[series + 1]
        if begin == end:
            continue
        for q in range(n):
            scores[q] = initial[q] + logs[begin, q]
        for t in range(begin + 1, end):
            for q in range(n):
                following[q] = -np.inf
                for p in range(n):
                    score = scores[p] + moves[p, q]
                    if score > following[q]:
                        following[q], back[t, q] = score, p
                following[q] += logs[t, q]
            scores, following = following, scores
        at = 0
        for q in range(n):
            if scores[q] > scores[at]:
                at = q
        best[series] = scores[at]
        for t in range(end - 1, begin - 1, -1):
            states[t] = at
            at = back[t, at]
    return states, best
