"""`auto`: the best spectral starts, polished by expectation-maximization, and the best two mixed.

Anchored starts from coarse and fine context classes, in several sizes (`recover`, then anchors), race on
held-out likelihood: a few iterations each, those close to the lead go on. The best two climb as long as
held-out data gain, and are split in two as long as their states gain by it. The last iterations see all
strings. A mixture of proper automata is a proper automaton, and averages out part of what each got wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sigmastar.automata.counts.on_classes import ContextCounts
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.learn.anchors import anchor_states, to_probabilistic
from sigmastar.automata.learn.context_operators import (
    ContextModel,
    candidate_sizes,
    choose_classes,
    largest_size,
    learn_contexts,
)
from sigmastar.automata.learn.em import AutomatonClimb, begin_climb, final_iterations
from sigmastar.automata.learn.em_steps import EMCorpus, split_states
from sigmastar.automata.learn.fast import CLASSES
from sigmastar.automata.learn.held_out import HeldOut, hold_out
from sigmastar.automata.model.algebra import mixture
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.em import Stopping, by_absolute
from sigmastar.core.progress import Progress, silent
from sigmastar.core.race import Leg, leading, race
from sigmastar.core.rank import RankEvidence

_ON_TRACK = 30_000  # strings that long ascents are made on
_LEGS = (Leg(3, leading(5, 2.0)), Leg(9, leading(3, 0.25)), Leg(20, leading(2, 0.1)))
_LONGEST, _LONGEST_ON_ALL, _LONGEST_OF_BEST = 100, 30, 60  # iterations
_WORTHWHILE = 2.0  # nats on all strings, for a few iterations more
_SPLIT_TRIAL, _SPLIT_GAIN = 12, 60.0  # iterations, nats on all strings


@dataclass(frozen=True, eq=False)
class AutoFit:
    """A proper automaton, and why it has its size; `held_out_score` is None where nothing was held out."""

    automaton: WeightedAutomaton
    evidence: RankEvidence
    held_out_score: float | None
    n_iterations: int  # of the longest ascent
    sizes: tuple[int, ...]  # of the members that are mixed


@dataclass(frozen=True, eq=False)
class _Setting:
    """What every stage needs: strings to learn from and to judge by, a source of chance, a report."""

    kept: Strings
    track: Strings  # of the kept strings, those that long ascents are made on
    held_out: HeldOut
    rng: np.random.Generator
    progress: Progress

    @classmethod
    def of(cls, strings: Strings, rng: np.random.Generator, progress: Progress) -> _Setting:
        kept, held = hold_out(strings, rng)
        if len(kept) <= _ON_TRACK:
            return cls(kept, kept, HeldOut.of(held), rng, progress)
        chosen = np.sort(rng.permutation(len(kept))[:_ON_TRACK])
        return cls(kept, kept.select(chosen), HeldOut.of(held), rng, progress)

    def begin(self, strings: Strings, start: WeightedAutomaton) -> AutomatonClimb:
        return begin_climb(EMCorpus(strings, start.n_states, np.float32), self.held_out, start)

    def run(self, climb: AutomatonClimb, max_iter: int) -> AutomatonClimb:
        tolerance = _WORTHWHILE / len(self.kept)
        return climb.run(max_iter, Stopping(by_absolute(tolerance)), progress=self._said)

    def _said(self, message: str, done: float | None = None) -> None:
        """Held-out strings end a climb long before its last iteration: the share of those would mislead."""
        self.progress(message)

    def climbed(self, climb: AutomatonClimb) -> AutomatonClimb:
        """To the top on the track, and on from there with all kept strings."""
        climb = self.run(climb, _LONGEST)
        if self.track is self.kept:
            return climb
        return self.run(self.begin(self.kept, climb.best), _LONGEST_ON_ALL)


def learn_auto(
    strings: Strings,
    rng: np.random.Generator,
    n_states: int | None = None,
    progress: Progress = silent,
) -> AutoFit:
    """Learn a proper automaton.

    Parameters
    ----------
    strings : Strings
        The corpus.
    rng : Generator
        Source of the held-out strings and of splits.
    n_states : int or None
        Number of states; None: the race chooses, and the best two automata are mixed.
    progress : callable
        Told what is being done.

    Returns
    -------
    AutoFit
        The automaton and the evidence for its size.
    """
    setting = _Setting.of(strings, rng, progress)
    progress("spectral starts")
    contexts = [_contexts(strings, setting.kept, size, n_states) for size in CLASSES]
    starts = [start for part in contexts for start in _starts(part, n_states)]
    runners = race([setting.begin(setting.track, start) for start in starts], _LEGS, progress=progress)
    leaders = sorted(runners, key=_worst_last)[:2]
    climbs = _members(setting, leaders, n_states is not None)
    weights = setting.held_out.mixture_weights([climb.best for climb in climbs])
    mixed = mixture([climb.best for climb in climbs], weights)
    progress("last iterations on all strings")
    members = [final_iterations(climb.best, strings, dtype=np.float32) for climb in climbs]
    return AutoFit(
        mixture(members, weights),
        _evidence(contexts[-1], runners, leaders[0]).judged(setting.held_out.is_held),
        setting.held_out.score_if_held(setting.held_out.mean_log_probability(mixed)),
        max(climb.n_iterations for climb in climbs),
        tuple(climb.best.n_states for climb in climbs),
    )


def _contexts(strings: Strings, kept: Strings, n_classes: int, n_states: int | None) -> ContextModel:
    counts = ContextCounts.of(kept, *choose_classes(strings, n_classes))
    return learn_contexts(counts, largest_size(strings) if n_states is None else n_states)


def _starts(contexts: ContextModel, n_states: int | None) -> list[WeightedAutomaton]:
    sizes = candidate_sizes(contexts) if n_states is None else [n_states]
    parts = [contexts.leading(size) for size in sizes]
    return [to_probabilistic(part, anchor_states(part)) for part in parts]


def _worst_last(climb: AutomatonClimb) -> float:
    return -climb.score


def _members(setting: _Setting, leaders: Sequence[AutomatonClimb], alone: bool) -> list[AutomatonClimb]:
    """The best `alone`, or the best two, with states that are split as long as it pays."""
    climbs = sorted(map(setting.climbed, leaders), key=_worst_last)
    climbs[0] = setting.run(climbs[0], _LONGEST_OF_BEST)  # it is worth more patience
    return climbs[:1] if alone else [_split_while_it_pays(setting, climb) for climb in climbs]


def _split_while_it_pays(setting: _Setting, climb: AutomatonClimb) -> AutomatonClimb:
    gain = _SPLIT_GAIN / len(setting.kept)
    most = largest_size(setting.kept)
    while 2 * climb.best.n_states <= most:
        halves = setting.begin(setting.kept, split_states(climb.best, setting.rng)).run(_SPLIT_TRIAL)
        if halves.score < climb.score + gain:
            break
        climb = setting.run(halves, _LONGEST if setting.track is setting.kept else _LONGEST_ON_ALL)
    return climb


def _evidence(
    contexts: ContextModel, runners: Sequence[AutomatonClimb], leader: AutomatonClimb
) -> RankEvidence:
    scores: dict[int, float] = {}
    for runner in runners:
        size = runner.best.n_states
        scores[size] = max(scores.get(size, -np.inf), runner.score)
    reason = "best held-out log-likelihood after a few iterations"
    return contexts.evidence(scores, leader.best.n_states, reason)
