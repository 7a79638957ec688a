"""EM for grammars (inside-outside; Lari and Young 1990): the climb that ends *states from two views*.

    expected uses of i -> j k  =  A[i, j, k] dL / dA[i, j, k],     L = sum of log f(x)

so one pull of the seeds `initial / f(x)` through the distinct substrings gives all counts. The M-step divides
counts by their sums; with a prior (MAP) words get `words` more uses shared as in the corpus, and pairs get
`pairs` more, shared as if the left and the right part were chosen apart from each other. The driver is
`core.em`; where it begins is up to `starts`. All strings are seen, whatever their length, unless
`max_length` is given; the fit holds the share that was cut off.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from sigmastar.automata.data.strings import Strings, require_known, require_strings
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Floats, Int64s
from sigmastar.core.em import Climb, Problem, Stopping, best_of, by_absolute, iterate, require_seen
from sigmastar.core.errors import InputError
from sigmastar.core.held_out import split
from sigmastar.core.progress import Progress, silent, stage
from sigmastar.core.shrinkage import normalized, towards
from sigmastar.core.time_estimates import seconds_of
from sigmastar.grammars.data.substrings import (
    ENOUGH,
    Substrings,
    distinct_strings,
    with_lengths,
    within_length,
)
from sigmastar.grammars.kernels import Insides, gradients, insides
from sigmastar.grammars.model.grammar import WeightedGrammar, spans_of

Start = Callable[[Strings, Floats, int, np.random.Generator], WeightedGrammar]
"""From strings, their weights, a number of states and the source of chance to a first grammar."""

LONGEST_ANY = 100
"""Symbols of the longest strings whose length is seen; longer ones count as these."""
_LAST_LOOK = 2  # iterations on all strings after some were held out to choose by
_LEAST = 1e-300
_DEAD = 1e-60  # a rule less probable than this is dropped: smaller and smaller numbers would end in none


@dataclass(frozen=True)
class RulePrior:
    """How many uses the words and the pairs of each state have beside those that are counted."""

    words: float = 0.0
    pairs: float = 0.0


@dataclass(frozen=True)
class EMSettings:
    """How to climb.

    With `held_out`, that share of the strings decides when to stop and which start is best; else all are
    learned from, and their own likelihood decides. A climb ends where `patience` iterations in a row gain
    less than `tolerance` nats per string.
    """

    max_iter: int = 20  # per start
    n_seeds: int = 1  # starts, of which the best is kept
    prior: RulePrior = RulePrior(0.1, 20.0)
    held_out: float = 0.0
    tolerance: float = 1e-5
    patience: int = 3
    max_length: int | None = None  # longer strings are left out


USUAL = EMSettings()


@dataclass(frozen=True, eq=False)
class EMFit:
    """The best grammar of all starts, the log-likelihood per string along its way, and what was left out."""

    grammar: WeightedGrammar
    log_likelihoods: tuple[float, ...]
    score: float  # per held-out string, or per string where none was held out
    n_iterations: int  # of all starts together
    cut_off: float = 0.0  # the share of the strings that were too long to be seen


@dataclass(frozen=True, eq=False)
class RuleCounts:
    """Uses of the starts, words and pairs, and the log-likelihood of what was counted."""

    initial: Floats
    words: Floats
    composition: Floats
    log_likelihood: float


@dataclass(frozen=True, eq=False)
class GrammarCorpus:
    """Distinct substrings, and how often each is a whole string.

    Of strings longer than `exact` only the length is seen: they are strings of as many symbols `any`, whose
    vector is the sum of all word vectors. EM is as exact on these, and next to free.
    """

    alphabet: Alphabet
    table: Substrings  # `any` has the code after the last of the alphabet
    totals: Floats
    unigram: Floats  # the share of each symbol, none of them zero

    @classmethod
    def of(cls, strings: Strings, weights: Floats | None = None, exact: int | None = None) -> GrammarCorpus:
        require_known(require_strings(strings))
        if weights is not None and (len(weights) != len(strings) or not (np.asarray(weights) >= 0).all()):
            raise InputError(f"weights must be {len(strings)} numbers, one per string, none of them negative")
        counts = np.ones(len(strings)) if weights is None else np.asarray(weights, dtype=float)
        alphabet, uses = strings.alphabet, np.repeat(counts, strings.lengths)
        by_symbol = np.bincount(strings.codes, uses, minlength=len(alphabet))
        if exact is not None:
            strings, counts = distinct_strings(with_lengths(strings, exact, LONGEST_ANY), counts)
        table = Substrings.of(strings)
        return cls(alphabet, table, table.totals(counts), normalized(by_symbol + 1e-6))

    @property
    def n_strings(self) -> float:
        return float(self.totals.sum())

    def mean_length(self) -> float:
        nodes = np.flatnonzero(self.totals)
        return float(self.totals[nodes] @ self.table.lengths[nodes] / self.n_strings)

    def log_likelihood(self, grammar: WeightedGrammar) -> float:
        """The sum of log f over all strings; -inf if one has no weight."""
        nodes = np.flatnonzero(self.totals)
        vectors, exponents = self._insides(grammar)
        return self._log_likelihood(vectors[nodes] @ grammar.initial, exponents[nodes], self.totals[nodes])

    def _insides(self, grammar: WeightedGrammar) -> Insides:
        words = np.vstack([grammar.words, grammar.words.sum(axis=0)])
        return insides(spans_of(self.table), words, grammar.composition)

    @staticmethod
    def _log_likelihood(values: Floats, exponents: Int64s, totals: Floats) -> float:
        if (values <= 0.0).any():
            return -np.inf
        return float(totals @ (np.log(values) + exponents * np.log(2.0)))

    def expect(self, grammar: WeightedGrammar) -> RuleCounts:
        """Expected uses of all rules, given the strings; strings without weight count for nothing."""
        spans, nodes = spans_of(self.table), np.flatnonzero(self.totals)
        found = self._insides(grammar)
        values = found.vectors[nodes] @ grammar.initial
        shares = np.where(values > 0.0, self.totals[nodes] / np.maximum(values, _LEAST), 0.0)
        seeds = np.zeros_like(found.vectors)
        seeds[nodes] = shares[:, None] * grammar.initial
        pulled = gradients(spans, found, seeds, grammar.composition, len(self.alphabet) + 1)
        return RuleCounts(
            grammar.initial * (shares @ found.vectors[nodes]),
            grammar.words * (pulled.words[:-1] + pulled.words[-1]),
            grammar.composition * pulled.composition,
            self._log_likelihood(values, found.exponents[nodes], self.totals[nodes]),
        )

    def problem(
        self, prior: RulePrior, held: GrammarCorpus | None = None, name: str = "EM"
    ) -> Problem[WeightedGrammar, RuleCounts]:
        """What the driver of EM needs; `held` judges the grammars."""
        unigram = self.unigram

        def expect(grammar: WeightedGrammar) -> tuple[RuleCounts, float]:
            counts = self.expect(grammar)
            return counts, counts.log_likelihood

        def maximized(counts: RuleCounts) -> WeightedGrammar:
            return maximize(self.alphabet, counts, prior, unigram)

        judge = None if held is None else lambda grammar: held.log_likelihood(grammar) / held.n_strings
        return Problem(expect, maximized, self.n_strings, judge, name)


def maximize(alphabet: Alphabet, counts: RuleCounts, prior: RulePrior, unigram: Floats) -> WeightedGrammar:
    """The PCFG with the most probable weights; a state that is never used keeps to words as in the corpus."""
    left, right = counts.composition.sum(axis=2), counts.composition.sum(axis=1)
    uses = left.sum(axis=1)
    divisor = np.maximum(uses, _LEAST)[:, None]
    apart = (left / divisor)[:, :, None] * (right / divisor)[:, None, :]
    total = counts.words.sum(axis=0) + uses
    total = np.where(total > _LEAST, total, 0.0)
    pairs = np.where(uses > _LEAST, prior.pairs, 0.0)
    words = towards(counts.words, unigram[:, None], prior.words, totals=total + pairs)
    composition = towards(
        counts.composition, apart, pairs[:, None, None], totals=(total + prior.words)[:, None, None]
    )
    return WeightedGrammar(alphabet, normalized(counts.initial + 1e-12), _alive(words), _alive(composition))


def _alive(weights: Floats) -> Floats:
    return np.where(weights > _DEAD, weights, 0.0)


def from_chance(
    strings: Strings, weights: Floats, n_states: int, rng: np.random.Generator
) -> WeightedGrammar:
    """Dirichlet rows; words are as probable as the mean length of the strings requires."""
    corpus = GrammarCorpus.of(strings, weights)
    length = max(corpus.mean_length(), 1.0 + 1e-3)
    branching = (length - 1.0) / (2.0 * length - 1.0)
    pairs = rng.dirichlet(np.ones(n_states**2), n_states).reshape(n_states, n_states, n_states)
    words = rng.dirichlet(1.0 + corpus.unigram * len(corpus.alphabet), n_states)
    return WeightedGrammar(
        corpus.alphabet, rng.dirichlet(np.ones(n_states)), words.T * (1 - branching), pairs * branching
    )


def seconds_of_em(strings: Strings, n_states: int, settings: EMSettings, weights: Floats | None) -> float:
    """What `learn_grammar_em` takes of one core, about, without its start: by an iteration on the data."""
    require_seen(n_states, len(strings.alphabet), strings.n_gaps, f"EM with {n_states} states")
    seen, counts, _ = within_length(strings, weights, settings.max_length)
    grammar = from_chance(seen, counts, n_states, np.random.default_rng(0))
    all_of_them = GrammarCorpus.of(seen, counts).problem(settings.prior)
    one = GrammarCorpus.of(seen.select(np.argsort(seen.lengths)[:1]), np.ones(1)).problem(settings.prior)
    seconds = seconds_of(lambda: iterate(all_of_them, grammar, 1), lambda: iterate(one, grammar, 1))
    return settings.n_seeds * settings.max_iter * seconds


def learn_grammar_em(
    strings: Strings,
    n_states: int,
    rng: np.random.Generator,
    start: Start = from_chance,
    settings: EMSettings = USUAL,
    *,
    weights: Floats | None = None,
    progress: Progress = silent,
) -> EMFit:
    """The best of some climbs by held-out likelihood, or by training likelihood where nothing is held out."""
    if n_states < 1:
        raise ValueError(f"n_states={n_states}: a grammar has at least one state")
    require_seen(n_states, len(strings.alphabet), strings.n_gaps, f"EM with {n_states} states")
    seen, counts, cut_off = within_length(strings, weights, settings.max_length)
    parts = split(len(seen), rng, settings.held_out, None, ENOUGH)
    kept = (seen, counts) if parts is None else (seen.select(parts.kept), counts[parts.kept])
    held = None if parts is None else GrammarCorpus.of(seen.select(parts.held), counts[parts.held])
    corpus, n = GrammarCorpus.of(*kept), settings.n_seeds
    stopping = Stopping(by_absolute(settings.tolerance), every=1, patience=settings.patience)

    def climbs() -> Iterator[Climb[WeightedGrammar, RuleCounts]]:
        for seed in range(n):
            problem = corpus.problem(settings.prior, held, f"EM, start {seed + 1}" if n > 1 else "EM")
            climb = Climb.begin(problem, start(*kept, n_states, rng))
            share = stage(progress, seed / n, (seed + 1) / n)
            yield climb.run(settings.max_iter, stopping, progress=share)

    found = best_of(climbs())
    best, grammar = found.best, found.best.best
    if held is not None:
        grammar = iterate(GrammarCorpus.of(seen, counts).problem(settings.prior), grammar, _LAST_LOOK)
    return EMFit(grammar, best.log_likelihoods, best.score, found.n_iterations, cut_off)
