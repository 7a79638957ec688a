"""Coarse-to-fine pruning: plain PCFGs, coarse and fine, that rule items out before states are looked at.

Symbols above words are joined into four groups: phrases of the most frequent label, other phrases, and what
stands between children of the one and the other. The grammar of groups has the mean probabilities of their
members; symbols of groups that it finds improbable over some words are never built there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.arrays import Floats, Int32s
from sigmastar.core.parts import share
from sigmastar.treebanks.data.binarized import PHRASE, Symbols
from sigmastar.treebanks.kernels.chart_edges import EdgeChart, probable_edges
from sigmastar.treebanks.kernels.coarse_chart import GroupRules, probable_groups
from sigmastar.treebanks.kernels.plain_chart import (
    Allowed,
    ChartRules,
    PlainItems,
    plain_inside,
    plain_posteriors,
)
from sigmastar.treebanks.model.latent_grammar import LatentGrammar
from sigmastar.treebanks.model.lexicon import Leaves

Bytes = NDArray[np.uint8]

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
