"""`auto`: the best spectral starts, polished by expectation-maximisation, and the best few mixed.

Anchored starts from coarse and fine context classes, in several sizes, race on held-out likelihood: a
few iterations each, those close to the lead go on. The leaders climb until held-out data say stop, and
beside them a stranger or two: random starts of the leader's size or twice it, unless they fall behind.
The best two are members of the result, split in two as long as their states gain by it; others are if
held-out data gain by them. The last iterations see all strings. A mixture of proper automata is
a proper automaton, and averages out part of what each got wrong.

Where held-out data profit from it (long contexts that recur word for word), the automaton is read
through the restart filter, with a back-off model of long contexts beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sigmastar.automata.counts.context_growth import grow_contexts
from sigmastar.automata.counts.ngram_smoothing import Smoothing, kneser_ney, witten_bell
from sigmastar.automata.counts.on_classes import ContextCounts
from sigmastar.automata.data.contexts import ContextTrie
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.learn.anchors import anchor_states, to_probabilistic
from sigmastar.automata.learn.class_states import filter_beliefs
from sigmastar.automata.learn.context_model import (
    LARGEST,
    ContextModel,
    candidate_sizes,
    choose_classes,
    context_noise,
    learn_contexts,
)
from sigmastar.automata.learn.em_driver import Climb, last_look, mean_log_probability, mixture_weights
from sigmastar.automata.learn.em_steps import EMCorpus, maximize_smoothed, random_start, split_states
from sigmastar.automata.learn.held_strings import HeldOut, hold_out
from sigmastar.automata.learn.mixing import held_out_score, tune_mixing
from sigmastar.automata.model.algebra import mixture
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.filtered import FilteredAutomaton
from sigmastar.automata.model.sequence import SequenceModel
from sigmastar.core.arrays import Floats, Int64s
from sigmastar.core.rank import RankEvidence, count_above

Progress = Callable[[str], None]

CLASSES = (300, 1500)
_TRACK = 30_000
_LEGS = ((3, 5, 2.0), (9, 3, 0.25), (20, 2, 0.1))  # iterations, runners that go on, nats they may trail
_LONGEST, _LONGEST_ON_ALL, _LONGEST_OF_BEST = 100, 30, 60
_WORTHWHILE = 2.0  # nats on all strings, for a few iterations more
_KNOWN_ENOUGH = 1.5
_STRANGER_LEG, _STRANGER_GAP, _STRANGER_HANDICAP = 32, 0.3, 2.0  # iterations, nats a string, nats in all
_MEMBER_GAIN = 1.0  # nats on all held-out strings
_SPLIT_TRIAL, _SPLIT_GAIN = 12, 60.0  # iterations, nats on all strings
_LONG_CONTEXTS, _FILTER_GAIN = 5000, 0.003


@dataclass(frozen=True, eq=False)
class AutoFit:
    """A proper automaton, and why it has its size; `model` is it, or it behind the restart filter."""

    model: SequenceModel
    automaton: WeightedAutomaton
    evidence: RankEvidence
    held_out_score: float
    n_iterations: int  # of the longest ascent
    sizes: tuple[int, ...]  # of the members that are mixed


@dataclass(frozen=True, eq=False)
class _Setting:
    """What every stage needs: the strings to learn from, those held out, chance, and a voice."""

    kept: Strings
    held: Strings
    held_out: HeldOut
    track: Strings  # of the kept strings, those that long ascents are made on
    rng: np.random.Generator
    say: Progress

    @classmethod
    def of(cls, strings: Strings, rng: np.random.Generator, say: Progress) -> _Setting:
        kept, held = hold_out(strings, rng)
        track = kept if len(kept) <= _TRACK else kept.select(np.sort(rng.permutation(len(kept))[:_TRACK]))
        return cls(kept, held, HeldOut.of(held), track, rng, say)

    @property
    def tolerance(self) -> float:
        return _WORTHWHILE / len(self.kept)

    def climb(self, strings: Strings, start: WeightedAutomaton) -> Climb:
        return Climb(EMCorpus(strings, start.n_states, np.float32), self.held_out, start, maximize_smoothed)

    def on_track(self, climb: Climb) -> Climb:
        return climb.run(_LONGEST, self.tolerance, progress=self.say)

    def on_all(self, climb: Climb) -> Climb:
        """On from the top on the track, with all kept strings."""
        if self.track is self.kept:
            return climb
        return self.climb(self.kept, climb.best).run(_LONGEST_ON_ALL, self.tolerance, progress=self.say)


def learn_auto(
    strings: Strings,
    rng: np.random.Generator,
    n_states: int | None = None,
    progress: Progress | None = None,
) -> AutoFit:
    """Learn a proper automaton. With `n_states` it has exactly so many; else the race chooses."""
    setting = _Setting.of(strings, rng, progress or (lambda _: None))
    setting.say("spectral starts")
    contexts = [_contexts(strings, setting.kept, size, n_states) for size in CLASSES]
    runners = _race(setting, [start for part in contexts for start in _starts(part, n_states)])
    leaders = sorted(runners, key=lambda runner: -runner.best_score)[:2]
    largest = max(leader.best.n_states for leader in leaders)
    finalists = _finalists(setting, leaders, _stranger_sizes(contexts, largest, n_states))
    climbs = _members(setting, finalists, alone=n_states is not None)
    leading = [climb.best for climb in climbs]
    weights = mixture_weights(leading, setting.held_out)
    before = mixture(leading, weights)
    filtered = _best_filter(setting, before, strings)
    setting.say("last iterations on all strings")
    members = [last_look(climb.best, strings, maximize_smoothed, np.float32) for climb in climbs]
    automaton = mixture(members, weights)
    return AutoFit(
        automaton if filtered is None else filtered.learnt_from(automaton, strings),
        automaton,
        _evidence(contexts[-1], runners, leaders[0]),
        mean_log_probability(before, setting.held_out) if filtered is None else filtered.score,
        max(climb.n_iterations for climb in climbs),
        tuple(climb.best.n_states for climb in climbs),
    )


def _contexts(strings: Strings, kept: Strings, n_classes: int, n_states: int | None) -> ContextModel:
    counts = ContextCounts.of(kept, *choose_classes(strings, n_classes))
    return learn_contexts(counts, LARGEST if n_states is None else n_states)


def _starts(contexts: ContextModel, n_states: int | None) -> list[WeightedAutomaton]:
    sizes = candidate_sizes(contexts) if n_states is None else [n_states]
    parts = [contexts.leading(size) for size in sizes]
    return [to_probabilistic(part, anchor_states(part)) for part in parts]


def _race(setting: _Setting, starts: Sequence[WeightedAutomaton]) -> list[Climb]:
    """Every start with its score; those in the lead have gone further than the others."""
    runners = [setting.climb(setting.track, start) for start in starts]
    going = list(runners)
    for n_iterations, n_going, gap in _LEGS:
        for runner in going:
            setting.say(f"race of starts: {runner.best.n_states} states")
            runner.run(n_iterations)
        going.sort(key=lambda runner: -runner.best_score)
        limit = going[0].best_score - gap
        going = [runner for runner in going[:n_going] if runner.best_score >= limit]
        if len(going) == 1:
            break
    return runners


def _stranger_sizes(contexts: Sequence[ContextModel], leading: int, n_states: int | None) -> list[int]:
    """The larger leader's; where the spectrum says little about so many states, a larger one too."""
    known = max(count_above(part.singular_values, context_noise(part.counts)) for part in contexts)
    if leading <= _KNOWN_ENOUGH * known:
        return [leading]
    return [leading, min(2 * leading, LARGEST) if n_states is None else n_states]


