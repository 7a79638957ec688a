"""States of nodes from two views: what is inside a node and what is outside of it, correlated and clustered.

    Omega_a = Phi_a^T Psi_a / M_a ~ U S V^T,    Y = Phi_a U,    Z = Psi_a V        for every symbol a
    point of a node = [Y; Z], each dimension of unit size, times sqrt(S)
    state of a node = the cluster of its point among the nodes of its symbol

The first line is figure 5 of Cohen et al. (2012), by random projection (`core.views`): Omega is never made.
The weights make dimensions count by how certain they are.

Rules and words are counted over the states, counts are shrunk and divided into grammars and lexicons, and
expectation-maximization climbs on from there. Words count for themselves, and where they are rare for their
signatures (`core.word_shapes`). Counts are shrunk in every round (`latent_grammar.smoothed`), so the
likelihood need not rise at each of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sigmastar.core.arrays import Array, Floats, Int64s, Reals
from sigmastar.core.clusters import cluster_groups, merged, rows_by_group
from sigmastar.core.em import NEVER, Climb, Problem
from sigmastar.core.progress import Progress, silent
from sigmastar.core.resources import thread_map
from sigmastar.core.views import GroupedIndicators, correlate_views, random_block, unit_columns
from sigmastar.treebanks.data.binarized import BinaryPhrases
from sigmastar.treebanks.learn.lexicon import LexicalCounts, state_lexicon
from sigmastar.treebanks.model.latent_grammar import (
    LEAST,
    LatentGrammar,
    RuleCounts,
    conditional,
    rule_states,
    smoothed,
)
from sigmastar.treebanks.model.lexicon import Lexicon
from sigmastar.treebanks.model.whole_trees import (
    RootVectors,
    RuleTensors,
    expectations_in_pieces,
    hard_counts,
)


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

    def one(a: int) -> None:
        phi, psi = inside.of(a, rows[a]), outside.of(a, rows[a])
        correlated = correlate_views(phi, psi, int(n_dimensions[a]), starts[a], total=float(len(rows[a])))
        k = len(correlated.values)
        y[rows[a], :k], z[rows[a], :k] = phi.times(correlated.left()), psi.times(correlated.right())
        values[a, :k], found[a] = correlated.values, k

    thread_map(one, [a for a in range(len(n_dimensions)) if len(rows[a])])
    return Embedding(y, z, values, found, rows)


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


if TYPE_CHECKING:
    from sigmastar.treebanks.gpu.rounds import TorchRounds


@dataclass(frozen=True)
class Shrinkage:
    """How counts are shrunk: see `latent_grammar.smoothed` and `state_lexicon`."""

    strength: float = 8.0
    backing: float = 5.0
    across: float = 0.05
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


def random_statistics(
    bank: BinaryPhrases, n_states: Int64s, rng: np.random.Generator, noise: float = 0.5
) -> Statistics:
    """Counts of rules split evenly over states, up to noise: the start of plain EM."""
    sizes = n_states[bank.rules].prod(axis=1)
    counts = np.bincount(bank.rule[bank.rule >= 0], minlength=len(bank.rules))
    rules = np.repeat(counts / sizes, sizes) * (1 + noise * rng.uniform(-1, 1, int(sizes.sum())))
    state_at = np.concatenate([[0], np.cumsum(n_states)])
    tops = np.bincount(bank.symbol[bank.roots], minlength=len(n_states))
    roots = np.repeat(tops / n_states, n_states) * (1 + noise * rng.uniform(-1, 1, int(state_at[-1])))
    at = bank.nodes(n_states).at
    posteriors = 1 + noise * rng.uniform(-1, 1, int(at[-1]))
    posteriors /= np.repeat(np.add.reduceat(posteriors, at[:-1]), np.diff(at))
    return Statistics(rules, roots, posteriors)


def known_statistics(
    bank: BinaryPhrases, last: LatentFit, known: Int64s, n_states: Int64s, start: Statistics
) -> Statistics:
    """Counts of a treebank whose states are spread as a grammar of another one has them.

    Parameters
    ----------
    bank : BinaryPhrases
        The treebank.
    last : LatentFit
        The grammar.
    known : array
        Its symbol for each symbol of the treebank, -1 for none.
    n_states : array
        Of each symbol of the treebank; those that are known have as many as in the grammar.
    start : Statistics
        Counts that stay where symbols or rules are new.

    Returns
    -------
    Statistics
        What EM begins from.
    """
    grammar, offsets = last.grammar, rule_states(bank.rules, n_states).offsets
    counts = np.bincount(bank.rule[bank.rule >= 0], minlength=len(bank.rules))
    numbers = {tuple(rule): number for number, rule in enumerate(grammar.rules.tolist())}
    rules = start.rules.copy()
    for r, rule in enumerate(known[bank.rules].tolist()):
        if (old := numbers.get(tuple(rule))) is not None:
            used = grammar.frequencies[grammar.state_at[rule[0]] : grammar.state_at[rule[0] + 1]]
            table = grammar.tensor(old) * used
            rules[offsets[r] : offsets[r + 1]] = counts[r] * table.ravel() / max(float(table.sum()), 1e-300)
    state_at = np.concatenate([[0], np.cumsum(n_states)])
    there = np.flatnonzero(known >= 0)
    into = _ranges(state_at[there], n_states[there])
    begins = _ranges(grammar.state_at[known[there]], n_states[there])
    roots, weights = start.roots.copy(), np.ones(int(state_at[-1]))
    roots[into], weights[into] = grammar.roots[begins] * start.roots.sum(), grammar.frequencies[begins]
    return Statistics(rules, roots, _known_posteriors(bank, last, known, n_states, weights))


def _known_posteriors(
    bank: BinaryPhrases, last: LatentFit, known: Int64s, n_states: Int64s, weights: Floats
) -> Floats:
    """The states of every node: as its symbol has them, of leaves as the word has them too."""
    at, forest = bank.nodes(n_states).at, last.lexicon.forest
    state_at = np.concatenate([[0], np.cumsum(n_states)])
    found = weights[_ranges(state_at[bank.symbol], n_states[bank.symbol])]
    leaves = np.flatnonzero((bank.word >= 0) & (known[bank.symbol] >= 0))
    nodes = np.array([forest.node(word) for word in bank.phrases.words], dtype=np.int64)
    scores, _ = last.lexicon.vectors(nodes[bank.word[leaves]], known[bank.symbol[leaves]].astype(np.int32))
    found[_ranges(at[leaves], n_states[bank.symbol[leaves]])] *= scores
    found += 1e-12
    found /= np.repeat(np.add.reduceat(found, at[:-1]), np.diff(at))
    return found


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
    scores, score_at = fit.lexicon.vectors(lexical.words, lexical.symbols)
    vectors[_ranges(nodes.at[lexical.leaves], np.diff(score_at))] = scores
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


def _ranges(begin: Int64s, sizes: Int64s) -> Int64s:
    """begin[0], begin[0] + 1, .. begin[1], .."""
    ends = np.cumsum(sizes)
    found: Int64s = np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(begin - (ends - sizes), sizes)
    return found
