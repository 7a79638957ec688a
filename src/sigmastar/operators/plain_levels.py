"""Plain PCFGs of one treebank from coarse to fine: what is pruned before any states are looked at.

Symbols above words are joined into groups, first to two (phrases, and what stands between them), then by the
first letter of their labels, then they stand for themselves. A grammar of groups has the mean probabilities
of their members; items that it finds improbable are never built by the next one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sigmastar.inference.tree_chart import allowed_keys, coarse_edges, coarse_inside, coarse_posteriors
from sigmastar.operators.latent_grammar import LatentGrammar
from sigmastar.operators.lexicon import Leaves
from sigmastar.structures.binary_phrases import PHRASE, Symbols
from sigmastar.structures.phrases import Ints, Longs

Array = NDArray[np.float64]
Bytes = NDArray[np.uint8]

EVERYTHING = np.zeros((0, 0), dtype=np.uint8)


@dataclass(frozen=True)
class Pruning:
    """What may be dropped: a share of the best of its cell (beams), or a posterior below a bound."""

    beam: float = 1e-3
    groups: float = 1e-3  # after the grammars of groups
    coarse: float = 1e-4  # after the plain grammar
    edges: float = 3e-5
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
THOROUGH = Pruning(beam=1e-4, groups=3e-4)
"""For several grammars together: what the first one drops is lost for all."""


@dataclass(frozen=True, eq=False)
class Level:
    """A plain grammar over groups of symbols."""

    grammar: LatentGrammar
    groups: Ints  # of each symbol of the full grammar
    keys: Ints  # of each of its own symbols: the group it was in one level before, -1 for leaves

    @cached_property
    def pair_starts(self) -> Ints:
        """Where the rules of each pair of children begin: rules are sorted by their children."""
        n, rules = self.grammar.n_symbols, self.grammar.rules
        keys = rules[:, 1].astype(np.int64) * n + rules[:, 2]
        return np.searchsorted(keys, np.arange(n * n + 1)).astype(np.int32)

    @cached_property
    def parents(self) -> Ints:
        return np.ascontiguousarray(self.grammar.rules[:, 0])

    @cached_property
    def own(self) -> Ints:
        """Every symbol its own key."""
        return np.arange(self.grammar.n_symbols, dtype=np.int32)


@dataclass(frozen=True, eq=False)
class PlainChart:
    """What is left of a chart, and its posteriors; `log2_total` is -inf where there is no parse."""

    starts: Longs
    items: Ints
    values: Array
    exponents: Longs
    posteriors: Array
    log2_total: float


def levels(
    grammar: LatentGrammar, symbols: Symbols, labels: tuple[tuple[str, ...], ...]
) -> tuple[Level, ...]:
    """From two groups to the grammar itself."""
    n, n_leaves = len(symbols), symbols.n_leaves
    between = symbols.kind > PHRASE
    letters = [labels[label][-1][:1] for label in symbols.label.tolist()]
    found: list[Level] = []
    for names in ([""] * n, letters):
        table: dict[tuple[str, bool], int] = {}
        groups = np.arange(n, dtype=np.int32)
        for at in range(n_leaves, n):
            groups[at] = n_leaves + table.setdefault((names[at], bool(between[at])), len(table))
        found.append(_level(_joined(grammar, groups), groups, found, n_leaves))
    return (*found, _level(grammar, np.arange(n, dtype=np.int32), found, n_leaves))


def _level(grammar: LatentGrammar, groups: Ints, before: list[Level], n_leaves: int) -> Level:
    keys = np.full(grammar.n_symbols, -1, dtype=np.int32)
    if before:
        keys[groups] = before[-1].groups
        keys[:n_leaves] = -1
    return Level(grammar, groups, keys)


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
        grammar.tensors,
        grammar.frequencies,
        beam,
        keys,
        allowed,
    )
    posteriors, log2_total = coarse_posteriors(
        len(leaves.begin) - 1, *chart, level.pair_starts, level.parents, grammar.tensors, grammar.roots, least
    )
    return PlainChart(*chart, posteriors, log2_total)


def pruned_chart(stack: tuple[Level, ...], leaves: Leaves, pruning: Pruning) -> PlainChart:
    """The chart of the last level, after what those before it found improbable was left out."""
    allowed, last = EVERYTHING, len(stack) - 1
    for number, level in enumerate(stack if pruning.groups > 0 else stack[last:]):
        chart = plain_chart(level, leaves, pruning.beam, pruning.ignored, level.keys, allowed)
        if number < last:
            allowed = allowed_keys(
                chart.starts,
                chart.items,
                chart.posteriors,
                pruning.groups,
                level.own,
                level.grammar.n_symbols,
            )
    return chart


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
        grammar.tensors,
        grammar.n_symbols,
        pruning.coarse,
        pruning.edges,
    )
