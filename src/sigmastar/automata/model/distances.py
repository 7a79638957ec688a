"""Distances between functions on strings, and whether they are equal.

    <f, g> = sum over x of f(x) g(x) = initial_f . X . initial_g,   X = final_f final_g^T + sum_a A_a X B_a^T

Two functions are equal if their difference is zero on the strings whose forward vectors span all
others; found breadth-first, the first string on which they differ is a shortest one (Schutzenberger
1961, Tzeng 1992).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr

from sigmastar.automata.model.algebra import difference
from sigmastar.automata.model.automaton import Array, WeightedAutomaton
from sigmastar.automata.model.gramians import observe_gramian, solve_series, square_summable
from sigmastar.core.alphabet import Symbol

Word = tuple[int, ...]


def l2_inner(first: WeightedAutomaton, second: WeightedAutomaton) -> float:
    """The sum over all strings of the product of two functions that are both in l2."""
    first, second = square_summable(first), square_summable(second)
    second = second.over(first.alphabet)  # where a symbol is known to one only, the product is zero
    sums = solve_series(first.transitions, second.transitions, np.outer(first.final, second.final))
    return float(first.initial @ sums @ second.initial)


def l2_norm(automaton: WeightedAutomaton) -> float:
    """The root of the sum of squares; a value below 1e-8 of the automaton's own weights is rounding."""
    automaton = square_summable(automaton)
    square = float(automaton.initial @ observe_gramian(automaton) @ automaton.initial)
    return math.sqrt(max(square, 0.0))


def l2_distance(first: WeightedAutomaton, second: WeightedAutomaton) -> float:
    return l2_norm(difference(first, second))


@dataclass(frozen=True)
class Equivalence:
    """Whether two functions are equal; if not, a shortest string on which they differ."""

    equal: bool
    witness: tuple[Symbol, ...] | None


def equivalent(first: WeightedAutomaton, second: WeightedAutomaton, tolerance: float = 1e-9) -> Equivalence:
    """Compare two functions on the strings that decide: at most as many as both have states.

    A value of the difference counts as zero if it is below `tolerance` times the sizes of the forward
    and the final vector that make it: rare strings are held to the same relative standard.
    """
    gap = difference(first, second)
    cutoff = tolerance * float(np.linalg.norm(gap.final))
    words: list[Word] = [()]
    basis, vectors = np.empty((0, gap.n_states)), _unit_rows(gap.initial[None])
    while len(vectors):
        values = np.abs(vectors @ gap.final)
        if values.max() > cutoff:
            return Equivalence(False, gap.alphabet.decode(words[int(values.argmax())]))
        chosen, basis = _independent(vectors, basis)
        vectors, words = _extended(gap, vectors[chosen], [words[k] for k in chosen])
    return Equivalence(True, None)


def _extended(automaton: WeightedAutomaton, vectors: Array, words: list[Word]) -> tuple[Array, list[Word]]:
    """The forward vectors one symbol on, scaled to size one, with the words that lead to them."""
    n = automaton.n_states
    images = (vectors @ automaton.transitions).reshape(-1, n)
    longer = [(*word, code) for code in range(len(automaton.alphabet)) for word in words]
    alive = np.flatnonzero(images.any(axis=1))
    return _unit_rows(images[alive]), [longer[k] for k in alive]


def _independent(vectors: Array, basis: Array) -> tuple[list[int], Array]:
    """Which unit rows extend the span of orthonormal `basis`, and the basis of the larger span."""
    rest = vectors
    for _ in range(2):
        rest = rest - (rest @ basis.T) @ basis
    directions, sizes, order = qr(rest.T, mode="economic", pivoting=True)
    rank = min(int(np.sum(np.abs(np.diag(sizes)) > 1e-12)), basis.shape[1] - len(basis))
    return order[:rank].tolist(), np.vstack([basis, directions.T[:rank]])


def _unit_rows(rows: Array) -> Array:
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.where(norms > 0.0, norms, 1.0), dtype=np.float64)
