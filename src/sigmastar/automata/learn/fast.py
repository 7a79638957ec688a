"""`fast`: spectral operators read through the restart filter.

Everything is counted once, on the finest classes: counts without the held-out strings are a difference,
counts on coarser classes are sums. One decomposition for each number of classes serves all ranks; the
number of classes, the rank and the mixing rates are chosen by held-out likelihood (of two numbers of
classes where both have something to say: see `pairing`), and the chosen model is recovered from all counts,
its decomposition started from the one before. Counts add up, so a corpus may come in batches, each
forgotten once it is counted: the first one fixes the alphabet and the classes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sigmastar.automata.counts.context_growth import most_frequent
from sigmastar.automata.counts.on_classes import ContextCounts
from sigmastar.automata.data.strings import Strings, require_strings
from sigmastar.automata.learn.context_model import choose_classes
from sigmastar.automata.learn.held_strings import HeldOut, HeldStrings
from sigmastar.automata.learn.rank_search import Classes, Mapper, Progress, RankSearch, search_ranks
from sigmastar.automata.learn.two_resolutions import Choice, FilteredFit, choose, leading
from sigmastar.core.parallel import thread_map

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
    batches = ContextBatches.first(strings, rng, n_classes)
    choice, run = batches.choose(n_states, progress), batches.run
    counts = batches.all_counts()
    del batches  # they take as much room again
    return choice.learnt_from(counts.coarsened(*choice.classes), run)


@dataclass(frozen=True, eq=False)
class ContextBatches:
    """Counts on the finest classes in the running, and strings apart from them to choose by."""

    kept: ContextCounts  # without the strings to choose by: only at the end are all counts needed
    held: HeldStrings
    classes: tuple[Classes, ...]  # all that are in the running; the last are those of the counts

    @classmethod
    def first(
        cls, strings: Strings, rng: np.random.Generator, n_classes: Sequence[int] = CLASSES
    ) -> ContextBatches:
        require_strings(strings)
        return cls.judged_by(HeldStrings.chosen(strings, rng), strings, n_classes)

    @classmethod
    def judged_by(
        cls, held: HeldStrings, strings: Strings, n_classes: Sequence[int] = CLASSES
    ) -> ContextBatches:
        """Counts of a corpus without some of its strings, which are held out."""
        counts = ContextCounts.of(strings, *choose_classes(strings, max(n_classes)))
        coarser = [_coarser_classes(counts, size) for size in sorted(set(n_classes))[:-1]]
        return cls._apart(counts, held, (*coarser, (counts.pasts, counts.futures)))

    @classmethod
    def _apart(cls, counts: ContextCounts, held: HeldStrings, classes: tuple[Classes, ...]) -> ContextBatches:
        if not held.are_counted:
            counts = counts - ContextCounts.of(held.strings, counts.pasts, counts.futures)
        return cls(counts, held, classes)

    def more(self, strings: Strings, rng: np.random.Generator) -> ContextBatches:
        counts = self.all_counts() + ContextCounts.of(strings, self.kept.pasts, self.kept.futures)
        return self._apart(counts, self.held.and_of(strings, rng), self.classes)

    def all_counts(self) -> ContextCounts:
        if self.held.are_counted:
            return self.kept
        return self.kept + ContextCounts.of(self.held.strings, self.kept.pasts, self.kept.futures)

    @property
    def run(self) -> Mapper:
        """Side by side where the counts are few, since each number of classes takes room of its own."""
        return thread_map if len(self.kept.slice_keys) <= _FEW_ENTRIES else map

    def fit(self, n_states: int | None = None, progress: Progress | None = None) -> FilteredFit:
        """Choose by the held-out strings, and recover from all counts."""
        choice = self.choose(n_states, progress)
        return choice.learnt_from(self.all_counts().coarsened(*choice.classes), self.run)

    def choose(self, n_states: int | None = None, progress: Progress | None = None) -> Choice:
        """Classes, rank and mixing by the held-out strings."""
        say, held_out = progress or (lambda _: None), HeldOut.of(self.held.strings)
        n_parts = 2 if n_states is None else 1  # exactly so many states
        choice = choose(leading(self._searches(held_out, n_states, say), n_parts), held_out)
        say(f"final fit with {' + '.join(str(part.n_states) for part in choice.parts)} states")
        return choice

    def _searches(self, held_out: HeldOut, n_states: int | None, say: Progress) -> Iterator[RankSearch]:
        """With fewest and most classes; with numbers between them only where these two are close."""
        run = self.run
        scores = []

        def search(classes: Classes) -> RankSearch:
            say(f"spectral fit on {classes[0].n_classes} context classes")
            return search_ranks(self.kept.coarsened(*classes), held_out, n_states, run)

        for found in run(search, self.classes[:1] + self.classes[1:][-1:]):
            scores.append(found.best.score)
            yield found
        if max(scores) - min(scores) < _CLOSE:
            yield from run(search, self.classes[1:-1])


def _coarser_classes(counts: ContextCounts, n_classes: int) -> Classes:
    """What `choose_classes` would give for fewer classes."""
    pasts = most_frequent(counts.pasts, counts.past_counts, n_classes)
    return pasts, most_frequent(counts.futures, counts.future_counts, n_classes)
