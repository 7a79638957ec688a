"""`fast`: spectral operators read through the restart filter. Of the two ideas it is the first, `recover`.

Everything is counted once, on the finest classes: counts without the held-out strings are a difference,
counts on coarser classes are sums. One decomposition per number of classes serves all ranks. A search starts
from the number of correlations above the noise, where the best rank nearly always is, and follows held-out
likelihood on a ladder of ranks (`core.rank.climb_ladder`). The number of classes and the rank with the best
likelihood are recovered again from all counts, the decomposition started from the one before, with mixing
rates tuned to the end. Counts add up, so a corpus may come in batches, each forgotten once it is counted: the
first one fixes the alphabet and the classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from sigmastar.automata.counts.context_growth import most_frequent
from sigmastar.automata.counts.on_classes import ContextCounts
from sigmastar.automata.data.contexts import ContextTrie
from sigmastar.automata.data.strings import Strings, require_strings
from sigmastar.automata.learn.context_model import ContextModel, choose_classes, context_noise, learn_contexts
from sigmastar.automata.learn.held_out import Held, HeldOut, hold_out
from sigmastar.automata.learn.restart_filter import Steps, backoff_of, behind_filter
from sigmastar.automata.model.filtered import FilteredAutomaton
from sigmastar.core.arrays import Floats, Int64s, Singles
from sigmastar.core.factors import quick_svd
from sigmastar.core.parallel import Mapper, thread_map
from sigmastar.core.progress import Progress, silent
from sigmastar.core.rank import RankEvidence, climb_ladder, count_above

CLASSES = (300, 1500)
"""Numbers of context classes that are tried."""
RANKS = (2, 3, 5, 7, 10, 12, 15, 20, 25, 30, 40, 50, 60, 70, 80)
_QUICK_ROUNDS, _LAST_ROUNDS = 10, 40  # of mixing rates: few are enough to compare ranks
_FINAL_ROUNDS = 1  # of a decomposition that starts from that of nine tenths of the counts
_FEW_ENTRIES = 200_000

Classes = tuple[ContextTrie, ContextTrie]


@dataclass(frozen=True, eq=False)
class FilteredFit:
    """A filtered automaton, why it has its rank, and the context model behind it.

    `held_out_score` is None where nothing could be held out.
    """

    model: FilteredAutomaton
    evidence: RankEvidence
    contexts: ContextModel
    held_out_score: float | None


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
        kept, held = hold_out(require_strings(strings), rng)
        counts = ContextCounts.of(strings, *choose_classes(strings, max(n_classes)))
        coarser = [coarser_classes(counts, size) for size in sorted(set(n_classes))[:-1]]
        return cls._apart(counts, kept, held, (*coarser, (counts.pasts, counts.futures)))

    @classmethod
    def _apart(
        cls, counts: ContextCounts, kept: Strings, held: Held, classes: tuple[Classes, ...]
    ) -> ContextBatches:
        if held.are_whole:
            return cls(counts - _counts_like(counts, held.strings), None, held, classes)
        return cls(_counts_like(counts, kept) if held.is_held else counts, counts, held, classes)

    def more(self, strings: Strings, rng: np.random.Generator) -> ContextBatches:
        """With the counts of a further batch."""
        counts = self.all_counts() + _counts_like(self.kept, strings)
        held, _ = self.held.and_of(strings, rng)
        if held.are_whole:
            return self._apart(counts, strings, held, self.classes)
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

        def search(classes: Classes) -> RankSearch:
            progress(f"spectral fit on {classes[0].n_classes} context classes")
            return search_ranks(self.kept.coarsened(*classes), held_out, n_states, run)

        searches: list[RankSearch] = list(run(search, self.classes))
        return max(searches, key=lambda found: found.score).finished(held_out)


def _counts_like(counts: ContextCounts, strings: Strings) -> ContextCounts:
    return ContextCounts.of(strings, counts.pasts, counts.futures)


def coarser_classes(counts: ContextCounts, n_classes: int) -> Classes:
    """What `choose_classes` would give for fewer classes."""
    pasts = most_frequent(counts.pasts, counts.past_counts, n_classes)
    return pasts, most_frequent(counts.futures, counts.future_counts, n_classes)


@dataclass(frozen=True, eq=False)
class Choice:
    """All that is needed to learn the model again from other counts."""

    classes: Classes
    n_states: int
    left: Singles  # singular vectors to start from
    mixing: Floats
    score: float | None
    evidence: RankEvidence

    def learnt_from(self, counts: ContextCounts) -> FilteredFit:
        """Operators from counts on these classes or finer ones."""
        solver = partial(quick_svd, left=self.left, n_rounds=_FINAL_ROUNDS)
        contexts = learn_contexts(counts.coarsened(*self.classes), self.n_states, solver)
        model = _behind_filter(contexts).with_mixing(self.mixing)
        return FilteredFit(model, self.evidence, contexts, self.score)


@dataclass(frozen=True, eq=False)
class RankSearch:
    """The best of the ranks that were tried on some context classes."""

    score: float
    model: FilteredAutomaton  # of that rank
    futures: ContextTrie
    class_counts: Int64s
    evidence: RankEvidence

    def finished(self, held_out: HeldOut) -> Choice:
        """With mixing rates fitted to the end, on states that those before them led to."""
        walk = self.model.walk(held_out.trie)
        steps = Steps.of(self.model, held_out, walk, np.float32)
        model = self.model.with_mixing(steps.fit_rates(self.class_counts, _QUICK_ROUNDS))
        steps = Steps.of(model, held_out, walk, np.float32)
        mixing = steps.fit_rates(self.class_counts, _LAST_ROUNDS)
        left = np.multiply(model.restarts, np.sqrt(self.class_counts)[:, None], dtype=np.float32)
        return Choice(
            (model.backoff.contexts, self.futures),
            model.automaton.n_states,
            left,
            mixing,
            held_out.score_if_held(steps.score(mixing)),
            self.evidence,
        )


def search_ranks(
    counts: ContextCounts, held_out: HeldOut, n_states: int | None, run: Mapper = map
) -> RankSearch:
    """The best rank of all, or (with `n_states`) that one alone."""
    start = np.sqrt(counts.future_counts / counts.future_counts.sum())  # the first vector is known
    solver = partial(quick_svd, start=start[:, None])
    contexts = learn_contexts(counts, max(RANKS) if n_states is None else n_states, solver)
    whole, trials = _behind_filter(contexts), dict[int, tuple[float, Floats]]()
    walk = whole.walk(held_out.trie)

    def score(rank: int) -> float:
        if rank not in trials:
            steps = Steps.of(whole.leading(rank), held_out, walk, np.float32)
            rates = steps.fit_rates(counts.past_counts, _QUICK_ROUNDS)
            trials[rank] = steps.score(rates), rates
        return trials[rank][0]

    if n_states is not None:
        score(contexts.leading(n_states).n_states)  # refuses more than the counts bear
    else:
        known = count_above(contexts.singular_values, context_noise(counts))
        climb_ladder(sorted({min(rank, contexts.n_states) for rank in RANKS}), known, score, run)
    best = max(trials, key=lambda rank: trials[rank][0])
    model = _behind_filter(contexts.leading(best), whole).with_mixing(trials[best][1])
    scores = {rank: found for rank, (found, _) in trials.items()}
    return RankSearch(
        scores[best], model, counts.futures, counts.past_counts, contexts.evidence(scores, best)
    )


def _behind_filter(contexts: ContextModel, like: FilteredAutomaton | None = None) -> FilteredAutomaton:
    backoff = backoff_of(contexts.counts) if like is None else like.backoff
    return behind_filter(contexts.automaton, contexts.mass, backoff, contexts.states)
