"""Values of strings under an automaton, with a carried scale.

    forward(empty) = initial,   forward(w a) = forward(w) A_a,   f(w) = forward(w) . final

Signed operators rule out logarithms inside the recursion, so vectors are kept as mantissas with a
power of two beside them: `value = mantissa * 2 ** exponent`, exact at any length. The recursion runs
over the prefix trie, one matrix product for all nodes of a level that read the same symbol.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.jit import kernel

Array = NDArray[np.float64]
Nodes = NDArray[np.int32]
Integers = NDArray[np.int64]


@kernel
def trie_values(
    parent: Nodes, symbol: Nodes, level_starts: Integers, initial: Array, transitions: Array, finals: Array
) -> tuple[Array, Integers]:
    """Mantissas (nodes x final vectors) and exponents (nodes) of `forward(node) . final`."""
    n_nodes, n_states = len(parent), len(initial)
    mantissas = np.zeros((n_nodes, finals.shape[1]))
    exponents = np.zeros(n_nodes, np.int64)
    previous = np.ascontiguousarray(initial).reshape(1, n_states).copy()
    exponents[0] = _rescale(previous[0])
    mantissas[0:1] = np.dot(previous, finals)
    for level in range(1, len(level_starts) - 1):
        before, first, end = level_starts[level - 1], level_starts[level], level_starts[level + 1]
        current = np.zeros((end - first, n_states))
        run = first
        while run < end:
            stop = run + 1
            while stop < end and symbol[stop] == symbol[run]:
                stop += 1
            if symbol[run] >= 0:
                gathered = np.empty((stop - run, n_states))
                for node in range(run, stop):
                    gathered[node - run] = previous[parent[node] - before]
                current[run - first : stop - first] = np.dot(gathered, transitions[symbol[run]])
            run = stop
        for node in range(first, end):
            exponents[node] = exponents[parent[node]] + _rescale(current[node - first])
        mantissas[first:end] = np.dot(current, finals)
        previous = current
    return mantissas, exponents


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
