"""Positive pointwise mutual information and simpler weightings of co-occurrence counts.

    raw     c(w, x)
    sqrt    sqrt c(w, x)                     tames the frequent contexts
    ppmi    max(0, log p(w, x) / (p(w) p(x)^a))   positive pointwise mutual information

With a = 0.75 contexts that are rare count as somewhat less rare, so that chance meetings with them do
not dominate (Levy, Goldberg and Dagan 2015).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from scipy import sparse

from sigmastar.core.arrays import Floats

Counts = sparse.csr_array
Weighting = Callable[[Counts], Counts]

CONTEXT_POWER = 0.75


def raw(counts: Counts) -> Counts:
    """The counts themselves."""
    return counts.astype(np.float64)


def square_root(counts: Counts) -> Counts:
    """Roots of the counts."""
    return counts.astype(np.float64).sqrt()


def ppmi(counts: Counts, context_power: float = CONTEXT_POWER) -> Counts:
    """Positive pointwise mutual information; zeros are not kept."""
    table = counts.tocoo()
    by_word, by_context = _sums(counts, 1), _sums(counts, 0) ** context_power
    row, column = table.coords
    with np.errstate(divide="ignore"):  # a count of zero that is written out
        values = np.log(table.data * by_context.sum() / (by_word[row] * by_context[column]))
    result = sparse.csr_array((np.maximum(values, 0.0), (row, column)), shape=counts.shape)
    result.eliminate_zeros()
    return result


def normalized(matrix: Counts) -> Counts:
    """Rows of length 1; a row of zeros stays."""
    lengths = np.sqrt(_sums(sparse.csr_array(matrix.multiply(matrix)), 1))
    scale = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    return sparse.csr_array(sparse.diags_array(scale) @ matrix)


WEIGHTINGS: Mapping[str, Weighting] = {"raw": raw, "sqrt": square_root, "ppmi": ppmi}


def _sums(counts: Counts, axis: int) -> Floats:
    return np.asarray(counts.sum(axis=axis), dtype=np.float64).ravel()
