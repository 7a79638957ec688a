"""Projections of inside and outside trees: figure 5 of Cohen et al. (2012), by random projection.

    Omega_a = Phi_a^T Psi_a / M_a ~ U S V^T,    Y = Phi_a U,    Z = Psi_a V        for every symbol a

Omega is never made: products with it are two passes over the indicators of the nodes of a symbol.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from sigmastar.core.parallel import thread_map
from sigmastar.treebanks.counts import Indicators
from sigmastar.treebanks.data.phrases import Ints, Longs
from sigmastar.treebanks.kernels.indicators import gathered, scattered

Array = NDArray[np.float64]

_EXTRA = 8  # columns beyond the number of states, and steps: what random projection needs
_STEPS = 2


@dataclass(frozen=True, eq=False)
class Embedding:
    """Vectors of every node: columns beyond the states of its symbol are zero."""

    inside: Array  # Y, node x states
    outside: Array  # Z
    singular_values: Array  # symbol x states, zero beyond the states of a symbol
    n_states: Longs


def embed(
    symbol: Ints, inside: Indicators, outside: Indicators, n_states: Longs, rng: np.random.Generator
) -> Embedding:
    """Y and Z of all nodes, with up to `n_states` dimensions for each symbol."""
    most = int(n_states.max())
    order = np.argsort(symbol, kind="stable")
    ends = np.searchsorted(symbol[order], np.arange(len(n_states) + 1))
    y, z = np.zeros((len(symbol), most)), np.zeros((len(symbol), most))
    values, found = np.zeros((len(n_states), most)), np.ones(len(n_states), dtype=np.int64)
    starts = [
        rng.standard_normal((int(n), min(int(k) + _EXTRA, int(n))))
        for n, k in zip(outside.n_features, n_states, strict=True)
    ]

    def one(a: int) -> None:
        rows = order[ends[a] : ends[a + 1]]
        phi = inside.number[rows], inside.weight[rows]
        psi = outside.number[rows], outside.weight[rows]
        sizes = int(inside.n_features[a]), int(outside.n_features[a])
        left, sigma, right = _factors(phi, psi, sizes, starts[a], int(n_states[a]))
        k = len(sigma)
        y[rows, :k], z[rows, :k] = gathered(*phi, left), gathered(*psi, right)
        values[a, :k], found[a] = sigma, k

    thread_map(one, [a for a in range(len(n_states)) if ends[a + 1] > ends[a]])
    return Embedding(y, z, values, found)


Rows = tuple[NDArray[np.int32], NDArray[np.float32]]


def _factors(
    phi: Rows, psi: Rows, sizes: tuple[int, int], start: Array, k: int
) -> tuple[Array, Array, Array]:
    """Leading singular triples of Phi^T Psi / M."""
    right = start
    for _ in range(_STEPS):
        left = _orthonormal(scattered(*phi, gathered(*psi, right), sizes[0]))
        right = _orthonormal(scattered(*psi, gathered(*phi, left), sizes[1]))
    left, sigma, turn = linalg.svd(scattered(*phi, gathered(*psi, right), sizes[0]), full_matrices=False)
    kept = max(1, min(k, int((sigma > 1e-9 * sigma[0]).sum())))
    signs = np.where(turn[:kept, 0] < 0, -1.0, 1.0)
    return (
        np.ascontiguousarray(left[:, :kept] * signs),
        sigma[:kept] / len(phi[0]),
        np.ascontiguousarray(right @ turn[:kept].T * signs),
    )


def _orthonormal(matrix: Array) -> Array:
    basis: Array = np.linalg.qr(matrix)[0]
    return basis
