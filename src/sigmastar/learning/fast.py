"""`fast`: spectral operators read through the restart filter.

Classes, counts, one SVD; the number of classes, the rank and the mixing rates are chosen by held-out
likelihood; then counts of kept and held-out strings are added up and the chosen model is recovered
from all of them. Counts add up, so a corpus may come in batches, each forgotten once it is counted:
the first one fixes the alphabet and the context classes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sigmastar.factorization.rank import RankEvidence, count_above
from sigmastar.learning.contexts import ContextModel, choose_classes, context_noise, learn_contexts
from sigmastar.learning.holdout import HeldOut, HeldStrings
from sigmastar.learning.mixing import START_RATE, Steps, fit_rates, tune_mixing
from sigmastar.operators.filtered import FilteredAutomaton
from sigmastar.operators.ngram import NgramModel
from sigmastar.statistics.backoff import NextCounts
from sigmastar.statistics.contexts import ContextCounts
from sigmastar.structures.strings import Strings, require_strings

RANKS = (2, 5, 10, 15, 20, 30, 40, 60, 80)
CLASSES = (300, 1500)
_CLEARLY = 0.02  # nats a string
_QUICK_ROUNDS = 10  # enough to compare ranks

Progress = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class FilteredFit:
    """A filtered automaton, why it has its rank, and the context model behind it."""

    model: FilteredAutomaton
    evidence: RankEvidence
    contexts: ContextModel
    held_out_score: float


def learn_fast(
    strings: Strings,
    rng: np.random.Generator,
    n_states: int | None = None,
    n_classes: Sequence[int] = CLASSES,
    progress: Progress | None = None,
) -> FilteredFit:
    """Learn a filtered automaton; `n_states=None` chooses the rank among `RANKS`."""
    return ContextBatches.first(strings, rng, n_classes).fit(n_states, progress)


@dataclass(frozen=True, eq=False)
class ContextBatches:
    """Counts on context classes, once for each number of classes that is in the running."""

    counts: tuple[ContextCounts, ...]  # without the held-out strings
    held: HeldStrings

    @classmethod
    def first(
        cls, strings: Strings, rng: np.random.Generator, n_classes: Sequence[int] = CLASSES
    ) -> ContextBatches:
        require_strings(strings)
        held, counted = HeldStrings.first(strings, rng)
        counts = tuple(ContextCounts.of(counted, *choose_classes(strings, size)) for size in n_classes)
        return cls(counts, held)

    def more(self, strings: Strings, rng: np.random.Generator) -> ContextBatches:
        held, counted = self.held.more(strings, rng)
        counts = tuple(known + ContextCounts.of(counted, known.pasts, known.futures) for known in self.counts)
        return ContextBatches(counts, held)

    def all_counts(self, counts: ContextCounts) -> ContextCounts:
        """One of the `counts` with the held-out strings."""
        if self.held.are_counted:
            return counts
        return counts + ContextCounts.of(self.held.strings, counts.pasts, counts.futures)

    def fit(self, n_states: int | None = None, progress: Progress | None = None) -> FilteredFit:
        """Choose classes, rank and mixing by the held-out strings, and recover from all counts."""
        say, held_out = progress or (lambda _: None), HeldOut.of(self.held.strings)
        candidates = []
        for counts in self.counts:
            say(f"spectral fit on {counts.pasts.n_classes} context classes")
            contexts = learn_contexts(counts, max(RANKS) if n_states is None else n_states)
            candidates.append((contexts, _rank_scores(contexts, held_out, n_states)))
        contexts, scores = max(candidates, key=lambda candidate: max(candidate[1].values()))
        rank = max(scores, key=scores.__getitem__)
        say(f"final fit with {rank} states")
        rates = tune_mixing(filtered(contexts.leading(rank)), contexts.counts.past_counts, held_out, 3)
        final = learn_contexts(self.all_counts(contexts.counts), rank)
        model = filtered(final).with_mixing(rates.mixing)
        evidence = _evidence(contexts, scores, rank)
        return FilteredFit(model, evidence, final, Steps.of(rates, held_out).log_likelihood)


def _rank_scores(contexts: ContextModel, held_out: HeldOut, n_states: int | None) -> dict[int, float]:
    ranks = [n_states] if n_states is not None else sorted({min(rank, contexts.n_states) for rank in RANKS})
    scores: dict[int, float] = {}
    base, sizes = filtered(contexts), contexts.counts.past_counts
    known = count_above(contexts.singular_values, context_noise(contexts.counts))
    for rank in ranks:
        if rank > known and _is_past_the_best(list(scores.values())):
            break
        part = contexts.leading(rank)
        model = FilteredAutomaton(part.automaton, part.mass, base.backoff, part.states, base.mixing)
        steps = Steps.of(model, held_out)
        scores[rank] = steps.score(fit_rates(steps, sizes, _QUICK_ROUNDS))
    return scores


def _is_past_the_best(scores: list[float]) -> bool:
    """Whether the last two scores lie clearly below the best: what comes would only fit more noise."""
    return len(scores) > 2 and max(scores[-2:]) < max(scores) - _CLEARLY


def _evidence(contexts: ContextModel, scores: dict[int, float], rank: int) -> RankEvidence:
    return RankEvidence(
        singular_values=contexts.singular_values,
        noise_level=context_noise(contexts.counts),
        candidates=tuple(scores),
        scores=tuple(scores.values()),
        chosen=rank,
        reason="best held-out log-likelihood",
    )


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
