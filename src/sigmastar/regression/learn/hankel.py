"""A weighted automaton from values of some strings: complete, extract, refine.

    observations -> completed Hankel matrix (nuclear norm) -> automaton (shifts) -> refined automaton (L-BFGS)

The nuclear norm alone shrinks what it completes; as a start it leads the refinement to the automaton that
fits. Several starts (penalties, and disturbed copies) race for a tenth of the steps and the best two go on
(`core.race`): an automaton of the right size that fits noiseless data exactly is the one that made them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import NamedTuple

import numpy as np

from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.arrays import Floats
from sigmastar.core.held_out import split
from sigmastar.core.progress import Progress, silent
from sigmastar.core.race import Leg, leading, race, winner
from sigmastar.core.time_estimates import seconds_of
from sigmastar.optimise.completers import COMPLETERS, bounded
from sigmastar.optimise.completion import Completer, Completion, CompletionSettings
from sigmastar.optimise.solvers import SolverStep
from sigmastar.regression.counts import MOST_ENTRIES, HankelEntries
from sigmastar.regression.data import Observations
from sigmastar.regression.learn.completion import HankelLoss, automaton_of_factors
from sigmastar.regression.learn.refinement import Refined, Refinement, TrieObjective

CANDIDATES = (1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20)
"""Numbers of states that are tried where none is given."""
EXACT = 1e-18
"""A mean cost this small, relative to that of the zero function, is a fit without error."""
HELD_OUT = 0.2
TOLERANCE = 1e-4
"""Of the completion, which is a start and no more."""
LEAST = 0.05
"""Of the weights of a start: where all are zero there is no way down."""
FAR = 10.0
"""A start whose values are this many powers of e from one, in the median, is brought closer."""
RANK = 30
"""Columns of completed matrices at most, where no number is given."""
DISTURBED = (0.3, 1.0)
"""Sizes of the noise on the weights of further starts, relative to them."""


@dataclass(frozen=True)
class HankelSettings:
    """How to learn.

    strengths     penalties of the nuclear norm, as parts of the one at which the matrix is zero
    rank          columns that the completed matrix may have
    n_starts      of the refinement; 0 leaves the refinement out
    ridge         penalty on squared weights of the refined automaton
    bound         on the size of the entries of the completed matrix
    """

    completer: Completer = COMPLETERS["proximal"]
    strengths: Sequence[float] = (0.1, 0.01)
    rank: int = RANK
    completion_iterations: int = 200
    n_starts: int = 16
    n_iterations: int = 1000
    ridge: float = 0.0
    bound: float | None = None
    most_entries: int = MOST_ENTRIES
    progress: Progress = silent


@dataclass(frozen=True, eq=False)
class HankelFit:
    """What was learned: the automaton, its mean cost, and the completed matrices that it began from."""

    automaton: WeightedAutomaton
    cost: float
    entries: HankelEntries
    completions: tuple[Completion, ...]
    held_out_costs: dict[int, float] = field(default_factory=dict)


def complete(
    observations: Observations, settings: HankelSettings, rng: np.random.Generator
) -> tuple[HankelEntries, tuple[Completion, ...]]:
    """The completed matrix at every strength."""
    entries = HankelEntries.of(observations.strings, settings.most_entries)
    loss = HankelLoss(entries, observations)
    most = loss.largest_weight()
    completer = settings.completer if settings.bound is None else bounded
    return entries, tuple(
        completer(loss, _of_strength(settings, strength, most), rng) for strength in settings.strengths
    )


def _of_strength(settings: HankelSettings, strength: float, most: float) -> CompletionSettings:
    def watch(step: SolverStep) -> bool:
        if step.iteration % 10 == 0:
            rank = step.weights[0].shape[1]
            settings.progress(
                f"completing: step {step.iteration}, objective {step.objective:.6g}, rank {rank}"
            )
        return False

    return CompletionSettings(
        strength * most, settings.rank, settings.completion_iterations, TOLERANCE, watch, settings.bound
    )


_TRIED = 5  # steps of a completion that an estimate rests on
_STEPS = 0.7  # of the steps that completions may take, and
_EVALUATIONS = 0.5  # of those of refinements: as many as most took
_COMPLETIONS, _SIZES = 2.0, 4.0  # where the number of states is chosen: of most of the strings, then of all


class Cost(NamedTuple):
    """Seconds of one core, about: of a completion at all strengths, and of a race of refinements."""

    completing: float
    refining: float

    def of_learning(self, n_states: int | None) -> float:
        """Of `learn_hankel`; values that an automaton gives without error end the search early."""
        if n_states is not None:
            return self.completing + self.refining
        return _COMPLETIONS * self.completing + 2 * _SIZES * self.refining


def cost_of_learning(observations: Observations, n_states: int | None, settings: HankelSettings) -> Cost:
    """By a few steps of completion, and one of refinement."""
    entries = HankelEntries.of(observations.strings, settings.most_entries)
    loss, quiet = HankelLoss(entries, observations), replace(settings, progress=silent)
    chosen = replace(_of_strength(quiet, settings.strengths[-1], loss.largest_weight()), n_iterations=_TRIED)
    completer = settings.completer if settings.bound is None else bounded
    step = seconds_of(lambda: completer(loss, chosen, np.random.default_rng(0))) / _TRIED
    size = n_states or round(_SIZES)
    evaluate = TrieObjective.of(observations, size)
    weights = np.full(size * (2 + size * len(observations.strings.alphabet)), LEAST / size)
    completing = step * _STEPS * settings.completion_iterations * len(settings.strengths)
    n_steps = settings.n_starts * (settings.n_iterations // 10) + 2 * settings.n_iterations
    refining = seconds_of(lambda: evaluate(weights)) * _EVALUATIONS * (n_steps if settings.n_starts else 0)
    return Cost(completing, refining)


def learn_hankel(
    observations: Observations,
    n_states: int | None,
    rng: np.random.Generator,
    settings: HankelSettings | None = None,
) -> HankelFit:
    """Learn with a number of states, or with the one that predicts held-out statements best."""
    settings = settings or HankelSettings()
    if n_states is not None:
        return _fitted(observations, [n_states], rng, settings)
    chosen, costs = _chosen_states(observations, rng, settings)
    settings.progress(f"learning with {chosen} states")
    sizes = [chosen, *(size for size in reversed(CANDIDATES) if size < chosen)]
    return replace(_fitted(observations, sizes, rng, settings), held_out_costs=costs)


def _fitted(
    observations: Observations, sizes: Sequence[int], rng: np.random.Generator, settings: HankelSettings
) -> HankelFit:
    """The fit with the first of the sizes, or with a later one as long as they fit without error."""
    entries, completions = complete(observations, settings, rng)
    exact = EXACT * observations.mean_cost(np.zeros(len(observations.strings)))[0]
    best = refined_best(entries, completions, observations, sizes[0], rng, settings)
    for size in sizes[1:]:
        if best.cost > exact:
            break
        smaller = refined_best(entries, completions, observations, size, rng, settings)
        if smaller.cost > exact:
            break
        best = smaller
    return HankelFit(best.automaton, best.cost, entries, completions)


def refined_best(
    entries: HankelEntries,
    completions: Sequence[Completion],
    observations: Observations,
    n_states: int,
    rng: np.random.Generator,
    settings: HankelSettings,
) -> Refined:
    """The best of several refinements; the first that fits without error ends the race."""
    starts = (_within_reach(one, observations) for one in _starts(entries, completions, n_states, rng))
    if settings.n_starts == 0:
        first = next(starts)
        return Refined(first, _cost(first, observations), 0)
    nothing = observations.mean_cost(np.zeros(len(observations.strings)))[0]
    drawn = islice(starts, settings.n_starts)
    runners = [Refinement.of(start, observations, settings.ridge) for start in drawn]
    legs = (Leg(max(settings.n_iterations // 10, 1), leading(2)), Leg(settings.n_iterations, leading(1)))
    return winner(race(runners, legs, enough=-EXACT * nothing, progress=settings.progress)).refined


def _starts(
    entries: HankelEntries, completions: Sequence[Completion], n_states: int, rng: np.random.Generator
) -> Iterator[WeightedAutomaton]:
    """What the completions give, operators near one, then disturbed copies of the first, without end."""
    drawn = [automaton_of_factors(entries, one.triples, n_states, rng) for one in completions]
    yield from drawn
    yield _near_identity(drawn[0], rng)  # under which long strings keep their values
    while True:
        for size in DISTURBED:
            yield from (_disturbed(one, size, rng) for one in drawn)


def _within_reach(automaton: WeightedAutomaton, observations: Observations) -> WeightedAutomaton:
    """Scale operators under which the values of long strings vanish or explode: neither leaves a slope."""
    strings = observations.strings
    logs = automaton.log_value(strings).log
    seen = np.isfinite(logs) & (strings.lengths > 0)
    if not seen.any() or abs(np.median(logs[seen])) < FAR:
        return automaton
    factor = float(np.exp(-np.median(logs[seen] / strings.lengths[seen])))
    return replace(automaton, transitions=automaton.transitions * factor)


def _near_identity(automaton: WeightedAutomaton, rng: np.random.Generator) -> WeightedAutomaton:
    n, shape = automaton.n_states, automaton.transitions.shape
    initial, final = rng.standard_normal((2, n)) / np.sqrt(n)
    transitions = np.eye(n) + LEAST * rng.standard_normal(shape) / np.sqrt(n)
    return WeightedAutomaton(automaton.alphabet, initial, transitions, final)


def _disturbed(automaton: WeightedAutomaton, size: float, rng: np.random.Generator) -> WeightedAutomaton:
    def moved(weights: Floats) -> Floats:
        scale = size * (float(np.sqrt(np.mean(weights**2))) + LEAST)
        return weights + scale * rng.standard_normal(weights.shape)

    parts = (automaton.initial, automaton.transitions, automaton.final)
    return WeightedAutomaton(automaton.alphabet, *map(moved, parts))


def _chosen_states(
    observations: Observations, rng: np.random.Generator, settings: HankelSettings
) -> tuple[int, dict[int, float]]:
    """The fewest states whose held-out cost is close to the best; the search ends where it only grows."""
    parts = split(len(observations), rng, HELD_OUT, most=None)
    if parts is None:
        return 1, {}
    held, rest = observations.select(parts.held), observations.select(parts.kept)
    nothing = held.mean_cost(np.zeros(len(held.strings)))[0]
    entries, completions = complete(rest, settings, rng)
    costs: dict[int, float] = {}
    for size in CANDIDATES:
        found = refined_best(entries, completions, rest, size, rng, settings)
        costs[size] = _cost(found.automaton, held)
        settings.progress(f"{size} states: held-out cost {costs[size]:.4g}")
        if _exhausted(costs, nothing):
            break
    near = 1.02 * min(costs.values()) + 1e-9 * nothing
    return next(size for size, cost in costs.items() if cost <= near), costs


def _exhausted(costs: dict[int, float], nothing: float) -> bool:
    """Whether nothing is left to gain, or three sizes in a row were worse than the best."""
    values = list(costs.values())
    return min(values) <= 1e-12 * nothing or len(values) - 1 - int(np.argmin(values)) >= 3


def _cost(automaton: WeightedAutomaton, observations: Observations) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        cost = observations.mean_cost(automaton.value(observations.strings))[0]
    return cost if np.isfinite(cost) else float("inf")
