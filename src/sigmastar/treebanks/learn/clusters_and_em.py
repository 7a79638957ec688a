"""States of nodes from two views: what is inside a node and what is outside of it, correlated and clustered.

    Omega_a = Phi_a^T Psi_a / M_a ~ U S V^T,    Y = Phi_a U,    Z = Psi_a V        for every symbol a
    point of a node = [Y; Z], each dimension of unit size, times sqrt(S)
    state of a node = the cluster of its point among the nodes of its symbol

The first line is figure 5 of Cohen et al. (2012), by random projection (`core.views`): Omega is never made.
The weights make dimensions count by how certain they are.

Rules and words are counted over the states, counts are shrunk and divided into grammars and lexicons, and
expectation-maximization climbs on from there. Words count for themselves, and where they are rare for their
signatures (`core.word_signatures`). Counts are shrunk in every round (`latent_grammar.smoothed`), so the
likelihood need not rise at each of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sigmastar.core.arrays import Array, Floats, Int32s, Int64s, Reals
from sigmastar.core.clusters import cluster_groups, merged, rows_by_group
from sigmastar.core.em import NEVER, Climb, Problem
from sigmastar.core.engines import spread_each
from sigmastar.core.progress import Progress, silent
from sigmastar.core.views import GroupedIndicators, Indicators, correlate_views, random_block, unit_columns
from sigmastar.core.word_signatures import signatures
from sigmastar.treebanks.data.binarized import BinaryPhrases
from sigmastar.treebanks.model.latent_grammar import (
    LEAST,
    LatentGrammar,
    RuleCounts,
    conditional,
    rule_states,
    smoothed,
)
from sigmastar.treebanks.model.lexicon import LexicalForest, Lexicon, add_posteriors, flat_states
from sigmastar.treebanks.model.whole_trees import (
    RootVectors,
    RuleTensors,
    expectations_in_pieces,
    hard_counts,
)

if TYPE_CHECKING:
    from sigmastar.treebanks.gpu.rounds import TorchRounds

RARE = 10  # signatures are counted on words that occur at most so often
ACROSS = 0.1  # of the probability of a word is shared among all states of a symbol


@dataclass(frozen=True, eq=False)
class Embedding:
    """Vectors of every node: columns beyond the dimensions of its symbol are zero."""

    inside: Floats  # Y, node x dimension
    outside: Floats  # Z
    correlations: Floats  # S: symbol x dimension, zero beyond the dimensions of a symbol
    n_dimensions: Int64s  # of each symbol
    rows: list[Int64s]  # the nodes of each symbol


def embed(
    symbol: Int64s,
    inside: GroupedIndicators,
    outside: GroupedIndicators,
    n_dimensions: Int64s,
    rng: np.random.Generator,
) -> Embedding:
    """Y and Z of all nodes.

    Parameters
    ----------
    symbol : array
        Of every node.
    inside, outside : GroupedIndicators
        Both views, grouped by symbol.
    n_dimensions : array
        For each symbol, at most.
    rng : Generator
        The source of chance.

    Returns
    -------
    Embedding
        The same on any number of threads.
    """
    most, rows = int(n_dimensions.max()), rows_by_group(symbol, len(n_dimensions))
    y, z = np.zeros((len(symbol), most)), np.zeros((len(symbol), most))
    values, found = np.zeros((len(n_dimensions), most)), np.ones(len(n_dimensions), dtype=np.int64)
    sizes = zip(outside.n_features.tolist(), n_dimensions.tolist(), strict=True)
    starts = [random_block(n, k, rng) for n, k in sizes]

    def views(a: int) -> tuple[Indicators, Indicators, int, Floats]:
        return inside.of(a, rows[a]), outside.of(a, rows[a]), int(n_dimensions[a]), starts[a]

    def keep(a: int, part: tuple[Floats, Floats, Floats]) -> None:
        k = len(part[2])
        y[rows[a], :k], z[rows[a], :k], values[a, :k] = part
        found[a] = k

    spread_each([a for a in range(len(n_dimensions)) if len(rows[a])], views, _coordinates, keep)
    return Embedding(y, z, values, found, rows)


def _coordinates(views: tuple[Indicators, Indicators, int, Floats]) -> tuple[Floats, Floats, Floats]:
    """Y, Z and S of the nodes of a symbol."""
    phi, psi, n_dimensions, start = views
    found = correlate_views(phi, psi, n_dimensions, start, total=float(len(phi.number)))
    return phi.times(found.left()), psi.times(found.right()), found.values


def cluster_states(
    symbol: Array, embedding: Embedding, n_states: Int64s, rng: np.random.Generator, n_dimensions: int = 12
) -> Int64s:
    """The state of every node, below `n_states` of its symbol."""

    def points(a: int, rows: Int64s) -> Floats:
        k = min(int(embedding.n_dimensions[a]), n_dimensions)
        weight = np.sqrt(embedding.correlations[a, :k])
        sides = embedding.inside[rows, :k], embedding.outside[rows, :k]
        return np.hstack([unit_columns(side) * weight for side in sides])

    return cluster_groups(symbol, n_states, points, rng)


def joined_states(grammar: LatentGrammar, n_groups: int) -> Int64s:
    """A group, from 0, for every state of every symbol: states that are rewritten alike come together.

    A state is described by how probable each rule and each state of its children is from it.
    """
    groups = np.zeros(int(grammar.state_at[-1]), dtype=np.int64)
    rules = rows_by_group(grammar.rules[:, 0], grammar.n_symbols)
    for a in np.flatnonzero(grammar.n_states > 1).tolist():
        states = slice(grammar.state_at[a], grammar.state_at[a + 1])
        if len(rules[a]):
            points = np.sqrt(np.concatenate([_summary(grammar, rule) for rule in rules[a].tolist()])).T
        else:
            points = np.log(grammar.frequencies[states] + 1e-9)[:, None]
        groups[states] = merged(points, grammar.frequencies[states], n_groups)
    return groups


def _summary(grammar: LatentGrammar, rule: int) -> Floats:
    """P(rule, state of the left child | x) and P(rule, state of the right child | x), one column per x."""
    tensor = grammar.tensor(rule)
    return np.concatenate([tensor.sum(axis=1), tensor.sum(axis=0)])


@dataclass(frozen=True, eq=False)
class LexicalCounts:
    """A forest, and which of its pairs every leaf of the treebank counts for."""

    forest: LexicalForest
    leaves: Int64s  # nodes of the treebank
    symbols: Int32s  # of each leaf
    words: Int64s  # the node of the forest of each leaf
    pairs: Int64s  # the row of `levels` of each leaf
    levels: Int64s  # [word pair, level]: pairs of the forest, -1 for none

    @cached_property
    def rows(self) -> tuple[Int64s, Int32s]:
        """The node of the forest and the symbol of each row of `levels`."""
        first = np.unique(self.pairs, return_index=True)[1]
        return self.words[first], self.symbols[first]


def count_lexicon(bank: BinaryPhrases, rare: int = RARE, strength: float = 5.0) -> LexicalCounts:
    """The forest of a treebank."""
    leaves = np.flatnonzero(bank.word >= 0)
    word, symbol = bank.word[leaves].astype(np.int64), bank.symbol[leaves].astype(np.int64)
    n_symbols = bank.symbols.n_leaves
    nodes = _Nodes.of(bank.phrases.words, bank.phrases.word_counts, rare)
    distinct, row = np.unique(word * n_symbols + symbol, return_inverse=True)
    path = nodes.paths[distinct // n_symbols]
    keys = np.where(path >= 0, path * n_symbols + (distinct % n_symbols)[:, None], -1)
    pairs, inverse = np.unique(np.append(keys.ravel(), -1), return_inverse=True)
    levels, pairs = inverse[:-1].reshape(keys.shape) - 1, pairs[1:]
    used = levels >= 0
    amounts = np.broadcast_to(np.bincount(row)[:, None], levels.shape)
    counts = np.asarray(np.bincount(levels[used], amounts[used], len(pairs)), dtype=np.float64)
    totals = np.asarray(np.bincount(pairs // n_symbols, counts, len(nodes.above)), dtype=np.float64)
    names, tags = _tags(bank)
    forest = LexicalForest(
        words={text: number for number, text in enumerate(bank.phrases.words)},
        shapes=nodes.shapes,
        tag_names=names,
        above=nodes.above,
        starts=np.searchsorted(pairs, np.arange(len(nodes.above) + 1) * n_symbols),
        symbols=(pairs % n_symbols).astype(np.int32),
        counts=counts,
        totals=totals,
        tags=tags,
        strength=strength,
    )
    return LexicalCounts(forest, leaves, symbol.astype(np.int32), word, row, levels)


@dataclass(frozen=True, eq=False)
class _Nodes:
    """The forest: words, then signatures, then rare words, then all words."""

    shapes: dict[str, int]
    above: Int32s
    paths: Int64s  # [word, level]: the nodes that an occurrence of a word counts for, -1 for none

    @classmethod
    def of(cls, words: tuple[str, ...], frequency: Int64s, rare: int) -> _Nodes:
        shapes: dict[str, int] = {}
        is_rare = (frequency <= rare).tolist()
        for word, counted in zip(words, is_rare, strict=True):
            if counted:
                for shape in signatures(word):
                    shapes.setdefault(shape, len(words) + len(shapes))
        last_rare, last = len(words) + len(shapes), len(words) + len(shapes) + 1
        above = np.full(last + 1, last_rare, dtype=np.int32)
        above[last_rare], above[last] = last, -1
        paths = np.full((len(words), 7), -1, dtype=np.int64)
        for number, (word, counted) in enumerate(zip(words, is_rare, strict=True)):
            known = [shapes[shape] for shape in signatures(word) if shape in shapes]
            for lower, upper in zip([number, *known], [*known, last_rare], strict=True):
                above[lower] = upper
            paths[number, 0], paths[number, 6] = number, last
            if counted:
                paths[number, 1:6] = [*known, last_rare]
        return cls(shapes, above, paths)


def _tags(bank: BinaryPhrases) -> tuple[tuple[str, ...], Int32s]:
    """The tags, and that of every leaf symbol: the last label of its chain."""
    labels, symbols = bank.phrases.labels, bank.symbols
    names = [labels[label][-1] for label in symbols.label[: symbols.n_leaves].tolist()]
    table = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return tuple(table), np.array([table[name] for name in names], dtype=np.int32)


def plain_lexicon(counts: LexicalCounts) -> Lexicon:
    """One state per symbol."""
    forest = counts.forest
    one = np.ones(len(forest.tags), dtype=np.int64)
    return Lexicon(forest, one, forest.counts / forest.frequencies[forest.symbols])


def state_lexicon(
    counts: LexicalCounts, n_states: Int64s, posteriors: Floats, at: Int64s, across: float = ACROSS
) -> Lexicon:
    """Scores from the posteriors of states at every leaf, flat, that of leaf i beginning at `at[i]`."""
    forest = counts.forest
    offsets = np.concatenate([[0], np.cumsum(n_states[forest.symbols])])
    sums = add_posteriors(counts.pairs, counts.levels, offsets, posteriors, at, int(offsets[-1]))
    pair = np.repeat(np.arange(len(forest.symbols)), np.diff(offsets))
    state = flat_states(n_states, forest.symbols)
    frequency = np.zeros(int(n_states.sum()))
    top = slice(offsets[forest.starts[-2]], None)
    frequency[state[top]] = sums[top] + 1e-9
    share = frequency / np.repeat(
        np.add.reduceat(frequency, np.cumsum(n_states) - n_states), n_states
    )  # P(z | a)
    mixed = (1 - across) * sums + across * forest.counts[pair] * share[state]
    return Lexicon(forest, n_states, mixed * forest.totals[-1] / frequency[state])


@dataclass(frozen=True)
class Shrinkage:
    """How counts are shrunk: see `latent_grammar.smoothed` and `state_lexicon`."""

    strength: float = 8.0
    backing: float = 5.0
    across: float = ACROSS
    words: float = 10.0  # of signed lexicons


@dataclass(frozen=True, eq=False)
class LatentFit:
    """A grammar and its lexicon."""

    grammar: LatentGrammar
    lexicon: Lexicon


@dataclass(frozen=True, eq=False)
class Statistics:
    """Expected counts: of rules and roots, and the posterior of the states of every node."""

    rules: Reals
    roots: Floats
    posteriors: Floats


def from_states(bank: BinaryPhrases, n_states: Int64s, states: Int64s) -> Statistics:
    """Counts where the state of every node is known."""
    nodes, grammar = bank.nodes(n_states), rule_states(bank.rules, n_states)
    counts = hard_counts(nodes, states, n_states, grammar.offsets)
    tops = grammar.state_at[bank.symbol[bank.roots]] + states[bank.roots]
    roots = np.bincount(tops, minlength=int(grammar.state_at[-1])).astype(np.float64)
    posteriors = np.zeros(int(nodes.at[-1]))
    posteriors[nodes.at[:-1] + states] = 1.0
    return Statistics(counts, roots, posteriors)


def maximized(
    bank: BinaryPhrases, lexical: LexicalCounts, n_states: Int64s, found: Statistics, shrinkage: Shrinkage
) -> LatentFit:
    """The grammar and lexicon of expected counts."""
    states, at = rule_states(bank.rules, n_states), bank.nodes(n_states).at
    n_all = int(states.state_at[-1])
    totals = np.bincount(_flat(at, states.state_at[bank.symbol]), found.posteriors, minlength=n_all)
    counts = np.bincount(bank.symbol, minlength=len(n_states))
    shares = totals / np.repeat(np.maximum(counts, 1), n_states)
    roots = found.roots + 0.01 * shares * np.repeat(
        np.bincount(bank.symbol[bank.roots], minlength=len(counts)) > 0, n_states
    )
    roots, frequencies = roots / roots.sum(), totals / len(bank)
    if n_states.max(initial=1) > 1:
        kept = RuleCounts.of(found.rules, states.offsets, shrinkage.strength, shrinkage.backing)
        grammar = LatentGrammar.of_counts(states, kept, roots, frequencies)
    else:
        smooth = smoothed(states, found.rules, shares, shrinkage.strength, shrinkage.backing)
        grammar = LatentGrammar(bank.rules, n_states, conditional(states, smooth)[0], roots, frequencies)
    leaf_states = n_states[: bank.symbols.n_leaves]
    lexicon = state_lexicon(lexical, leaf_states, found.posteriors, at[lexical.leaves], shrinkage.across)
    return LatentFit(grammar, lexicon)


def expected(bank: BinaryPhrases, lexical: LexicalCounts, fit: LatentFit) -> tuple[Statistics, float]:
    """Expected counts under a grammar, and the log-likelihood of the trees."""
    grammar = fit.grammar
    nodes = bank.nodes(grammar.n_states)
    vectors = np.zeros(int(nodes.at[-1]), dtype=np.float32)
    scores, at = fit.lexicon.vectors(*lexical.rows)
    sizes = np.diff(at)[lexical.pairs]
    vectors[flat_ranges(nodes.at[lexical.leaves], sizes)] = scores[flat_ranges(at[lexical.pairs], sizes)]
    tensors = RuleTensors(grammar.single, grammar.offsets)
    start = RootVectors(grammar.roots, grammar.state_at)
    rules, roots, posteriors, total = expectations_in_pieces(bank.starts, nodes, tensors, start, vectors)
    return Statistics(rules, roots, posteriors), total


def refine(
    bank: BinaryPhrases,
    lexical: LexicalCounts,
    fit: LatentFit,
    n_rounds: int,
    shrinkage: Shrinkage,
    progress: Progress = silent,
    device: str = "cpu",
) -> Climb[LatentFit, Statistics]:
    """Rounds of EM, with counts shrunk in each.

    Parameters
    ----------
    bank, lexical
        The treebank and its words.
    fit : LatentFit
        To begin from.
    n_rounds : int
        All of them are run.
    shrinkage : Shrinkage
        Of the counts.
    progress : callable
        Called after every round.
    device : {"cpu", "cuda", "auto"}
        Where rounds are done, by compiled kernels or by PyTorch; there the counts of the last alone return.

    Returns
    -------
    Climb
        Its `latest` is the fit after the last round.
    """
    problem = Problem[LatentFit, Statistics](
        lambda model: expected(bank, lexical, model),
        lambda found: maximized(bank, lexical, fit.grammar.n_states, found, shrinkage),
        n_items=len(bank),
    )
    if device == "cpu":
        return Climb.begin(problem, fit).run(n_rounds, NEVER, progress=progress)
    rounds = rounds_there(bank, lexical, fit.grammar.n_states, shrinkage, device)
    first = rounds.begin(fit.grammar.single, fit.grammar.roots, *_row_vectors(lexical, fit.lexicon))
    there = Problem[Any, Any](rounds.expect, rounds.maximize, n_items=len(bank))
    climb = Climb.begin(there, first).run(n_rounds, NEVER, progress=progress)
    found = climb.latest.found
    last = fit if found is None else problem.maximize(Statistics(*rounds.flat(found)[:3]))
    return replace(
        climb,
        problem=problem,
        position=replace(climb.position, model=last, safe=last),
        best=last,
        evaluated=fit,
    )


def rounds_there(
    bank: BinaryPhrases,
    lexical: LexicalCounts,
    n_states: Int64s,
    shrinkage: Shrinkage,
    device: str,
    precision: str = "float32",
) -> TorchRounds:
    """A treebank on a device, with all that rounds of EM need of it."""
    from sigmastar.treebanks.gpu.layout import TreeArrays
    from sigmastar.treebanks.gpu.rounds import Shrink, TorchRounds, WordRows
    from sigmastar.treebanks.gpu.trees import TorchTrees

    trees, forest = TreeArrays(bank.starts, bank.symbol, bank.left, bank.right, bank.rule), lexical.forest
    laid_out = TorchTrees(trees, bank.rules, n_states, device=device, precision=precision)
    words = WordRows(
        lexical.leaves,
        lexical.pairs,
        lexical.levels,
        *forest.way_up(*lexical.rows),
        forest.symbols,
        forest.counts,
        n_above=int(forest.starts[-1] - forest.starts[-2]),
        n_leaves=len(forest.tags),
        total=float(forest.totals[-1]),
    )
    shrink = Shrink(shrinkage.strength, shrinkage.backing, shrinkage.across, LEAST)
    return TorchRounds(laid_out, bank.rules, words, shrink)


def _row_vectors(lexical: LexicalCounts, lexicon: Lexicon) -> tuple[Floats, Int64s]:
    """The vectors of all rows of words, flat, and their sizes."""
    vectors, at = lexicon.vectors(*lexical.rows)
    return vectors, np.diff(at)


def _flat(at: Int64s, base: Int64s) -> Int64s:
    """For every state of every node its number among the states of all symbols."""
    sizes = np.diff(at)
    return np.arange(int(at[-1])) + np.repeat(base - at[:-1], sizes)


def flat_ranges(begin: Int64s, sizes: Int64s) -> Int64s:
    """begin[0], begin[0] + 1, .. begin[1], .."""
    ends = np.cumsum(sizes)
    found: Int64s = np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(begin - (ends - sizes), sizes)
    return found
