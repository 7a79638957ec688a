"""`fast`: spectral operators read through the restart filter. Of the two ideas it is the first, `recover`.

Everything is counted once, on the finest classes: counts without the held-out strings are a difference,
counts on coarser classes are sums. One decomposition per number of classes serves all ranks. A search starts
from the number of correlations above the noise, where the best rank nearly always is, and follows held-out
likelihood on a ladder of ranks (`core.rank.climb_ladder`). The number of classes and the rank with the best
likelihood are recovered again from all counts, the decomposition started from the one before, with mixing
rates tuned to the end; `restart_filter` has the ways in which that is done. Counts add up, so a corpus may
come in batches, each forgotten once it is counted: the first one fixes the alphabet and the classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sigmastar.automata.counts.on_classes import ContextCounts
from sigmastar.automata.data.contexts import most_frequent
from sigmastar.automata.data.strings import Strings, require_strings
from sigmastar.automata.learn.context_model import choose_classes
from sigmastar.automata.learn.held_out import Held, HeldOut, hold_out
from sigmastar.automata.learn.restart_filter import (
    Choice,
    Classes,
    FilteredFit,
    Lead,
    or_contexts_alone,
    search_ranks,
)
from sigmastar.core.progress import Progress, silent
from sigmastar.core.resources import Mapper, thread_map

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

        def search(classes: Classes) -> tuple[Lead, Lead]:
            progress(f"spectral fit on {classes[0].n_classes} context classes")
            return search_ranks(self.kept.coarsened(*classes), held_out, n_states, run)

        searches: list[tuple[Lead, Lead]] = list(run(search, self.classes))
        leads = [max(found, key=lambda lead: lead.score) for found in zip(*searches, strict=True)]
        choices: list[Choice] = [lead.finished(held_out) for lead in leads]
        best = max(choices, key=lambda choice: choice.score)
        return best if n_states is not None else or_contexts_alone(best, self.kept, held_out)


def _counts_like(counts: ContextCounts, strings: Strings) -> ContextCounts:
    return ContextCounts.of(strings, counts.pasts, counts.futures)


def coarser_classes(counts: ContextCounts, n_classes: int) -> Classes:
    """What `choose_classes` would give for fewer classes."""
    pasts = most_frequent(counts.pasts, counts.past_counts, n_classes)
    return pasts, most_frequent(counts.futures, counts.future_counts, n_classes)
