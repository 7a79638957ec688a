"""Counts of rules with states, few of which are not next to zero: what a grammar of many states is stored as.

    T_r[y, z, x] = P(r, y, z | x)
                 ~ l C_r + (1 - l) [l mean of pair x single products + (1 - l) triple product]

The products are those of margins of C (`kernels.rule_shrinkage`): a tensor of m^3 numbers is a sparse table,
in which one count in two hundred is kept, and a sum of four tensors of low rank that follow from it. Tensors
are always made of the counts that are kept, in the precision that files have: a grammar that was just learned
and one that was read are the same numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sigmastar.core.arrays import Array, Floats, Int64s, Reals, Singles
from sigmastar.treebanks.kernels.rule_shrinkage import RuleStates, conditional, smoothed

LEAST = 0.01
"""Counts below this, and below this share of the largest of their rule, are dropped."""
_NAMES = ("starts", "cells", "values", "shrinkage")


@dataclass(frozen=True, eq=False)
class RuleCounts:
    """The counts of all rules, those of rule r from `starts[r]` on."""

    starts: Int64s  # and the end
    cells: Int64s  # the place of each count in the tensor of its rule, rising
    values: Singles  # with as many bits as files keep
    strength: float
    backing: float

    @classmethod
    def of(cls, counts: Reals, offsets: Int64s, strength: float, backing: float) -> RuleCounts:
        """What is kept of flat tables, that of rule r beginning at `offsets[r]`."""
        sizes = np.diff(offsets)
        largest = np.maximum.reduceat(counts, offsets[:-1]) if len(sizes) else np.zeros(0)
        kept = np.flatnonzero(counts >= np.repeat(np.clip(LEAST * largest, 1e-30, LEAST), sizes))
        starts = np.searchsorted(kept, offsets)
        cells = kept - np.repeat(offsets[:-1], np.diff(starts))
        values = restored(rounded(counts[kept].astype(np.float32)))
        return cls(starts.astype(np.int64), cells, values, strength, backing)

    def tensors(self, states: RuleStates, frequencies: Floats) -> Singles:
        """The tensors of rules, flat; `frequencies` of states are the prior of their margins."""
        totals = np.add.reduceat(frequencies, states.state_at[:-1])
        shares = frequencies / np.repeat(np.maximum(totals, 1e-300), states.n_states)
        counts = np.zeros(int(states.offsets[-1]), dtype=np.float32)
        counts[np.repeat(states.offsets[:-1], np.diff(self.starts)) + self.cells] = self.values
        result, _ = conditional(states, smoothed(states, counts, shares, self.strength, self.backing))
        return result.astype(np.float32, copy=False)

    def to_parts(self) -> dict[str, Array]:
        small = self.cells.max(initial=0) < 1 << 16
        cells = self.cells.astype(np.uint16 if small else np.uint32)
        shrinkage = np.array([self.strength, self.backing])
        return dict(zip(_NAMES, (self.starts, cells, rounded(self.values), shrinkage), strict=True))

    @classmethod
    def from_parts(cls, arrays: dict[str, Array], sizes: Int64s) -> RuleCounts:
        """From a file, checked: `sizes` are those of the tensors."""
        starts, cells, values, shrinkage = (arrays[name] for name in _NAMES)
        if starts.shape != (len(sizes) + 1,) or starts[0] != 0 or (np.diff(starts) < 0).any():
            raise ValueError("counts of rules do not fit the rules")
        if not len(cells) == len(values) == starts[-1] or values.dtype != np.uint16:
            raise ValueError("counts of rules do not fit their places")
        places, numbers = cells.astype(np.int64), restored(values)
        if (places < 0).any() or (places >= np.repeat(sizes, np.diff(starts))).any():
            raise ValueError("places of counts do not fit the numbers of states")
        rise = np.diff(places) > 0
        rise[starts[1:-1][(starts[1:-1] > 0) & (starts[1:-1] < len(places))] - 1] = True
        if not rise.all() or not (np.isfinite(numbers).all() and (numbers >= 0).all()):
            raise ValueError("counts of rules must be finite numbers, and their places must rise")
        strength, backing = (float(number) for number in shrinkage)
        if not (0 <= strength < np.inf and 0 <= backing < np.inf):
            raise ValueError("the shrinkage of counts must be two numbers of at least 0")
        return cls(starts, places, numbers, strength, backing)


def rounded(numbers: Singles) -> Array:
    """Numbers in 16 bits: sign, exponent and 7 bits of the mantissa."""
    return ((numbers.view(np.uint32) + 0x8000) >> 16).astype(np.uint16)


def restored(stored: Array) -> Singles:
    """Numbers of 16 bits in single precision."""
    return (stored.astype(np.uint32) << 16).view(np.float32)
