"""Trials of learners: what each costs and how often it errs, string by string.

Settings are chosen by the error on development strings; the test strings are only looked at for what
was chosen. Rates are errors over gaps, so their intervals resample strings and keep both together.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.metrics import next_symbol_errors
from sigmastar.automata.model.sequence import SequenceModel
from sigmastar.core.intervals import Estimate, PairedComparison, bootstrap, paired_comparison

Array = NDArray[np.float64]
Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Errors:
    """Wrong predictions of the next symbol, and predictions, in each string."""

    wrong: Array
    gaps: Array

    @classmethod
    def of(cls, model: SequenceModel, strings: Strings) -> Errors:
        """The end of a string counts as a symbol."""
        starts = strings.offsets[:-1] + np.arange(len(strings))
        wrong = np.add.reduceat(next_symbol_errors(model, strings).astype(np.float64), starts)
        return cls(wrong, (strings.lengths + 1).astype(np.float64))

    @property
    def rate(self) -> float:
        return float(self.wrong.sum() / self.gaps.sum())

    def interval(self, rng: np.random.Generator) -> Estimate:
        """The rate with its bootstrap interval over strings."""

        def rate(drawn: Array) -> Array:
            chosen = drawn.astype(np.int64)
            return np.asarray(self.wrong[chosen].sum(axis=-1) / self.gaps[chosen].sum(axis=-1))

        return bootstrap(np.arange(len(self.gaps)), rng, rate)

    def against(self, other: Errors, rng: np.random.Generator) -> PairedComparison:
        """The difference in rate on the same strings, this one less the other."""
        scale = len(self.gaps) / self.gaps.sum()
        return paired_comparison(self.wrong * scale, other.wrong * scale, rng)


@dataclass(frozen=True, eq=False)
class Trial:
    """A learner with one setting, and how it did."""

    learner: str
    setting: str
    n_states: int | None
    seconds: float
    model: SequenceModel
    dev: Errors
    test: Errors
    seed: int | None = None


@dataclass(frozen=True, eq=False)
class Split:
    """Strings to learn from, to choose by, and to report on."""

    train: Strings
    dev: Strings
    test: Strings

    def judge(
        self,
        learner: str,
        setting: str,
        n_states: int | None,
        seconds: float,
        model: SequenceModel,
        seed: int | None = None,
    ) -> Trial:
        dev, test = Errors.of(model, self.dev), Errors.of(model, self.test)
        return Trial(learner, setting, n_states, seconds, model, dev, test, seed)


def best_on_dev(trials: Iterable[Trial]) -> Trial:
    """The lowest development error; of equals the first."""
    return min(trials, key=lambda trial: trial.dev.rate)


def timed(function: Callable[[], Result]) -> tuple[Result, float]:
    """What a function gives, and the processor time that it took: other load does not count."""
    start = time.process_time()
    result = function()
    return result, time.process_time() - start
