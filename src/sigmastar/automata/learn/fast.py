"""`fast`: spectral operators read through the restart filter. Of the two ideas it is the first, `recover`.

Everything is counted once, on the finest classes: counts without the held-out strings are a difference,
counts on coarser classes are sums. One decomposition per number of classes serves all ranks. A search starts
from the number of correlations above the noise, where the best rank nearly always is, and follows held-out
likelihood on a ladder of ranks (`core.rank.climb_ladder`). The number of classes and the rank with the best
likelihood are recovered again from all counts, the decomposition started from the one before, with mixing
rates tuned to the end. Counts add up, so a corpus may come in batches, each forgotten once it is counted: the
first one fixes the alphabet and the classes.

Behind the restart filter two predictors are mixed. Given their predictions q and g for every held-out step,
the mixing rates are a one-dimensional concave problem for each group of classes; expectation-maximization
climbs all at once (`core.mixture`). Each class is drawn to the rate of its group (classes of like counts),
each group to the rate of all, by `STRENGTH` steps. A few rounds leave the rates near `START_RATE` where q and
g are nearly alike, as on strings that are nearly random; solved to the end they say which of the two is
better there as well. So there are three ways:

- usual: the usual back-off model, few rounds of the mixing rates;
- calm: a back-off model as smooth as held-out strings prefer, rates at their optimum;
- contexts of at most two symbols alone, and no automaton.

The better of the first two is taken if it is surely better than the third, by `SURE` nats and by a standard
error: in strings that are nearly random, or nearly all empty, all that a search finds may be chance. Few
held-out strings cannot say so, and the better way stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from sigmastar.automata.counts.on_classes import ContextCounts
from sigmastar.automata.data.contexts import ContextTrie, most_frequent
from sigmastar.automata.data.strings import Strings, require_strings
from sigmastar.automata.learn.context_operators import (
    ContextModel,
    backoff_of,
    best_strength,
    choose_classes,
    context_noise,
    judged_steps,
    learn_contexts,
)
from sigmastar.automata.learn.held_out import Held, HeldOut, hold_apart
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.ngram_smoothing import NextCounts, NgramModel
from sigmastar.automata.model.restart_filter import FilteredAutomaton, FilterTrie
from sigmastar.core.arrays import Floats, Int32s, Int64s, Singles
from sigmastar.core.factors import quick_svd
from sigmastar.core.mixture import Cells, Events, groups_of_size, mixed_log_likelihood, rates_by_level
from sigmastar.core.progress import Progress, silent
from sigmastar.core.rank import RankEvidence, climb_ladder, count_above
from sigmastar.core.resources import Mapper, thread_map

RANKS = (2, 3, 5, 7, 10, 12, 15, 20, 25, 30, 40, 50, 60, 70, 80)
SURE = 6.0
"""Nats on all held-out strings: what the best of some thirty models gains by chance is about half of that."""
_ENOUGH = 200  # held-out strings: of fewer the best structure that there is may not gain so much
_QUICK_ROUNDS, _LAST_ROUNDS = 10, 40  # of mixing rates: few are enough to compare ranks
_FINAL_ROUNDS = (
    5  # of a decomposition that starts from that of nine tenths of the counts; two may not suffice
)
_DEPTHS = (0, 1, 2)  # of contexts alone

Classes = tuple[ContextTrie, ContextTrie]
Rounds = tuple[int | None, int | None]
"""Of mixing rates, at first and at last; None: to their optimum."""
START_RATE = 0.05
STRENGTH = 30.0
_N_GROUPS = 16
_LEAST_RATE = 1e-4
MOST_RATE = 1.0 - _LEAST_RATE


@dataclass(frozen=True, eq=False)
class Steps:
    """Every held-out step: its class, how often it is judged, and both models' probabilities of it."""

    classes: Int32s
    events: Events
    n_strings: float

    @classmethod
    def of(
        cls,
        model: FilteredAutomaton,
        held_out: HeldOut,
        walk: FilterTrie | None = None,
        dtype: type = np.float64,
    ) -> Steps:
        """`walk` is the model's walk on the held-out trie, for callers that have it."""
        walk = walk or model.walk(held_out.trie)
        run = model.run(walk, dtype=dtype)
        ending, parent = held_out.ending, held_out.trie.parent[1:]
        classes = np.concatenate([walk.classes[parent], walk.classes[ending]])
        own = np.concatenate([run.edge_own[1:], run.end_own[ending]])
        backoff = np.concatenate([walk.edge_backoff[1:], walk.end_backoff[ending]])
        return cls(classes, Events(held_out.weights, own, backoff), held_out.n_strings)

    def with_backoff(self, walk: FilterTrie, held_out: HeldOut) -> Steps:
        """The same steps beside another back-off model, if the states stayed as they are."""
        backoff = np.concatenate([walk.edge_backoff[1:], walk.end_backoff[held_out.ending]])
        return Steps(self.classes, self.events._replace(second=backoff), self.n_strings)

    def score(self, rates: Floats) -> float:
        """The log-likelihood per string under other rates, if the states stayed as they are."""
        return float(mixed_log_likelihood(self.classes, self.events, rates)) / self.n_strings

    def logs(self, rates: Floats) -> Floats:
        """The log-probability of each step, if the states stayed as they are."""
        rate = rates[self.classes]
        return np.asarray(np.log((1.0 - rate) * self.events.first + rate * self.events.second))

    def fit_rates(self, class_counts: Int64s, n_rounds: int | None = 40) -> Floats:
        """The most likely mixing rate of each class, after some rounds or (None) at the end."""
        levels = [
            Cells(self.classes, len(class_counts), STRENGTH),
            Cells(groups_of_size(class_counts, _N_GROUPS), _N_GROUPS, STRENGTH),
        ]
        rates = rates_by_level(self.events, levels, START_RATE, 1.0, n_rounds)
        return np.clip(rates, _LEAST_RATE, MOST_RATE)


