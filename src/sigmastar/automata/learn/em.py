"""`em`: expectation-maximization from random or spectral starts, the rival that users compare with.

The two halves of a step are those of `learn.em_steps`, the driver is that of `core.em`. Over-relaxed steps
go further than plain ones on the same way, while the likelihood grows (Salakhutdinov and Roweis, 2003).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from sigmastar.automata.counts.on_classes import ContextCounts
from sigmastar.automata.data.strings import Strings, require_known, require_strings
from sigmastar.automata.learn.anchors import anchor_states, to_probabilistic
from sigmastar.automata.learn.context_operators import choose_classes, learn_contexts
from sigmastar.automata.learn.em_steps import (
    ExpectsMoves,
    Maximize,
    MoveCounts,
    laid_out,
    maximize_hmm_smoothed,
    maximize_smoothed,
    normalized,
    random_start,
)
from sigmastar.automata.learn.held_out import HeldOut, hold_out
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.em import (
    Climb,
    Deadline,
    Problem,
    Stopping,
    best_of,
    by_absolute,
    extrapolation,
    iterate,
    relaxed,
    require_seen,
)
from sigmastar.core.errors import InputError
from sigmastar.core.progress import Progress, counted, silent
from sigmastar.core.resources import free_memory, require_memory

if TYPE_CHECKING:  # most corpora are in memory
    from sigmastar.automata.data.corpora import ShardedStrings

Start = Callable[[Strings, int, np.random.Generator], WeightedAutomaton]
AutomatonClimb = Climb[WeightedAutomaton, MoveCounts]

N_CLASSES = 1500
_TABLES = 12  # of all weights: models, counts and steps hold so many at a time
_PRODUCTS_PER_HOUR = 3.6e13  # on one core
_OTHERWISE = ", or method 'fast', which chooses their number"
LAST = 3  # iterations that see all strings


@dataclass(frozen=True, eq=False)
class EMFit:
    """The best automaton of all seeds, and the log-likelihood per string along its way."""

    automaton: WeightedAutomaton
    log_likelihoods: list[float]
    score: float  # that the choice rests on: held-out, or else of the strings that were learnt from
    is_held_out: bool
    n_iterations: int  # of all seeds together

    @property
    def held_out_score(self) -> float | None:
        """None where nothing was held out."""
        return self.score if self.is_held_out else None


def from_chance(strings: Strings, n_states: int, rng: np.random.Generator) -> WeightedAutomaton:
    return random_start(strings.alphabet, n_states, strings, rng)


def from_spectrum(strings: Strings, n_states: int, rng: np.random.Generator) -> WeightedAutomaton:
    counts = ContextCounts.of(strings, *choose_classes(strings, N_CLASSES))
    contexts = learn_contexts(counts, n_states).leading(n_states)
    return to_probabilistic(contexts, anchor_states(contexts))


STARTS: dict[str, Start] = {"random": from_chance, "spectral": from_spectrum}
STRUCTURES: dict[str, Maximize] = {"pfa": maximize_smoothed, "hmm": maximize_hmm_smoothed}


RELAXED = relaxed(
    extrapolation(
        lambda automaton: automaton.arrays, lambda automaton, arrays: normalized(automaton.alphabet, *arrays)
    )
)


def begin_climb(
    corpus: ExpectsMoves,
    held_out: HeldOut | None,
    start: WeightedAutomaton,
    step: Maximize = maximize_smoothed,
) -> AutomatonClimb:
    """An ascent from an automaton, judged by held-out strings where there are any."""
    judge = held_out.mean_log_probability if held_out is not None else None
    problem = em_problem(corpus, step, judge, f"EM with {counted(start.n_states, 'state')}")
    return Climb.begin(problem, start, RELAXED)


def em_problem(
    corpus: ExpectsMoves,
    step: Maximize,
    judge: Callable[[WeightedAutomaton], float] | None = None,
    name: str = "EM",
) -> Problem[WeightedAutomaton, MoveCounts]:
    def expect(automaton: WeightedAutomaton) -> tuple[MoveCounts, float]:
        counts = corpus.expect(automaton)
        return counts, counts.log_likelihood

    return Problem(expect, partial(step, corpus.alphabet), corpus.n_strings, judge, name)


def final_iterations(
    automaton: WeightedAutomaton,
    strings: Strings,
    step: Maximize = maximize_smoothed,
    dtype: type = np.float64,
    device: str = "cpu",
) -> WeightedAutomaton:
    """A few plain iterations on all strings, after some were held out to choose by."""
    corpus = laid_out(strings, automaton.n_states, dtype, device)
    return iterate(em_problem(corpus, step), automaton, LAST)


@dataclass(frozen=True)
class EMSettings:
    """How to climb.

    Parameters
    ----------
    n_seeds, max_iter : int
        Number of ascents, and of the iterations of each at most.
    start, step : callable
        What makes the first automaton, and the second half of an iteration.
    held_out : float
        Share of the strings to stop and to choose by; after the choice a few iterations see all strings.
    dtype : type
        float32 is faster.
    tolerance : float
        Gain per iteration and string, in nats, that is worth going on for.
    time_limit : float or None
        Seconds of processor time after which no further iteration or ascent is begun.
    device : {"cpu", "cuda", "auto"}
        Where expected moves are counted: by compiled kernels, or by PyTorch on a GPU.
    """

    n_seeds: int = 1
    max_iter: int = 100
    start: Start = from_chance
    step: Maximize = maximize_smoothed
    held_out: float = 0.1
    dtype: type = np.float64
    tolerance: float = 1e-4
    time_limit: float | None = None
    device: str = "cpu"


USUAL = EMSettings()


def learn_em(
    strings: Strings,
    n_states: int,
    rng: np.random.Generator,
    settings: EMSettings = USUAL,
    progress: Progress = silent,
) -> EMFit:
    """The best of several ascents by held-out likelihood (by training likelihood where nothing is held out).

    Parameters
    ----------
    strings : Strings
        The corpus.
    n_states : int
        Number of states.
    rng : Generator
        Source of starts and of the held-out strings.
    settings : EMSettings
        How to climb.
    progress : callable
        Told of every iteration.

    Returns
    -------
    EMFit
        The automaton and the way to it.
    """
    if n_states < 1:
        raise ValueError(f"n_states={n_states}: an automaton has at least one state")
    refuse_beyond_limits(strings, n_states, np.dtype(settings.dtype).itemsize)
    kept, held = hold_out(require_known(require_strings(strings)), rng, settings.held_out)
    corpus = laid_out(kept, n_states, settings.dtype, settings.device)
    judge = HeldOut.of(held) if held.is_held else None
    fit = best_climb(corpus, judge, lambda: settings.start(kept, n_states, rng), settings, progress)
    if judge is None:
        return fit
    automaton = final_iterations(fit.automaton, strings, settings.step, settings.dtype, settings.device)
    return replace(fit, automaton=automaton)


def best_climb(
    corpus: ExpectsMoves,
    held_out: HeldOut | None,
    start: Callable[[], WeightedAutomaton],
    settings: EMSettings,
    progress: Progress,
) -> EMFit:
    """The best of several ascents on what is learnt from; every call of `start` begins another one."""
    deadline = None if settings.time_limit is None else Deadline.after(settings.time_limit)
    stopping = Stopping(by_absolute(settings.tolerance))

    def climbs() -> Iterator[AutomatonClimb]:
        for _ in range(settings.n_seeds):
            climb = begin_climb(corpus, held_out, start(), settings.step)
            yield climb.run(settings.max_iter, stopping, deadline, progress)

    seeds = best_of(climbs(), deadline)
    best, logs = seeds.best, list(seeds.best.log_likelihoods)
    return EMFit(best.best, logs, best.score, held_out is not None, seeds.n_iterations)


def refuse_beyond_limits(strings: Strings | ShardedStrings, n_states: int, n_bytes: int) -> None:
    """Tables that would fill the memory, iterations that would take hours, and states that nothing tells."""
    n_symbols = max(len(strings.alphabet), 1)
    per_square = float(_TABLES * n_symbols * n_bytes)
    hours_per_square = 3.0 * strings.n_gaps / _PRODUCTS_PER_HOUR
    most = int(np.sqrt(min(max(free_memory(), 0) / per_square, 1.0 / max(hours_per_square, 1e-300))))
    work = f"EM with {n_states} states over {n_symbols} symbols"
    remedy = f"use at most {max(most, 1)} states{_OTHERWISE}"
    require_seen(n_states, n_symbols, strings.n_gaps, work, _OTHERWISE)
    require_memory(per_square * n_states**2, work, remedy)
    if hours_per_square * n_states**2 > 1.0:
        raise InputError(f"{work} needs {hours_per_square * n_states**2:.1f} hours per iteration; {remedy}")
