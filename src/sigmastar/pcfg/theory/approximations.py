"""Proper approximations (Cohen and Smith, 2012, section 4): spaces F_m that grow with the sample.

F_m holds the grammars, in binary normal form, whose probabilities are at least m^-s. They

    are grammars of the same family                                                     containment
    have a loss above K_m with small expectation,  E[f 1{f >= K_m}] <= bound(m)         boundedness
    are close to any f,  p(T(f, m^-s)(z) - f(z) >= tail(m) for some f) <= tail(m)       tightness

    K_m = s N log^3 m          tail(m) = N log^2 m / (m^s - 1)
    bound(m) = s L log m  sum over k > log^2 m of k q^k

The proof in the paper: a derivation of at most log^2 m events has a loss of at most s log^3 m <= K_m. Longer
ones have a loss of at most s |z| log m, and length k has probability at most L q^k. The paper goes on to
bound(m) <= m^(-kappa log m) with a kappa that it states with the wrong sign; the sum itself is sharper
and needs no constant.
"""

from __future__ import annotations

import math

from sigmastar.pcfg.theory.assumptions import Assumptions


def margin(m: float, s: float) -> float:
    """m^-s."""
    return float(m**-s)


def level(log_m: float, n_events: int, s: float) -> float:
    """K_m, of log m."""
    return s * n_events * log_m**3


def log_excess(log_m: float, s: float, assumptions: Assumptions) -> float:
    """log bound(m), of log m."""
    q, first = assumptions.string_decay, math.floor(log_m**2) + 1.0
    if assumptions.scale == 0 or log_m <= 0:
        return -math.inf
    log_sum = first * math.log(q) + math.log(first - (first - 1) * q) - 2 * math.log1p(-q)
    return math.log(s * assumptions.scale * log_m) + log_sum


def tail(m: float, n_events: int, s: float) -> float:
    """tail(m)."""
    return float(n_events * math.log(m) ** 2 / (m**s - 1))
