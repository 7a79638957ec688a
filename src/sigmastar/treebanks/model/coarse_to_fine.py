"""Coarse-to-fine pruning: plain PCFGs, coarse and fine, that rule items out before states are looked at.

Symbols above words are joined into four groups: phrases of the most frequent label, other phrases, and what
stands between children of the one and the other. The grammar of groups has the mean probabilities of their
members; symbols of groups that it finds improbable over some words are never built there.

The first pass goes over all cells of charts of a plain grammar with few symbols above words, which are dense:

    inside   f_ij[a] = sum over b, c of T[b, c, a] sum over k of f_ik[b] f_kj[c]
    outside  g_ik[b] += sum over c of X[b, c] f_kj[c],   X[b, c] = sum over a of T[b, c, a] g_ij[a]

and g_kj alike. What stands beside a word is a matrix: candidates of the word are summed before any cell is
looked at. Cells have exponents as in `plain_chart`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.jit import fast_kernel, part
from sigmastar.core.scaling import power_of_two
from sigmastar.core.stored_parts import share
from sigmastar.treebanks.data.binarized import PHRASE, Symbols
from sigmastar.treebanks.kernels.plain_chart import (
    Allowed,
    ChartRules,
    EdgeChart,
    LeafItems,
    PlainItems,
    plain_inside,
    plain_posteriors,
    probable_edges,
)
from sigmastar.treebanks.kernels.span_features import cell_by_width
from sigmastar.treebanks.model.latent_grammar import LatentGrammar
from sigmastar.treebanks.model.lexicon import Leaves

Bytes = NDArray[np.uint8]

_LOWEST = -(1 << 60)


class GroupRules(NamedTuple):
    """Rules of all symbols, groups numbered after leaves; those between groups once more as a tensor."""

    rules: ChartRules
    tensor: Floats  # [left, right, parent]
    n_leaves: int


class _Dense(NamedTuple):
    """Values of groups by cell, and what stands beside words on either side."""

    inner: Floats
    outer: Floats
    exponents: Int64s
    tensor: Floats
    east: Floats  # [word, c, a]: the weight of a over the word and c on its right
    west: Floats  # [word, b, a], b on its left


@part
def _beside_words(leaves: LeafItems, grammar: GroupRules) -> tuple[Floats, Floats]:
    """East and west."""
    n, n_groups, n_leaves = len(leaves.begin) - 1, len(grammar.tensor), grammar.n_leaves
    (pair_starts, parent, value), n_symbols = grammar.rules, n_leaves + n_groups
    east, west = np.zeros((n, n_groups, n_groups)), np.zeros((n, n_groups, n_groups))
    for i in range(n):
        for m in range(leaves.begin[i], leaves.begin[i + 1]):
            leaf, score = leaves.symbols[m], leaves.scores[m]
            for other in range(n_groups):
                pair = leaf * n_symbols + n_leaves + other
                for at in range(pair_starts[pair], pair_starts[pair + 1]):
                    east[i, other, parent[at] - n_leaves] += score * value[at]
                pair = (n_leaves + other) * n_symbols + leaf
                for at in range(pair_starts[pair], pair_starts[pair + 1]):
                    west[i, other, parent[at] - n_leaves] += score * value[at]
    return east, west


@part
def _over_two_words(i: int, leaves: LeafItems, grammar: GroupRules, result: Floats) -> None:
    (pair_starts, parent, value), n_leaves = grammar.rules, grammar.n_leaves
    n_symbols = n_leaves + len(grammar.tensor)
    for left in range(leaves.begin[i], leaves.begin[i + 1]):
        for right in range(leaves.begin[i + 1], leaves.begin[i + 2]):
            pair = leaves.symbols[left] * n_symbols + leaves.symbols[right]
            for at in range(pair_starts[pair], pair_starts[pair + 1]):
                result[parent[at] - n_leaves] += leaves.scores[left] * leaves.scores[right] * value[at]


@fast_kernel
def _scaled(row: Floats, scale: int) -> int:
    """Bring the largest of a row near one; the exponent that was taken out, with `scale`."""
    top = 0.0
    for a in range(len(row)):
        top = max(top, row[a])
    if top <= 0.0:
        return _LOWEST
    step = int(np.ceil(np.log2(top)))
    factor = power_of_two(-step)
    for a in range(len(row)):
        row[a] *= factor
    return scale + step


@part
def _inside_cell(i: int, j: int, n: int, chart: _Dense, sums: Floats) -> None:
    inner, exponents, tensor = chart.inner, chart.exponents, chart.tensor
    g, cell = tensor.shape[0], cell_by_width(i, j, n)
    mine, after, before = inner[cell], cell_by_width(i + 1, j, n), cell_by_width(i, j - 1, n)
    scale = max(exponents[after], exponents[before])
    for k in range(i + 2, j - 1):
        scale = max(scale, exponents[cell_by_width(i, k, n)] + exponents[cell_by_width(k, j, n)])
    if scale == _LOWEST:
        exponents[cell] = _LOWEST
        return
    first, last = power_of_two(exponents[after] - scale), power_of_two(exponents[before] - scale)
    sums[:] = 0.0
    for k in range(i + 2, j - 1):
        west, east = cell_by_width(i, k, n), cell_by_width(k, j, n)
        exponent = exponents[west] + exponents[east] - scale
        if exponent < -60:
            continue
        weight = power_of_two(exponent)
        for b in range(g):
            left = weight * inner[west, b]
            for c in range(g):
                sums[b, c] += left * inner[east, c]
    for b in range(g):
        left, right = first * inner[after, b], last * inner[before, b]
        for a in range(g):
            mine[a] += left * chart.east[i, b, a] + right * chart.west[j - 1, b, a]
        for c in range(g):
            for a in range(g):
                mine[a] += sums[b, c] * tensor[b, c, a]
    exponents[cell] = _scaled(mine, scale)


@part
def _outside_cell(i: int, j: int, n: int, chart: _Dense, above: Floats) -> None:
    inner, outer, exponents, tensor = chart.inner, chart.outer, chart.exponents, chart.tensor
    g, cell = tensor.shape[0], cell_by_width(i, j, n)
    mine, after, before = outer[cell], cell_by_width(i + 1, j, n), cell_by_width(i, j - 1, n)
    first, last = (
        power_of_two(exponents[after] - exponents[cell]),
        power_of_two(exponents[before] - exponents[cell]),
    )
    for b in range(g):
        left, right = 0.0, 0.0
        for a in range(g):
            left += chart.east[i, b, a] * mine[a]
            right += chart.west[j - 1, b, a] * mine[a]
        outer[after, b] += first * left
        outer[before, b] += last * right
        for c in range(g):
            flow = 0.0
            for a in range(g):
                flow += tensor[b, c, a] * mine[a]
            above[b, c] = flow
    for k in range(i + 2, j - 1):
        west, east = cell_by_width(i, k, n), cell_by_width(k, j, n)
        weight = power_of_two(exponents[west] + exponents[east] - exponents[cell])
        for b in range(g):
            flow, left = 0.0, weight * inner[west, b]
            for c in range(g):
                flow += above[b, c] * inner[east, c]
                outer[east, c] += above[b, c] * left
            outer[west, b] += weight * flow


@fast_kernel
def probable_groups(
    leaves: LeafItems, grammar: GroupRules, roots: Floats, least: float
) -> tuple[Bytes, float]:
    """[cell, group]: 1 where a group has a posterior of `least` or more; and log2 of the total.

    Words need not have a group. Without a parse the logarithm is -inf.
    """
    n, g, n_leaves = len(leaves.begin) - 1, len(grammar.tensor), grammar.n_leaves
    n_cells = n * (n + 1) // 2
    inner, outer, exponents = np.zeros((n_cells, g)), np.zeros((n_cells, g)), np.zeros(n_cells, np.int64)
    table, square = np.zeros((n_cells, g), np.uint8), np.zeros((g, g))
    east, west = _beside_words(leaves, grammar)
    chart = _Dense(inner, outer, exponents, grammar.tensor, east, west)
    for i in range(n - 1):
        row = inner[n + i]
        _over_two_words(i, leaves, grammar, row)
        exponents[n + i] = _scaled(row, 0)
    for width in range(3, n + 1):
        for i in range(n - width + 1):
            _inside_cell(i, i + width, n, chart, square)
    last, total = n_cells - 1, 0.0
    for a in range(g):
        total += roots[n_leaves + a] * inner[last, a]
    if n == 1 or not total > 0.0:
        return table, -np.inf
    for a in range(g):
        outer[last, a] = roots[n_leaves + a] / total
    for width in range(n, 1, -1):
        for i in range(n - width + 1):
            cell, most = cell_by_width(i, i + width, n), 0.0
            for a in range(g):
                posterior = inner[cell, a] * outer[cell, a]
                most = max(most, posterior)
                table[cell, a] = posterior >= least
            if width > 2 and most > 1e-4 * least:
                _outside_cell(i, i + width, n, chart, square)
    return table, np.log2(total) + exponents[last]


EVERYTHING = np.zeros((0, 0), dtype=np.uint8)


@dataclass(frozen=True)
class Pruning:
    """What may be dropped: a share of the best of its cell (beams), or a posterior below a bound."""

    beam: float = 3e-4
    groups: float = 3e-4  # after the grammar of groups
    coarse: float = 1e-4  # after the plain grammar
    edges: float = 3e-5
    middle: float = 3e-4  # after a grammar of few states
    labels: float = 1e-3  # what the first of several grammars leaves to the others

    def __post_init__(self) -> None:
        for name, bound in vars(self).items():
            if share(bound):
                raise ValueError(f"{name}={bound!r} must be a number from 0 to 1")

    @property
    def ignored(self) -> float:
        """Cells below this share of the probability send nothing down."""
        return 1e-3 * self.coarse

    def relaxed(self) -> Pruning:
        """Nothing but what is next to impossible, for sentences where all else was dropped."""
        return Pruning(0.0, 0.0, 1e-9, 1e-12, 1e-9, 1e-9)


DEFAULT_PRUNING: Pruning = Pruning()
NO_PRUNING = Pruning(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
"""Every item and every edge that has a tree: what charts on a device are held to."""
THOROUGH = Pruning(beam=1e-4, middle=1e-3)
"""For several grammars together: what the first one drops is lost for all."""


@dataclass(frozen=True, eq=False)
class CoarseGrammar:
    """A plain grammar with its rules by their children."""

    grammar: LatentGrammar

    @cached_property
    def rules(self) -> ChartRules:
        """As charts take them: in double precision, sorted by their children as they were before."""
        n, rules = self.grammar.n_symbols, self.grammar.rules
        keys = rules[:, 1].astype(np.int64) * n + rules[:, 2]
        starts = np.searchsorted(keys, np.arange(n * n + 1)).astype(np.int32)
        values = self.grammar.tensors.astype(np.float64, copy=False)
        return ChartRules(starts, np.ascontiguousarray(rules[:, 0]), values)


@dataclass(frozen=True, eq=False)
class Groups:
    """A plain grammar whose symbols above words are groups."""

    coarse: CoarseGrammar
    keys: Int32s  # of each symbol of the full grammar: its group, -1 for leaves
    n_leaves: int

    @cached_property
    def tensor(self) -> Floats:
        """Rules between groups, [left, right, parent]."""
        grammar, n = self.coarse.grammar, self.coarse.grammar.n_symbols - self.n_leaves
        result = np.zeros((n, n, n))
        inner = grammar.rules.min(axis=1) >= self.n_leaves
        a, b, c = (grammar.rules[inner] - self.n_leaves).T
        result[b, c, a] = grammar.tensors[inner]
        return result

    def allowed(self, leaves: Leaves, least: float) -> Bytes:
        """[cell, group]: where each has a posterior of `least`; empty where nothing is known."""
        grammar = self.coarse.grammar
        rules = GroupRules(self.coarse.rules, self.tensor, self.n_leaves)
        table, log2_total = probable_groups(leaves.items, rules, grammar.roots, least)
        return EVERYTHING if np.isneginf(log2_total) else table


@dataclass(frozen=True, eq=False)
class PlainChart:
    """What is left of a chart, and its posteriors; `log2_total` is -inf where there is no parse."""

    items: PlainItems
    posteriors: Floats
    log2_total: float


def groups(grammar: LatentGrammar, symbols: Symbols, labels: tuple[tuple[str, ...], ...]) -> Groups:
    """The most frequent label and all others, as phrases and as what stands between their children."""
    n, n_leaves = len(symbols), symbols.n_leaves
    above = np.arange(n_leaves, n)
    names, name = np.unique([labels[label][-1] for label in symbols.label[above]], return_inverse=True)
    between = symbols.kind[above] > PHRASE
    counts = np.bincount(name, grammar.frequencies[above] * ~between, len(names))
    is_common = name == np.argmax(counts) if len(above) else np.zeros(0, dtype=bool)
    keys = np.full(n, -1, dtype=np.int32)
    keys[above] = np.unique(2 * between + is_common, return_inverse=True)[1]
    joined = np.where(keys < 0, np.arange(n), n_leaves + keys).astype(np.int32)
    return Groups(CoarseGrammar(_joined(grammar, joined)), keys, n_leaves)


def _joined(grammar: LatentGrammar, groups: Int32s) -> LatentGrammar:
    """The plain grammar of groups of symbols, weighted by how often each occurs."""
    n = int(groups.max()) + 1
    frequencies = np.asarray(np.bincount(groups, grammar.frequencies, n), dtype=np.float64)
    rules = groups[grammar.rules].astype(np.int64)
    weights = grammar.tensors * grammar.frequencies[grammar.rules[:, 0]]
    keys, inverse = np.unique((rules[:, 1] * n + rules[:, 2]) * n + rules[:, 0], return_inverse=True)
    joined = np.stack([keys % n, keys // n // n, keys // n % n], axis=1).astype(np.int32)
    values = np.bincount(inverse, weights, len(keys)) / np.maximum(frequencies[joined[:, 0]], 1e-300)
    roots = np.asarray(np.bincount(groups, grammar.roots, n), dtype=np.float64)
    return LatentGrammar(joined, np.ones(n, dtype=np.int64), values, roots, frequencies)


def plain_chart(
    coarse: CoarseGrammar, leaves: Leaves, beam: float, least: float, allowed: Allowed
) -> PlainChart:
    """The chart of a plain grammar, without symbols that a cell does not allow."""
    grammar = coarse.grammar
    items = plain_inside(leaves.items, coarse.rules, grammar.frequencies, beam, allowed)
    n = len(leaves.begin) - 1
    return PlainChart(items, *plain_posteriors(n, items, coarse.rules, grammar.roots, least))


def pruned_chart(coarse: CoarseGrammar, groups: Groups, leaves: Leaves, pruning: Pruning) -> PlainChart:
    """The chart of a plain grammar, without what that of its groups finds improbable."""
    table = groups.allowed(leaves, pruning.groups) if pruning.groups > 0 else EVERYTHING
    return plain_chart(coarse, leaves, pruning.beam, pruning.ignored, Allowed(groups.keys, table))


def chart_edges(coarse: CoarseGrammar, chart: PlainChart, pruning: Pruning) -> EdgeChart:
    """Items and edges that are left for grammars with states."""
    n, bounds = int(np.sqrt(2 * len(chart.items.exponents))), (pruning.coarse, pruning.edges)
    return probable_edges(n, chart.items, chart.posteriors, coarse.rules, coarse.grammar.n_symbols, bounds)
