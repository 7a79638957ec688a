"""The paper's own scheme on its own small matrix (Bailly et al. 2013, section 5.1): for comparison.

Outsides <;>, <x;>, <;x> and insides (y), (y, z) over single symbols. Known: p(x), p(x y) and the sums
p(x y z) = f(x (y z)) + f((x y) z). Steps alternate between a projection on these and a shrinkage of the
singular values to the number of states, with the momentum of FISTA; then the spectral method.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.blocks import Blocks
from sigmastar.core.factors import Factors
from sigmastar.core.recover import recover
from sigmastar.core.signature import composition_signature
from sigmastar.grammars.model.grammar import WeightedGrammar

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ShortFrequencies:
    """Relative frequencies of strings of one, two and three symbols."""

    alphabet: Alphabet
    ones: Array
    twos: Array
    threes: Array

    @classmethod
    def of(cls, strings: Strings, weights: Array | None = None) -> ShortFrequencies:
        heavy = np.ones(len(strings)) if weights is None else np.asarray(weights, dtype=float)
        tables, n = [], len(strings.alphabet)
        for length in (1, 2, 3):
            chosen = np.flatnonzero(strings.lengths == length)
            codes = strings.codes[strings.offsets[chosen][:, None] + np.arange(length)]
            table = np.zeros((n,) * length)
            np.add.at(table, tuple(codes.T), heavy[chosen] / heavy.sum())
            tables.append(table)
        return cls(strings.alphabet, *tables)

    def project(self, matrix: Array) -> Array:
        """The nearest matrix that agrees with the frequencies."""
        n = len(self.alphabet)
        known = matrix.copy()
        known[0, :n] = self.ones
        known[0, n:] = self.twos.ravel()
        known[1 : 1 + n, :n] = self.twos  # <x;> around y
        known[1 + n :, :n] = self.twos.T  # <;x> around y
        right = known[1 : 1 + n, n:].reshape(n, n, n)  # x (y z), by x, y, z
        left = known[1 + n :, n:].reshape(n, n, n).transpose(1, 2, 0)  # (x y) z, by x, y, z
        gap = (self.threes - right - left) / 2.0
        known[1 : 1 + n, n:] = (right + gap).reshape(n, -1)
        known[1 + n :, n:] = (left + gap).transpose(2, 0, 1).reshape(n, -1)
        return known


def shrink(matrix: Array, n_states: int) -> Array:
    """Take the first singular value that is too many off all, and leave the states."""
    left, values, right = linalg.svd(matrix, full_matrices=False)
    threshold = values[n_states] if len(values) > n_states else 0.0
    kept = values[:n_states] - threshold
    return (left[:, :n_states] * kept) @ right[:n_states]


def learn_by_projections(
    strings: Strings, n_states: int, weights: Array | None = None, n_steps: int = 50
) -> WeightedGrammar:
    """Alternate projections and shrinkage, then recover a grammar."""
    seen = ShortFrequencies.of(strings, weights)
    n = len(seen.alphabet)
    before = now = seen.project(np.zeros((1 + 2 * n, n + n * n)))
    momentum = 1.0
    for _ in range(n_steps):
        following = (1.0 + math.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        ahead = now + (momentum - 1.0) / following * (now - before)
        before, now, momentum = now, seen.project(shrink(ahead, n_states)), following
    return _recovered(seen.alphabet, now, n_states)


def _recovered(alphabet: Alphabet, matrix: Array, n_states: int) -> WeightedGrammar:
    n = len(alphabet)
    signature = composition_signature(alphabet)
    word, compose = signature.operations
    block = matrix[:, :n]
    left, values, right = linalg.svd(block, full_matrices=False)
    factors = Factors(left[:, :n_states], values[:n_states], right[:n_states].T)
    slices = {word: block.T.copy(), compose: matrix[:, n:].reshape(1, -1, n, n)}
    blocks = Blocks(signature, {"span": block}, slices, {"span": block[0]})
    return WeightedGrammar.of_operators(recover(blocks, {"span": factors}))
