"""Word models from strings: two views, clusters of tokens, EM, and n-grams mixed in by context."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.learn.ngram import fitted_rates, learn_ngram
from sigmastar.automata.model.ngram_smoothing import NextCounts, NgramModel, modified_kneser_ney
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Floats, Int32s, Int64s, Reals
from sigmastar.core.errors import InputError
from sigmastar.core.held_out import split
from sigmastar.core.progress import Progress, silent, stage
from sigmastar.words.counts import token_views
from sigmastar.words.kernels.beams import Chain
from sigmastar.words.learn.em import FIRST, Climbed, Smoother, climb, expect, first_counts
from sigmastar.words.learn.token_clusters import FirstStates, random_states, token_states
from sigmastar.words.model.emissions import BackedOffRows
from sigmastar.words.model.hmm import WordHmm, text_of
from sigmastar.words.model.mixture import WordMixture, as_stream, contexts_of


def word_ngram(strings: Strings, order: int, is_stream: bool) -> NgramModel:
    """Modified Kneser-Ney; in a stream, contexts go over the ends of lines, which are words there."""
    if not is_stream:
        return learn_ngram(strings, order, modified_kneser_ney)
    found = NextCounts.of_ngrams(as_stream(strings), order, knows_last=False)
    return NgramModel.of_counts(strings.alphabet, found, modified_kneser_ney)


TOKENS_PER_STATE, FEWEST, MOST = 1000, 4, 2048
LEAST = 1e-3
"""The least share of a belief that a learned model keeps."""
STARTS = {"spectral": True, "random": False}


@dataclass(frozen=True)
class WordSettings:
    """How word models are learned; see `WordModel`."""

    n_states: int | None = None
    order: int = 5
    is_stream: bool = False
    is_spectral: bool = True
    max_iter: int = 20
    held_out: float = 0.05


@dataclass(frozen=True, eq=False)
class Counted:
    """The counts that a climb ended with, and the groups of states: what another one may go on from."""

    alphabet: Alphabet
    counts: Chain
    groups: Int32s
    n_iterations: int = 0  # that they took

    @classmethod
    def of_model(cls, model: WordHmm | WordMixture, strings: Strings) -> Counted:
        """The expected counts of strings under a model whose own counts are gone; words may be new to it."""
        states = model.states if isinstance(model, WordMixture) else model
        if not isinstance(states.emissions, BackedOffRows):
            raise InputError("warm_start=True is for parameters='back-off'; fit without it")
        alphabet, floor = strings.alphabet, unigram_of(strings)[:, None]
        by_word = _rows_over(states.emissions.by_word, states.alphabet, alphabet, floor)
        chain = Chain(states.initial, states.moves, by_word / by_word.sum(axis=0, dtype=np.float32))
        counts, _ = expect(chain, text_of(strings, states.is_stream), line_starts(strings))
        return cls(alphabet, counts, states.emissions.groups, FIRST)

    def over(self, alphabet: Alphabet) -> Counted:
        """The same of another alphabet: words that are new were not met."""
        by_word = _rows_over(self.counts.by_word, self.alphabet, alphabet, np.zeros((len(alphabet) + 1, 1)))
        return replace(self, alphabet=alphabet, counts=self.counts._replace(by_word=by_word))


def _rows_over(table: Reals, known: Alphabet, alphabet: Alphabet, floor: Floats) -> Reals:
    """The rows of words, the end last, in the order of another alphabet; those of new words are `floor`."""
    places = np.array([*(known.codes.get(word, -1) for word in alphabet), len(known)])
    found: Reals = table[places]
    return np.where(places[:, None] < 0, floor.astype(table.dtype), found)


@dataclass(frozen=True, eq=False)
class WordFit:
    """A model, and the log-likelihoods per token of held-out text: by iteration, of the states, of all."""

    model: WordHmm | WordMixture
    scores: list[float]
    states_score: float | None
    score: float | None
    counted: Counted | None = None


@dataclass(frozen=True, eq=False)
class Apart:
    """Strings to count, and strings to choose by, which may be strings of the former."""

    kept: Strings
    held: Strings | None
    every: Strings  # those that the last counts are taken on

    @classmethod
    def of(
        cls, strings: Strings, share: float, is_stream: bool, rng: np.random.Generator, given: Strings | None
    ) -> Apart:
        """A random share of the lines, or the last ones of a stream."""
        if given is not None:
            return cls(strings, given, strings)
        found = split(len(strings), rng, share, most=None)
        if found is None:
            return cls(strings, None, strings)
        order = np.arange(len(strings))
        held = order[-len(found.held) :] if is_stream else found.held
        return cls(strings.select(np.setdiff1d(order, held)), strings.select(held), strings)


def default_states(n_tokens: int) -> int:
    """As many states as a text of so many tokens bears.

    Examples
    --------
    >>> default_states(100), default_states(300_000), default_states(10**8)
    (4, 300, 2048)
    """
    return int(np.clip(round(n_tokens / TOKENS_PER_STATE), FEWEST, MOST))


def learn_words(
    strings: Strings,
    settings: WordSettings,
    rng: np.random.Generator,
    validation: Strings | None = None,
    progress: Progress = silent,
    last: Counted | WordHmm | WordMixture | None = None,
) -> WordFit:
    """Learn a word model on a processor; `last` is to go on from."""
    apart = Apart.of(strings, settings.held_out, settings.is_stream, rng, validation)
    if last is None:
        first = first_states(apart.kept, settings, rng, stage(progress, 0.0, 0.1))
        counts = first_counts(first, text_of(apart.kept, settings.is_stream), len(apart.kept.alphabet) + 1)
        start = Counted(apart.kept.alphabet, counts, first.groups)
    else:
        known = last if isinstance(last, Counted) else Counted.of_model(last, apart.kept)
        start = known.over(apart.kept.alphabet)
    states, scores, counted = _climbed(apart, start, settings, stage(progress, 0.1, 0.9))
    progress("n-grams", 0.9)
    return replace(with_ngram(states, scores, apart, settings), counted=counted)


def first_states(
    strings: Strings, settings: WordSettings, rng: np.random.Generator, progress: Progress
) -> FirstStates:
    """The states that tokens begin with: clusters of their two views, or chance."""
    n_states = settings.n_states or default_states(strings.n_gaps)
    if not settings.is_spectral:
        return random_states(strings.n_gaps, n_states, rng)
    progress("two views of every token", 0.0)
    return token_states(token_views(strings), n_states, rng, progress)


def unigram_of(strings: Strings) -> Floats:
    """How frequent words are, those that were not met among them."""
    counts = np.bincount(strings.outcomes, minlength=len(strings.alphabet) + 1) + 0.5
    return np.asarray(counts / counts.sum())


def _climbed(
    apart: Apart, start: Counted, settings: WordSettings, progress: Progress
) -> tuple[WordHmm, list[float], Counted]:
    text = text_of(apart.kept, settings.is_stream)
    smoother = Smoother(start.groups, unigram_of(apart.kept))
    held = None if apart.held is None else text_of(apart.held, settings.is_stream)
    begun, starts = start.n_iterations, line_starts(apart.kept)
    found = climb(start.counts, smoother, text, starts, held, settings.max_iter, progress, begun)
    counted = replace(start, counts=found.counts, n_iterations=begun + len(found.scores))
    if apart.every is not apart.kept:
        found, smoother = _on_all(apart, found, smoother, settings)
    initial, moves = smoother.moves(found.counts, found.discounts)
    emissions = smoother.emissions(found.counts, found.discounts)
    alphabet = apart.kept.alphabet
    states = WordHmm(alphabet, initial, moves, emissions, settings.is_stream, LEAST)
    return states, found.scores, counted


def _on_all(
    apart: Apart, found: Climbed, smoother: Smoother, settings: WordSettings
) -> tuple[Climbed, Smoother]:
    """The counts of the held-out text too."""
    chain = smoother.chain(found.counts, found.discounts)
    counts, _ = expect(chain, text_of(apart.every, settings.is_stream), line_starts(apart.every))
    return Climbed(counts, found.discounts, found.scores), Smoother(smoother.groups, unigram_of(apart.every))


def line_starts(strings: Strings) -> Int64s:
    """The first token of every line."""
    return strings.offsets[:-1] + np.arange(len(strings))


def with_ngram(states: WordHmm, scores: list[float], apart: Apart, settings: WordSettings) -> WordFit:
    """The mixture, its rates by the held-out text, and what that text says."""
    if apart.held is None:
        return WordFit(states, scores, None, None)
    by_states = states.gap_probabilities(apart.held)
    alone = _mean_log(by_states)
    if not settings.order:
        return WordFit(states, scores, alone, alone)
    ngram = word_ngram(apart.kept, settings.order, settings.is_stream)
    contexts = contexts_of(ngram, apart.held, settings.is_stream)
    by_ngram = ngram.probabilities(contexts, apart.held.outcomes.astype(np.int32))
    rates = fitted_rates(ngram, contexts, by_states, by_ngram)
    model = WordMixture(states, ngram, rates)
    score = _mean_log((1.0 - model.rate_of[contexts]) * by_states + model.rate_of[contexts] * by_ngram)
    if apart.every is not apart.kept:
        model = WordMixture(states, word_ngram(apart.every, settings.order, settings.is_stream), rates)
    return WordFit(model, scores, alone, score)


def _mean_log(probabilities: Floats) -> float:
    with np.errstate(divide="ignore"):
        return float(np.log(probabilities).mean())
