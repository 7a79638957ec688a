"""`fast`: spectral operators read through the restart filter.

Everything is counted once, on the finest classes: counts without the held-out strings are a difference,
counts on coarser classes are sums. One decomposition for each number of classes serves all ranks; the
number of classes, the rank and the mixing rates are chosen by held-out likelihood, and the chosen model
is recovered from all counts, its decomposition started from the one before. Counts add up, so a corpus
may come in batches, each forgotten once it is counted: the first one fixes the alphabet and the classes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sigmastar.learning.contexts import choose_classes
from sigmastar.learning.holdout import HeldOut, HeldStrings
from sigmastar.learning.rank_search import (
    Choice,
    Classes,
    FilteredFit,
    Mapper,
    Progress,
    RankSearch,
    search_ranks,
)
from sigmastar.parallel import thread_map
from sigmastar.statistics.context_growth import most_frequent
from sigmastar.statistics.contexts import ContextCounts
from sigmastar.structures.strings import Strings, require_strings

CLASSES = (300, 700, 1500)
_CLOSE = 0.02  # nats a string
_FEW_ENTRIES = 200_000


def learn_fast(
    strings: Strings,
    rng: np.random.Generator,
    n_states: int | None = None,
    n_classes: Sequence[int] = CLASSES,
    progress: Progress | None = None,
) -> FilteredFit:
    """Learn a filtered automaton; `n_states=None` lets held-out strings choose the rank."""
    return ContextBatches.first(strings, rng, n_classes).fit(n_states, progress)


@dataclass(frozen=True, eq=False)
class ContextBatches:
    """Counts on the finest classes in the running, and the strings among them to choose by."""

    counts: ContextCounts
    held: HeldStrings
    classes: tuple[Classes, ...]  # all that are in the running; the last are those of the counts

    @classmethod
    def first(
        cls, strings: Strings, rng: np.random.Generator, n_classes: Sequence[int] = CLASSES
    ) -> ContextBatches:
        require_strings(strings)
        counts = ContextCounts.of(strings, *choose_classes(strings, max(n_classes)))
        coarser = [_coarser_classes(counts, size) for size in sorted(set(n_classes))[:-1]]
        return cls(counts, HeldStrings.chosen(strings, rng), (*coarser, (counts.pasts, counts.futures)))

    def more(self, strings: Strings, rng: np.random.Generator) -> ContextBatches:
        counts = self.counts + ContextCounts.of(strings, self.counts.pasts, self.counts.futures)
        return ContextBatches(counts, self.held.and_of(strings, rng), self.classes)

    def kept_counts(self) -> ContextCounts:
        """The counts without the held-out strings."""
        if self.held.are_counted:
            return self.counts
        return self.counts - ContextCounts.of(self.held.strings, self.counts.pasts, self.counts.futures)

    def fit(self, n_states: int | None = None, progress: Progress | None = None) -> FilteredFit:
        """Choose classes, rank and mixing by the held-out strings, and recover from all counts."""
        say = progress or (lambda _: None)
        choice = self._choose(n_states, say)
        say(f"final fit with {choice.n_states} states")
        return choice.learnt_from(self.counts.coarsened(*choice.classes))

    def _choose(self, n_states: int | None, say: Progress) -> Choice:
        held_out = HeldOut.of(self.held.strings)
        best = max(self._searches(held_out, n_states, say), key=lambda search: search.best.score)
        return best.choice(held_out)

    def _searches(self, held_out: HeldOut, n_states: int | None, say: Progress) -> Iterator[RankSearch]:
        """With fewest and most classes; with numbers between them only where these two are close.

        Side by side where the counts are few, since each number of classes takes room of its own.
        """
        run: Mapper = thread_map if len(self.counts.slice_keys) <= _FEW_ENTRIES else map
        kept, scores = self.kept_counts(), []

        def search(classes: Classes) -> RankSearch:
            say(f"spectral fit on {classes[0].n_classes} context classes")
            return search_ranks(kept.coarsened(*classes), held_out, n_states, run)

        for found in run(search, self.classes[:1] + self.classes[1:][-1:]):
            scores.append(found.best.score)
            yield found
        if max(scores) - min(scores) < _CLOSE:
            yield from run(search, self.classes[1:-1])


def _coarser_classes(counts: ContextCounts, n_classes: int) -> Classes:
    """What `choose_classes` would give for fewer classes."""
    pasts = most_frequent(counts.pasts, counts.past_counts, n_classes)
    return pasts, most_frequent(counts.futures, counts.future_counts, n_classes)
