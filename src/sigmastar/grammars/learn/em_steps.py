"""One step of EM for probabilistic grammars in binary form (inside-outside; Lari and Young 1990).

    expected uses of i -> j k  =  A[i, j, k] dL / dA[i, j, k],     L = sum of log f(x)

so one pull of the seeds `initial / f(x)` through the distinct substrings gives all counts. The M-step divides
counts by their sums; with a prior (MAP) words get `words` more uses shared as in the corpus, and pairs get
`pairs` more, shared as if the left and the right part were chosen apart from each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sigmastar.automata.data.strings import Strings, require_known, require_strings
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.errors import InputError
from sigmastar.grammars.data.substrings import Substrings
from sigmastar.grammars.kernels.span_vectors import gradients
from sigmastar.grammars.model.grammar import WeightedGrammar, spans_of

Array = NDArray[np.float64]

_LEAST = 1e-300
_DEAD = 1e-60  # a rule less probable than this is dropped: smaller and smaller numbers would end in none


@dataclass(frozen=True)
class RulePrior:
    """How many uses each state's words and pairs have beside those that are counted."""

    words: float = 0.0
    pairs: float = 0.0


@dataclass(frozen=True, eq=False)
class RuleCounts:
    """Uses of the starts, words and pairs, and the log-likelihood of what was counted."""

    initial: Array
    words: Array
    composition: Array
    log_likelihood: float


@dataclass(frozen=True, eq=False)
class GrammarCorpus:
    """Distinct substrings, and how often each is a whole string."""

    table: Substrings
    totals: Array

    @classmethod
    def of(cls, strings: Strings, weights: Array | None = None) -> GrammarCorpus:
        require_known(require_strings(strings))
        if weights is not None and (len(weights) != len(strings) or not (np.asarray(weights) >= 0).all()):
            raise InputError(f"weights must be {len(strings)} numbers, one a string, none of them negative")
        table = Substrings.of(strings)
        return cls(table, table.totals(weights))

    @property
    def alphabet(self) -> Alphabet:
        return self.table.strings.alphabet

    @property
    def n_strings(self) -> float:
        return float(self.totals.sum())

    @property
    def unigram(self) -> Array:
        """The share of each symbol, none of them zero."""
        lengths = self.table.strings.lengths
        weights = np.repeat(self.totals[self.table.string_node] / self._copies, lengths)
        counts = np.bincount(self.table.strings.codes, weights, minlength=len(self.alphabet)) + 1e-6
        return counts / counts.sum()  # type: ignore[no-any-return]

    @property
    def _copies(self) -> Array:
        return np.bincount(self.table.string_node)[self.table.string_node].astype(float)

    def mean_length(self) -> float:
        nodes = np.flatnonzero(self.totals)
        return float(self.totals[nodes] @ self.table.lengths[nodes] / self.n_strings)

    def log_likelihood(self, grammar: WeightedGrammar) -> float:
        """The sum of log f over all strings; -inf if one has no weight."""
        nodes = np.flatnonzero(self.totals)
        vectors, exponents = grammar.insides(self.table)
        return self._log_likelihood(vectors[nodes] @ grammar.initial, exponents[nodes], self.totals[nodes])

    @staticmethod
    def _log_likelihood(values: Array, exponents: NDArray[np.int64], totals: Array) -> float:
        if (values <= 0.0).any():
            return -np.inf
        return float(totals @ (np.log(values) + exponents * np.log(2.0)))

    def expect(self, grammar: WeightedGrammar) -> RuleCounts:
        """Expected uses of all rules, given the strings; strings without weight count for nothing."""
        spans, nodes = spans_of(self.table), np.flatnonzero(self.totals)
        found = grammar.insides(self.table)
        values = found.vectors[nodes] @ grammar.initial
        shares = np.where(values > 0.0, self.totals[nodes] / np.maximum(values, _LEAST), 0.0)
        seeds = np.zeros_like(found.vectors)
        seeds[nodes] = shares[:, None] * grammar.initial
        pulled = gradients(spans, found, seeds, grammar.composition, len(self.alphabet))
        return RuleCounts(
            grammar.initial * (shares @ found.vectors[nodes]),
            grammar.words * pulled.words,
            grammar.composition * pulled.composition,
            self._log_likelihood(values, found.exponents[nodes], self.totals[nodes]),
        )


def maximize(alphabet: Alphabet, counts: RuleCounts, prior: RulePrior, unigram: Array) -> WeightedGrammar:
    """The PCFG with the most probable weights; a state that is never used keeps to words as in the corpus."""
    words = counts.words + prior.words * unigram[:, None]
    left, right = counts.composition.sum(axis=2), counts.composition.sum(axis=1)
    uses = np.maximum(left.sum(axis=1), _LEAST)[:, None]
    apart = (left / uses)[:, :, None] * (right / uses)[:, None, :]
    composition = counts.composition + prior.pairs * apart
    totals = words.sum(axis=0) + composition.sum(axis=(1, 2))
    unused = totals <= _LEAST
    words[:, unused], totals[unused] = unigram[:, None], 1.0
    initial = counts.initial + 1e-12
    return WeightedGrammar(
        alphabet, initial / initial.sum(), _alive(words / totals), _alive(composition / totals[:, None, None])
    )


def _alive(weights: Array) -> Array:
    return np.where(weights > _DEAD, weights, 0.0)


def em_steps(
    corpus: GrammarCorpus, start: WeightedGrammar, prior: RulePrior
) -> Iterator[tuple[WeightedGrammar, float]]:
    """Grammars after 1, 2, .. iterations, each with the log-likelihood of the one before it."""
    grammar, unigram = start, corpus.unigram
    while True:
        counts = corpus.expect(grammar)
        grammar = maximize(corpus.alphabet, counts, prior, unigram)
        yield grammar, counts.log_likelihood


def random_start(corpus: GrammarCorpus, n_states: int, rng: np.random.Generator) -> WeightedGrammar:
    """Dirichlet rows; words are as probable as the mean length of the strings asks for."""
    length = max(corpus.mean_length(), 1.0 + 1e-3)
    branching = (length - 1.0) / (2.0 * length - 1.0)
    pairs = rng.dirichlet(np.ones(n_states**2), n_states).reshape(n_states, n_states, n_states)
    words = rng.dirichlet(1.0 + corpus.unigram * len(corpus.alphabet), n_states)
    return WeightedGrammar(
        corpus.alphabet, rng.dirichlet(np.ones(n_states)), words.T * (1 - branching), pairs * branching
    )
