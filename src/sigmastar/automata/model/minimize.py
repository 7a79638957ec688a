"""Exact minimisation: the fewest states of one function.

    reachable    = span { initial A_w }          observable = span { A_w final }

Restricting to the first and then, in the automaton that is left, to the second gives the minimal
automaton, whose number of states is the rank of the Hankel matrix (Schutzenberger 1961; Kiefer 2020).
Both spans are grown breadth-first: the images of the newest directions, less what is spanned
already, are compressed by an SVD, so that the basis stays orthonormal and no vector is ever a long
product of operators.
"""

from __future__ import annotations

import numpy as np

from sigmastar.automata.model.algebra import reverse
from sigmastar.automata.model.automaton import Array, WeightedAutomaton

TOLERANCE = 1e-10
"""Directions this small, relative to the operators that made them, are taken for rounding."""


def minimize(automaton: WeightedAutomaton, tolerance: float = TOLERANCE) -> WeightedAutomaton:
    """The same function with the fewest states (one, if the function is zero)."""
    # what cancels is small against the whole automaton, not against what restriction left of it
    initial, step, final = (tolerance * _norm(part) for part in _parts(automaton))
    reached = restrict(automaton, _forward_basis(automaton, initial, step))
    basis = _forward_basis(reverse(reached), final, step)
    minimal = reverse(restrict(reverse(reached), basis))
    return minimal if minimal.n_states else _zero(automaton)


def minimal_rank(automaton: WeightedAutomaton, tolerance: float = TOLERANCE) -> int:
    """The number of states that the function needs: the rank of its Hankel matrix."""
    minimal = minimize(automaton, tolerance)
    is_zero = minimal.n_states == 1 and not (minimal.initial.any() and minimal.final.any())
    return 0 if is_zero else minimal.n_states


def restrict(automaton: WeightedAutomaton, basis: Array) -> WeightedAutomaton:
    """The automaton on a row space; exact where it holds `initial` and is closed under the operators."""
    return WeightedAutomaton(
        automaton.alphabet,
        basis @ automaton.initial,
        basis @ automaton.transitions @ basis.T,
        basis @ automaton.final,
    )


def _forward_basis(automaton: WeightedAutomaton, start_cutoff: float, step_cutoff: float) -> Array:
    """Orthonormal rows that span all forward vectors."""
    basis = np.empty((0, automaton.n_states))
    frontier = _new_directions(automaton.initial[None], basis, start_cutoff)
    while len(frontier):
        basis = np.vstack([basis, frontier])
        images = (frontier @ automaton.transitions).reshape(-1, automaton.n_states)
        frontier = _new_directions(images, basis, step_cutoff)
    return basis


def _new_directions(rows: Array, basis: Array, cutoff: float) -> Array:
    """Orthonormal rows for what `rows` add to the span of `basis`, above `cutoff` in size."""
    for _ in range(2):  # twice: one pass leaves rounding of the size of what it removes
        rows = rows - (rows @ basis.T) @ basis
    if len(rows) > rows.shape[1]:
        rows = np.asarray(np.linalg.qr(rows, mode="r"), dtype=np.float64)
    _, sizes, directions = np.linalg.svd(rows, full_matrices=False)
    room = rows.shape[1] - len(basis)
    return np.asarray(directions[sizes > cutoff][:room], dtype=np.float64)


def _parts(automaton: WeightedAutomaton) -> tuple[Array, Array, Array]:
    return automaton.initial, automaton.transitions, automaton.final


def _norm(array: Array) -> float:
    return float(np.linalg.norm(array))


def _zero(automaton: WeightedAutomaton) -> WeightedAutomaton:
    nothing = np.zeros((len(automaton.alphabet), 1, 1))
    return WeightedAutomaton(automaton.alphabet, np.zeros(1), nothing, np.zeros(1))
