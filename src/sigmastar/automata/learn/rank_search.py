"""The rank of a spectral model by held-out likelihood: one decomposition, a climb on a ladder of ranks.

The climb starts from the number of correlations above the noise, where the best rank nearly always is, and
follows the score to a rung from where neither direction leads higher.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sigmastar.automata.counts.ngram_smoothing import NextCounts, Smoothing, witten_bell
from sigmastar.automata.counts.on_classes import ContextCounts
from sigmastar.automata.data.contexts import ContextTrie
from sigmastar.automata.learn.context_model import ContextModel, context_noise, learn_contexts
from sigmastar.automata.learn.held_strings import HeldOut
from sigmastar.automata.learn.mixing import START_RATE, Steps, fit_rates
from sigmastar.automata.model.filtered import FilteredAutomaton
from sigmastar.automata.model.ngram import NgramModel
from sigmastar.core.arrays import Floats, Int64s
from sigmastar.core.krylov import quick_svd
from sigmastar.core.rank import RankEvidence, count_above

Classes = tuple[ContextTrie, ContextTrie]
Progress = Callable[[str], None]
Mapper = Callable[..., Iterable[Any]]
"""How tasks are run: one after the other (`map`), or side by side."""

RANKS = (2, 3, 5, 7, 10, 12, 15, 20, 25, 30, 40, 50, 60, 70, 80)
_QUICK_ROUNDS = 10  # enough to compare ranks


@dataclass(frozen=True, eq=False)
class Trial:
    """A rank, its held-out score, the mixing rates that gave it, and the log-probability of each string."""

    n_states: int
    score: float
    mixing: Floats
    logs: Floats


@dataclass(frozen=True, eq=False)
class RankSearch:
    """The best of the ranks that were tried on some context classes."""

    best: Trial
    model: FilteredAutomaton  # of that rank
    futures: ContextTrie
    class_counts: Int64s
    following: NextCounts  # what the back-off model was made from
    evidence: RankEvidence

    @property
    def n_classes(self) -> int:
        return self.model.backoff.contexts.n_classes

    @property
    def classes(self) -> Classes:
        return self.model.backoff.contexts, self.futures

    @property
    def left(self) -> NDArray[np.float32]:
        """The singular vectors, for another decomposition to start from."""
        return np.multiply(self.model.restarts, np.sqrt(self.class_counts)[:, None], dtype=np.float32)


def search_ranks(
    counts: ContextCounts, held_out: HeldOut, n_states: int | None, run: Mapper = map
) -> RankSearch:
    """The best rank of all, or (with `n_states`) that one alone."""
    start = np.sqrt(counts.future_counts / counts.future_counts.sum())  # the first vector is known
    solver = partial(quick_svd, start=start[:, None])
    contexts = learn_contexts(counts, max(RANKS) if n_states is None else n_states, solver)
    following, trials = following_of(counts), dict[int, Trial]()
    model = _behind_filter(contexts, NgramModel.of_counts(counts.strings_like.alphabet, following))
    score = _scorer(model, counts.past_counts, held_out, trials)
    if n_states is not None:
        score(contexts.leading(n_states).n_states)  # refuses more than the counts bear
    else:
        known = count_above(contexts.singular_values, context_noise(counts))
        climb(sorted({min(rank, contexts.n_states) for rank in RANKS}), known, score, run)
    best = max(trials.values(), key=lambda trial: trial.score)
    part, evidence = contexts.leading(best.n_states), _evidence(contexts, trials, best)
    model = FilteredAutomaton(part.automaton, part.mass, model.backoff, part.states, model.mixing)
    return RankSearch(best, model, counts.futures, counts.past_counts, following, evidence)


def climb(ladder: Sequence[int], expected: int, score: Callable[[int], float], run: Mapper = map) -> None:
    """Score the rungs around the one expected, then on from the best of them as long as it leads higher."""
    nearest = min(int(np.searchsorted(ladder, expected)), len(ladder) - 1)
    around = range(max(nearest - 1, 0), min(nearest + 2, len(ladder)))
    scores = list(run(lambda rung: score(ladder[rung]), around))
    at = around[int(np.argmax(scores))]
    for step in (1, -1):
        while 0 <= at + step < len(ladder) and score(ladder[at + step]) > score(ladder[at]):
            at += step


def _scorer(
    whole: FilteredAutomaton, class_counts: Int64s, held_out: HeldOut, trials: dict[int, Trial]
) -> Callable[[int], float]:
    """Scores a rank, once, and keeps it among the trials."""
    walk = whole.walk(held_out.trie)

    def score(n_states: int) -> float:
        if n_states not in trials:
            steps = Steps.of(whole.leading(n_states), held_out, walk, np.float32)
            rates = fit_rates(steps, class_counts, _QUICK_ROUNDS)
            logs = steps.string_logs(rates, held_out)
            score = float(held_out.end_counts @ logs) / held_out.n_strings
            trials[n_states] = Trial(n_states, score, rates, logs)
        return trials[n_states].score

    return score


def _evidence(contexts: ContextModel, trials: dict[int, Trial], best: Trial) -> RankEvidence:
    ranks = tuple(sorted(trials))
    return RankEvidence(
        singular_values=contexts.singular_values,
        noise_level=context_noise(contexts.counts),
        candidates=ranks,
        scores=tuple(trials[rank].score for rank in ranks),
        chosen=best.n_states,
        reason="best held-out log-likelihood",
    )


def filtered(contexts: ContextModel, smoothing: Smoothing = witten_bell) -> FilteredAutomaton:
    """A context model behind the restart filter, with one mixing rate for all classes."""
    return _behind_filter(contexts, backoff_of(contexts.counts, smoothing))


def _behind_filter(contexts: ContextModel, backoff: NgramModel) -> FilteredAutomaton:
    mixing = np.full(contexts.counts.pasts.n_classes, START_RATE)
    return FilteredAutomaton(contexts.automaton, contexts.mass, backoff, contexts.states, mixing)


def backoff_of(counts: ContextCounts, smoothing: Smoothing = witten_bell) -> NgramModel:
    """The back-off model of next symbols on the same past classes."""
    return NgramModel.of_counts(counts.strings_like.alphabet, following_of(counts), smoothing)


def following_of(counts: ContextCounts) -> NextCounts:
    """What follows each past class, those that it holds included."""
    return NextCounts.of_classes(counts.pasts, *counts.next_symbols())
