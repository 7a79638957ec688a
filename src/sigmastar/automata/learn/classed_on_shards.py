"""`fast` over classes of symbols, of corpora that are larger than memory. Ideas as of `learn.classed`.

Neighbours of symbols and the steps of strings of classes are counted shard by shard. The trigrams that are
mixed in know the corpus by strings from everywhere in it, as many as are laid out in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from sigmastar.automata.counts.on_shards import Place
from sigmastar.automata.data.corpora import ShardedStrings
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.learn.classed import (
    N_CLASSES,
    ORDER,
    ClassedFit,
    Numbers,
    classes_of,
    weighed,
    with_shares,
)
from sigmastar.automata.learn.fast import CLASSES
from sigmastar.automata.learn.held_out import Held
from sigmastar.automata.learn.ngram import learn_ngram
from sigmastar.automata.learn.on_shards import Plan, count_for_fast, held_numbers
from sigmastar.automata.model.classed import ClassedAutomaton
from sigmastar.automata.model.ngram_smoothing import modified_kneser_ney
from sigmastar.core.arrays import Int64s
from sigmastar.core.progress import Progress, silent, stage
from sigmastar.corpus.ngrams import NgramCounts, merged

_TASK_GAPS = 1 << 22  # of a task that counts neighbours, which are sorted


def learn_classed_on_shards(
    strings: ShardedStrings,
    rng: np.random.Generator,
    most_gaps: int,
    n_states: int | None = None,
    n_classes: Sequence[int] = CLASSES,
    plan: Plan = Plan(),  # noqa: B008 - it is frozen
    progress: Progress = silent,
) -> tuple[ClassedFit, Int64s]:
    """Learn an automaton over classes of symbols from a corpus on disk, with n-grams mixed in.

    Parameters
    ----------
    strings, rng, n_states, n_classes, plan, progress
        As of `learn_fast_on_shards`; the source of chance finds the classes too.
    most_gaps : int
        Number of symbols and ends that n-grams are counted from, at most.

    Returns
    -------
    tuple of ClassedFit and array
        As of `learn_fast_on_shards`.
    """
    numbers = held_numbers(len(strings), rng)
    held = Held.whole(strings.select(numbers))
    counts = np.array([count for _, count in strings.corpus.vocabulary()], np.int64)
    kept_counts = np.maximum(counts - np.bincount(held.strings.codes, minlength=len(counts)), 0)
    progress("classes of symbols", 0.0)
    placed = Numbers.of(kept_counts)
    pairs = _neighbours(strings, numbers, placed, plan, stage(progress, 0.0, 0.3))
    symbols = classes_of(strings.alphabet, kept_counts, placed, pairs[:2], N_CLASSES, rng)
    del pairs
    classed = ShardedStrings(strings.corpus, symbols.class_of)
    counted = count_for_fast(classed, numbers, n_classes, plan, stage(progress, 0.3, 0.7))
    choice = counted.batches.choose(n_states, stage(progress, 0.7, 0.8))
    progress("n-grams", 0.8)
    ngram = learn_ngram(_spread(strings, numbers, most_gaps), ORDER, modified_kneser_ney)
    kept = choice.learnt_from(counted.batches.kept)
    rates, score = weighed(ClassedAutomaton(symbols, kept.model, ngram, np.zeros(0)), held)
    inner = choice.learnt_from(counted.batches.all_counts())
    counted.close()
    symbols = with_shares(strings.alphabet, counts, symbols.class_of)
    return ClassedFit(ClassedAutomaton(symbols, inner.model, ngram, rates), inner, score), counted.lost


def _neighbours(
    strings: ShardedStrings, held: Int64s, numbers: Numbers, plan: Plan, progress: Progress
) -> NgramCounts:
    """How often symbols stand beside each other, ends counted, in strings that are not held out."""
    task = partial(_count_part, Place.of(strings), held, numbers)
    parts, merge = strings.parts(_TASK_GAPS), partial(merged, budget=plan.budget)
    found: NgramCounts = plan.engine.run(task, parts, merge, progress)
    return found


def _count_part(place: Place, held: Int64s, numbers: Numbers, part: tuple[int, int, int]) -> NgramCounts:
    return NgramCounts(*numbers.neighbours(place.strings.part(*part, held)), np.zeros(2, np.int64))


def _spread(strings: ShardedStrings, held: Int64s, most_gaps: int) -> Strings:
    """Strings from everywhere, of about so many gaps, none of them held out."""
    n_strings = int(min(most_gaps / strings.n_gaps, 1.0) * len(strings))
    return strings.select(np.setdiff1d(np.linspace(0, len(strings) - 1, n_strings).astype(np.int64), held))
