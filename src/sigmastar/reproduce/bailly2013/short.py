"""The smallest matrix of the paper where brackets are seen (section 5.1), for strings of up to three symbols.

    rows     <;>, <x;>, <;x>          columns  (y), (y, z)
    H(<;>, y) = p(y),   H(<;>, (y, z)) = H(<y;>, z) = H(<;z>, y) = p(yz),
    H(<x;>, (y, z)) = p(x (y z)),   H(<;z>, (x, y)) = p((x y) z)

Without brackets only the sum of the last two is known: `projections` completes the matrix as
the paper does. The grammar is read off by Lemma 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.alphabet import Alphabet
from sigmastar.core.blocks import Blocks
from sigmastar.core.recover import factorize_blocks, recover
from sigmastar.core.signature import composition_signature
from sigmastar.grammars.model.grammar import WeightedGrammar

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ShortCounts:
    """Frequencies of strings of one, two and three symbols; of the last by tree: (x, yz) and (xy, z)."""

    alphabet: Alphabet
    ones: Array  # symbols
    twos: Array  # symbols x symbols
    right: Array  # x (y z)
    left: Array  # (x y) z


def bracketed_matrix(counts: ShortCounts) -> Array:
    """The matrix where brackets are seen."""
    matrix = _known(counts)
    n = len(counts.ones)
    matrix[1 : n + 1, n:] = counts.right.reshape(n, -1)
    matrix[n + 1 :, n:] = counts.left.transpose(2, 0, 1).reshape(n, -1)
    return matrix


def grammar_of(matrix: Array, alphabet: Alphabet, n_states: int) -> WeightedGrammar:
    """Lemma 1 on a basis of single symbols, through the common core."""
    n, signature = len(alphabet), composition_signature(alphabet)
    word, compose = signature.operations
    block = matrix[:, :n]
    slices = {word: np.ascontiguousarray(block.T), compose: matrix[:, n:].reshape(1, -1, n, n)}
    blocks = Blocks(signature, {"span": block}, slices, {"span": block[0]})
    return WeightedGrammar.of_operators(recover(blocks, factorize_blocks(blocks, n_states)))


def _known(counts: ShortCounts) -> Array:
    """The entries that strings of one and two symbols determine; the others are zero."""
    n = len(counts.ones)
    matrix = np.zeros((1 + 2 * n, n + n * n))
    matrix[0, :n], matrix[0, n:] = counts.ones, counts.twos.ravel()
    matrix[1 : n + 1, :n], matrix[n + 1 :, :n] = counts.twos, counts.twos.T
    return matrix
