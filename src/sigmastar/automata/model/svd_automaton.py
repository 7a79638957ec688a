"""The singular value automaton, and approximate minimisation by cutting it.

In the basis where both Gramians are the diagonal matrix of the Hankel singular values s_1 >= s_2 ..

    diag(s) = initial initial^T + sum_a A_a^T diag(s) A_a = final final^T + sum_a A_a diag(s) A_a^T

state i carries the i-th singular direction of the Hankel matrix, and keeping the first n states is the
approximation of Balle, Panangaden and Precup (2015). The error f - g of the cut obeys

    ||f - g||_2^2  <=  sum_{i > n} s_i^2

Why: write v for the forward vectors of f, u for those of g, and e_i for a dropped state. Solving the
Gramian equations of f, of g and of the pair for their differences to diag(s) gives

    ||f - g||^2 = sum_{i > n} s_i (initial_i^2 + sum_{w, a} (2 p q - q^2)),  p = v_w A_a e_i, q = u_w A_a e_i

and 2 p q - q^2 <= p^2, while initial_i^2 + sum p^2, the sum over all strings of the squares of entry i
of the forward vectors, is s_i.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sigmastar.automata.model.automaton import Array, WeightedAutomaton
from sigmastar.automata.model.gramians import observe_gramian, reach_gramian, square_summable
from sigmastar.automata.model.minimize import minimize


@dataclass(frozen=True, eq=False)
class SingularValueAutomaton:
    """A minimal automaton in its canonical basis, with the singular values of its Hankel matrix."""

    automaton: WeightedAutomaton
    singular_values: Array

    @classmethod
    def of(cls, automaton: WeightedAutomaton) -> SingularValueAutomaton:
        """The canonical form of the function; it must be in l2."""
        automaton = square_summable(minimize(automaton))
        reach, observe = _root(reach_gramian(automaton)), _root(observe_gramian(automaton))
        left, singular_values, right = np.linalg.svd(reach.T @ observe)  # H = (reach side) (observe side)
        if not singular_values.max(initial=0.0) > 0.0:  # the zero function: nothing to turn
            return cls(automaton, np.zeros(automaton.n_states))
        keep = singular_values > 1e-14 * singular_values[0]
        weights = np.sqrt(singular_values[keep])
        inward = observe @ right[keep].T / weights  # n x kept: turns row vectors
        outward = (reach @ left[:, keep] / weights).T  # kept x n: turns columns; outward @ inward = I
        canonical = WeightedAutomaton(
            automaton.alphabet,
            automaton.initial @ inward,
            outward @ automaton.transitions @ inward,
            outward @ automaton.final,
        )
        return cls(canonical, np.asarray(singular_values[keep], dtype=np.float64))

    def cut(self, n_states: int) -> WeightedAutomaton:
        """The first `n_states` states."""
        if not 1 <= n_states <= self.automaton.n_states:
            rank = self.automaton.n_states
            raise ValueError(f"n_states={n_states} must be within 1..{rank}, the rank of the function")
        full = self.automaton
        return WeightedAutomaton(
            full.alphabet,
            full.initial[:n_states],
            full.transitions[:, :n_states, :n_states],
            full.final[:n_states],
        )

    def error_bound(self, n_states: int) -> float:
        """An upper bound on the l2 distance of `cut(n_states)`: the root of the sum of dropped s_i^2."""
        return float(np.linalg.norm(self.singular_values[n_states:]))


def approximate(automaton: WeightedAutomaton, max_error: float) -> WeightedAutomaton:
    """The smallest cut of the singular value automaton whose bound on the l2 distance is `max_error`."""
    canonical = SingularValueAutomaton.of(automaton)
    rank = canonical.automaton.n_states
    n_states = next(n for n in range(1, rank + 1) if canonical.error_bound(n) <= max_error or n == rank)
    return canonical.cut(n_states)


def _root(gramian: Array) -> Array:
    """L with L L^T = `gramian`, by eigenvectors: it may be singular up to rounding."""
    values, vectors = np.linalg.eigh((gramian + gramian.T) / 2)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)), dtype=np.float64)
