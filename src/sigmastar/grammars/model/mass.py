"""What the strings of a weighted grammar weigh: all together, by length, and one by one.

    z = w + A (z (x) z),  w = sum over words          the least solution: the mass below each state
    m_l = initial . b_l,  b_1 = w,  b_l = sum over k of A (b_k (x) b_(l-k))     the mass of length l

Newton's method from zero rises to the least solution of a grammar without negative weights (Etessami and
Yannakakis 2009); elsewhere it is the solution that Newton's method finds, or there is none. For all strings
one by one, the inside vectors of length l are sums over k of the products of all of length k with all of
length l - k: `beta(y z)` stands at the number of y times symbols^(l - k) plus the number of z.
"""

from __future__ import annotations

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.distances import MAX_SIZE, all_words, size_up_to
from sigmastar.core.arrays import Floats
from sigmastar.grammars.model.grammar import WeightedGrammar

_STEPS = 200


def state_masses(grammar: WeightedGrammar, tolerance: float = 1e-13) -> Floats:
    """The weight of all that can be derived from each state (the partition function)."""
    word, operator = grammar.words.sum(axis=0), grammar.composition
    masses = np.zeros(grammar.n_states)
    for _ in range(_STEPS):
        step = word + masses @ (operator @ masses).T - masses
        try:
            change = np.linalg.solve(np.eye(len(masses)) - _derivative(operator, masses), step)
        except np.linalg.LinAlgError:  # a critical grammar: the plain iteration still rises
            change = step
        masses = masses + change
        if not np.isfinite(masses).all() or np.abs(masses).max() > 1e12:
            break
        if np.abs(change).max() <= tolerance * max(1.0, np.abs(masses).max()):
            if _growth(_derivative(operator, masses)) > 1.0 + 1e-6:
                break  # a solution that sums over deeper and deeper trees run away from
            return masses
    raise ValueError(
        "the weight of all strings is infinite or was not found; scale the composition down, or repair the "
        "grammar by EM"
    )


def total_mass(grammar: WeightedGrammar) -> float:
    """The sum of f over all strings; below 1 for a PCFG whose derivations need not end.

    Parameters
    ----------
    grammar
        A grammar whose mass is finite, or ValueError.

    Returns
    -------
    float
        The mass of all strings.
    """
    return float(grammar.initial @ state_masses(grammar))


def expected_length(grammar: WeightedGrammar) -> float:
    """The mean length of strings under f / total mass.

    Parameters
    ----------
    grammar
        A grammar whose mass and mean length are finite, or ValueError.

    Returns
    -------
    float
        In symbols.
    """
    masses = state_masses(grammar)
    derivative = _derivative(grammar.composition, masses)
    if _growth(derivative) >= 1.0 - 1e-9:
        raise ValueError("the expected length is infinite: the grammar is critical")
    lengths = np.linalg.solve(np.eye(len(masses)) - derivative, grammar.words.sum(axis=0))
    return float(grammar.initial @ lengths / (grammar.initial @ masses))


def length_masses(grammar: WeightedGrammar, max_length: int) -> Floats:
    """The mass of all strings of length 1, .., max_length.

    Parameters
    ----------
    grammar
        Any grammar.
    max_length
        The largest length.

    Returns
    -------
    array of float
        One mass per length.
    """
    n, operator = grammar.n_states, grammar.composition.reshape(grammar.n_states, -1)
    vectors = np.zeros((max_length + 1, n))
    vectors[1] = grammar.words.sum(axis=0)
    for length in range(2, max_length + 1):
        pairs = vectors[1:length].T @ vectors[length - 1 : 0 : -1]
        vectors[length] = operator @ pairs.ravel()
    return vectors[1:] @ grammar.initial


def normalized(grammar: WeightedGrammar) -> WeightedGrammar:
    """The PCFG with the distribution f / total mass, for weights of which none is negative.

    Parameters
    ----------
    grammar
        A grammar without negative weights, whose mass is finite.

    Returns
    -------
    WeightedGrammar
        Without the states that derive nothing.
    """
    if min(part.min(initial=0.0) for part in (grammar.initial, grammar.words, grammar.composition)) < 0.0:
        raise ValueError("a grammar with negative weights is no distribution; repair it by EM")
    masses = state_masses(grammar)
    kept = masses > 0.0
    if not kept.any():
        raise ValueError("the grammar gives no string any weight")
    scale = masses[kept]
    initial = grammar.initial[kept] * scale
    composition = grammar.composition[np.ix_(kept, kept, kept)] * scale[:, None] * scale
    return WeightedGrammar(
        grammar.alphabet,
        initial / initial.sum(),
        grammar.words[:, kept] / scale,
        composition / scale[:, None, None],
    )


def _growth(derivative: Floats) -> float:
    """The factor by which errors grow from one depth of trees to the next, in the end."""
    return float(np.abs(np.linalg.eigvals(derivative)).max())


def _derivative(operator: Floats, masses: Floats) -> Floats:
    derivative: Floats = operator @ masses + np.einsum("ijk,j->ik", operator, masses)
    return derivative


def grammar_values_up_to(grammar: WeightedGrammar, max_length: int) -> tuple[Strings, Floats]:
    """Every non-empty string of at most `max_length` symbols, shorter ones first, and its value.

    Parameters
    ----------
    grammar
        Any grammar.
    max_length
        The largest length.

    Returns
    -------
    tuple
        Strings, and an array of their values.
    """
    levels = _levels(grammar, max_length)
    words = [all_words(len(grammar.alphabet), length) for length in range(1, max_length + 1)]
    lengths = np.repeat(np.arange(1, max_length + 1), [len(level) for level in levels])
    offsets = np.append(0, np.cumsum(lengths)).astype(np.int64)
    codes = np.concatenate([level.ravel() for level in words]).astype(np.int32)
    return Strings(grammar.alphabet, codes, offsets), np.concatenate(levels)


def _levels(grammar: WeightedGrammar, max_length: int) -> list[Floats]:
    n, n_symbols = grammar.n_states, len(grammar.alphabet)
    if max_length < 1:
        raise ValueError(f"max_length={max_length} must be 1 or more")
    if size_up_to(n_symbols, max_length, n) > MAX_SIZE:
        raise ValueError(
            f"too many strings over {n_symbols} symbols up to length {max_length}; use a smaller max_length"
        )
    vectors = [grammar.words]
    for length in range(2, max_length + 1):
        total = np.zeros((n_symbols**length, n))
        for k in range(1, length):
            pulled = np.einsum("yj,ijk->yik", vectors[k - 1], grammar.composition)
            total += np.einsum("yik,zk->yzi", pulled, vectors[length - k - 1], optimize=True).reshape(-1, n)
        vectors.append(total)
    return [level @ grammar.initial for level in vectors]
