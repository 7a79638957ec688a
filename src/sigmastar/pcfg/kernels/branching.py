"""Derivations of a system of events as a branching process: sampling, and moments of event counts.

    d_k   = [k is the root] + sum over events e of theta_e d_owner(e) children(e, k)      expected draws of k
    E[psi_e] = theta_e d_owner(e)                                                          expected events

For second moments let S_k = E[psi psi^T] and m_k = E[psi] below one draw of k. An event e with the children
c1 .. cr has, with m = m_c1 + .. + m_cr,

    S_k = sum over e of theta_e (ee^T + em^T + me^T + mm^T - sum_c m_c m_c^T + sum_c S_c)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.jit import kernel

Array = NDArray[np.float64]
Integers = NDArray[np.int64]


@kernel
def sample_events(
    n_derivations: int,
    offsets: Integers,
    child_start: Integers,
    children: Integers,
    root: int,
    cumulative: Array,
    rng: np.random.Generator,
    max_events: int,
) -> tuple[NDArray[np.int32], Integers, NDArray[np.bool_]]:
    """Derivations one after the other; one that reaches `max_events` is given up and marked."""
    events, used = np.empty(16 * n_derivations + 16, np.int32), 0
    ends, whole = np.zeros(n_derivations + 1, np.int64), np.ones(n_derivations, np.bool_)
    stack = np.empty(64, np.int64)
    for number in range(n_derivations):
        begin, height = used, 1
        stack[0] = root
        while height:
            if used - begin >= max_events:
                whole[number] = False
                break
            height -= 1
            k = stack[height]
            row = cumulative[offsets[k] : offsets[k + 1]]
            event = offsets[k] + min(np.searchsorted(row, rng.random() * row[-1], side="right"), len(row) - 1)
            if used == len(events):
                larger = np.empty(2 * used, np.int32)
                for at in range(used):
                    larger[at] = events[at]
                events = larger
            events[used] = event
            used += 1
            n_children = child_start[event + 1] - child_start[event]
            if height + n_children > len(stack):
                higher = np.empty(2 * (height + n_children), np.int64)
                for at in range(height):
                    higher[at] = stack[at]
                stack = higher
            for at in range(n_children):
                stack[height + n_children - 1 - at] = children[child_start[event] + at]
            height += n_children
        ends[number + 1] = used
    return events[:used], ends, whole


def spawn_matrix(system: Any) -> Array:
    """children(e, k): how many draws of multinomial k an event asks for; events x multinomials."""
    table = np.zeros((system.n_events, system.n_multinomials))
    source = np.repeat(np.arange(system.n_events), np.diff(system.child_start))
    np.add.at(table, (source, system.children), 1.0)
    return table


def mean_matrix(system: Any, parameters: Array) -> Array:
    """The expected draws of each multinomial that one draw of each asks for: multinomials squared."""
    weighted = parameters[:, None] * spawn_matrix(system)
    return np.asarray(np.add.reduceat(weighted, system.offsets[:-1], axis=0))


def expected_draws(system: Any, parameters: Array) -> Array:
    """d; infinite where derivations are infinite on the average."""
    means = mean_matrix(system, parameters)
    root = np.zeros(system.n_multinomials)
    root[system.root] = 1.0
    if np.abs(np.linalg.eigvals(means)).max() >= 1 - 1e-12:
        reached = np.linalg.matrix_power(np.eye(len(means)) + (means > 0), len(means))[system.root] > 0
        inner = means[np.ix_(reached, reached)]
        if np.abs(np.linalg.eigvals(inner)).max() >= 1 - 1e-12:
            return np.full(system.n_multinomials, np.inf)
        draws = np.zeros(system.n_multinomials)
        draws[reached] = np.linalg.solve((np.eye(len(inner)) - inner).T, root[reached])
        return draws
    return np.asarray(np.linalg.solve((np.eye(len(means)) - means).T, root))


def second_moments(system: Any, parameters: Array) -> Array:
    """E[psi psi^T] of a derivation: events squared. For small systems: K of them are held."""
    n_events, n_multinomials = system.n_events, system.n_multinomials
    spawn, means = spawn_matrix(system), mean_matrix(system, parameters)
    own = np.zeros((n_multinomials, n_events))
    own[system.owner, np.arange(n_events)] = parameters
    inverse = np.linalg.inv(np.eye(n_multinomials) - means)
    below = inverse @ own  # m_k
    sources = np.zeros((n_multinomials, n_events, n_events))
    products = np.einsum("ke,kf->kef", below, below)
    for event in range(n_events):
        unit = np.eye(n_events)[event]
        together = spawn[event] @ below
        total = np.outer(unit + together, unit + together) - np.einsum("k,kef->ef", spawn[event], products)
        sources[system.owner[event]] += parameters[event] * total
    return np.asarray(np.einsum("k,kef->ef", inverse[system.root], sources))
