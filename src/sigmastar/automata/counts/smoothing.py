"""Smoothing: blocks of empirical means drawn toward those of a simpler function.

    H' = (1 - w) H + w G,   G the blocks of a background function g on the same basis

Both are blocks of one function each, and so is their mixture: a string has the same value wherever the
basis cuts it, and strings of different lengths get what g gives them. (Shrinking each row toward the
mean row by its own weight is no smoothing: it multiplies all blocks by one matrix from the left, and
`recover` undoes that.) How to smooth empirical blocks well is named an open problem by Balle, Quattoni
and Carreras (2014). Steps take blocks and give blocks, so they compose with weighting in any order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sigmastar.automata.counts.bases import STRING, Basis, Statistic
from sigmastar.automata.counts.exact import exact_blocks
from sigmastar.automata.data.strings import Strings
from sigmastar.core.blocks import Blocks, FlatTensor, SparseTensor

Array = NDArray[np.float64]
Part = NDArray[np.float64] | sparse.csr_array | SparseTensor | FlatTensor

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
    """Additive smoothing: as if `pseudo_count` strings drawn from the background had been counted too."""
    return interpolate(blocks, background, pseudo_count / (n_strings + pseudo_count))


def unigram_blocks(
    strings: Strings, basis: Basis, statistic: Statistic = STRING, pseudo_count: float = 1.0
) -> Blocks:
    """The simplest background: independent symbols, and lengths that are geometric.

        g(x1 .. xT) = (1 - q) q^T p(x1) .. p(xT)

    with q from the mean length and p from symbol counts plus `pseudo_count`. One state; its prefix
    and substring functions differ by a factor 1 / (1 - q) for each end that is not anchored.
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


def _mixed(part: Part, background: Part, weight: float) -> Array:
    return (1.0 - weight) * _dense(part) + weight * _dense(background)


def _dense(part: Part) -> Array:
    return part if isinstance(part, np.ndarray) else part.toarray()


def _refuse_beyond_limit(basis: Basis) -> None:
    entries = len(basis.alphabet) * len(basis.outsides) * len(basis.insides)
    if entries > ENTRY_LIMIT:
        raise ValueError(
            f"smoothed slices of this basis would hold {entries} entries, more than {ENTRY_LIMIT}; "
            "use a smaller basis, or leave the smoothing out"
        )