def _finalists(setting: _Setting, leaders: Sequence[Climb], sizes: Sequence[int]) -> list[Climb]:
    """Leaders and strangers at the top of the track, the best first; strangers must be clearly better."""
    lead = leaders[0].best_score
    climbs = [setting.on_track(climb) for climb in leaders]
    handicaps = {id(climb): 0.0 for climb in climbs}
    for size in sizes:
        climb = _stranger(setting, size)
        if climb.best_score > lead - _STRANGER_GAP:
            climbs.append(setting.on_track(climb))
            handicaps[id(climb)] = _STRANGER_HANDICAP / setting.held_out.n_strings
    return sorted(climbs, key=lambda climb: handicaps[id(climb)] - climb.best_score)


def _members(setting: _Setting, finalists: Sequence[Climb], alone: bool) -> list[Climb]:
    """The best `alone`, or the best two, with states that are split as long as it pays, and others."""
    climbs = sorted(map(setting.on_all, finalists[:2]), key=lambda climb: -climb.best_score)
    climbs[0].run(_LONGEST_OF_BEST, setting.tolerance, progress=setting.say)  # it is worth more patience
    if alone:
        return climbs[:1]
    climbs = [_split_while_it_pays(setting, climb) for climb in climbs]
    for at in range(2, len(finalists)):
        if _gains(setting, finalists[:at], finalists[at]):  # on the track already
            another = setting.on_all(finalists[at])
            climbs += [another] if _gains(setting, climbs, another) else []
    return climbs


