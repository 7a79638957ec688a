"""A probabilistic automaton from spectral operators: anchors and non-negative least squares.

Take as states n extreme context classes K, found by successive projection. Where the operator A_a
leads from a state K_q is written as a non-negative mix of states, K_q A_a ~ t K: t is the row of moves
on a out of q. The mass coordinate counts `MASS_WEIGHT` times, so that probabilities come out right.
"""

from __future__ import annotations

import numpy as np

from sigmastar.automata.learn.context_operators import ContextModel
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.arrays import Floats
from sigmastar.optimise.proximal import nonnegative_least_squares, successive_projection

MASS_WEIGHT = 10.0
_MIN_COUNT = 100  # of a class that may become a state
_SHRINKAGE = 50.0  # classes with this count are drawn half-way to the mean state
_BACKGROUND = 0.02  # the share of every move that is left to chance, so that EM can leave zeros


def anchor_states(contexts: ContextModel) -> Floats:
    """The states of as many extreme classes as there are dimensions, rarer classes shrunk to the mean.

    Rare classes are asked where frequent ones span too little, and a state is taken twice where all do.
    """
    counts, n = contexts.counts.past_counts, contexts.n_states
    enough = np.sort(counts)[-min(len(counts), 2 * n)]
    states = shrunk_states(contexts)
    frequent = states[counts >= min(_MIN_COUNT, enough)]
    anchors = frequent[successive_projection(frequent, n)]
    if len(anchors) < n:
        anchors = states[successive_projection(states, n)]
    return np.asarray(anchors[np.arange(n) % len(anchors)])


def shrunk_states(contexts: ContextModel) -> Floats:
    counts = contexts.counts.past_counts
    states = contexts.states * (counts / (counts + _SHRINKAGE))[:, None]
    states[:, 0] = 1.0
    return states


def memberships(anchors: Floats, states: Floats) -> Floats:
    """Each state as a non-negative mix of the anchors."""
    weight = np.ones(anchors.shape[1])
    weight[0] = MASS_WEIGHT
    return nonnegative_least_squares(anchors * weight, states * weight)


def to_probabilistic(contexts: ContextModel, anchors: Floats) -> WeightedAutomaton:
    """The proper automaton on the anchors that follows the spectral operators most closely."""
    spectral, n = contexts.automaton, len(anchors)
    targets = np.einsum("qi,aij->aqj", anchors, spectral.transitions)
    moves = memberships(anchors, targets.reshape(-1, spectral.n_states)).reshape(-1, n, n)
    stops = np.maximum(anchors @ spectral.final, 0.0)
    moves, stops = _leave_to_chance(moves, stops, background(contexts))
    starts = memberships(anchors, spectral.initial[None])[0] + _BACKGROUND / n
    return WeightedAutomaton(spectral.alphabet, starts / starts.sum(), moves, stops)


def background(contexts: ContextModel) -> Floats:
    """How often each symbol, and the end, occurs."""
    counts = contexts.counts
    _, outcomes, numbers = counts.next_symbols()
    frequencies = np.bincount(outcomes, numbers, len(counts.strings_like.alphabet) + 1)
    shares: Floats = frequencies / frequencies.sum()
    return shares


def _leave_to_chance(moves: Floats, stops: Floats, frequencies: Floats) -> tuple[Floats, Floats]:
    leaving = moves.sum(axis=(0, 2)) + stops
    leaving = np.where(leaving > 0, leaving, 1.0)
    n = len(stops)
    moves = (1.0 - _BACKGROUND) * moves / leaving[None, :, None] + _BACKGROUND * frequencies[
        :-1, None, None
    ] / n
    stops = (1.0 - _BACKGROUND) * stops / leaving + _BACKGROUND * frequencies[-1]
    leaving = moves.sum(axis=(0, 2)) + stops
    return moves / leaving[None, :, None], stops / leaving
