"""Tensors of a binarized grammar with a number of states for every symbol (Cohen et al. 2012, section 5).

    T_r[y, z, x]   rule r: a -> b c, states y of b, z of c, x of a      (C of the paper, axes reordered)
    roots          a vector for each symbol                             (c^1)

One state everywhere is a plain PCFG. Tensors may be signed: nothing here takes logarithms of them. Leaves are
not part of it: their vectors come from a `Lexicon`. Where tensors were made of counts, files hold the counts:

    T_r[y, z, x] = P(r, y, z | x)
                 ~ l C_r + (1 - l) [l mean of pair x single products + (1 - l) triple product]

The products are those of margins of C: a tensor of m^3 numbers is a sparse table,
in which one count in two hundred is kept, and a sum of four tensors of low rank that follow from it. Tensors
are always made of the counts that are kept, in the precision that files have: a grammar that was just learned
and one that was read are the same numbers.

Expected counts become rules: shrunk towards products of their margins, divided by their parents.

Tensors are flat, that of rule r beginning at `offsets[r]`, axes (left, right, parent).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

import numpy as np

from sigmastar.core.arrays import Array, Floats, Int32s, Int64s, Reals, Singles
from sigmastar.core.jit import fast_kernel, part
from sigmastar.core.model_reading import above, below
from sigmastar.core.shrinkage import shrink_in_place
from sigmastar.core.stored_parts import ArrayPart, Parts, floats, indices, rises_within, row_starts
from sigmastar.treebanks.kernels.latent_chart import CountedRules, Tensors


class RuleStates(NamedTuple):
    """Rules [parent, left, right], and the numbers of states that decide where things begin."""

    rules: Int32s
    n_states: Int64s  # of each symbol
    state_at: Int64s  # where the states of each symbol begin, and the end
    offsets: Int64s  # where the tensor of each rule begins, and the end


class _Margins(NamedTuple):
    """Sums of the counts of one rule over one and over two of its states."""

    x: Floats
    y: Floats
    z: Floats
    yz: Floats
    yx: Floats
    zx: Floats


@fast_kernel
def smoothed(grammar: RuleStates, counts: Reals, shares: Floats, strength: float, backing: float) -> Reals:
    """Counts mixed with products of their margins, keeping the total of every rule.

        l C + (1 - l) [l mean of pair x single products + (1 - l) triple product]
        l = sqrt(n) / (strength + sqrt(n))

    Margins are shrunk towards `shares`, the distribution of states of each symbol, by `backing` counts.
    """  # fmt: skip
    rules, n_states, at, offsets = grammar
    result = np.zeros_like(counts)
    most = n_states.max()
    singles, pairs = np.zeros((3, most)), np.zeros((3, most, most))
    for r in range(len(rules)):
        a, b, c = rules[r]
        x, y, z = singles[0, : n_states[a]], singles[1, : n_states[b]], singles[2, : n_states[c]]
        margins = _Margins(x, y, z, pairs[0], pairs[1], pairs[2])
        mine, mixed = counts[offsets[r] : offsets[r + 1]], result[offsets[r] : offsets[r + 1]]
        total = _sum_margins(mine, margins)
        if total > 0.0:
            shrink_in_place(x, shares[at[a] : at[a + 1]], backing, total)
            shrink_in_place(y, shares[at[b] : at[b + 1]], backing, total)
            shrink_in_place(z, shares[at[c] : at[c + 1]], backing, total)
            mix = np.sqrt(total) / (strength + np.sqrt(total))
            _mix(mine, margins, mix, total, mixed)
    return result


@part
def _sum_margins(counts: Reals, margins: _Margins) -> float:
    """Fill the margins; the sum of all counts."""
    px, py, pz, yz, yx, zx = margins
    n, low, total = len(px), 0, 0.0
    px[:], py[:], pz[:] = 0.0, 0.0, 0.0
    yx[: len(py), :n], zx[: len(pz), :n] = 0.0, 0.0
    for y in range(len(py)):
        left = yx[y, :n]
        for z in range(len(pz)):
            row, right, here = counts[low : low + n], zx[z, :n], 0.0
            for x in range(n):
                here += row[x]
                left[x] += row[x]
                right[x] += row[x]
            yz[y, z] = here
            py[y] += here
            pz[z] += here
            low += n
        for x in range(n):
            px[x] += left[x]
        total += py[y]
    return total


@part
def _mix(counts: Reals, margins: _Margins, mix: float, total: float, result: Reals) -> None:
    """One rule of `smoothed`, its margins known."""
    px, py, pz, yz, yx, zx = margins
    n, low = len(px), 0
    pairs, triple = (1 - mix) * mix / 3.0, (1 - mix) * (1 - mix) * total
    for y in range(len(py)):
        for z in range(len(pz)):
            row, target, left, right = counts[low : low + n], result[low : low + n], yx[y, :n], zx[z, :n]
            of_x, of_left, of_right = pairs * yz[y, z] + triple * py[y] * pz[z], pairs * pz[z], pairs * py[y]
            for x in range(n):
                target[x] = mix * row[x] + of_x * px[x] + of_left * left[x] + of_right * right[x]
            low += n


@fast_kernel
def conditional(grammar: RuleStates, counts: Reals) -> tuple[Reals, Floats]:
    """T_r[y, z, x] = P(rule r with y and z | parent in x), and how often each state is a parent."""
    rules, n_states, share_at, offsets = grammar
    totals, room = np.zeros(share_at[-1]), np.zeros(n_states.max())
    tensors, norms = np.zeros_like(counts), np.zeros(share_at[-1], counts.dtype)
    for r in range(len(rules)):
        n, base = n_states[rules[r, 0]], share_at[rules[r, 0]]
        sums = room[:n]
        sums[:] = 0.0
        for low in range(offsets[r], offsets[r + 1], n):
            row = counts[low : low + n]
            for x in range(n):
                sums[x] += row[x]
        for x in range(n):
            totals[base + x] += sums[x]
    for state in range(len(totals)):
        if totals[state] > 0.0:
            norms[state] = 1.0 / totals[state]
    for r in range(len(rules)):
        n, base = n_states[rules[r, 0]], share_at[rules[r, 0]]
        norm = norms[base : base + n]
        for low in range(offsets[r], offsets[r + 1], n):
            row, target = counts[low : low + n], tensors[low : low + n]
            for x in range(n):
                target[x] = row[x] * norm[x]
    return tensors, totals


@fast_kernel
def grouped_tensors(
    grammar: RuleStates, tensors: Reals, groups: Int64s, share: Floats, n_groups: Int64s, new_offsets: Int64s
) -> Floats:
    """Sums over groups of states of children, means over those of parents with the `share` of each state."""
    rules, n_states, state_at, offsets = grammar
    result = np.zeros(new_offsets[-1])
    for r in range(len(rules)):
        a, b, c = rules[r]
        n, low = n_states[a], offsets[r]
        onto, weights = groups[state_at[a] : state_at[a + 1]], share[state_at[a] : state_at[a + 1]]
        for y in range(n_states[b]):
            for z in range(n_states[c]):
                pair = groups[state_at[b] + y] * n_groups[c] + groups[state_at[c] + z]
                target = result[new_offsets[r] + pair * n_groups[a] :]
                for x in range(n):
                    target[onto[x]] += weights[x] * tensors[low + x]
                low += n
    return result


_MANY = 1 << 20  # numbers of a grammar whose file is to be half as large
_MOST, _MOST_STATES = 1 << 29, 1 << 10  # numbers, and states per symbol: files may claim more than fits
_FEW, _THIN = 1 << 20, 10_000  # numbers that any file may claim, and that it may claim per count

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
        shares = _shares(states, frequencies)
        counts = np.zeros(int(states.offsets[-1]), dtype=np.float32)
        counts[np.repeat(states.offsets[:-1], np.diff(self.starts)) + self.cells] = self.values
        result, _ = conditional(states, smoothed(states, counts, shares, self.strength, self.backing))
        return result.astype(np.float32, copy=False)

    PARTS: ClassVar[Parts] = Parts(
        arrays={
            "starts": row_starts("rules", of="entries"),
            "cells": ArrayPart(("uint16", "uint32"), ("entries",)),
            "values": ArrayPart(("uint16",), ("entries",)),
            "shrinkage": floats(2, least=0.0),
        },
    )

    def places(self, states: RuleStates) -> tuple[Int64s, Int64s]:
        """The rule of each count, and its states of the left child, the right child and the parent."""
        sizes = states.n_states[states.rules[:, [1, 2, 0]]]
        rule = np.repeat(np.arange(len(sizes)), np.diff(self.starts))
        rest, x = np.divmod(self.cells, sizes[rule, 2])
        y, z = np.divmod(rest, sizes[rule, 1])
        return rule, np.stack([y, z, x], axis=1)

    def rules(self, states: RuleStates, roots: Floats, frequencies: Floats) -> CountedRules:
        """The counts and what follows from them, as charts take them."""
        sizes, (rule, places) = states.n_states[states.rules[:, [1, 2, 0]]], self.places(states)
        flat_sizes = sizes.ravel()
        margin_at: Int64s = (np.cumsum(flat_sizes) - flat_sizes).reshape(sizes.shape)
        owner = np.repeat(np.arange(flat_sizes.size), flat_sizes)
        state = np.arange(len(owner)) + np.repeat(
            states.state_at[states.rules[:, [1, 2, 0]]].ravel() - margin_at.ravel(), flat_sizes
        )
        values = np.repeat(self.values.astype(np.float64), 3)
        sums = np.bincount((margin_at[rule] + places).ravel(), values, len(owner))
        totals = np.bincount(rule, self.values, len(sizes))
        prior, of_all = _shares(states, frequencies)[state], np.repeat(totals, 3)[owner]
        margins = np.where(of_all > 0, (sums + self.backing * prior) / (of_all + self.backing), 0.0)
        mix = np.sqrt(totals) / np.maximum(self.strength + np.sqrt(totals), 1e-300)
        shares = np.stack([mix, (1 - mix) * mix / 3.0, (1 - mix) ** 2 * totals], axis=1)
        above = owner % 3 == 2
        by_rule = shares[owner[above] // 3]
        counted = (by_rule[:, 0] + 2 * by_rule[:, 1]) * sums[above]
        spread = (by_rule[:, 1] * of_all[above] + by_rule[:, 2]) * margins[above]
        outgoing: Floats = np.bincount(state[above], counted + spread, len(frequencies)).astype(np.float64)
        norms = np.where(outgoing > 0, 1.0 / np.maximum(outgoing, 1e-300), 0.0)
        sizes_at, kept = (states.n_states, self.starts), (places.astype(np.int32), self.values)
        return CountedRules(*sizes_at, *kept, margin_at, margins, shares, norms, roots, states.state_at)

    def to_parts(self) -> dict[str, Array]:
        small = self.cells.max(initial=0) < 1 << 16
        cells = self.cells.astype(np.uint16 if small else np.uint32)
        shrinkage = np.array([self.strength, self.backing])
        return dict(zip(_NAMES, (self.starts, cells, rounded(self.values), shrinkage), strict=True))

    @classmethod
    def from_parts(cls, arrays: dict[str, Array], sizes: Int64s) -> RuleCounts:
        """From a file, checked: `sizes` are those of the tensors."""
        cls.PARTS.check(arrays, {}, rules=len(sizes))
        starts, cells, values, shrinkage = (arrays[name] for name in _NAMES)
        places, numbers = cells.astype(np.int64), restored(values)
        if (places >= np.repeat(sizes, np.diff(starts))).any() or not rises_within(places, starts):
            raise ValueError("places of counts must rise, and fit the numbers of states")
        if not (np.isfinite(numbers).all() and (numbers >= 0).all()):
            raise ValueError("counts of rules must be finite numbers")
        strength, backing = shrinkage.tolist()
        return cls(starts, places, numbers, strength, backing)


def _shares(states: RuleStates, frequencies: Floats) -> Floats:
    """How often each state is that of its symbol."""
    totals = np.add.reduceat(frequencies, states.state_at[:-1])
    return np.asarray(frequencies / np.repeat(np.maximum(totals, 1e-300), states.n_states))


def rounded(numbers: Singles) -> Array:
    """Numbers in 16 bits: sign, exponent and 7 bits of the mantissa."""
    return ((numbers.view(np.uint32) + 0x8000) >> 16).astype(np.uint16)


def restored(stored: Array) -> Singles:
    """Numbers of 16 bits in single precision."""
    return (stored.astype(np.uint32) << 16).view(np.float32)


@dataclass(frozen=True, eq=False)
class LatentGrammar:
    """Tensors of rules, flat, and vectors of roots, flat."""

    rules: Int32s  # [rule, 3]: parent, left, right
    n_states: Int64s  # of each symbol
    given: Reals | None  # the tensors; None where they follow from `counts`
    roots: Floats
    frequencies: (
        Floats  # how often each state of each symbol occurs, in the mean over trees; 1 for signed ones
    )
    counts: RuleCounts | None = None  # that the tensors were made of

    def __post_init__(self) -> None:
        if self.counts is None and (self.given is None or len(self.given) != self.offsets[-1]):
            raise ValueError("tensors do not fit the numbers of states")
        if len(self.roots) != self.state_at[-1]:
            raise ValueError("roots do not fit the numbers of states")
        if len(self.frequencies) != len(self.roots):
            raise ValueError("frequencies do not fit the numbers of states")

    @cached_property
    def rule_states(self) -> RuleStates:
        """Rules and where their tensors begin."""
        return rule_states(self.rules, self.n_states)

    @property
    def offsets(self) -> Int64s:
        """Where the tensor of each rule begins, and the end."""
        return self.rule_states.offsets

    @property
    def state_at(self) -> Int64s:
        """Where the states of each symbol begin, and the end."""
        return self.rule_states.state_at

    @cached_property
    def tensors(self) -> Reals:
        """All tensors, flat, in single precision where many numbers were fitted."""
        if self.counts is not None:
            return self.counts.tensors(self.rule_states, self.frequencies)
        return np.zeros(0) if self.given is None else self.given

    @cached_property
    def single(self) -> Singles:
        """The tensors in single precision: charts keep their values near one, so nothing underflows."""
        return self.tensors.astype(np.float32, copy=False)

    @property
    def n_symbols(self) -> int:
        return len(self.n_states)

    def tensor(self, rule: int) -> Reals:
        """T_r with axes (left, right, parent)."""
        a, b, c = self.n_states[self.rules[rule]].tolist()
        return self.tensors[self.offsets[rule] : self.offsets[rule + 1]].reshape(b, c, a)

    def root(self, symbol: int) -> Floats:
        return self.roots[self.state_at[symbol] : self.state_at[symbol + 1]]

    @cached_property
    def counted(self) -> CountedRules | None:
        """The same by counts, where the tensors were made of them."""
        if self.counts is None:
            return None
        return self.counts.rules(self.rule_states, self.roots, self.frequencies)

    @cached_property
    def arrays(self) -> Tensors:
        """The grammar as charts take it, tensors in single precision."""
        return Tensors(self.n_states, self.single, self.offsets, self.roots, self.state_at)

    @classmethod
    def of_counts(
        cls, states: RuleStates, counts: RuleCounts, roots: Floats, frequencies: Floats
    ) -> LatentGrammar:
        """The grammar whose tensors are made of counts, when they are asked for."""
        return cls(states.rules, states.n_states, None, roots, frequencies, counts)

    def grouped(self, groups: Int64s) -> LatentGrammar:
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
        tensors = grouped_tensors(self.rule_states, self.tensors, groups, share, n_groups, offsets)
        return LatentGrammar(self.rules, n_groups, tensors, roots, totals)

    PARTS: ClassVar[Parts] = Parts(
        arrays={
            "n_states": indices("symbols", of="states+1", least=1, type="int64"),
            "rules": indices("rules", 3, of="symbols"),
            "tensors": floats("numbers", types=("float32", "float64", "uint16")).or_none(),
            "roots": floats("states"),
            "frequencies": floats("states", least=0.0),
        },
        inner=("counts.",),
    )

    def to_parts(self) -> dict[str, Array]:
        arrays = {name: getattr(self, name) for name in ("rules", "n_states", "roots", "frequencies")}
        if self.counts is None:
            return {**arrays, "tensors": _stored(self.single)}
        return arrays | above("counts.", self.counts.to_parts())

    @classmethod
    def from_parts(cls, arrays: dict[str, Array], n_symbols: int) -> LatentGrammar:
        sizes = cls.PARTS.check(arrays, {}, symbols=n_symbols)
        rules, n_states, roots, frequencies = (
            arrays[name] for name in ("rules", "n_states", "roots", "frequencies")
        )
        n_numbers = n_states[rules].astype(float).prod(axis=1).sum()  # which cannot overflow
        if "tensors" in arrays:
            tensors = _restored(arrays["tensors"])
            if n_numbers != sizes["numbers"] or not np.isfinite(tensors).all():
                raise ValueError("tensors do not fit the numbers of states, or are not finite")
            return cls(rules, n_states, tensors, roots, frequencies)
        held = sum(array.size for array in arrays.values())
        if n_numbers > min(_MOST, _FEW + _THIN * held) or n_states.max(initial=1) > _MOST_STATES:
            raise ValueError(f"tensors of {n_numbers:.0f} numbers are more than {held} counts can fill")
        if n_states.sum() != sizes["states"]:
            raise ValueError("frequencies do not fit the numbers of states")
        states = rule_states(rules, n_states)
        counts = RuleCounts.from_parts(below("counts.", arrays), np.diff(states.offsets))
        return cls.of_counts(states, counts, roots, frequencies)


def rule_states(rules: Int32s, n_states: Int64s) -> RuleStates:
    """Rules and numbers of states, and where tensors begin; refused where rules name no symbols."""
    if rules.ndim != 2 or rules.shape[1] != 3 or n_states.min(initial=1) < 1:
        raise ValueError("rules must be triples of symbols, and every symbol must have a state")
    if len(rules) and not 0 <= rules.min() <= rules.max() < len(n_states):
        raise ValueError("a rule names a symbol that does not exist")
    offsets = np.concatenate([[0], np.cumsum(n_states[rules].prod(axis=1))])
    return RuleStates(rules, n_states, np.concatenate([[0], np.cumsum(n_states)]), offsets)


def _stored(tensors: Singles) -> Array:
    """Many numbers are kept in 16 bits."""
    return tensors if len(tensors) < _MANY else rounded(tensors)


def _restored(stored: Array) -> Reals:
    return restored(stored) if stored.dtype == np.uint16 else stored
