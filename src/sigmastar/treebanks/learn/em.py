"""Latent grammars by expectation-maximisation on binarised trees, from states that are given or drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sigmastar.treebanks.data.binary import BinaryPhrases
from sigmastar.treebanks.data.phrases import Longs
from sigmastar.treebanks.kernels.smoothing import conditional, smoothed
from sigmastar.treebanks.kernels.states import expectations, hard_counts
from sigmastar.treebanks.learn.lexicon import LexicalCounts, state_lexicon
from sigmastar.treebanks.model.latent_grammar import LatentGrammar
from sigmastar.treebanks.model.lexicon import Lexicon

Array = NDArray[np.float64]
Reals = NDArray[np.float64] | NDArray[np.float32]


@dataclass(frozen=True)
class Shrinkage:
    """How counts are smoothed: see `inference.tree_states.smoothed` and `treebanks.learn.lexicon`."""

    strength: float = 8.0
    backing: float = 5.0
    across: float = 0.05
    words: float = 10.0  # of signed lexicons


@dataclass(frozen=True, eq=False)
class LatentFit:
    """A grammar, its lexicon, and the log-likelihood before each round of EM."""

    grammar: LatentGrammar
    lexicon: Lexicon
    log_likelihoods: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False)
class Statistics:
    """Expected counts: of rules and roots, and the posterior of the states of every node."""

    rules: Reals
    roots: Array
    posteriors: Array


def from_states(bank: BinaryPhrases, n_states: Longs, states: Longs) -> Statistics:
    """Counts where the state of every node is known."""
    sizes = n_states[bank.rules].prod(axis=1)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    counts = hard_counts(
        bank.left, bank.right, bank.rule, states, bank.symbol, n_states, offsets, int(offsets[-1])
    )
    state_at = np.concatenate([[0], np.cumsum(n_states)])
    roots = np.bincount(
        state_at[bank.symbol[bank.roots]] + states[bank.roots], minlength=int(state_at[-1])
    ).astype(np.float64)
    at = _vector_starts(bank, n_states)
    posteriors = np.zeros(int(at[-1]))
    posteriors[at[:-1] + states] = 1.0
    return Statistics(counts, roots, posteriors)


def random_statistics(
    bank: BinaryPhrases, n_states: Longs, rng: np.random.Generator, noise: float = 0.5
) -> Statistics:
    """Counts of rules split evenly over states, up to noise: the start of plain EM."""
    sizes = n_states[bank.rules].prod(axis=1)
    counts = np.bincount(bank.rule[bank.rule >= 0], minlength=len(bank.rules))
    rules = np.repeat(counts / sizes, sizes) * (1 + noise * rng.uniform(-1, 1, int(sizes.sum())))
    state_at = np.concatenate([[0], np.cumsum(n_states)])
    tops = np.bincount(bank.symbol[bank.roots], minlength=len(n_states))
    roots = np.repeat(tops / n_states, n_states) * (1 + noise * rng.uniform(-1, 1, int(state_at[-1])))
    at = _vector_starts(bank, n_states)
    posteriors = 1 + noise * rng.uniform(-1, 1, int(at[-1]))
    posteriors /= np.repeat(np.add.reduceat(posteriors, at[:-1]), np.diff(at))
    return Statistics(rules, roots, posteriors)


def maximised(
    bank: BinaryPhrases, lexical: LexicalCounts, n_states: Longs, found: Statistics, shrinkage: Shrinkage
) -> LatentFit:
    """The grammar and lexicon of expected counts."""
    state_at = np.concatenate([[0], np.cumsum(n_states)])
    offsets = np.concatenate([[0], np.cumsum(n_states[bank.rules].prod(axis=1))])
    at = _vector_starts(bank, n_states)
    totals = np.bincount(_flat(at, state_at[bank.symbol]), found.posteriors, minlength=int(state_at[-1]))
    counts = np.bincount(bank.symbol, minlength=len(n_states))
    shares = totals / np.repeat(np.maximum(counts, 1), n_states)
    rules: Reals = found.rules.astype(np.float32, copy=False) if n_states.max(initial=1) > 1 else found.rules
    smooth = smoothed(
        bank.rules, n_states, offsets, rules, shares, state_at, shrinkage.strength, shrinkage.backing
    )
    tensors, _ = conditional(bank.rules, n_states, offsets, smooth, state_at)
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
    at = _vector_starts(bank, grammar.n_states)
    vectors = np.zeros(int(at[-1]), dtype=np.float32)
    scores, score_at = fit.lexicon.vectors(lexical.words, lexical.symbols)
    vectors[_ranges(at[lexical.leaves], np.diff(score_at))] = scores
    rules, roots, posteriors, total = expectations(
        bank.starts,
        bank.symbol,
        bank.left,
        bank.right,
        bank.rule,
        at,
        grammar.single,
        grammar.offsets,
        grammar.roots,
        grammar.state_at,
        vectors,
    )
    return Statistics(rules, roots, posteriors), total


def refine(
    bank: BinaryPhrases, lexical: LexicalCounts, fit: LatentFit, n_rounds: int, shrinkage: Shrinkage
) -> LatentFit:
    """Rounds of EM, smoothed in each."""
    logs = list(fit.log_likelihoods)
    for _ in range(n_rounds):
        found, total = expected(bank, lexical, fit)
        fit = maximised(bank, lexical, fit.grammar.n_states, found, shrinkage)
        logs.append(total)
    return LatentFit(fit.grammar, fit.lexicon, tuple(logs))


def _vector_starts(bank: BinaryPhrases, n_states: Longs) -> Longs:
    return np.concatenate([[0], np.cumsum(n_states[bank.symbol])])


def _flat(at: Longs, base: Longs) -> Longs:
    """For every state of every node its number among the states of all symbols."""
    sizes = np.diff(at)
    return np.arange(int(at[-1])) + np.repeat(base - at[:-1], sizes)


def _ranges(begin: Longs, sizes: Longs) -> Longs:
    """begin[0], begin[0] + 1, .. begin[1], .."""
    ends = np.cumsum(sizes)
    found: Longs = np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(begin - (ends - sizes), sizes)
    return found
