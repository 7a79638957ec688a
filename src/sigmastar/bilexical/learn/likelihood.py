"""The likelihood of modifiers given heads under a bilinear form, and its gradients.

    Pr(m | h) = exp(phi(m)^T W phi(h)) / sum_m' exp(phi(m')^T W phi(h))                     equation 3
    loss(W)   = -1/N sum_(m,h) log Pr(m | h)                                                equation 4

Pairs are grouped by head: with S = Phi_m W Phi_h^T and R = (softmax(S) n_h - C) / N, the gradient is
Phi_m^T R Phi_h. With W = L R^T only the thin products Phi_m L and Phi_h R are needed. Heads come in
pieces, so that the table of scores never outgrows MAX_CELLS.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from sigmastar.bilexical.data.pairs import Pairs
from sigmastar.bilexical.model.vectors import Rows, Vectors
from sigmastar.core.arrays import Floats

MAX_CELLS = 4_000_000


@dataclass(frozen=True, eq=False)
class ConditionalLoss:
    """-log Pr(m | h), the mean over pairs, as a function of W."""

    modifier_rows: Rows
    head_rows: Rows
    counts: sparse.csr_array  # heads x modifiers
    dtype: type[np.floating[Any]] = np.float64

    @classmethod
    def of(
        cls, pairs: Pairs, vectors: Vectors, dtype: type[np.floating[Any]] = np.float64
    ) -> ConditionalLoss:
        """Heads without a vector teach nothing and are left out."""
        known = pairs.select(head for head in pairs.heads if head in vectors)
        if not known.heads:
            raise ValueError(f"none of the {len(pairs.heads)} heads has a vector; use vectors of these words")
        rows, columns = vectors.rows(known.modifiers), vectors.rows(known.heads)
        return cls(rows.astype(dtype), columns.astype(dtype), known.counts, dtype)

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.modifier_rows.shape[1]), int(self.head_rows.shape[1])

    def value(self, matrix: Floats) -> float:
        projected = self.head_rows @ matrix.T.astype(self.dtype)
        rows = self.modifier_rows
        return sum(self._residual(rows @ projected[piece].T, piece)[0] for piece in self._pieces())

    def value_and_gradient(self, matrix: Floats) -> tuple[float, Floats]:
        projected = self.head_rows @ matrix.T.astype(self.dtype)
        total, gradient = 0.0, np.zeros(self.shape)
        for piece in self._pieces():
            value, residual = self._residual(self.modifier_rows @ projected[piece].T, piece)
            total += value
            gradient += (self.head_rows[piece].T @ (self.modifier_rows.T @ residual).T).T
        return total, gradient

    def factored(self, left: Floats, right: Floats) -> tuple[float, Floats, Floats]:
        """The value at L R^T, and its gradients in L and R."""
        modifiers = np.asarray(self.modifier_rows @ left.astype(self.dtype))
        heads = np.asarray(self.head_rows @ right.astype(self.dtype))
        total, by_modifier, by_head = 0.0, np.zeros_like(modifiers), np.zeros_like(heads)
        for piece in self._pieces():
            value, residual = self._residual(modifiers @ heads[piece].T, piece)
            total += value
            by_modifier += residual @ heads[piece]
            by_head[piece] = residual.T @ modifiers
        return total, _float64(self.modifier_rows.T @ by_modifier), _float64(self.head_rows.T @ by_head)

    def _pieces(self) -> Iterator[slice]:
        at_once = max(1, MAX_CELLS // self.modifier_rows.shape[0])
        for first in range(0, self.counts.shape[0], at_once):
            yield slice(first, min(first + at_once, self.counts.shape[0]))

    def _residual(self, scores: Any, piece: slice) -> tuple[float, Any]:
        """The loss of some heads, and its derivative in their scores (modifiers x heads), in place."""
        observed = self.counts[piece].tocoo()
        head, modifier = observed.coords
        total = self.counts.sum()
        n_of_head = np.asarray(self.counts[piece].sum(axis=1), dtype=np.float64).ravel()
        reached = float((observed.data * scores[modifier, head]).sum(dtype=np.float64))
        top = scores.max(axis=0)
        scores -= top
        np.exp(scores, out=scores)
        normalizer = scores.sum(axis=0, dtype=np.float64)
        value = float(n_of_head @ (np.log(normalizer) + top)) - reached
        scores *= (n_of_head / (normalizer * total)).astype(self.dtype)
        scores[modifier, head] -= (observed.data / total).astype(self.dtype)
        return value / total, scores


def _float64(values: Any) -> Floats:
    return np.asarray(values, dtype=np.float64)
