"""The learners that are compared, each as corpus and chance -> model, with what it says about its size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.harness import Timing, timed
from sigmastar import EMAutomaton, NgramAutomaton, SpectralAutomaton, Strings
from sigmastar.automata import SequenceModel, make_automaton

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
    return _learnt(SpectralAutomaton(random_state=rng).fit(strings))


def convex(strings: Strings, rng: np.random.Generator) -> Learnt:
    return _learnt(SpectralAutomaton("convex", random_state=rng).fit(strings))


def auto(strings: Strings, rng: np.random.Generator) -> Learnt:
    fitted = SpectralAutomaton("auto", random_state=rng).fit(strings)
    return Learnt(fitted.model_, str(fitted.n_states_), fitted.rank_evidence_.chosen)


def _learnt(fitted: SpectralAutomaton) -> Learnt:
    return Learnt(fitted.model_, str(fitted.n_states_), fitted.n_states_)


def ngram(order: int | str, smoothing: str) -> Learner:
    """n-grams of one order, or ("auto") of the order that held-out strings like best."""

    def learn(strings: Strings, rng: np.random.Generator) -> Learnt:
        model = NgramAutomaton(order, smoothing, random_state=rng).fit(strings).model_
        found = int(model.contexts.depth.max()) + 1
        return Learnt(model, f"order {found}", found)

    return learn


def random_em(n_states: int, time_limit: float) -> Learner:
    """Random-start EM: seeds one after the other until the time is over, the best by held-out kept."""

    def learn(strings: Strings, rng: np.random.Generator) -> Learnt:
        made = EMAutomaton(
            n_states,
            EM_SEEDS,
            EM_ITERATIONS,
            precision="float32",
            time_limit=time_limit,
            random_state=rng,
        )
        return Learnt(made.fit(strings).model_, str(n_states), n_states)

    return learn


SPECTRAL: dict[str, Learner] = {"fast": fast, "convex": convex, "auto": auto}
BEST_NGRAMS: dict[str, Learner] = {
    "witten-bell": ngram("auto", "witten-bell"),
    "kneser-ney": ngram("auto", "kneser-ney"),
}
TRIGRAMS: dict[str, Learner] = {
    "3-gram witten-bell": ngram(3, "witten-bell"),
    "3-gram kneser-ney": ngram(3, "kneser-ney"),
}


def learn_timed(learner: Learner, strings: Strings, rng: np.random.Generator) -> Timed:
    return Timed(*timed(lambda: learner(strings, rng)))


def learner_named(name: str, learners: dict[str, Learner], of_auto: Timed | None) -> Learner:
    """A learner by name; `em` is shaped after the run of `auto`: its chosen size, three times its time."""
    if name != "em":
        return learners[name]
    if of_auto is None:
        raise ValueError("em is compared with auto: ask for auto too")
    return random_em(of_auto.learnt.n_states, EM_TIMES * of_auto.timing.cpu_seconds)


def warm_up(learners: dict[str, Learner]) -> None:
    """Compile (or load) every kernel on a small corpus, so that no timing holds a compilation."""
    rng = np.random.default_rng(0)
    corpus = make_automaton(6, 4, rng).sample(400, rng)
    for learner in (*learners.values(), random_em(5, 0.1)):
        learnt = learner(corpus, np.random.default_rng(0))
        learnt.model.log_probability(corpus)
        learnt.model.gap_distributions(corpus)
