"""The smallest matrix of the paper (section 5.1), for strings of up to three symbols.

    rows     <;>, <x;>, <;x>          columns  (y), (y, z)
    H(<;>, y) = p(y),   H(<;>, (y, z)) = H(<y;>, z) = H(<;z>, y) = p(yz),
    H(<x;>, (y, z)) = p(x (y z)),   H(<;z>, (x, y)) = p((x y) z)

Without brackets only the sum of the last two is known. The paper's scheme alternates between a projection on
what is known and a shrinkage of the singular values to the number of states, with the momentum of FISTA. The
grammar is read off by Lemma 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Floats
from sigmastar.core.blocks import Blocks
from sigmastar.core.signature import composition_signature
from sigmastar.grammars.learn.spectral import grammar_of_blocks
from sigmastar.grammars.model.grammar import WeightedGrammar
from sigmastar.optimise.proximal import singular_value_threshold


@dataclass(frozen=True, eq=False)
class ShortCounts:
    """Frequencies of strings of one, two and three symbols; of the last by tree: (x, yz) and (xy, z)."""

    alphabet: Alphabet
    ones: Floats  # symbols
    twos: Floats  # symbols x symbols
    right: Floats  # x (y z)
    left: Floats  # (x y) z


def bracketed_matrix(counts: ShortCounts) -> Floats:
    """The matrix where brackets are seen."""
    n = len(counts.ones)
    matrix = np.zeros((1 + 2 * n, n + n * n))
    _fill(matrix, counts.ones, counts.twos)
    matrix[1 : n + 1, n:] = counts.right.reshape(n, -1)
    matrix[n + 1 :, n:] = counts.left.transpose(2, 0, 1).reshape(n, -1)
    return matrix


def grammar_of(matrix: Floats, alphabet: Alphabet, n_states: int) -> WeightedGrammar:
    """Lemma 1 on a basis of single symbols, through the common core."""
    n, signature = len(alphabet), composition_signature(alphabet)
    word, compose = signature.operations
    block = matrix[:, :n]
    slices = {word: np.ascontiguousarray(block.T), compose: matrix[:, n:].reshape(1, -1, n, n)}
    return grammar_of_blocks(Blocks(signature, {"span": block}, slices, {"span": block[0]}), n_states)


def learn_by_projections(
    strings: Strings, n_states: int, weights: Floats | None = None, n_steps: int = 50
) -> WeightedGrammar:
    """Alternate projections and shrinkage, then recover a grammar."""
    frequencies = _frequencies(strings, np.ones(len(strings)) if weights is None else np.asarray(weights))
    n = len(strings.alphabet)
    before = now = _projected(np.zeros((1 + 2 * n, n + n * n)), *frequencies)
    momentum = 1.0
    for _ in range(n_steps):
        following = (1.0 + math.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
        ahead = now + (momentum - 1.0) / following * (now - before)
        before, now, momentum = now, _projected(_shrunk(ahead, n_states), *frequencies), following
    return grammar_of(now, strings.alphabet, n_states)


def _frequencies(strings: Strings, weights: Floats) -> list[Floats]:
    """Relative frequencies of strings of one, two and three symbols."""
    tables, n = [], len(strings.alphabet)
    for length in (1, 2, 3):
        chosen = np.flatnonzero(strings.lengths == length)
        codes = strings.codes[strings.offsets[chosen][:, None] + np.arange(length)]
        table = np.zeros((n,) * length)
        np.add.at(table, tuple(codes.T), weights[chosen] / weights.sum())
        tables.append(table)
    return tables


def _fill(matrix: Floats, ones: Floats, twos: Floats) -> None:
    """The entries that strings of one and two symbols determine."""
    n = len(ones)
    matrix[0, :n], matrix[0, n:] = ones, twos.ravel()
    matrix[1 : n + 1, :n], matrix[n + 1 :, :n] = twos, twos.T


def _projected(matrix: Floats, ones: Floats, twos: Floats, threes: Floats) -> Floats:
    """The nearest matrix that agrees with the frequencies."""
    n, known = len(ones), matrix.copy()
    _fill(known, ones, twos)
    right = known[1 : 1 + n, n:].reshape(n, n, n)  # x (y z), by x, y, z
    left = known[1 + n :, n:].reshape(n, n, n).transpose(1, 2, 0)  # (x y) z, by x, y, z
    gap = (threes - right - left) / 2.0
    known[1 : 1 + n, n:] = (right + gap).reshape(n, -1)
    known[1 + n :, n:] = (left + gap).transpose(2, 0, 1).reshape(n, -1)
    return known


def _shrunk(matrix: Floats, n_states: int) -> Floats:
    """Take the first singular value that is too many off all, and leave the states."""
    values = np.linalg.svd(matrix, compute_uv=False)
    threshold = float(values[n_states]) if len(values) > n_states else 0.0
    return singular_value_threshold(matrix, threshold).matrix
