"""Trials of learners of next PoS tags: what was tried, what each costs, and how often it errs.

Settings are chosen by the error on development strings; the test strings are only looked at for what was
chosen. Rates are errors over gaps, so their intervals resample strings and keep both together.

Spectral automata of every size come from one decomposition (`Sweep`): with H ~ U S V^T the operators are
A_a = S^-1 U^T H_a V, and those of the first n triples are the leading n x n blocks of those of all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sigmastar.automata.counts.bases import Basis, Statistic
from sigmastar.automata.counts.on_basis import StringCounts, count_strings
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.learn.spectral import TO_STRING
from sigmastar.automata.metrics import next_symbol_errors
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.sequence import SequenceModel
from sigmastar.core.arrays import Floats
from sigmastar.core.factors import factorize_up_to
from sigmastar.core.intervals import Estimate, PairedComparison, bootstrap, paired_comparison
from sigmastar.core.recover import recover
from sigmastar.reproduce.result import timed

UNIGRAM, BIGRAM, EM = "unigram", "bigram", "EM"
STRING, SUBSTRING = "spectral, string", "spectral, substring"
FILTERED = "spectral, substring, filtered"


@dataclass(frozen=True, eq=False)
class Errors:
    """Wrong predictions of the next symbol, and predictions, in each string."""

    wrong: Floats
    gaps: Floats

    @classmethod
    def of(cls, model: SequenceModel, strings: Strings) -> Errors:
        """The end of a string counts as a symbol."""
        starts = strings.offsets[:-1] + np.arange(len(strings))
        wrong = np.add.reduceat(next_symbol_errors(model, strings).astype(np.float64), starts)
        return cls(wrong, (strings.lengths + 1).astype(np.float64))

    @classmethod
    def pooled(cls, several: Sequence[Errors]) -> Errors:
        """Of several models on the same strings, string by string."""
        return cls(
            np.sum([one.wrong for one in several], axis=0), np.sum([one.gaps for one in several], axis=0)
        )

    @property
    def rate(self) -> float:
        return float(self.wrong.sum() / self.gaps.sum())

    def interval(self, rng: np.random.Generator) -> Estimate:
        """The rate with its bootstrap interval over strings."""

        def rate(drawn: Floats) -> Floats:
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


@dataclass(frozen=True, eq=False)
class Sweep:
    """The function of a statistic with the most states, and what it took."""

    statistic: Statistic
    shape: tuple[int, int]
    largest: WeightedAutomaton
    share_counted: float  # of the gaps of the sample, those that the block holds
    counting_seconds: float
    seconds: float  # choosing the basis and counting included

    @classmethod
    def of(
        cls, strings: Strings, choose: Callable[[], Basis], statistic: Statistic, most_states: int
    ) -> Sweep:
        basis, choosing = timed(choose)
        counts, counting = timed(lambda: count_strings(strings, basis, statistic))
        largest, rest = timed(lambda: _recovered(counts, most_states))
        share = float(counts.gaps.counts.sum()) / strings.n_gaps
        return cls(statistic, basis.shape, largest, share, counting, choosing + counting + rest)

    def automaton(self, n_states: int) -> WeightedAutomaton:
        """The string function with fewer states."""
        n, whole = n_states, self.largest
        part = WeightedAutomaton(
            whole.alphabet, whole.initial[:n], whole.transitions[:, :n, :n], whole.final[:n]
        )
        return TO_STRING[self.statistic](part)

    def trials(self, split: Split, learner: str, setting: str, sizes: Sequence[int]) -> list[Trial]:
        """One per size, as far as the rank of the block goes."""
        found = []
        for n_states in sizes:
            if n_states <= self.largest.n_states:
                try:
                    model = self.automaton(n_states)
                    found.append(split.judge(learner, setting, n_states, self.seconds, model))
                except (ValueError, np.linalg.LinAlgError):  # I - A is singular: nothing to predict by
                    continue
        return found


def _recovered(counts: StringCounts, most_states: int) -> WeightedAutomaton:
    blocks = counts.blocks()
    factors = factorize_up_to(blocks.matrices["string"], most_states)
    return WeightedAutomaton.of_operators(recover(blocks, {"string": factors}))


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
        """One trial per learner, as development data chose them."""
        yield from self.ngrams[:2]
        yield best_on_dev(self.ngrams[2:])
        yield from (self.chosen(learner) for learner in (STRING, SUBSTRING, EM))
        yield from self.others

    def em_sizes(self) -> list[list[Trial]]:
        """The starts of EM, one list per number of states."""
        sizes = dict.fromkeys(trial.n_states for trial in self.em)
        return [[trial for trial in self.em if trial.n_states == size] for size in sizes]

    def em_seconds(self, n_states: int) -> float:
        """One ascent of EM with so many states, between those that were run."""
        points = [(runs[0].n_states or 0, np.mean([t.seconds for t in runs])) for runs in self.em_sizes()]
        sizes, seconds = zip(*points, strict=True)
        return float(np.interp(n_states, sizes, seconds))
