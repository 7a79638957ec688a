"""Probabilistic automata and hidden Markov models, into one another.

A proper probabilistic automaton (PFA) has weights >= 0, and out of every state stop and moves sum to
one. In a hidden Markov model with stopping, state q stops with `stop[q]`; else it emits a symbol and
then moves, independently of the symbol:

    A_a[q, q'] = (1 - stop[q]) emission[q, a] transition[q, q'],    final = stop

Back, the state (q, a) means: at q, and the symbol to come, if any, is a. It is entered with
probability P(a | q does not stop), stops as q does, and emits a alone; then it moves to q' as q does
on a. The way is exact and takes up to n_states * symbols states (Dupont, Denis and Esposito 2005).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Floats

_ALIKE = 1e-9


@dataclass(frozen=True, eq=False)
class Hmm:
    """A hidden Markov model on finite strings; every row is a distribution."""

    alphabet: Alphabet
    initial: Floats  # n
    transition: Floats  # n x n
    emission: Floats  # n x symbols
    stop: Floats  # n

    def __post_init__(self) -> None:
        n = len(self.initial)
        shapes = (self.transition.shape, self.emission.shape, self.stop.shape)
        if shapes != ((n, n), (n, len(self.alphabet)), (n,)):
            raise ValueError(f"transition, emission and stop of shapes {shapes} do not fit {n} states")
        for name in ("initial", "transition", "emission"):
            rows = getattr(self, name)
            if not (rows >= 0).all() or np.abs(rows.sum(axis=-1) - 1.0).max(initial=0.0) > 1e-9:
                raise ValueError(f"{name} must be non-negative with rows that sum to 1")
        if not ((self.stop >= 0.0) & (self.stop <= 1.0)).all():
            raise ValueError("stop must hold probabilities")

    @property
    def n_states(self) -> int:
        return len(self.initial)


def from_hmm(hmm: Hmm) -> WeightedAutomaton:
    """The automaton of a hidden Markov model, on the same states.

    Parameters
    ----------
    hmm : Hmm
        The model.

    Returns
    -------
    WeightedAutomaton
        The same distribution.
    """
    emitting = ((1.0 - hmm.stop)[:, None] * hmm.emission).T
    return WeightedAutomaton(hmm.alphabet, hmm.initial, emitting[:, :, None] * hmm.transition, hmm.stop)


def to_hmm(automaton: WeightedAutomaton) -> Hmm:
    """A hidden Markov model of the same distribution, for a proper probabilistic automaton.

    Parameters
    ----------
    automaton : WeightedAutomaton
        A proper probabilistic automaton.

    Returns
    -------
    Hmm
        Up to states x symbols states.
    """
    require_stochastic(automaton)
    symbol_weights = automaton.transitions.sum(axis=2).T  # state, symbol
    moving = symbol_weights.sum(axis=1, keepdims=True)
    entry = np.divide(symbol_weights, moving, out=np.zeros_like(symbol_weights), where=moving > 0)
    entry[moving[:, 0] == 0.0, 0] = 1.0  # a state that only stops: any symbol stands for the one never read
    state, symbol = np.nonzero(entry > 0)
    targets = automaton.transitions[symbol, state]  # kept pairs x states
    sums = targets.sum(axis=1, keepdims=True)
    targets = np.where(sums > 0, targets / np.where(sums > 0, sums, 1.0), np.eye(automaton.n_states)[state])
    return Hmm(
        automaton.alphabet,
        initial=_rows(automaton.initial[state] * entry[state, symbol]),
        transition=_rows(targets[:, state] * entry[state, symbol]),
        emission=np.eye(len(automaton.alphabet))[symbol],
        stop=np.clip(automaton.final[state], 0.0, 1.0),
    )


def as_hmm(automaton: WeightedAutomaton) -> Hmm:
    """The hidden Markov model of a proper automaton: on its own states where it is one, else on more.

    Parameters
    ----------
    automaton : WeightedAutomaton
        A proper probabilistic automaton.

    Returns
    -------
    Hmm
        The same distribution; with the states of `to_hmm` where symbols and moves depend on each other.
    """
    found = on_own_states(automaton)
    return to_hmm(automaton) if found is None else found


def on_own_states(automaton: WeightedAutomaton) -> Hmm | None:
    """The hidden Markov model that a proper automaton is; None where moves depend on symbols."""
    require_stochastic(automaton)
    going = 1.0 - automaton.final
    safe = np.where(going > 0.0, going, 1.0)
    n, n_symbols = automaton.n_states, len(automaton.alphabet)
    emission, transition = (automaton.transitions.sum(axis=axis) for axis in (2, 0))
    emission = np.where(going[:, None] > 0.0, emission.T / safe[:, None], 1.0 / max(n_symbols, 1))
    transition = np.where(going[:, None] > 0.0, transition / safe[:, None], np.eye(n))
    implied = (going[:, None] * emission).T[:, :, None] * transition
    if np.abs(implied - automaton.transitions).max(initial=0.0) > _ALIKE:
        return None
    initial, moves, symbols = (
        row / row.sum(axis=-1, keepdims=True) for row in (automaton.initial, transition, emission)
    )
    return Hmm(automaton.alphabet, initial, moves, symbols, np.clip(automaton.final, 0.0, 1.0))


def hmm_arrays(automaton: WeightedAutomaton) -> dict[str, NDArray[np.float32]]:
    """A proper automaton as toolkits hold hidden Markov models that emit at every step and never stop.

    The end of a string is one more symbol, the last column, and a state that emits it for ever. A state q of
    `as_hmm` then means: at q, and the string goes on.

        alpha[q, q']  = transition[q, q'] (1 - stop[q'])
        alpha[q, end] = sum over q' of transition[q, q'] stop[q']

    Parameters
    ----------
    automaton : WeightedAutomaton
        A proper probabilistic automaton.

    Returns
    -------
    dict of arrays
        `alpha_exp`: probabilities of moves, states x states; `beta`: logarithms of emissions, states x
        (symbols + 1); `gamma`: logarithms of where strings begin; all float32.
    """
    hmm = as_hmm(automaton)
    alive = hmm.stop < 1.0
    n, n_symbols, on = int(alive.sum()), len(automaton.alphabet), 1.0 - hmm.stop[alive]
    alpha, beta, gamma = np.zeros((n + 1, n + 1)), np.zeros((n + 1, n_symbols + 1)), np.zeros(n + 1)
    alpha[:n, :n] = hmm.transition[np.ix_(alive, alive)] * on
    alpha[:n, n], alpha[n, n] = hmm.transition[alive] @ hmm.stop, 1.0
    gamma[:n], gamma[n] = hmm.initial[alive] * on, hmm.initial @ hmm.stop
    beta[:n, :n_symbols], beta[n, n_symbols] = hmm.emission[alive], 1.0
    with np.errstate(divide="ignore"):
        arrays = {"alpha_exp": _rows(alpha), "beta": np.log(beta), "gamma": np.log(_rows(gamma))}
    return {name: array.astype(np.float32) for name, array in arrays.items()}


def to_pfa(automaton: WeightedAutomaton, tolerance: float = 1e-9) -> WeightedAutomaton:
    """The proper probabilistic automaton of a distribution given by non-negative weights."""
    if automaton.is_stochastic(tolerance):
        return automaton
    _require_non_negative(automaton)
    if abs(automaton.total_mass() - 1.0) > tolerance:
        raise ValueError(
            f"total mass {automaton.total_mass():.6g} is not 1: use normalize_stochastic, which divides by it"
        )
    return normalize_stochastic(automaton)


def normalize_stochastic(automaton: WeightedAutomaton) -> WeightedAutomaton:
    """The proper probabilistic automaton of f / total mass, for non-negative weights.

    With p = (I - A)^-1 final, the weight of all ways on from a state, the operators become
    diag(p)^-1 A_a diag(p): the same function, and out of every state the weights sum to one.
    """
    _require_non_negative(automaton)
    on = automaton.prefix_final
    alive = on > 0.0
    if not (automaton.initial @ on) > 0.0:
        raise ValueError("the total mass is zero: there is no distribution to normalize to")
    on, within = on[alive], np.ix_(np.ones(len(automaton.alphabet), dtype=bool), alive, alive)
    transitions = automaton.transitions[within] * on / on[:, None]
    final = automaton.final[alive] / on
    outgoing = transitions.sum(axis=(0, 2)) + final  # one up to rounding, which is divided out
    return WeightedAutomaton(
        automaton.alphabet,
        _rows(automaton.initial[alive] * on),
        transitions / outgoing[:, None],
        final / outgoing,
    )


def require_stochastic(automaton: WeightedAutomaton, tolerance: float = 1e-9) -> WeightedAutomaton:
    """Refuse what is not a proper probabilistic automaton, with the reason."""
    _require_non_negative(automaton)
    if not automaton.is_stochastic(tolerance):
        sums = automaton.transitions.sum(axis=(0, 2)) + automaton.final
        worst = int(np.abs(sums - 1.0).argmax())
        raise ValueError(
            f"not a proper probabilistic automaton: initial weights sum to {automaton.initial.sum():.6g}, "
            f"stop and moves of state {worst} to {sums[worst]:.6g}; use normalize_stochastic"
        )
    return automaton


def _require_non_negative(automaton: WeightedAutomaton) -> None:
    parts = automaton.arrays
    lowest = min(part.min(initial=0.0) for part in parts)
    if lowest < 0.0:
        raise ValueError(
            f"signed weights (lowest {lowest:.3g}) are no probabilities: repair the automaton first"
        )


def _rows(weights: Floats) -> Floats:
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True), dtype=np.float64)