def behind_filter(
    automaton: WeightedAutomaton, mass: Floats, backoff: NgramModel, restarts: Floats
) -> FilteredAutomaton:
    """An automaton behind the filter, with one mixing rate for all classes."""
    return FilteredAutomaton(automaton, mass, backoff, restarts, np.full(len(restarts), START_RATE))


def held_out_score(model: FilteredAutomaton, held_out: HeldOut) -> float:
    """The log-likelihood per string."""
    return Steps.of(model, held_out).score(model.mixing)


def tune_mixing(
    model: FilteredAutomaton, class_counts: Int64s, held_out: HeldOut, n_rounds: int
) -> FilteredAutomaton:
    """Fit the mixing rates; the states depend on them in turn, hence the rounds."""
    walk = model.walk(held_out.trie)
    for _ in range(n_rounds):
        model = model.with_mixing(Steps.of(model, held_out, walk).fit_rates(class_counts))
    return model


@dataclass(frozen=True, eq=False)
class FilteredFit:
    """A filtered automaton, why it has its rank, and the context model behind it.

    `held_out_score` is None where nothing could be held out.
    """

    model: FilteredAutomaton
    evidence: RankEvidence
    contexts: ContextModel
    held_out_score: float | None


@dataclass(frozen=True, eq=False)
class Choice:
    """All that is needed to learn the model again from other counts."""

    classes: Classes
    n_states: int
    left: Singles  # singular vectors to start from
    mixing: Floats
    strength: float  # of the back-off model's smoothing
    logs: Floats  # the log-probability of each held-out step
    score: float
    is_held_out: bool
    evidence: RankEvidence

    def learnt_from(self, counts: ContextCounts) -> FilteredFit:
        """Operators from counts on these classes or finer ones."""
        solver = partial(quick_svd, left=self.left, n_rounds=_FINAL_ROUNDS)
        contexts = learn_contexts(counts.coarsened(*self.classes), self.n_states, solver)
        model = _behind_filter(contexts, self.strength).with_mixing(self.mixing)
        return FilteredFit(model, self.evidence, contexts, self.score if self.is_held_out else None)


@dataclass(frozen=True, eq=False)
class Lead:
    """The best of the ranks that were tried on some context classes, in one of the ways."""

    score: float  # if the states stayed as they were before the rates were fitted
    model: FilteredAutomaton  # of that rank
    strength: float
    futures: ContextTrie
    class_counts: Int64s
    evidence: RankEvidence
    n_rounds: Rounds

    def finished(self, held_out: HeldOut) -> Choice:
        """With mixing rates fitted to the end, on states that those before them led to."""
        walk, model = self.model.walk(held_out.trie), self.model
        for n_rounds in self.n_rounds:
            steps = Steps.of(model, held_out, walk, np.float32)
            model = model.with_mixing(steps.fit_rates(self.class_counts, n_rounds))
        left = np.multiply(model.restarts, np.sqrt(self.class_counts)[:, None], dtype=np.float32)
        return Choice(
            (model.backoff.contexts, self.futures),
            model.automaton.n_states,
            left,
            model.mixing,
            self.strength,
            logs := Steps.of(model, held_out, walk, np.float32).logs(model.mixing),
            float(held_out.weights @ logs) / held_out.n_strings,
            held_out.is_held,
            self.evidence.judged(held_out.is_held),
        )


