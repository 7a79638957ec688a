"""What the experiment with PoS tags tried, and what development data chose of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sigmastar.reproduce.sweeps import Sweep
from sigmastar.reproduce.trials import Split, Trial, best_on_dev

UNIGRAM, BIGRAM, EM = "unigram", "bigram", "EM"
STRING, SUBSTRING = "spectral, string", "spectral, substring"
FILTERED = "spectral, substring, filtered"


@dataclass(frozen=True, eq=False)
class Found:
    """Everything that was tried."""

    split: Split
    ngrams: list[Trial]  # by order, from 1
    sweeps: dict[tuple[str, str], Sweep]  # by learner and setting
    spectral: list[Trial]
    em: list[Trial]
    others: list[Trial]

    @property
    def bigram(self) -> Trial:
        return self.ngrams[1]

    def of(self, learner: str) -> list[Trial]:
        return [trial for trial in (*self.spectral, *self.em, *self.others) if trial.learner == learner]

    def chosen(self, learner: str) -> Trial:
        """The setting of a learner that errs least on the development strings."""
        return best_on_dev(self.of(learner))

    def curve(self, learner: str, setting: str | None = None) -> list[Trial]:
        """All sizes of one setting of a spectral learner, the one chosen if none is named."""
        setting = setting or self.chosen(learner).setting
        return [trial for trial in self.of(learner) if trial.setting == setting]

    def rows(self) -> Iterator[Trial]:
        """One trial a learner, as development data chose them."""
        yield from self.ngrams[:2]
        yield best_on_dev(self.ngrams[2:])
        yield from (self.chosen(learner) for learner in (STRING, SUBSTRING, EM))
        yield from self.others

    def em_sizes(self) -> list[list[Trial]]:
        """The starts of EM, one list a number of states."""
        sizes = dict.fromkeys(trial.n_states for trial in self.em)
        return [[trial for trial in self.em if trial.n_states == size] for size in sizes]

    def em_seconds(self, n_states: int) -> float:
        """One ascent of EM with so many states, between those that were run."""
        points = [(runs[0].n_states or 0, np.mean([t.seconds for t in runs])) for runs in self.em_sizes()]
        sizes, seconds = zip(*points, strict=True)
        return float(np.interp(n_states, sizes, seconds))
