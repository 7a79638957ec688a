"""Exact minimization: the fewest states of one function.

    reachable    = span { initial A_w }          observable = span { A_w final }

Restricting to the first and then, in the automaton that is left, to the second gives the minimal
automaton, whose number of states is the rank of the Hankel matrix (Schutzenberger 1961; Kiefer 2020).
Both spans are grown breadth-first: the images of the newest directions, less what is spanned
already, are compressed by an SVD, so that the basis stays orthonormal and no vector is ever a long
product of operators.

Gramians: sums over all strings of products of two automata's vectors.

    X = C + sum_a L_a X R_a^T,    so that  X = sum over w of L_w C R_w^T

The map X -> sum_a L_a X L_a^T takes positive semidefinite matrices to such; the series converges,
whatever C, exactly if its solution for C = I is positive definite (Lyapunov), and that is how
convergence is checked. Small systems are solved directly, large ones by GMRES, which needs a few
products with the operators where summing the series needs hundreds.

The singular value automaton, and approximate minimization by cutting it.

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
from scipy.sparse.linalg import LinearOperator, gmres

from sigmastar.automata.model.algebra import reverse
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.arrays import Floats

TOLERANCE = 1e-10
"""Directions this small, relative to the operators that made them, are taken for rounding."""


def minimize(automaton: WeightedAutomaton, tolerance: float = TOLERANCE) -> WeightedAutomaton:
    """The same function with the fewest states (one, if the function is zero).

    Parameters
    ----------
    automaton : WeightedAutomaton
        The function.
    tolerance : float
        Relative size of what is taken for rounding.

    Returns
    -------
    WeightedAutomaton
        The minimal automaton.
    """
    # what cancels is small against the whole automaton, not against what restriction left of it
    initial, step, final = (tolerance * float(np.linalg.norm(part)) for part in automaton.arrays)
    reached = restrict(automaton, _forward_basis(automaton, initial, step))
    basis = _forward_basis(reverse(reached), final, step)
    minimal = reverse(restrict(reverse(reached), basis))
    return minimal if minimal.n_states else _zero(automaton)


def minimal_rank(automaton: WeightedAutomaton, tolerance: float = TOLERANCE) -> int:
    """The number of states that the function needs: the rank of its Hankel matrix.

    Parameters
    ----------
    automaton : WeightedAutomaton
        The function.
    tolerance : float
        Relative size of what is taken for rounding.

    Returns
    -------
    int
        Zero for the zero function.
    """
    minimal = minimize(automaton, tolerance)
    is_zero = minimal.n_states == 1 and not (minimal.initial.any() and minimal.final.any())
    return 0 if is_zero else minimal.n_states


def restrict(automaton: WeightedAutomaton, basis: Floats) -> WeightedAutomaton:
    """The automaton on a row space; exact where it holds `initial` and is closed under the operators."""
    return WeightedAutomaton(
        automaton.alphabet,
        basis @ automaton.initial,
        basis @ automaton.transitions @ basis.T,
        basis @ automaton.final,
    )


def _forward_basis(automaton: WeightedAutomaton, start_cutoff: float, step_cutoff: float) -> Floats:
    """Orthonormal rows that span all forward vectors."""
    basis = np.empty((0, automaton.n_states))
    frontier = _new_directions(automaton.initial[None], basis, start_cutoff)
    while len(frontier):
        basis = np.vstack([basis, frontier])
        images = (frontier @ automaton.transitions).reshape(-1, automaton.n_states)
        frontier = _new_directions(images, basis, step_cutoff)
    return basis


def _new_directions(rows: Floats, basis: Floats, cutoff: float) -> Floats:
    """Orthonormal rows for what `rows` add to the span of `basis`, above `cutoff` in size."""
    for _ in range(2):  # twice: one pass leaves rounding of the size of what it removes
        rows = rows - (rows @ basis.T) @ basis
    if len(rows) > rows.shape[1]:
        rows = np.asarray(np.linalg.qr(rows, mode="r"), dtype=np.float64)
    _, sizes, directions = np.linalg.svd(rows, full_matrices=False)
    room = rows.shape[1] - len(basis)
    return np.asarray(directions[sizes > cutoff][:room], dtype=np.float64)


def _zero(automaton: WeightedAutomaton) -> WeightedAutomaton:
    nothing = np.zeros((len(automaton.alphabet), 1, 1))
    return WeightedAutomaton(automaton.alphabet, np.zeros(1), nothing, np.zeros(1))


DIRECT_SIZE = 1600
"""Unknowns up to which the system is held as one dense matrix."""


def solve_series(left: Floats, right: Floats, constant: Floats) -> Floats:
    """The X above, for operators `left` (symbols x n x n) and `right` (symbols x m x m)."""
    if constant.size <= DIRECT_SIZE:
        n, m = constant.shape
        products = np.einsum("aij,akl->ikjl", left, right, optimize=True).reshape(n * m, n * m)
        solution = np.linalg.solve(np.eye(n * m) - products, constant.ravel())
        return np.asarray(solution, dtype=np.float64).reshape(n, m)
    return _solve_iteratively(left, right, constant)


def reach_gramian(automaton: WeightedAutomaton) -> Floats:
    """P = initial initial^T + sum_a A_a^T P A_a: products of forward vectors, summed over all strings."""
    transposed = automaton.transitions.transpose(0, 2, 1)
    return solve_series(transposed, transposed, np.outer(automaton.initial, automaton.initial))


def observe_gramian(automaton: WeightedAutomaton) -> Floats:
    """Q = final final^T + sum_a A_a Q A_a^T: products of backward vectors, summed over all strings."""
    operators = automaton.transitions
    return solve_series(operators, operators, np.outer(automaton.final, automaton.final))


def square_summable(automaton: WeightedAutomaton) -> WeightedAutomaton:
    """The automaton, minimized if its Gramians diverge; refused if the sum of f^2 is infinite.

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