@dataclass(frozen=True, eq=False)
class Way:
    """A back-off model and rounds of mixing rates, with what they gave at the ranks tried so far."""

    whole: FilteredAutomaton
    strength: float
    walk: FilterTrie
    n_rounds: Rounds
    trials: dict[int, tuple[float, Floats]]

    @classmethod
    def of(cls, whole: FilteredAutomaton, strength: float, held_out: HeldOut, n_rounds: Rounds) -> Way:
        return cls(whole, strength, whole.walk(held_out.trie), n_rounds, {})

    def try_rank(self, rank: int, steps: Steps, class_counts: Int64s) -> None:
        rates = steps.fit_rates(class_counts, self.n_rounds[0])
        self.trials[rank] = steps.score(rates), rates

    def lead(self, contexts: ContextModel) -> Lead:
        """The best rank."""
        counts, scores = contexts.counts, {rank: found for rank, (found, _) in self.trials.items()}
        best = max(scores, key=lambda rank: scores[rank])
        part = contexts.leading(best)
        model = behind_filter(part.automaton, part.mass, self.whole.backoff, part.states)
        model, evidence = model.with_mixing(self.trials[best][1]), contexts.evidence(scores, best)
        counted = counts.futures, counts.past_counts
        return Lead(scores[best], model, self.strength, *counted, evidence, self.n_rounds)


def search_ranks(
    counts: ContextCounts, held_out: HeldOut, n_states: int | None, run: Mapper = map
) -> tuple[Lead, Lead]:
    """The best rank of all, or (with `n_states`) that one alone: in the usual way, and in the calm one."""
    start = np.sqrt(counts.future_counts / counts.future_counts.sum())  # the first vector is known
    solver = partial(quick_svd, start=start[:, None])
    contexts = learn_contexts(counts, max(RANKS) if n_states is None else n_states, solver)
    strength = best_strength(counts, held_out)
    usual = Way.of(_behind_filter(contexts), 1.0, held_out, (_QUICK_ROUNDS, _LAST_ROUNDS))
    calm = Way.of(_behind_filter(contexts, strength), strength, held_out, (None, None))

    def score(rank: int) -> float:
        if rank not in usual.trials:
            steps = Steps.of(usual.whole.leading(rank), held_out, usual.walk, np.float32)
            calm.try_rank(rank, steps.with_backoff(calm.walk, held_out), counts.past_counts)
            usual.try_rank(rank, steps, counts.past_counts)
        return usual.trials[rank][0]

    if n_states is not None:
        score(contexts.leading(n_states).n_states)  # refuses more than the counts bear
    else:
        known = count_above(contexts.singular_values, context_noise(counts))
        climb_ladder(sorted({min(rank, contexts.n_states) for rank in RANKS}), known, score, run)
    return usual.lead(contexts), calm.lead(contexts)


def _behind_filter(contexts: ContextModel, strength: float = 1.0) -> FilteredAutomaton:
    backoff = backoff_of(contexts.counts, strength)
    return behind_filter(contexts.automaton, contexts.mass, backoff, contexts.states)


def or_contexts_alone(choice: Choice, counts: ContextCounts, held_out: HeldOut) -> Choice:
    """The choice, if it is surely better than what stands in contexts of at most two symbols."""
    if not held_out.is_held or held_out.n_strings < _ENOUGH:
        return choice
    context, outcome, count = counts.next_symbols()
    judged, found = judged_steps(held_out, counts.pasts, len(counts.strings_like.alphabet)), []
    for depth in _DEPTHS:
        pasts = counts.pasts.up_to(depth)
        holds = counts.pasts.classes_in(pasts)
        following = NextCounts.of_classes(pasts, holds[context].astype(np.int64), outcome, count)
        model = NgramModel.of_counts(counts.strings_like.alphabet, following)
        logs = np.log(np.maximum(model.probabilities(holds[judged[0]], judged[1]), 1e-300))
        found.append((float(held_out.weights @ logs) / held_out.n_strings, -depth, pasts, logs))
    score, _, pasts, logs = max(found, key=lambda entry: entry[:2])
    gains = choice.logs - logs
    if held_out.weights @ gains > max(SURE, float(np.sqrt(held_out.weights @ gains**2))):
        return choice
    evidence = replace(
        choice.evidence,
        candidates=(1, *choice.evidence.candidates),
        scores=(score, *choice.evidence.scores),
        chosen=1,
        reason="no more states are surely better than short contexts alone",
    )
    n = pasts.n_classes
    classes, left = (pasts, choice.classes[1]), np.ones((n, 1), np.float32)
    return Choice(classes, 1, left, np.full(n, MOST_RATE), 1.0, logs, score, True, evidence)


