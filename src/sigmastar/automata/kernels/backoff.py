"""Back-off distributions on a context trie.

    p(y | v) = own[v, y] + backoff[v] p(y | parent(v)),      p(y | above the root) = 1 / n_outcomes

Only the outcomes seen in a context are stored, in rows sorted by outcome.
"""

from __future__ import annotations

from typing import NamedTuple

from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.jit import kernel


class BackoffTables(NamedTuple):
    """The parent of each context, where its row begins, outcomes and values in it, its back-off weight."""

    parent: Int32s
    row_starts: Int64s
    row_outcomes: Int32s
    own: Floats
    backoff: Floats
    n_outcomes: int


@kernel
def outcome_probabilities(contexts: Int32s, outcomes: Int32s, tables: BackoffTables, result: Floats) -> None:
    """p(outcome | context) for pairs of them, added to `result`; an unknown outcome (negative) has none."""
    parent, row_starts, row_outcomes, own, backoff, n_outcomes = tables
    for pair in range(len(contexts)):
        node, outcome, weight = contexts[pair], outcomes[pair], 1.0
        if outcome < 0:
            continue
        while True:
            low, high = row_starts[node], row_starts[node + 1]
            while low < high:
                middle = (low + high) // 2
                if row_outcomes[middle] < outcome:
                    low = middle + 1
                else:
                    high = middle
            if low < row_starts[node + 1] and row_outcomes[low] == outcome:
                result[pair] += weight * own[low]
            weight *= backoff[node]
            if node == 0:
                break
            node = parent[node]
        result[pair] += weight / n_outcomes


@kernel
def outcome_distributions(contexts: Int32s, tables: BackoffTables, result: Floats) -> None:
    """p(. | context) for each context, into rows of zeros, which then sum to one."""
    parent, row_starts, row_outcomes, own, backoff, n_outcomes = tables
    for row in range(len(contexts)):
        node, weight = contexts[row], 1.0
        while True:
            for at in range(row_starts[node], row_starts[node + 1]):
                result[row, row_outcomes[at]] += weight * own[at]
            weight *= backoff[node]
            if node == 0:
                break
            node = parent[node]
        total = 0.0
        for outcome in range(n_outcomes):
            result[row, outcome] += weight / n_outcomes
            total += result[row, outcome]
        for outcome in range(n_outcomes):
            result[row, outcome] /= total
