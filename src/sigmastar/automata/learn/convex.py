"""`convex`: non-negative by construction, deterministic, without expectation-maximisation over strings.

Proper automata by the concave stages, from coarse and fine context classes in several sizes, race on
held-out likelihood: further rounds for the better half, all that pay for the leaders. Where held-out
strings approve, the leaders are mixed, which is a proper automaton again and averages out part of what
each got wrong.

Dense machines of many states have less to say in few non-negative states than in as many of any sign. So
the repaired operators of `fast` stand by: where held-out strings clearly gain, their next-symbol
distributions, which are proper, are averaged with those of the anchors in every step.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from sigmastar.automata.counts.on_classes import ContextCounts
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.learn.anchor_updates import AnchorModel, learn_again, learn_anchor_model
from sigmastar.automata.learn.class_states import class_beliefs
from sigmastar.automata.learn.context_model import (
    LARGEST,
    ContextModel,
    candidate_sizes,
    choose_classes,
    context_noise,
    learn_contexts,
)
from sigmastar.automata.learn.em_driver import mixture_weights
from sigmastar.automata.learn.fast import ContextBatches
from sigmastar.automata.learn.filter_average import Candidate, tune_average
from sigmastar.automata.learn.held_strings import HeldOut, HeldStrings, hold_out
from sigmastar.automata.learn.mixing import held_out_score, tune_mixing
from sigmastar.automata.learn.rank_search import Classes, Progress
from sigmastar.automata.model.algebra import mixture
from sigmastar.automata.model.averaged import AveragedFilters
from sigmastar.automata.model.filtered import FilteredAutomaton
from sigmastar.core.arrays import Floats
from sigmastar.core.parallel import thread_map
from sigmastar.core.rank import RankEvidence

CLASSES = (300, 1500)
_FIRST_ROUNDS, _MOST_ROUNDS, _ROUND_GAIN, _PATIENCE = 2, 20, 1e-4, 2
_N_LEADERS, _CLOSE, _HOPELESS = 5, 0.01, 0.2  # nats a string


@dataclass(frozen=True, eq=False)
class ConvexFit:
    """A proper automaton behind the restart filter, averaged with `fast` or not, and why it has its size."""

    model: FilteredAutomaton | AveragedFilters
    evidence: RankEvidence
    contexts: ContextModel
    held_out_score: float


def learn_convex(
    strings: Strings,
    rng: np.random.Generator,
    n_states: int | None = None,
    progress: Progress | None = None,
) -> ConvexFit:
    """Learn a proper automaton behind the restart filter; held-out likelihood chooses its size.

    With `n_states` it has exactly so many, and stands alone.
    """
    say = progress or (lambda _: None)
    kept, held = hold_out(strings, rng)
    held_out = HeldOut.of(held)
    trials: list[_Trial] = []
    for pasts, futures in _numbers_of_classes(strings):
        say(f"concave stages on {pasts.n_classes} context classes")
        counts = ContextCounts.of(kept, pasts, futures)
        contexts = learn_contexts(counts, LARGEST if n_states is None else n_states)
        sizes = candidate_sizes(contexts) if n_states is None else [n_states]
        parts = [contexts.leading(size) for size in reversed(sizes)]  # the longest first
        trials += thread_map(lambda part: _trial(part, held_out, learn_anchor_model(part)), parts)
    leaders = _raced(trials, kept, held_out, say)
    best = _best_mixture(leaders if n_states is None else leaders[:1], kept, held_out)
    say(f"final fit with {best.contexts.n_states} states")
    counted = [_with_all_counts(member.contexts, strings, held) for member in best.members]
    pairs = zip(best.members, counted, strict=True)
    again = [learn_again(member.model, part, strings) for member, part in pairs]  # from where they stand
    anchors = _joined(again, best.weights, counted[0], strings).filtered(counted[0].counts, best.mixing)
    average = None if n_states is not None else _average(best.candidate(kept), strings, held, say)
    return ConvexFit(
        anchors if average is None else average.with_first(anchors),
        _evidence(trials, leaders[0]),
        counted[0],
        best.score if average is None else average.score,
    )


@dataclass(frozen=True, eq=False)
class _Average:
    """An average with a spectral model that held-out strings approved of."""

    spectral: FilteredAutomaton
    share: float
    score: float

    def with_first(self, anchors: FilteredAutomaton) -> AveragedFilters:
        return AveragedFilters((anchors, self.spectral), np.array([1.0 - self.share, self.share]))


def _average(anchors: Candidate, strings: Strings, held: Strings, say: Progress) -> _Average | None:
    """What `fast` learns from the same strings, judged by the same held-out ones; None if it adds nothing."""
    say("repaired spectral operators")
    batches = ContextBatches.judged_by(HeldStrings(held, held is strings), strings)
    choice = batches.choose()
    counts = batches.kept.coarsened(*choice.classes)
    tuned = tune_average(anchors, Candidate(choice.learnt_from(counts).model, counts.past_counts), held)
    if not tuned.share:
        return None
    whole = choice.learnt_from(batches.all_counts().coarsened(*choice.classes)).model
    return _Average(whole, tuned.share, tuned.score)


def _numbers_of_classes(strings: Strings) -> Iterator[Classes]:
    """Classes of each size in `CLASSES` that differ: small corpora have no more contexts to offer."""
    sizes = set()
    for pasts, futures in (choose_classes(strings, size) for size in CLASSES):
        if (size := (pasts.n_classes, futures.n_classes)) not in sizes:
            sizes.add(size)
            yield pasts, futures


def _with_all_counts(contexts: ContextModel, strings: Strings, held: Strings) -> ContextModel:
    counts = contexts.counts
    if held is strings:
        return contexts
    return replace(contexts, counts=counts + ContextCounts.of(held, counts.pasts, counts.futures))


@dataclass(frozen=True, eq=False)
class _Trial:
    """A model of one size and its held-out score."""

    contexts: ContextModel
    model: AnchorModel
    score: float
    mixing: Floats


def _trial(contexts: ContextModel, held_out: HeldOut, model: AnchorModel) -> _Trial:
    tuned = tune_mixing(model.filtered(contexts.counts), contexts.counts.past_counts, held_out, 2)
    return _Trial(contexts, model, held_out_score(tuned, held_out), tuned.mixing)


@dataclass(frozen=True, eq=False)
class _Mixed:
    """The mixture of the automata of some trials, read in the classes of the first."""

    members: list[_Trial]
    weights: list[float]
    score: float
    mixing: Floats

    @property
    def contexts(self) -> ContextModel:
        return self.members[0].contexts

    @classmethod
    def of(cls, members: list[_Trial], kept: Strings, held_out: HeldOut) -> _Mixed:
        if len(members) == 1:
            return cls(members, [1.0], members[0].score, members[0].mixing)
        weights = mixture_weights([member.model.automaton for member in members], held_out)
        model = _joined([member.model for member in members], weights, members[0].contexts, kept)
        trial = _trial(members[0].contexts, held_out, model)
        return cls(members, weights, trial.score, trial.mixing)

    def candidate(self, kept: Strings) -> Candidate:
        model = _joined([member.model for member in self.members], self.weights, self.contexts, kept)
        counts = self.contexts.counts
        return Candidate(model.filtered(counts, self.mixing), counts.past_counts)


def _best_mixture(leaders: list[_Trial], kept: Strings, held_out: HeldOut) -> _Mixed:
    """The best leader alone, or mixed with as many others as held-out strings approve of."""
    best = _Mixed.of(leaders[:1], kept, held_out)
    for n_members in range(2, len(leaders) + 1):
        mixed = _Mixed.of(leaders[:n_members], kept, held_out)
        best = mixed if mixed.score > best.score + _ROUND_GAIN else best
    return best


def _joined(
    models: list[AnchorModel], weights: list[float], contexts: ContextModel, strings: Strings
) -> AnchorModel:
    if len(models) == 1:
        return models[0]
    automaton = mixture([model.automaton for model in models], weights)
    return AnchorModel(automaton, class_beliefs(automaton, contexts.counts.pasts, strings))


def _raced(trials: list[_Trial], kept: Strings, held_out: HeldOut, say: Progress) -> list[_Trial]:
    """First rounds for the better half and all that are close, all that pay for the leaders of them.

    First scores say little: large models are slow to gain.
    """
    limit = max(trial.score for trial in trials) - _CLOSE
    better = _leading(trials, (len(trials) + 1) // 2)
    better = [trial for trial in trials if trial in better or trial.score >= limit]
    once = thread_map(lambda trial: _with_rounds(trial, kept, held_out, say, _FIRST_ROUNDS), better)
    limit = max(trial.score for trial in once) - _HOPELESS
    leaders = [trial for trial in _leading(once, _N_LEADERS) if trial.score >= limit]
    return _leading(thread_map(lambda trial: _with_rounds(trial, kept, held_out, say), leaders), _N_LEADERS)


def _leading(trials: list[_Trial], n_trials: int) -> list[_Trial]:
    return sorted(trials, key=lambda trial: -trial.score)[:n_trials]


def _with_rounds(
    trial: _Trial, kept: Strings, held_out: HeldOut, say: Progress, most_rounds: int = _MOST_ROUNDS
) -> _Trial:
    """Further rounds, as long as held-out data approve; they may lead down before they lead up."""
    best, misses = trial, 0
    for n_rounds in range(1, most_rounds + 1):
        say(f"concave stages, round {n_rounds + 1}")
        trial = _trial(trial.contexts, held_out, learn_again(trial.model, trial.contexts, kept))
        misses = 0 if trial.score >= best.score + _ROUND_GAIN else misses + 1
        best = trial if misses == 0 else best
        if misses == _PATIENCE:
            break
    return best


def _evidence(trials: list[_Trial], best: _Trial) -> RankEvidence:
    scores: dict[int, float] = {}
    for trial in trials:
        scores[trial.contexts.n_states] = max(scores.get(trial.contexts.n_states, -np.inf), trial.score)
    sizes = tuple(sorted(scores))
    return RankEvidence(
        singular_values=best.contexts.singular_values,
        noise_level=context_noise(best.contexts.counts),
        candidates=sizes,
        scores=tuple(scores[size] for size in sizes),
        chosen=best.contexts.n_states,
        reason="best held-out log-likelihood",
    )
