"""An automaton of few states that stands for one of many: alike states are put together, to be drawn.

States are alike where they are left with the same symbols. A group begins as its states do, and moves and
ends as they do on average, each counted as often as it is visited: the picture keeps all of the weight, and
loses which of the alike states comes next.
"""

from __future__ import annotations

import numpy as np

from sigmastar.automata.draw.graph import importance
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.arrays import Floats
from sigmastar.core.clusters import ward

MOST = 400
"""States that are put together at most; of more than these the ones that matter most are taken."""


def merged(automaton: WeightedAutomaton, n_groups: int) -> tuple[WeightedAutomaton, list[list[int]]]:
    """An automaton with a state per group, and the states of every group, the one that matters most first.

    Parameters
    ----------
    automaton : WeightedAutomaton
        The function.
    n_groups : int
        Number of states that are left.

    Returns
    -------
    WeightedAutomaton
        The same function, roughly.
    list of list of int
        States of the given automaton.
    """
    visits = importance(automaton)
    order = np.argsort(-visits, kind="stable")[:MOST]
    weights = np.maximum(visits[order], 1e-9 * max(float(visits.max()), np.finfo(float).tiny))
    firsts = ward(_leaving(automaton)[order], weights, min(n_groups, len(order)))
    groups = [order[firsts == first].tolist() for first in np.unique(firsts)]
    members = np.zeros((len(groups), automaton.n_states))
    for number, group in enumerate(groups):
        members[number, group] = 1.0
    shares = members * np.maximum(visits, weights.min())
    shares /= shares.sum(axis=1, keepdims=True)
    transitions = np.stack([shares @ operator @ members.T for operator in automaton.transitions])
    return (
        WeightedAutomaton(
            automaton.alphabet, members @ automaton.initial, transitions, shares @ automaton.final
        ),
        groups,
    )


def _leaving(automaton: WeightedAutomaton) -> Floats:
    """Each state by how much of its weight leaves with which symbol, and at the end."""
    rows = np.vstack([np.abs(automaton.transitions).sum(axis=2), np.abs(automaton.final)]).T
    return np.asarray(rows / np.maximum(rows.sum(axis=1, keepdims=True), np.finfo(float).tiny))
