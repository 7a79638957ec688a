"""Values of strings under an automaton, with a carried scale.

    forward(empty) = initial,   forward(w a) = forward(w) A_a,   f(w) = forward(w) . final

Signed operators rule out logarithms inside the recursion, so vectors are kept as mantissas with a
power of two beside them: `value = mantissa * 2 ** exponent`, exact at any length. The recursion runs
over the prefix trie, one matrix product for all nodes of a level that read the same symbol.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.jit import kernel, part

Array = NDArray[np.float64]
Nodes = NDArray[np.int32]
Integers = NDArray[np.int64]


_TILE = 256  # nodes at a time: what is gathered for a product stays in the cache


@kernel
def trie_values(
    parent: Nodes, symbol: Nodes, level_starts: Integers, initial: Array, transitions: Array, finals: Array
) -> tuple[Array, Integers]:
    """Mantissas (nodes x final vectors) and exponents (nodes) of `forward(node) . final`."""
    n_nodes, n_states, widest = len(parent), len(initial), 0
    for level in range(len(level_starts) - 1):
        widest = max(widest, level_starts[level + 1] - level_starts[level])
    mantissas, exponents = np.zeros((n_nodes, finals.shape[1])), np.zeros(n_nodes, np.int64)
    previous, current = np.empty((widest, n_states)), np.empty((widest, n_states))
    gathered = np.empty((_TILE, n_states))
    for state in range(n_states):
        previous[0, state] = initial[state]
    exponents[0] = _rescale(previous[0])
    np.dot(previous[:1], finals, mantissas[:1])
    for level in range(1, len(level_starts) - 1):
        before, first, end = level_starts[level - 1], level_starts[level], level_starts[level + 1]
        run = first
        while run < end:
            stop = run + 1
            while stop < min(end, run + _TILE) and symbol[stop] == symbol[run]:
                stop += 1
            rows = current[run - first : stop - first]
            if symbol[run] >= 0:
                _gather(previous, parent[run:stop], before, gathered)
                np.dot(gathered[: stop - run], transitions[symbol[run]], rows)
            else:
                rows[:] = 0.0
            for row in range(len(rows)):
                exponents[run + row] = exponents[parent[run + row]] + _rescale(rows[row])
            np.dot(rows, finals, mantissas[run:stop])
            run = stop
        previous, current = current, previous
    return mantissas, exponents


@part
def _gather(vectors: Array, parents: Nodes, first: int, gathered: Array) -> None:
    """The vectors of some parents, which are numbered from `first` on."""
    n_states = vectors.shape[1]
    for row in range(len(parents)):
        at = parents[row] - first
        for state in range(n_states):
            gathered[row, state] = vectors[at, state]


@kernel
def _rescale(vector: Array) -> int:
    """Divide by a power of two, in place, where entries leave a safe range; return the exponent."""
    largest = 0.0
    for value in vector:
        largest = max(largest, abs(value))
    if largest == 0.0 or 1e-60 < largest < 1e60:
        return 0
    exponent = int(np.floor(np.log2(largest)))
    for k in range(len(vector)):
        vector[k] = np.ldexp(vector[k], -exponent)
    return exponent
