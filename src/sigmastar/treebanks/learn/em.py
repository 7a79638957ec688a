"""Latent grammars by expectation-maximization on binarized trees, from states that are given or drawn.

Counts are shrunk in every round (`kernels.smoothing`), so the likelihood need not rise at each of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sigmastar.core.arrays import Floats, Int64s, Reals
from sigmastar.core.em import NEVER, Climb, Problem
from sigmastar.core.progress import Progress, silent
from sigmastar.treebanks.data.binarized import BinaryPhrases
from sigmastar.treebanks.kernels.rule_shrinkage import RuleStates, conditional, smoothed
from sigmastar.treebanks.kernels.tree_states import RootVectors, RuleTensors, expectations, hard_counts
from sigmastar.treebanks.learn.lexicon import LexicalCounts, state_lexicon
from sigmastar.treebanks.model.latent_grammar import LatentGrammar
from sigmastar.treebanks.model.lexicon import Lexicon


@dataclass(frozen=True)
class Shrinkage:
    """How counts are smoothed: see `kernels.smoothing.smoothed` and `learn.lexicon`."""

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


def _rule_states(bank: BinaryPhrases, n_states: Int64s) -> RuleStates:
    offsets = np.concatenate([[0], np.cumsum(n_states[bank.rules].prod(axis=1))])
    return RuleStates(bank.rules, n_states, np.concatenate([[0], np.cumsum(n_states)]), offsets)


def from_states(bank: BinaryPhrases, n_states: Int64s, states: Int64s) -> Statistics:
    """Counts where the state of every node is known."""
    nodes, grammar = bank.nodes(n_states), _rule_states(bank, n_states)
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


def maximized(
    bank: BinaryPhrases, lexical: LexicalCounts, n_states: Int64s, found: Statistics, shrinkage: Shrinkage
) -> LatentFit:
    """The grammar and lexicon of expected counts."""
    states, at = _rule_states(bank, n_states), bank.nodes(n_states).at
    n_all = int(states.state_at[-1])
    totals = np.bincount(_flat(at, states.state_at[bank.symbol]), found.posteriors, minlength=n_all)
    counts = np.bincount(bank.symbol, minlength=len(n_states))
    shares = totals / np.repeat(np.maximum(counts, 1), n_states)
    rules: Reals = found.rules.astype(np.float32, copy=False) if n_states.max(initial=1) > 1 else found.rules
    smooth = smoothed(states, rules, shares, shrinkage.strength, shrinkage.backing)
    tensors, _ = conditional(states, smooth)
    roots = found.roots + 0.01 * shares * np.repeat(
        np.bincount(bank.symbol[bank.roots], minlength=len(counts)) > 0, n_states
    )
    grammar = LatentGrammar(bank.rules, n_states, tensors, roots / roots.sum(), totals / len(bank))
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
    rules, roots, posteriors, total = expectations(bank.starts, nodes, tensors, start, vectors)
    return Statistics(rules, roots, posteriors), total


def refine(
    bank: BinaryPhrases,
    lexical: LexicalCounts,
    fit: LatentFit,
    n_rounds: int,
    shrinkage: Shrinkage,
    progress: Progress = silent,
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
    return Climb.begin(problem, fit).run(n_rounds, NEVER, progress=progress)


def _flat(at: Int64s, base: Int64s) -> Int64s:
    """For every state of every node its number among the states of all symbols."""
    sizes = np.diff(at)
    return np.arange(int(at[-1])) + np.repeat(base - at[:-1], sizes)


def _ranges(begin: Int64s, sizes: Int64s) -> Int64s:
    """begin[0], begin[0] + 1, .. begin[1], .."""
    ends = np.cumsum(sizes)
    found: Int64s = np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(begin - (ends - sizes), sizes)
    return found
