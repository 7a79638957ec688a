"""`fast`: spectral operators read through the restart filter.

Classes, counts, one SVD; the number of classes, the rank and the mixing rates are chosen by held-out
likelihood; then counts of kept and held-out strings are added up and the chosen model is recovered
from all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sigmastar.factorization.rank import RankEvidence
from sigmastar.learning.contexts import ContextModel, choose_classes, context_noise, learn_contexts
from sigmastar.learning.mixing import START_RATE, HeldOut, Steps, tune_mixing
from sigmastar.operators.filtered import FilteredAutomaton
from sigmastar.operators.ngram import NgramModel
from sigmastar.statistics.backoff import NextCounts
from sigmastar.statistics.contexts import ContextCounts
from sigmastar.structures.strings import Strings

RANKS = (2, 5, 10, 15, 20, 30, 40, 60, 80)
CLASSES = (300, 1500)
HELD_OUT = 0.1

Progress = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class FilteredFit:
    """A filtered automaton, why it has its rank, and the context model behind it."""

    model: FilteredAutomaton
    evidence: RankEvidence
    contexts: ContextModel
    held_out_score: float


@dataclass(frozen=True, eq=False)
class _Candidate:
    contexts: ContextModel
    scores: dict[int, float]

    @property
    def best(self) -> int:
        return max(self.scores, key=self.scores.__getitem__)


def learn_fast(
    strings: Strings,
    rng: np.random.Generator,
    n_states: int | None = None,
    n_classes: Sequence[int] = CLASSES,
    progress: Progress | None = None,
) -> FilteredFit:
    """Learn a filtered automaton; `n_states=None` chooses the rank among `RANKS`."""
    say = progress or (lambda _: None)
    kept, held = strings.split(HELD_OUT, rng) if len(strings) > 1 else (strings, strings)
    held_out = HeldOut.of(held)
    candidates = []
    for size in n_classes:
        say(f"spectral fit on {size} context classes")
        candidates.append(_score_ranks(strings, kept, held_out, size, n_states))
    chosen = max(candidates, key=lambda candidate: candidate.scores[candidate.best])
    rank = chosen.best
    part = chosen.contexts
    rates = tune_mixing(filtered(part.leading(rank)), part.counts.past_counts, held_out, 3)
    say(f"final fit with {rank} states")
    counts = part.counts if held is strings else part.counts + ContextCounts.of(held, part.counts.pasts, part.counts.futures)
    contexts = learn_contexts(counts, rank)
    model = filtered(contexts).with_mixing(rates.mixing)
    return FilteredFit(model, _evidence(chosen), contexts, Steps.of(rates, held_out).log_likelihood)


def filtered(contexts: ContextModel, rate: float = START_RATE) -> FilteredAutomaton:
    """A context model behind the restart filter, with one mixing rate for all classes."""
    mixing = np.full(contexts.counts.pasts.n_classes, rate)
    return FilteredAutomaton(
        contexts.automaton, contexts.mass, backoff_of(contexts.counts), contexts.states, mixing
    )


def backoff_of(counts: ContextCounts) -> NgramModel:
    """The back-off model of next symbols on the same past classes."""
    following = NextCounts.of_classes(counts.pasts, *counts.next_symbols())
    return NgramModel.of_counts(counts.strings_like.alphabet, following)


def _score_ranks(
    strings: Strings, kept: Strings, held_out: HeldOut, size: int, n_states: int | None
) -> _Candidate:
    counts = ContextCounts.of(kept, *choose_classes(strings, size))
    contexts = learn_contexts(counts, n_states or max(RANKS))
    ranks = [n_states] if n_states else sorted({min(rank, contexts.n_states) for rank in RANKS})
    base, sizes = filtered(contexts), counts.past_counts
    scores = {}
    for rank in ranks:
        part = contexts.leading(rank)
        model = FilteredAutomaton(part.automaton, part.mass, base.backoff, part.states, base.mixing)
        scores[rank] = Steps.of(tune_mixing(model, sizes, held_out, 1), held_out).log_likelihood
    return _Candidate(contexts, scores)


def _evidence(candidate: _Candidate) -> RankEvidence:
    ranks = tuple(candidate.scores)
    return RankEvidence(
        singular_values=candidate.contexts.singular_values,
        noise_level=context_noise(candidate.contexts.counts),
        candidates=ranks,
        scores=tuple(candidate.scores[rank] for rank in ranks),
        chosen=candidate.best,
        reason="best held-out log-likelihood",
    )
