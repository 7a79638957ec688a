"""Smoothing: blocks of empirical means drawn toward those of a simpler function.

    H' = (1 - w) H + w G,   G the blocks of a background function g on the same basis

Both are blocks of one function each, and so is their mixture: a string has the same value wherever the
basis cuts it, and strings of different lengths get what g gives them. (Shrinking each row toward the
mean row by its own weight is no smoothing: it multiplies all blocks by one matrix from the left, and
`recover` undoes that.) How to smooth empirical blocks well is named an open problem by Balle, Quattoni
and Carreras (2014). Steps take blocks and give blocks, so they compose with weighting in any order.

Row and column weights: which errors the factorization should mind.

    H' = D_o H D_i,   H'_sigma[o, i1 .. ik] = d_o H_sigma[o, i1 .. ik] d_i1 .. d_ik

At full rank the function recovered is the same for any positive weights; a truncated factorization
minimizes the error of H', so weights decide what it may forget. With d = 1 / sqrt(row or column sum)
the singular values of a table of counts are canonical correlations (Cohen et al., 2013). That suits
disjoint classes of contexts. On overlapping bases, such as strings with their prefixes, sums count an
occurrence many times over, and plain blocks may do better.

Exact blocks of an automaton on a basis, from forward and backward vectors.

    F[o] = initial A_o,   B[i] = A_i final
    H = F B^T,   H_a = F A_a B^T,   H_stop = F final,   root = initial B^T

What counting would give with unlimited data. Takes arrays, not a model: models stand on statistics.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sigmastar.automata.counts.bases import STRING, Basis, Statistic, mirrored
from sigmastar.automata.data.strings import PrefixTrie, Strings
from sigmastar.automata.kernels.values import trie_values
from sigmastar.core.alphabet import Sort, string_signature
from sigmastar.core.arrays import Floats
from sigmastar.core.recover import Blocks, FlatTensor, Matrix, SparseTensor

Part = Floats | sparse.csr_array | SparseTensor | FlatTensor

ENTRY_LIMIT = 200_000_000
"""Smoothed blocks are dense: beyond this many entries they are refused."""


def interpolate(blocks: Blocks, background: Blocks, weight: float) -> Blocks:
    """The blocks of the mixture (1 - weight) f + weight g; dense."""
    if not 0.0 <= weight <= 1.0:
        raise ValueError(f"weight={weight} is not between 0 and 1")
    if blocks.signature != background.signature:
        raise ValueError("blocks and background must have the same signature")
    return Blocks(
        blocks.signature,
        {sort: _mixed(part, background.matrices[sort], weight) for sort, part in blocks.matrices.items()},
        {op: _mixed(part, background.slices[op], weight) for op, part in blocks.slices.items()},
        {sort: _mixed(part, background.roots[sort], weight) for sort, part in blocks.roots.items()},
    )


def add_strings(blocks: Blocks, background: Blocks, n_strings: int, pseudo_count: float) -> Blocks:
    """Additive smoothing: as if `pseudo_count` strings drawn from the background had been counted too.

    Parameters
    ----------
    blocks : Blocks
        Statistics of a function.
    background : Blocks
        Those of the background function on the same basis.
    n_strings : int
        Number of strings that the blocks were counted from.
    pseudo_count : float
        Number of strings of the background.

    Returns
    -------
    Blocks
        The blocks of the mixture, dense.
    """
    return interpolate(blocks, background, pseudo_count / (n_strings + pseudo_count))


def unigram_blocks(
    strings: Strings, basis: Basis, statistic: Statistic = STRING, pseudo_count: float = 1.0
) -> Blocks:
    """The simplest background: independent symbols, and lengths that are geometric.

        g(x1 .. xT) = (1 - q) q^T p(x1) .. p(xT)

    with q from the mean length and p from symbol counts plus `pseudo_count`. One state; its prefix
    and substring functions differ by a factor 1 / (1 - q) for each end that is not anchored.

    Parameters
    ----------
    strings : Strings
        The corpus.
    basis : Basis
        Outsides and insides.
    statistic : Statistic
        What is counted: `STRING`, `PREFIX` or `SUBSTRING`.
    pseudo_count : float
        Added to the count of every symbol.

    Returns
    -------
    Blocks
        Dense blocks on the basis.
    """
    if pseudo_count <= 0.0:
        raise ValueError(f"pseudo_count={pseudo_count} must be positive, so that every symbol has mass")
    _refuse_beyond_limit(basis)
    known = strings.recoded(basis.alphabet, allow_unknown=True).codes
    counts = np.bincount(known[known >= 0], minlength=len(basis.alphabet)) + pseudo_count
    going_on = strings.n_symbols / max(strings.n_gaps, 1)
    steps = going_on * counts / counts.sum()
    free_ends = (not statistic.anchored_left) + (not statistic.anchored_right)
    start = (1.0 - going_on) ** (1 - free_ends)
    return exact_blocks(basis, np.array([start]), steps.reshape(-1, 1, 1), np.ones(1))


def _mixed(part: Part, background: Part, weight: float) -> Floats:
    return (1.0 - weight) * _dense(part) + weight * _dense(background)


def _dense(part: Part) -> Floats:
    return part if isinstance(part, np.ndarray) else part.toarray()


def _refuse_beyond_limit(basis: Basis) -> None:
    entries = len(basis.alphabet) * len(basis.outsides) * len(basis.insides)
    if entries > ENTRY_LIMIT:
        raise ValueError(
            f"smoothed slices of this basis would hold {entries} entries, more than {ENTRY_LIMIT}; "
            "use a smaller basis, or leave the smoothing out"
        )


@dataclass(frozen=True, eq=False)
class Weights:
    """Positive weights of the outsides and insides of every sort. Calling them weights blocks."""

    outside: Mapping[Sort, Floats]
    inside: Mapping[Sort, Floats]

    def __call__(self, blocks: Blocks) -> Blocks:
        return blocks.weighted(self.outside, self.inside)


def count_weights(blocks: Blocks, pseudo_count: float = 0.0, power: float = 0.5) -> Weights:
    """1 / (sum + pseudo_count)^power for each row and column, in the units of the blocks.

    A row whose sum is zero weighs as much as the lightest that is not.
    """
    outside, inside = (
        {sort: _inverse(_sums(matrix, axis), pseudo_count, power) for sort, matrix in blocks.matrices.items()}
        for axis in (1, 0)
    )
    return Weights(outside, inside)


def scale_by_counts(blocks: Blocks, pseudo_count: float = 0.0) -> Blocks:
    """Canonical correlation scaling: rows and columns divided by the roots of their sums.

    Parameters
    ----------
    blocks : Blocks
        Statistics of a function.
    pseudo_count : float
        Added to every sum.

    Returns
    -------
    Blocks
        The weighted blocks.
    """
    return count_weights(blocks, pseudo_count)(blocks)


def _sums(matrix: Matrix, axis: int) -> Floats:
    sizes = np.abs(matrix) if isinstance(matrix, np.ndarray) else sparse.csr_array(matrix, copy=True)
    if isinstance(sizes, sparse.csr_array):
        sizes.data = np.abs(sizes.data)
    return np.asarray(sizes.sum(axis=axis), dtype=np.float64).ravel()


def _inverse(sums: Floats, pseudo_count: float, power: float) -> Floats:
    shifted = sums + pseudo_count
    positive = shifted[shifted > 0]
    weights: Floats = np.maximum(shifted, positive.min() if len(positive) else 1.0) ** -power
    return weights


def exact_blocks(basis: Basis, initial: Floats, transitions: Floats, final: Floats) -> Blocks:
    """The blocks of f(x1 .. xT) = initial A_x1 .. A_xT final, dense.

    Parameters
    ----------
    basis : Basis
        Outsides and insides.
    initial, transitions, final : array
        Weights of the automaton: n, symbols x n x n, n.

    Returns
    -------
    Blocks
        What counting would give with unlimited data.
    """
    outsides = _vectors(basis.outsides, initial, transitions)
    insides = _vectors(mirrored(basis.insides), final, np.ascontiguousarray(transitions.transpose(0, 2, 1)))
    signature = string_signature(basis.alphabet)
    stop, symbol = signature.operations
    slices = {stop: (outsides @ final)[None, :], symbol: outsides @ transitions @ insides.T}
    return Blocks(signature, {"string": outsides @ insides.T}, slices, {"string": insides @ initial})


def _vectors(strings: Strings, initial: Floats, transitions: Floats) -> Floats:
    """`initial A_x1 .. A_xT` of each string."""
    trie = PrefixTrie.of(strings)
    mantissas, exponents = trie_values(
        trie.parent, trie.symbol, trie.level_starts, initial, transitions, np.eye(len(initial))
    )
    vectors: Floats = np.ldexp(mantissas, exponents[:, None])[trie.string_node]
    return vectors
