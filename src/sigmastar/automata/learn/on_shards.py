"""`fast` and `em` on corpora that are larger than memory. Ideas as of `learn.fast` and `learn.em`.

Both need no more of a corpus than sums over its strings: counts of steps, or expected moves of an automaton.
These are taken shard by shard, on whatever engine. Strings to choose by and strings that show which contexts
are frequent are read where they lie. What is learned is what the same strings in memory give.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sigmastar.automata.counts.on_shards import (
    BUDGET,
    Classes,
    Place,
    StepCounts,
    count_shards,
    count_steps,
    with_gaps,
    without,
)
from sigmastar.automata.data.corpora import ShardedStrings
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.learn.context_operators import choose_classes
from sigmastar.automata.learn.em import (
    LAST,
    USUAL,
    EMFit,
    EMSettings,
    best_climb,
    em_problem,
    refuse_beyond_limits,
)
from sigmastar.automata.learn.em_steps import EMCorpus, MoveCounts
from sigmastar.automata.learn.fast import CLASSES, ContextBatches, FilteredFit, coarser_classes
from sigmastar.automata.learn.held_out import FEW, Held, HeldOut
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Int64s
from sigmastar.core.em import iterate
from sigmastar.core.engines import Engine, Here
from sigmastar.core.held_out import SHARE, n_held, split
from sigmastar.core.ledger import Ledger
from sigmastar.core.model_format import hash_arrays
from sigmastar.core.progress import Progress, silent, stage

_MANY = 1 << 24  # strings, of which no order is drawn any more
_SAMPLE_GAPS = 1 << 20  # of strings that a start of EM is made from
TASK_GAPS = 1 << 21  # of a task of EM; corpora of a single one are laid out in memory
_EM_GAPS = 1 << 19  # of the strings that EM has in memory at a time


@dataclass(frozen=True)
class Plan:
    """Where and within what memory shards are counted.

    Parameters
    ----------
    engine : Engine
        Where tasks run.
    budget : int
        Bytes that tables may take.
    ledger : Path or None
        Folder where finished shards are noted.
    """

    engine: Engine = field(default_factory=Here)
    budget: int = BUDGET
    ledger: Path | None = None


def can_be_sharded(strings: ShardedStrings) -> bool:
    """Whether strings are held out by their numbers: a few long strings are cut instead, in memory."""
    return len(strings) >= FEW


def learn_fast_on_shards(
    strings: ShardedStrings,
    rng: np.random.Generator,
    n_states: int | None = None,
    n_classes: Sequence[int] = CLASSES,
    plan: Plan = Plan(),  # noqa: B008 - it is frozen
    progress: Progress = silent,
) -> tuple[FilteredFit, Int64s]:
    """Learn a filtered automaton from a corpus on disk.

    Parameters
    ----------
    strings : ShardedStrings
        The corpus.
    rng, n_states, n_classes
        As of `learn_fast`.
    plan : Plan
        Where and within what memory shards are counted.
    progress : callable
        Told what is being done.

    Returns
    -------
    tuple of FilteredFit and array
        The fit, and how many entries of tables and steps in them were pruned.
    """
    counted = count_for_fast(strings, held_numbers(len(strings), rng), n_classes, plan, progress)
    choice = counted.batches.choose(n_states, stage(progress, 0.7, 0.95))
    fit = choice.learnt_from(counted.batches.all_counts())
    counted.close()
    return fit, counted.lost


class Counted(NamedTuple):
    """What `fast` learns from, how many entries of tables and steps in them were pruned, and the ledger."""

    batches: ContextBatches
    lost: Int64s
    ledger: Ledger | None

    def close(self) -> None:
        """Forget what finished shards gave: the job is done."""
        if self.ledger is not None:
            self.ledger.close()


def count_for_fast(
    strings: ShardedStrings, held: Int64s, n_classes: Sequence[int], plan: Plan, progress: Progress = silent
) -> Counted:
    """Counts on classes of contexts, and the strings of some numbers to choose by."""
    classes = choose_classes(strings, max(n_classes))
    read_as = "" if strings.class_of is None else hash_arrays(strings.class_of)
    sizes = f"{classes[0].n_classes} {classes[1].n_classes} {plan.budget}"
    job = f"{strings.corpus.manifest.digest} {read_as} {sizes}"
    ledger = None if plan.ledger is None else Ledger(plan.ledger, job)
    found = count_shards(strings, classes, plan.engine, plan.budget, ledger, stage(progress, 0.0, 0.7))
    judges = Held.whole(strings.select(held))
    return Counted(_batches(found, judges, strings.alphabet_like, classes, n_classes), found.lost, ledger)


def held_numbers(n_strings: int, rng: np.random.Generator, share: float = SHARE) -> Int64s:
    """The numbers of strings to choose by; of very many they are drawn without an order of all."""
    if n_strings <= _MANY:
        found = split(n_strings, rng, share)
        return np.zeros(0, np.int64) if found is None else found.held
    return np.sort(rng.choice(n_strings, n_held(n_strings, share), replace=False, shuffle=False))


def _batches(
    found: StepCounts, held: Held, like: Strings, classes: Classes, n_classes: Sequence[int]
) -> ContextBatches:
    whole = with_gaps(found, like, classes)
    coarser = [coarser_classes(whole, size) for size in sorted(set(n_classes))[:-1]]
    del whole
    kept = with_gaps(without(found, count_steps(held.strings, classes)), like, classes)
    return ContextBatches(kept, None, held, (*coarser, classes))


@dataclass(frozen=True, eq=False)
class ShardedEMCorpus:
    """A corpus on disk for EM: expected moves are counted shard by shard, some strings at a time."""

    strings: ShardedStrings
    held: Int64s  # numbers of strings that are not learnt from
    engine: Engine
    dtype: type = np.float64

    @property
    def alphabet(self) -> Alphabet:
        return self.strings.alphabet

    @property
    def n_strings(self) -> int:
        return len(self.strings) - len(self.held)

    def expect(self, automaton: WeightedAutomaton) -> MoveCounts:
        """Expected moves of an automaton on all strings but those held out."""
        task = partial(_expect, Place.of(self.strings), automaton, self.held, self.dtype)
        return self.engine.run(task, self.strings.parts(TASK_GAPS), _plus)


def learn_em_on_shards(
    strings: ShardedStrings,
    n_states: int,
    rng: np.random.Generator,
    settings: EMSettings = USUAL,
    engine: Engine = Here(),  # noqa: B008 - it holds nothing
    progress: Progress = silent,
) -> EMFit:
    """The best of several ascents on a corpus on disk; starts are made from some of its strings.

    Parameters
    ----------
    strings : ShardedStrings
        The corpus.
    n_states, rng, settings
        As of `learn_em`.
    engine : Engine
        Where expected moves are counted.
    progress : callable
        Told of every iteration.

    Returns
    -------
    EMFit
        The automaton and the way to it.
    """
    refuse_beyond_limits(strings, n_states, np.dtype(settings.dtype).itemsize)
    held = held_numbers(len(strings), rng, settings.held_out)
    judge = HeldOut.of(Held.whole(strings.select(held))) if len(held) else None
    corpus = ShardedEMCorpus(strings, held, engine, settings.dtype)
    sample = _sample(strings, held)
    fit = best_climb(corpus, judge, lambda: settings.start(sample, n_states, rng), settings, progress)
    if judge is None:
        return fit
    whole = ShardedEMCorpus(strings, held[:0], engine, settings.dtype)
    return replace(fit, automaton=iterate(em_problem(whole, settings.step), fit.automaton, LAST))


def _sample(strings: ShardedStrings, held: Int64s) -> Strings:
    """Some strings from everywhere, none of them held out."""
    every = max(1, strings.n_gaps // _SAMPLE_GAPS)
    return strings.select(np.setdiff1d(np.arange(0, len(strings), every), held))


def _plus(first: MoveCounts, second: MoveCounts) -> MoveCounts:
    return first + second


def _expect(
    place: Place,
    automaton: WeightedAutomaton,
    held: Int64s,
    dtype: type,
    part: tuple[int, int, int],
) -> MoveCounts:
    kept = place.strings.part(*part, held)
    n = automaton.n_states
    total = MoveCounts(0.0, np.zeros(n), np.zeros((len(automaton.alphabet), n, n)), np.zeros(n))
    for piece in kept.pieces(_EM_GAPS):
        total += EMCorpus(piece, n, dtype).expect(automaton)
    return total
