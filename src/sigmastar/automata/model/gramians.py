"""Gramians: sums over all strings of products of two automata's vectors.

    X = C + sum_a L_a X R_a^T,    so that  X = sum over w of L_w C R_w^T

The map X -> sum_a L_a X L_a^T takes positive semidefinite matrices to such; the series converges,
whatever C, exactly if its solution for C = I is positive definite (Lyapunov), and that is how
convergence is checked. Small systems are solved directly, large ones by GMRES, which needs a few
products with the operators where summing the series needs hundreds.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse.linalg import LinearOperator, gmres

from sigmastar.automata.model.automaton import Array, WeightedAutomaton
from sigmastar.automata.model.minimize import minimize

DIRECT_SIZE = 1600
"""Unknowns up to which the system is held as one dense matrix."""


def solve_series(left: Array, right: Array, constant: Array) -> Array:
    """The X above, for operators `left` (symbols x n x n) and `right` (symbols x m x m)."""
    if constant.size <= DIRECT_SIZE:
        n, m = constant.shape
        products = np.einsum("aij,akl->ikjl", left, right, optimize=True).reshape(n * m, n * m)
        solution = np.linalg.solve(np.eye(n * m) - products, constant.ravel())
        return np.asarray(solution, dtype=np.float64).reshape(n, m)
    return _solve_iteratively(left, right, constant)


def reach_gramian(automaton: WeightedAutomaton) -> Array:
    """P = initial initial^T + sum_a A_a^T P A_a: products of forward vectors, summed over all strings."""
    transposed = automaton.transitions.transpose(0, 2, 1)
    return solve_series(transposed, transposed, np.outer(automaton.initial, automaton.initial))


def observe_gramian(automaton: WeightedAutomaton) -> Array:
    """Q = final final^T + sum_a A_a Q A_a^T: products of backward vectors, summed over all strings."""
    operators = automaton.transitions
    return solve_series(operators, operators, np.outer(automaton.final, automaton.final))


def square_summable(automaton: WeightedAutomaton) -> WeightedAutomaton:
    """The automaton, minimised if its Gramians diverge; refused if the sum of f^2 is infinite.

    States that do not matter to f may diverge while f does not; in a minimal automaton none can.
    """
    if not _converges(automaton):
        automaton = minimize(automaton)
        if not _converges(automaton):
            raise ValueError(
                "f is not in l2: its squares sum to infinity over all strings, or too nearly so to compute"
            )
    return automaton


def _converges(automaton: WeightedAutomaton) -> bool:
    operators = automaton.transitions
    try:
        series = solve_series(operators, operators, np.eye(automaton.n_states))
    except (np.linalg.LinAlgError, ArithmeticError):
        return False
    return bool(np.linalg.eigvalsh((series + series.T) / 2).min(initial=1.0) > 0.0)


def _solve_iteratively(left: Array, right: Array, constant: Array) -> Array:
    shape = constant.shape
    turned = np.ascontiguousarray(right.transpose(0, 2, 1))

    def remainder(flat: Array) -> Array:
        x = flat.reshape(shape)
        return np.asarray((x - (left @ x @ turned).sum(axis=0)).ravel(), dtype=np.float64)

    system = LinearOperator((constant.size, constant.size), matvec=remainder, dtype=np.float64)
    solution, _ = gmres(system, constant.ravel(), rtol=1e-14, atol=0.0, restart=60, maxiter=20)
    error = np.linalg.norm(remainder(solution) - constant.ravel())
    if not error <= 1e-10 * np.linalg.norm(constant):
        raise ArithmeticError(f"the sum over all strings did not converge: relative error {error:.1e}")
    return np.asarray(solution, dtype=np.float64).reshape(shape)