CLASSES = (300, 1500)
"""Numbers of context classes that are tried."""
_FEW_ENTRIES = 200_000


def learn_fast(
    strings: Strings,
    rng: np.random.Generator,
    n_states: int | None = None,
    n_classes: Sequence[int] = CLASSES,
    progress: Progress = silent,
) -> FilteredFit:
    """Learn a filtered automaton.

    Parameters
    ----------
    strings : Strings
        The corpus.
    rng : Generator
        Source of the choice of held-out strings.
    n_states : int or None
        Number of states; None: chosen by held-out likelihood.
    n_classes : sequence of int
        Numbers of context classes to try.
    progress : callable
        Told what is being done.

    Returns
    -------
    FilteredFit
        The model and the evidence for its size.
    """
    batches = ContextBatches.first(strings, rng, n_classes)
    choice = batches.choose(n_states, progress)
    counts = batches.all_counts()
    del batches  # they take as much room again
    progress(f"final fit with {choice.n_states} states")
    return choice.learnt_from(counts)


@dataclass(frozen=True, eq=False)
class ContextBatches:
    """Counts on the finest classes in the running, and strings apart from them to choose by."""

    kept: ContextCounts  # without what is held out: only at the end are all counts needed
    whole: ContextCounts | None  # all, where they are not those kept and those of the held-out strings
    held: Held
    classes: tuple[Classes, ...]  # all that are in the running; the last are those of the counts

    @classmethod
    def first(
        cls, strings: Strings, rng: np.random.Generator, n_classes: Sequence[int] = CLASSES
    ) -> ContextBatches:
        held, kept = hold_apart(require_strings(strings), rng)
        counts = ContextCounts.of(strings, *choose_classes(strings, max(n_classes)))
        coarser = [coarser_classes(counts, size) for size in sorted(set(n_classes))[:-1]]
        classes = (*coarser, (counts.pasts, counts.futures))
        if held.are_whole:
            return cls._apart(counts, held, classes)
        return cls(_counts_like(counts, kept()) if held.is_held else counts, counts, held, classes)

    @classmethod
    def _apart(cls, counts: ContextCounts, held: Held, classes: tuple[Classes, ...]) -> ContextBatches:
        """The counts of all strings without those of the strings to choose by."""
        return cls(counts - _counts_like(counts, held.strings), None, held, classes)

    def more(self, strings: Strings, rng: np.random.Generator) -> ContextBatches:
        """With the counts of a further batch."""
        counts = self.all_counts() + _counts_like(self.kept, strings)
        held, _ = self.held.and_of(strings, rng)
        if held.are_whole:
            return self._apart(counts, held, self.classes)
        return ContextBatches(self.kept + _counts_like(self.kept, strings), counts, held, self.classes)

    def all_counts(self) -> ContextCounts:
        if self.whole is not None:
            return self.whole
        return self.kept + _counts_like(self.kept, self.held.strings)

    def fit(self, n_states: int | None = None, progress: Progress = silent) -> FilteredFit:
        """Choose by the held-out strings, and recover from all counts."""
        return self.choose(n_states, progress).learnt_from(self.all_counts())

    def choose(self, n_states: int | None = None, progress: Progress = silent) -> Choice:
        """Classes, rank and mixing rates by the held-out strings."""
        held_out = HeldOut.of(self.held)
        # side by side where the counts are few, since each number of classes takes room of its own
        run: Mapper = thread_map if len(self.kept.slice_keys) <= _FEW_ENTRIES else map

        def search(classes: Classes) -> tuple[Lead, Lead]:
            progress(f"spectral fit on {classes[0].n_classes} context classes")
            return search_ranks(self.kept.coarsened(*classes), held_out, n_states, run)

        searches: list[tuple[Lead, Lead]] = list(run(search, self.classes))
        leads = [max(found, key=lambda lead: lead.score) for found in zip(*searches, strict=True)]
        del searches  # the models that were not the best
        choices: list[Choice] = [lead.finished(held_out) for lead in leads]
        best = max(choices, key=lambda choice: choice.score)
        return best if n_states is not None else or_contexts_alone(best, self.kept, held_out)


def _counts_like(counts: ContextCounts, strings: Strings) -> ContextCounts:
    return ContextCounts.of(strings, counts.pasts, counts.futures)


def coarser_classes(counts: ContextCounts, n_classes: int) -> Classes:
    """What `choose_classes` would give for fewer classes."""
    pasts = most_frequent(counts.pasts, counts.past_counts, n_classes)
    return pasts, most_frequent(counts.futures, counts.future_counts, n_classes)
