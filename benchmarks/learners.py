"""The learners that are compared, each as corpus and chance -> model, with what it says about its size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.harness import Timing, timed
from sigmastar.automata.counts.ngram_smoothing import Smoothing, kneser_ney, witten_bell
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.learn.auto import learn_auto
from sigmastar.automata.learn.convex import learn_convex
from sigmastar.automata.learn.em import learn_em
from sigmastar.automata.learn.fast import learn_fast
from sigmastar.automata.learn.ngram import learn_ngram
from sigmastar.automata.model.averaged import AveragedFilters
from sigmastar.automata.model.generators import make_automaton
from sigmastar.automata.model.sequence import SequenceModel

EM_TIMES = 3.0  # how much longer than `auto` random-start EM may take
EM_SEEDS, EM_ITERATIONS = 50, 300


@dataclass(frozen=True, eq=False)
class Learnt:
    """A model, its number of states (order, for n-grams) in words, and the size to compare EM at."""

    model: SequenceModel
    size: str
    n_states: int


@dataclass(frozen=True, eq=False)
class Timed:
    learnt: Learnt
    timing: Timing


Learner = Callable[[Strings, np.random.Generator], Learnt]


def fast(strings: Strings, rng: np.random.Generator) -> Learnt:
    model = learn_fast(strings, rng).model
    return Learnt(model, str(model.automaton.n_states), model.automaton.n_states)


def convex(strings: Strings, rng: np.random.Generator) -> Learnt:
    model = learn_convex(strings, rng).model
    members = model.members if isinstance(model, AveragedFilters) else (model,)
    size = " & ".join(str(member.automaton.n_states) for member in members)
    return Learnt(model, size, model.automaton.n_states)


def auto(strings: Strings, rng: np.random.Generator) -> Learnt:
    fit = learn_auto(strings, rng)
    return Learnt(fit.model, "+".join(map(str, fit.sizes)), max(fit.sizes))


def ngram(order: int | None, smoothing: Smoothing) -> Learner:
    """n-grams of one order, or (None) of the order that held-out strings like best."""

    def learn(strings: Strings, rng: np.random.Generator) -> Learnt:
        model = learn_ngram(strings, order, smoothing, rng)
        found = int(model.contexts.depth.max()) + 1
        return Learnt(model, f"order {found}", found)

    return learn


def random_em(n_states: int, time_limit: float) -> Learner:
    """Random-start EM: seeds one after the other until the time is over, the best by held-out kept."""

    def learn(strings: Strings, rng: np.random.Generator) -> Learnt:
        fit = learn_em(
            strings,
            n_states,
            rng,
            n_seeds=EM_SEEDS,
            n_iterations=EM_ITERATIONS,
            dtype=np.float32,
            time_limit=time_limit,
        )
        return Learnt(fit.automaton, str(n_states), n_states)

    return learn


SPECTRAL: dict[str, Learner] = {"fast": fast, "convex": convex, "auto": auto}
BEST_NGRAMS: dict[str, Learner] = {
    "witten-bell": ngram(None, witten_bell),
    "kneser-ney": ngram(None, kneser_ney),
}
TRIGRAMS: dict[str, Learner] = {
    "3-gram witten-bell": ngram(3, witten_bell),
    "3-gram kneser-ney": ngram(3, kneser_ney),
}


def learn_timed(learner: Learner, strings: Strings, rng: np.random.Generator) -> Timed:
    return Timed(*timed(lambda: learner(strings, rng)))


def learner_named(name: str, learners: dict[str, Learner], of_auto: Timed | None) -> Learner:
    """A learner by name; `em` is shaped after the run of `auto`: its largest member, three times its time."""
    if name != "em":
        return learners[name]
    if of_auto is None:
        raise ValueError("em is compared with auto: ask for auto too")
    return random_em(of_auto.learnt.n_states, EM_TIMES * of_auto.timing.seconds)


def warm_up(learners: dict[str, Learner]) -> None:
    """Compile (or load) every kernel on a small corpus, so that no timing holds a compilation."""
    rng = np.random.default_rng(0)
    corpus = make_automaton(6, 4, rng).sample(400, rng)
    for learner in (*learners.values(), random_em(5, 0.1)):
        learnt = learner(corpus, np.random.default_rng(0))
        learnt.model.log_probability(corpus)
        learnt.model.gap_distributions(corpus)
