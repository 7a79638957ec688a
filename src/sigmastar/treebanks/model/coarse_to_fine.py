"""Plain PCFGs of one treebank, coarse and fine: what is pruned before any states are looked at.

Symbols above words are joined into four groups: phrases of the most frequent label, other phrases, and what
stands between children of the one and the other. The grammar of groups has the mean probabilities of their
members; symbols of groups that it finds improbable over some words are never built there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sigmastar.treebanks.data.binary import PHRASE, Symbols
from sigmastar.treebanks.data.phrases import Ints, Longs
from sigmastar.treebanks.kernels.chart import coarse_inside, coarse_posteriors
from sigmastar.treebanks.kernels.edges import coarse_edges
from sigmastar.treebanks.kernels.groups import probable_groups
from sigmastar.treebanks.model.latent_grammar import LatentGrammar
from sigmastar.treebanks.model.lexicon import Leaves

Array = NDArray[np.float64]
Bytes = NDArray[np.uint8]

EVERYTHING = np.zeros((0, 0), dtype=np.uint8)


@dataclass(frozen=True)
class Pruning:
    """What may be dropped: a share of the best of its cell (beams), or a posterior below a bound."""

    beam: float = 3e-3
    groups: float = 1e-3  # after the grammar of groups
    coarse: float = 3e-4  # after the plain grammar
    edges: float = 1e-4
    middle: float = 1e-3  # after a grammar of few states
    labels: float = 1e-3  # what the first of several grammars leaves to the others

    @property
    def ignored(self) -> float:
        """Cells below this share of the probability send nothing down."""
        return 1e-3 * self.coarse

    def relaxed(self) -> Pruning:
        """Nothing but what is next to impossible, for sentences where all else was dropped."""
        return Pruning(0.0, 0.0, 1e-9, 1e-12, 1e-9, 1e-9)


DEFAULT_PRUNING = Pruning()
THOROUGH = Pruning(beam=1e-4, groups=3e-4, coarse=1e-4, edges=3e-5)
"""For several grammars together: what the first one drops is lost for all."""


@dataclass(frozen=True, eq=False)
class Level:
    """A plain grammar with its rules by their children."""

    grammar: LatentGrammar

    @cached_property
    def values(self) -> Array:
        """The probabilities of the rules, in double precision."""
        return self.grammar.tensors.astype(np.float64, copy=False)

    @cached_property
    def pair_starts(self) -> Ints:
        """Where the rules of each pair of children begin: rules are sorted by their children."""
        n, rules = self.grammar.n_symbols, self.grammar.rules
        keys = rules[:, 1].astype(np.int64) * n + rules[:, 2]
        return np.searchsorted(keys, np.arange(n * n + 1)).astype(np.int32)

    @cached_property
    def parents(self) -> Ints:
        return np.ascontiguousarray(self.grammar.rules[:, 0])


@dataclass(frozen=True, eq=False)
class Groups:
    """A plain grammar whose symbols above words are groups."""

    level: Level
    keys: Ints  # of each symbol of the full grammar: its group, -1 for leaves
    n_leaves: int

    @cached_property
    def tensor(self) -> Array:
        """Rules between groups, [left, right, parent]."""
        grammar, n = self.level.grammar, self.level.grammar.n_symbols - self.n_leaves
        result = np.zeros((n, n, n))
        inner = grammar.rules.min(axis=1) >= self.n_leaves
        a, b, c = (grammar.rules[inner] - self.n_leaves).T
        result[b, c, a] = grammar.tensors[inner]
        return result

    def allowed(self, leaves: Leaves, least: float) -> Bytes:
        """[cell, group]: where each has a posterior of `least`; empty where nothing is known."""
        grammar = self.level.grammar
        table, log2_total = probable_groups(
            leaves.begin,
            leaves.symbols,
            leaves.scores,
            self.n_leaves,
            self.level.pair_starts,
            self.level.parents,
            self.level.values,
            self.tensor,
            grammar.roots,
            least,
        )
        return EVERYTHING if np.isneginf(log2_total) else table


@dataclass(frozen=True, eq=False)
class PlainChart:
    """What is left of a chart, and its posteriors; `log2_total` is -inf where there is no parse."""

    starts: Longs
    items: Ints
    values: Array
    exponents: Longs
    posteriors: Array
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
    return Groups(Level(_joined(grammar, joined)), keys, n_leaves)


def _joined(grammar: LatentGrammar, groups: Ints) -> LatentGrammar:
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
    level: Level, leaves: Leaves, beam: float, least: float, keys: Ints, allowed: Bytes
) -> PlainChart:
    """The chart of one level; symbols whose key a cell does not allow are left out."""
    grammar = level.grammar
    chart = coarse_inside(
        leaves.begin,
        leaves.symbols,
        leaves.scores,
        level.pair_starts,
        level.parents,
        level.values,
        grammar.frequencies,
        beam,
        keys,
        allowed,
    )
    posteriors, log2_total = coarse_posteriors(
        len(leaves.begin) - 1, *chart, level.pair_starts, level.parents, level.values, grammar.roots, least
    )
    return PlainChart(*chart, posteriors, log2_total)


def pruned_chart(level: Level, groups: Groups, leaves: Leaves, pruning: Pruning) -> PlainChart:
    """The chart of a plain grammar, without what that of its groups finds improbable."""
    allowed = groups.allowed(leaves, pruning.groups) if pruning.groups > 0 else EVERYTHING
    return plain_chart(level, leaves, pruning.beam, pruning.ignored, groups.keys, allowed)


def chart_edges(level: Level, chart: PlainChart, pruning: Pruning) -> tuple[Longs, Ints, Ints]:
    """Items and edges that are left for grammars with states: starts, items, edges."""
    grammar = level.grammar
    n = int(np.sqrt(2 * len(chart.exponents)))
    return coarse_edges(
        n,
        chart.starts,
        chart.items,
        chart.values,
        chart.exponents,
        chart.posteriors,
        level.pair_starts,
        level.parents,
        level.values,
        grammar.n_symbols,
        pruning.coarse,
        pruning.edges,
    )
