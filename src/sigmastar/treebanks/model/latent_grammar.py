"""Tensors of a binarised grammar with a number of states for every symbol (Cohen et al. 2012, section 5).

    T_r[y, z, x]   rule r: a -> b c, states y of b, z of c, x of a      (C of the paper, axes reordered)
    roots          a vector for each symbol                             (c^1)

One state everywhere is a plain PCFG. Tensors may be signed: nothing here takes logarithms of them. Leaves are
not part of it: their vectors come from a `Lexicon`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sigmastar.treebanks.data.phrases import Ints, Longs
from sigmastar.treebanks.kernels.smoothing import grouped_tensors

Array = NDArray[np.float64]
Reals = NDArray[np.float64] | NDArray[np.float32]

_MANY = 1 << 20  # numbers of a grammar whose file is to be half as large


@dataclass(frozen=True, eq=False)
class LatentGrammar:
    """Tensors of rules, flat, and vectors of roots, flat."""

    rules: Ints  # [rule, 3]: parent, left, right
    n_states: Longs  # of each symbol
    tensors: Reals  # in single precision where many numbers were fitted
    roots: Array
    frequencies: (
        Array  # how often each state of each symbol occurs, in the mean over trees; 1 for signed ones
    )

    def __post_init__(self) -> None:
        if len(self.tensors) != self.offsets[-1] or len(self.roots) != self.state_at[-1]:
            raise ValueError("tensors and roots do not fit the numbers of states")
        if len(self.rules) and not 0 <= self.rules.min() <= self.rules.max() < len(self.n_states):
            raise ValueError("a rule names a symbol that does not exist")

    @cached_property
    def offsets(self) -> Longs:
        """Where the tensor of each rule begins, and the end."""
        return np.concatenate([[0], np.cumsum(self.n_states[self.rules].prod(axis=1))])

    @cached_property
    def state_at(self) -> Longs:
        """Where the states of each symbol begin, and the end."""
        return np.concatenate([[0], np.cumsum(self.n_states)])

    @cached_property
    def single(self) -> NDArray[np.float32]:
        """The tensors in single precision: charts keep their values near one, so nothing underflows."""
        return self.tensors.astype(np.float32, copy=False)

    @property
    def n_symbols(self) -> int:
        return len(self.n_states)

    def tensor(self, rule: int) -> Reals:
        """T_r with axes (left, right, parent)."""
        a, b, c = self.n_states[self.rules[rule]].tolist()
        return self.tensors[self.offsets[rule] : self.offsets[rule + 1]].reshape(b, c, a)

    def root(self, symbol: int) -> Array:
        return self.roots[self.state_at[symbol] : self.state_at[symbol + 1]]

    def with_arrays(self, **arrays: Any) -> LatentGrammar:
        return replace(self, **arrays)

    def grouped(self, groups: Longs) -> LatentGrammar:
        """A smaller grammar: states of a symbol with one group number, from 0, become one state.

        Its rules have the mean probability over the states of a group, weighted by how often each occurs: the
        best approximation by a grammar of the groups. Used to prune before the real one is run.
        """
        n_groups = np.maximum.reduceat(groups, self.state_at[:-1]) + 1
        at = np.concatenate([[0], np.cumsum(n_groups)])
        flat = np.repeat(at[:-1], self.n_states) + groups
        totals = np.asarray(np.bincount(flat, self.frequencies, int(at[-1])), dtype=np.float64)
        share = self.frequencies / np.maximum(totals[flat], 1e-300)
        roots = np.asarray(np.bincount(flat, self.roots, int(at[-1])), dtype=np.float64)
        sizes = n_groups[self.rules].prod(axis=1)
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        tensors = grouped_tensors(
            self.rules,
            self.n_states,
            self.offsets,
            self.tensors,
            self.state_at,
            groups,
            share,
            n_groups,
            offsets,
        )
        return LatentGrammar(self.rules, n_groups, tensors, roots, totals)

    def to_parts(self) -> dict[str, NDArray[Any]]:
        return {
            "rules": self.rules,
            "n_states": self.n_states,
            "tensors": _stored(self.single),
            "roots": self.roots,
            "frequencies": self.frequencies,
        }

    @classmethod
    def from_parts(cls, arrays: dict[str, NDArray[Any]]) -> LatentGrammar:
        return cls(
            arrays["rules"],
            arrays["n_states"],
            _restored(arrays["tensors"]),
            arrays["roots"],
            arrays["frequencies"],
        )


def _stored(tensors: NDArray[np.float32]) -> NDArray[Any]:
    """Many numbers are kept in 16 bits: sign, exponent and 7 bits of the mantissa, rounded."""
    if len(tensors) < _MANY:
        return tensors
    return ((tensors.view(np.uint32) + 0x8000) >> 16).astype(np.uint16)


def _restored(stored: NDArray[Any]) -> Reals:
    if stored.dtype != np.uint16:
        return stored
    return (stored.astype(np.uint32) << 16).view(np.float32)
