"""Word models from strings: two views, clusters of tokens, EM, and n-grams mixed in by context."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.learn.ngram import fitted_rates, learn_ngram
from sigmastar.automata.model.ngram import NextCounts, NgramModel, modified_kneser_ney
from sigmastar.core.arrays import Floats, Int64s
from sigmastar.core.held_out import split
from sigmastar.core.progress import Progress, silent, stage
from sigmastar.words.counts import token_views
from sigmastar.words.learn.em import Climbed, Smoother, climb, expect, first_counts
from sigmastar.words.learn.start import FirstStates, random_states, token_states
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
    max_iter: int = 12
    held_out: float = 0.05


@dataclass(frozen=True, eq=False)
class WordFit:
    """A model, and the log-likelihoods per token of held-out text: by iteration, of the states, of all."""

    model: WordHmm | WordMixture
    scores: list[float]
    states_score: float | None
    score: float | None


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
) -> WordFit:
    """Learn a word model on a processor."""
    apart = Apart.of(strings, settings.held_out, settings.is_stream, rng, validation)
    first = first_states(apart.kept, settings, rng, stage(progress, 0.0, 0.1))
    states, scores = _climbed(apart, first, settings, stage(progress, 0.1, 0.9))
    progress("n-grams", 0.9)
    return with_ngram(states, scores, apart, settings)


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
    apart: Apart, first: FirstStates, settings: WordSettings, progress: Progress
) -> tuple[WordHmm, list[float]]:
    text = text_of(apart.kept, settings.is_stream)
    smoother = Smoother(first.groups, unigram_of(apart.kept))
    counts = first_counts(first, text, len(apart.kept.alphabet) + 1)
    held = None if apart.held is None else text_of(apart.held, settings.is_stream)
    found = climb(counts, smoother, text, line_starts(apart.kept), held, settings.max_iter, progress)
    if apart.every is not apart.kept:
        found, smoother = _on_all(apart, found, smoother, settings)
    initial, moves = smoother.moves(found.counts, found.discounts)
    emissions = smoother.emissions(found.counts, found.discounts)
    alphabet = apart.kept.alphabet
    return WordHmm(alphabet, initial, moves, emissions, settings.is_stream, LEAST), found.scores


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