def _gains(setting: _Setting, climbs: Sequence[Climb], another: Climb) -> bool:
    """Whether held-out strings clearly gain by one member more."""
    without, with_it = (_held_out_of(setting, members) for members in (climbs, [*climbs, another]))
    return with_it > without + _MEMBER_GAIN / setting.held_out.n_strings


def _held_out_of(setting: _Setting, climbs: Sequence[Climb]) -> float:
    members = [climb.best for climb in climbs]
    mixed = mixture(members, mixture_weights(members, setting.held_out))
    return mean_log_probability(mixed, setting.held_out)


def _stranger(setting: _Setting, n_states: int) -> Climb:
    """A random start that has gone as far as the leaders of the race."""
    start = random_start(setting.track.alphabet, n_states, setting.track, setting.rng)
    setting.say(f"random start: {n_states} states")
    return setting.climb(setting.track, start).run(_STRANGER_LEG, setting.tolerance)


def _split_while_it_pays(setting: _Setting, climb: Climb) -> Climb:
    split_gain = _SPLIT_GAIN / len(setting.kept)
    while 2 * climb.best.n_states <= LARGEST:
        halves = setting.climb(setting.kept, split_states(climb.best, setting.rng))
        if halves.run(_SPLIT_TRIAL, progress=setting.say).best_score < climb.best_score + split_gain:
            break
        longest = _LONGEST if setting.track is setting.kept else _LONGEST_ON_ALL
        climb = halves.run(longest, setting.tolerance, progress=setting.say)
    return climb


@dataclass(frozen=True, eq=False)
class _Filter:
    """A restart filter that held-out data approved of."""

    pasts: ContextTrie
    smoothing: Smoothing
    mixing: Floats
    score: float

    def learnt_from(self, automaton: WeightedAutomaton, strings: Strings) -> FilteredAutomaton:
        model = filter_beliefs(automaton, self.pasts, strings, self.smoothing)
        return model.with_mixing(self.mixing)


def _best_filter(setting: _Setting, automaton: WeightedAutomaton, strings: Strings) -> _Filter | None:
    """The better of two back-off models of long contexts, if either helps the automaton."""
    setting.say("back-off model of long contexts")
    pasts = grow_contexts(strings, "past", _LONG_CONTEXTS, min_count=2)
    sizes = np.bincount(pasts.classify(setting.kept), minlength=pasts.n_classes)
    models = {
        rule: filter_beliefs(automaton, pasts, setting.kept, rule) for rule in (witten_bell, kneser_ney)
    }
    gains = {rule: _gain(automaton, model, sizes, setting.held) for rule, model in models.items()}
    best = max(gains, key=lambda rule: gains[rule].mean())
    error = gains[best].std() / np.sqrt(len(gains[best]))
    if gains[best].mean() < max(error, _FILTER_GAIN):
        return None
    tuned = tune_mixing(models[best], sizes, setting.held_out, 2)
    return _Filter(pasts, best, tuned.mixing, held_out_score(tuned, setting.held_out))


def _gain(automaton: WeightedAutomaton, model: FilteredAutomaton, sizes: Int64s, held: Strings) -> Floats:
    """What the filter adds to the log-probability of every other held-out string, tuned on the rest."""
    order = np.arange(len(held))
    judged, used = held.select(order[::2]), held.select(order[1::2] if len(held) > 1 else order)
    tuned = tune_mixing(model, sizes, HeldOut.of(used), 2)
    return tuned.log_probability(judged) - automaton.log_probability(judged)


def _evidence(contexts: ContextModel, runners: Sequence[Climb], leader: Climb) -> RankEvidence:
    scores: dict[int, float] = {}
    for runner in runners:
        size = runner.best.n_states
        scores[size] = max(scores.get(size, -np.inf), runner.best_score)
    sizes = tuple(sorted(scores))
    return RankEvidence(
        singular_values=contexts.singular_values,
        noise_level=context_noise(contexts.counts),
        candidates=sizes,
        scores=tuple(scores[size] for size in sizes),
        chosen=leader.best.n_states,
        reason="best held-out log-likelihood after a few iterations",
    )
