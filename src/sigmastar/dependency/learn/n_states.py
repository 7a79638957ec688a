"""How many states each head automaton should have: as many as held-out modifiers are most probable with.

    n(sort) = argmax over candidates n of sum over held-out sequences x of the sort of log P_n(x | sort)

A fifth of all sequences is held out, and every candidate is learned from the rest. Fewer states win
ties. The amount of data stays a bound (`state_limits`): the numbers found here are what a learner may use.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sigmastar.core.arrays import Floats, Int64s
from sigmastar.core.progress import Progress, silent
from sigmastar.dependency.data.sequences import WeightedSequences
from sigmastar.dependency.model.head_automata import HeadAutomata

Learner = Callable[[WeightedSequences, "int | Int64s", np.random.Generator], HeadAutomata]

CANDIDATES = (1, 2, 3, 5, 7, 10, 14)
_SHARE = 0.2  # held out
_LEAST_LOG = -50.0  # of a sequence to which signed automata give nothing


def choose_states(
    sequences: WeightedSequences,
    learner: Learner,
    rng: np.random.Generator,
    candidates: tuple[int, ...] = CANDIDATES,
    progress: Progress = silent,
) -> Int64s:
    """The best number of states of every sort."""
    scores = held_out_scores(sequences, learner, rng, candidates, progress)
    best: Int64s = np.array(candidates, dtype=np.int64)[np.argmax(scores, axis=0)]
    return best


def held_out_scores(
    sequences: WeightedSequences,
    learner: Learner,
    rng: np.random.Generator,
    candidates: tuple[int, ...],
    progress: Progress = silent,
) -> Floats:
    """The log-likelihood of what is held out, for every candidate and sort."""
    held = rng.binomial(sequences.counts.astype(np.int64), _SHARE).astype(np.float64)
    seen, unseen = sequences.with_counts(sequences.counts - held), sequences.with_counts(held)
    scores = []
    for number, n in enumerate(candidates):
        progress(f"number of states: {n}", number / len(candidates))
        scores.append(_scores(learner(seen, n, rng), unseen))
    return np.array(scores)


def _scores(automata: HeadAutomata, sequences: WeightedSequences) -> Floats:
    logs = np.maximum(automata.log_probability(sequences), _LEAST_LOG)
    return np.bincount(
        sequences.sort_of_sequence, sequences.counts * logs, minlength=sequences.n_sorts
    ).astype(np.float64)