def _solve_iteratively(left: Floats, right: Floats, constant: Floats) -> Floats:
    shape = constant.shape
    turned = np.ascontiguousarray(right.transpose(0, 2, 1))

    def remainder(flat: Floats) -> Floats:
        x = flat.reshape(shape)
        return np.asarray((x - (left @ x @ turned).sum(axis=0)).ravel(), dtype=np.float64)

    system = LinearOperator((constant.size, constant.size), matvec=remainder, dtype=np.float64)
    solution, _ = gmres(system, constant.ravel(), rtol=1e-14, atol=0.0, restart=60, maxiter=20)
    error = np.linalg.norm(remainder(solution) - constant.ravel())
    if not error <= 1e-10 * np.linalg.norm(constant):
        raise ArithmeticError(f"the sum over all strings did not converge: relative error {error:.1e}")
    return np.asarray(solution, dtype=np.float64).reshape(shape)


@dataclass(frozen=True, eq=False)
class SingularValueAutomaton:
    """A minimal automaton in its canonical basis, with the singular values of its Hankel matrix."""

    automaton: WeightedAutomaton
    singular_values: Floats

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
    """The smallest cut of the singular value automaton whose bound on the l2 distance is `max_error`.

    Parameters
    ----------
    automaton : WeightedAutomaton
        The function.
    max_error : float
        Bound on the l2 distance.

    Returns
    -------
    WeightedAutomaton
        The smaller automaton.
    """
    canonical = SingularValueAutomaton.of(automaton)
    rank = canonical.automaton.n_states
    n_states = next(n for n in range(1, rank + 1) if canonical.error_bound(n) <= max_error or n == rank)
    return canonical.cut(n_states)


def _root(gramian: Floats) -> Floats:
    """L with L L^T = `gramian`, by eigenvectors: it may be singular up to rounding."""
    values, vectors = np.linalg.eigh((gramian + gramian.T) / 2)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)), dtype=np.float64)
