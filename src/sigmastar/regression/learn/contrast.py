"""Labels by the difference of two distributions, refined; or by completion, where held-out labels say so.

    f(x) = [P(+) P(x | +) - P(-) P(x | -)] / product of q(x_t),      label(x) = sign f(x)

Two automata, learned by EM from the strings of either label, are one signed automaton, with the states of
both. Divided by q, how often symbols occur at all, its values are near one, and a gradient can go on from it.
It is stopped early: the numbers of states and of steps are those that err least on strings held out in turn.
Long strings share few prefixes and suffixes, so that their Hankel matrix has little to complete; short ones
with a rule behind their labels are what completion is for. Both are tried on the same folds; errors decide,
then the number of states.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sigmastar.automata.learn.em import EMSettings, learn_em
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.arrays import Floats, Int64s
from sigmastar.core.held_out import Split, folds
from sigmastar.core.time_estimates import seconds_of
from sigmastar.regression.data import Observations
from sigmastar.regression.learn.hankel import HankelSettings, cost_of_learning, learn_hankel
from sigmastar.regression.learn.refinement import refine

EM = EMSettings(n_seeds=3)
SIZES = (2, 4, 8, 16, 32)
"""Numbers of states of both automata together, where none is given."""
STEPS = (0, 5, 10, 20, 50)
"""Steps of the refinement between two looks at the held-out labels."""
N_FOLDS = 4
_COMPLETIONS = 1.5  # beside those of the first fold: none to four, as held-out labels have it
_MOST_TIMES = 100  # that a string counts for EM
CONTRAST, COMPLETED = "contrast", "completed"


@dataclass(frozen=True, eq=False)
class LabelFit:
    """An automaton that is positive for one of two labels, and what it began from."""

    automaton: WeightedAutomaton
    start: str


def learn_labels(
    observations: Observations, n_states: int | None, rng: np.random.Generator, settings: HankelSettings
) -> LabelFit:
    """Learn from strings with the values 1 and -1, by whichever way errs less on held-out ones."""
    parts = _usable(observations, folds(len(observations), rng, N_FOLDS))
    if not parts or n_states == 1:
        return LabelFit(learn_hankel(observations, n_states, rng, settings).automaton, COMPLETED)
    errors = _errors_of_contrasts(observations, n_states, parts, rng, settings)
    total = errors.sum(axis=0)
    stop, place = np.unravel_index(int(total.T.argmin()), total.T.shape)  # of equals the least refined
    size = _sizes(n_states)[place]
    settings.progress(f"contrast: {total.min():g} held-out errors with {size} states")
    completed = _completed_states(observations, n_states, parts, errors[:, place, stop], size, rng, settings)
    if completed is not None:
        return LabelFit(learn_hankel(observations, completed, rng, settings).automaton, COMPLETED)
    *_, last = _refined(observations, size, STEPS[: stop + 1], rng, settings)
    return LabelFit(last, CONTRAST)


def seconds_of_labels(observations: Observations, n_states: int | None, settings: HankelSettings) -> float:
    """What `learn_labels` will take of one core, about: by one contrast, and what a completion costs."""
    cost, sizes = cost_of_learning(observations, n_states, settings), _sizes(n_states)
    if n_states == 1:
        return cost.of_learning(n_states)
    rng = np.random.default_rng(0)
    one = seconds_of(lambda: contrast(observations, sizes[len(sizes) // 2], rng))
    completed = _COMPLETIONS * cost.completing + cost.of_learning(n_states)
    return N_FOLDS * len(sizes) * one + completed


def _completed_states(
    observations: Observations,
    n_states: int | None,
    parts: Sequence[Split],
    rival: Floats,
    size: int,
    rng: np.random.Generator,
    settings: HankelSettings,
) -> int | None:
    """The states of completion where it errs less than a rival of some size, or as little with fewer states.

    The first fold chooses their number; where it does not fall behind there, the others are looked at.
    """
    mistakes = 0.0
    for part, other in zip(parts, rival.cumsum().tolist(), strict=True):
        rest, held = observations.select(part.kept), observations.select(part.held)
        found = learn_hankel(rest, n_states, rng, settings).automaton
        mistakes, n_states = mistakes + _errors(found, held), n_states or found.n_states
        if (mistakes, n_states) > (other, size):
            return None
    return n_states


def contrast(observations: Observations, n_states: int, rng: np.random.Generator) -> WeightedAutomaton:
    """The difference of two automata with so many states together, as one."""
    strings, whose = observations.strings, observations.combinations.indices
    classes = [observations.targets < 0, observations.targets > 0]
    sizes, times = (n_states // 2, n_states - n_states // 2), _times(observations.weights)
    found = [
        learn_em(strings.select(np.sort(np.repeat(whose[own], times[own]))), n, rng, EM).automaton
        for own, n in zip(classes, sizes, strict=True)
    ]
    usual = np.bincount(strings.codes, minlength=len(strings.alphabet)) + 1.0
    shares = [sign * times[own].sum() / times.sum() for sign, own in zip((-1.0, 1.0), classes, strict=True)]
    transitions = np.zeros((len(usual), n_states, n_states))
    cut = sizes[0]
    transitions[:, :cut, :cut], transitions[:, cut:, cut:] = (one.transitions for one in found)
    transitions *= (usual.sum() / usual)[:, None, None]
    initial = np.concatenate([share * one.initial for share, one in zip(shares, found, strict=True)])
    final = np.concatenate([one.final for one in found])
    return _near_one(WeightedAutomaton(strings.alphabet, initial, transitions, final), observations)


def _times(weights: Floats) -> Int64s:
    """How often each string counts for EM: whole numbers as they are, other weights in eighths of their mean.

    Strings of little weight count once: EM needs some of either label.
    """
    is_whole = bool((weights == np.rint(weights)).all()) and weights.max() <= _MOST_TIMES
    times = weights if is_whole else np.minimum(np.rint(8.0 * weights / weights.mean()), _MOST_TIMES)
    return np.maximum(times, weights > 0.0).astype(np.int64)


def _near_one(automaton: WeightedAutomaton, observations: Observations) -> WeightedAutomaton:
    """The same signs, with values near one."""
    strings = observations.strings
    logs = automaton.log_value(strings).log
    seen = np.isfinite(logs) & (strings.lengths > 0)
    if not seen.any():
        return automaton
    factor = float(np.exp(-np.median(logs[seen] / strings.lengths[seen])))
    return replace(automaton, transitions=automaton.transitions * factor)


def _values(automaton: WeightedAutomaton, observations: Observations) -> Floats:
    with np.errstate(over="ignore", invalid="ignore"):
        return np.nan_to_num(automaton.value(observations.strings), posinf=1e100, neginf=-1e100)


def _errors(automaton: WeightedAutomaton, observations: Observations) -> float:
    """The weight of the strings whose value has the wrong sign."""
    values = observations.combinations @ _values(automaton, observations)
    return float(observations.weights @ ((values > 0.0) != (observations.targets > 0.0)))


def _sizes(n_states: int | None) -> tuple[int, ...]:
    return SIZES if n_states is None else (n_states,)


def _refined(
    observations: Observations,
    n_states: int,
    steps: Sequence[int],
    rng: np.random.Generator,
    settings: HankelSettings,
) -> Iterator[WeightedAutomaton]:
    """A contrast after so many, and so many further steps."""
    automaton = contrast(observations, n_states, rng)
    for n_steps in steps:
        if n_steps:
            automaton = refine(automaton, observations, n_steps, settings.ridge).automaton
        yield automaton


def _errors_of_contrasts(
    observations: Observations,
    n_states: int | None,
    parts: Sequence[Split],
    rng: np.random.Generator,
    settings: HankelSettings,
) -> Floats:
    """Held-out errors: folds x sizes x looks."""
    found = np.zeros((len(parts), len(_sizes(n_states)), len(STEPS)))
    for k, part in enumerate(parts):
        rest, held = observations.select(part.kept), observations.select(part.held)
        for i, size in enumerate(_sizes(n_states)):
            found[k, i] = [_errors(one, held) for one in _refined(rest, size, STEPS, rng, settings)]
    return found


def _usable(observations: Observations, parts: Sequence[Split]) -> list[Split]:
    """Folds that leave strings of both labels to learn from; none, unless all do."""
    signs = np.where(observations.weights > 0.0, np.sign(observations.targets), 0.0)
    both = [signs[part.kept].min() < 0.0 < signs[part.kept].max() for part in parts]
    return list(parts) if all(both) else []
