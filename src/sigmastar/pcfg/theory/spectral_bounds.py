"""Sample bounds of spectral learning, to set beside those of empirical risk minimisation.

    L-PCFG     M_a >= 128 m^2 / (((1 + epsilon)^(1 / (2N + 1)) - 1)^2 Lambda^2 sigma^4) log(2 m R / delta)
               for every non-terminal a: then 1 - epsilon <= |p^ / p| <= 1 + epsilon for a tree of N rules
    automaton  N >= c n |Sigma|^2 T^4 / (epsilon^2 s_n(H)^4)
               then sum over |x| <= T of |f(x) - f^(x)| <= epsilon, with high probability

Theorem 3 of Cohen et al. (2012); the PAC analysis in the tutorial of Balle, Quattoni and Carreras (2014),
whose constant c is not stated: it is 1 unless given, so that the figure is an order of magnitude only.
"""

from __future__ import annotations

import math


def latent_pcfg_samples(
    epsilon: float,
    delta: float,
    n_states: int,
    n_rules: int,
    tree_size: int,
    smallest: float,
    conditioning: float,
) -> float:
    """Trees with each non-terminal: `smallest` is Lambda, the least probability of a rule or non-terminal's
    state, `conditioning` is sigma, the least singular value of the feature covariances."""
    step = math.expm1(math.log1p(epsilon) / (2 * tree_size + 1))
    return (
        128
        * n_states**2
        / (step**2 * smallest**2 * conditioning**4)
        * math.log(2 * n_states * n_rules / delta)
    )


def automaton_samples(
    epsilon: float, n_states: int, n_symbols: int, length: int, conditioning: float, constant: float = 1.0
) -> float:
    """Strings: `conditioning` is the n-th singular value of the block, `length` is T."""
    return constant * n_states * n_symbols**2 * length**4 / (epsilon**2 * conditioning**4)
