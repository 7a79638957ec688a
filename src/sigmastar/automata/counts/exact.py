"""Exact blocks of an automaton on a basis, from forward and backward vectors.

    F[o] = initial A_o,   B[i] = A_i final
    H = F B^T,   H_a = F A_a B^T,   H_stop = F final,   root = initial B^T

What counting would give with unlimited data. Takes arrays, not a model: models stand on statistics.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.automata.counts.bases import Basis, mirrored
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.data.trie import PrefixTrie
from sigmastar.automata.kernels.values import trie_values
from sigmastar.core.blocks import Blocks
from sigmastar.core.signature import string_signature

Array = NDArray[np.float64]


def exact_blocks(basis: Basis, initial: Array, transitions: Array, final: Array) -> Blocks:
    """The blocks of f(x1 .. xT) = initial A_x1 .. A_xT final, dense."""
    outsides = _vectors(basis.outsides, initial, transitions)
    insides = _vectors(mirrored(basis.insides), final, np.ascontiguousarray(transitions.transpose(0, 2, 1)))
    signature = string_signature(basis.alphabet)
    stop, symbol = signature.operations
    slices = {stop: (outsides @ final)[None, :], symbol: outsides @ transitions @ insides.T}
    return Blocks(signature, {"string": outsides @ insides.T}, slices, {"string": insides @ initial})


def _vectors(strings: Strings, initial: Array, transitions: Array) -> Array:
    """`initial A_x1 .. A_xT` of each string."""
    trie = PrefixTrie.of(strings)
    mantissas, exponents = trie_values(
        trie.parent, trie.symbol, trie.level_starts, initial, transitions, np.eye(len(initial))
    )
    vectors: Array = np.ldexp(mantissas, exponents[:, None])[trie.string_node]
    return vectors
