"""`em`: expectation-maximisation from random or spectral starts, the rival that users compare with."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from sigmastar.automata.counts.on_classes import ContextCounts
from sigmastar.automata.data.strings import Strings, require_known, require_strings
from sigmastar.automata.learn.anchors import anchor_states, to_probabilistic
from sigmastar.automata.learn.context_model import choose_classes, learn_contexts
from sigmastar.automata.learn.em_driver import Climb, Progress, last_look
from sigmastar.automata.learn.em_steps import (
    EMCorpus,
    Maximize,
    maximize_hmm_smoothed,
    maximize_smoothed,
    random_start,
)
from sigmastar.automata.learn.held_strings import HeldOut, hold_out
from sigmastar.automata.model.automaton import WeightedAutomaton

Start = Callable[[Strings, int, np.random.Generator], WeightedAutomaton]

N_CLASSES = 1500


@dataclass(frozen=True, eq=False)
class EMFit:
    """The best automaton of all seeds, and the log-likelihood a string along its way."""

    automaton: WeightedAutomaton
    log_likelihoods: list[float]
    held_out_score: float
    n_iterations: int  # of all seeds together


def from_chance(strings: Strings, n_states: int, rng: np.random.Generator) -> WeightedAutomaton:
    return random_start(strings.alphabet, n_states, strings, rng)


def from_spectrum(strings: Strings, n_states: int, rng: np.random.Generator) -> WeightedAutomaton:
    counts = ContextCounts.of(strings, *choose_classes(strings, N_CLASSES))
    contexts = learn_contexts(counts, n_states).leading(n_states)
    return to_probabilistic(contexts, anchor_states(contexts))


STARTS: dict[str, Start] = {"random": from_chance, "spectral": from_spectrum}
STRUCTURES: dict[str, Maximize] = {"pfa": maximize_smoothed, "hmm": maximize_hmm_smoothed}


def learn_em(
    strings: Strings,
    n_states: int,
    rng: np.random.Generator,
    *,
    n_seeds: int = 1,
    n_iterations: int = 100,
    start: Start = from_chance,
    step: Maximize = maximize_smoothed,
    held_out: float = 0.1,
    dtype: type = np.float64,
    tolerance: float = 1e-4,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> EMFit:
    """The best of `n_seeds` ascents by held-out likelihood (by training likelihood if `held_out` is 0).

    After the choice a last few iterations see the held-out strings too.
    With a `time_limit` in seconds, seeds are started until it is over, at least one and at most `n_seeds`.
    """
    if n_states < 1:
        raise ValueError(f"n_states={n_states}: an automaton has at least one state")
    require_known(require_strings(strings))
    share = held_out if len(strings) > 1 else 0.0
    kept, held = hold_out(strings, rng, share) if share else (strings, None)
    corpus = EMCorpus(kept, n_states, dtype)
    ending = HeldOut.of(held) if held is not None else None
    deadline = None if time_limit is None else time.monotonic() + time_limit
    climbs = [
        Climb(corpus, ending, start(kept, n_states, rng), step).run(
            n_iterations, tolerance, deadline, progress
        )
        for _ in _seeds(n_seeds, deadline)
    ]
    best = max(climbs, key=lambda climb: climb.best_score)
    automaton = best.best if held is None else last_look(best.best, strings, step, dtype)
    return EMFit(
        automaton, best.log_likelihoods, best.best_score, sum(climb.n_iterations for climb in climbs)
    )


def _seeds(n_seeds: int, deadline: float | None) -> Iterator[int]:
    for seed in range(n_seeds):
        if seed and deadline is not None and time.monotonic() > deadline:
            return
        yield seed
