"""Automata in the demo: strings from a random machine, four learners, and pictures of what they found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sigmastar.automata.data.strings import PrefixTrie, Strings
from sigmastar.automata.draw.graph import draw_automaton
from sigmastar.automata.draw.plots import plot_next_symbols, plot_spectrum
from sigmastar.automata.estimator.em_and_ngram import EMAutomaton, NgramAutomaton
from sigmastar.automata.estimator.spectral import SpectralAutomaton
from sigmastar.automata.metrics import (
    DivergenceEstimate,
    competition_perplexity,
    kl_on,
    log_likelihood,
)
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.generators import make_automaton
from sigmastar.automata.model.sequence import SequenceModel
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Floats
from sigmastar.core.demo import BOLD, DemoResult, DemoRow, ahead, timed
from sigmastar.core.figures import MissingMatplotlibError, plot_learning_curves, to_svg
from sigmastar.core.model_format import hash_strings
from sigmastar.core.page import Part, Picture, Section, Table, Text
from sigmastar.core.progress import Progress

FAMILY = "automata"
N_STATES, SYMBOLS = 8, "abcdef"
N_TRAIN, N_FRESH = 5000, 2500
CURVE_SIZES = (500, 2000)
N_EM_STARTS = 3  # which takes about the time of auto

Learners = dict[str, Callable[[], Any]]


@dataclass(frozen=True, eq=False)
class Corpus:
    """The machine, what is learned from it, and fresh strings to judge by."""

    truth: WeightedAutomaton
    train: Strings
    fresh: Strings


@dataclass(frozen=True, eq=False)
class Outcome:
    """One learner, fitted."""

    learner: str
    estimator: Any
    seconds: float | None
    divergence: DivergenceEstimate
    ratio: float

    @property
    def n_states(self) -> int | None:
        """Nothing for n-grams, which have none."""
        return getattr(self.estimator, "n_states_", None)

    @property
    def row(self) -> DemoRow:
        measures = {"KL": self.divergence.value, "R": self.ratio}
        return DemoRow(
            FAMILY, self.learner, measures, self.seconds, self.divergence if self.seconds else None
        )


@dataclass(frozen=True)
class AutomataFamily:
    """Learners of weighted automata against each other and the truth."""

    name: str = FAMILY
    n_train: int = N_TRAIN
    n_fresh: int = N_FRESH

    def run(self, seed: int, progress: Progress) -> DemoResult:
        progress("automata: strings", 0.0)
        corpus = make_corpus(seed, self.n_train, self.n_fresh)
        learners = make_learners(seed)
        outcomes = [_judged("truth", corpus.truth, None, None, corpus)]
        for number, (name, make) in enumerate(learners.items()):
            progress(f"automata: {name}", 0.5 * number / len(learners))
            outcomes.append(learn(name, make, corpus.train, corpus))
        curves = _curves(learners, corpus, outcomes, progress)
        progress("automata: pictures", 0.95)
        section = _section(corpus, outcomes, curves)
        return DemoResult(tuple(outcome.row for outcome in outcomes), section, hash_strings(corpus.train))


def make_corpus(seed: int, n_train: int = N_TRAIN, n_fresh: int = N_FRESH) -> Corpus:
    """Strings from a random probabilistic automaton."""
    rng = np.random.default_rng(seed)
    drawn = make_automaton(N_STATES, len(SYMBOLS), rng, density=0.06, stop=0.08)
    truth = WeightedAutomaton(Alphabet(SYMBOLS), drawn.initial, drawn.transitions, drawn.final)
    return Corpus(truth, truth.sample(n_train, rng), truth.sample(n_fresh, rng))


def make_learners(seed: int) -> Learners:
    """The learners by name. EM is given the true number of states."""
    return {
        "3-gram": lambda: NgramAutomaton(order=3),
        "EM": lambda: EMAutomaton(  # in the precision that `auto` climbs in, so that both share their kernels
            n_states=N_STATES, n_seeds=N_EM_STARTS, precision="float32", random_state=seed
        ),
        "fast": lambda: SpectralAutomaton(method="fast", random_state=seed),
        "auto": lambda: SpectralAutomaton(method="auto", random_state=seed),
    }


def learn(name: str, make: Callable[[], Any], train: Strings, corpus: Corpus) -> Outcome:
    """Fit one learner and judge it on fresh strings."""
    estimator, seconds = timed(lambda: make().fit(train))
    return _judged(name, estimator.model_, estimator, seconds, corpus)


def _judged(
    name: str, model: SequenceModel, estimator: Any, seconds: float | None, corpus: Corpus
) -> Outcome:
    distinct = _distinct(corpus.fresh)
    targets = np.exp(log_likelihood(corpus.truth, distinct))
    ratio = competition_perplexity(model, distinct, targets).ratio
    return Outcome(name, estimator, seconds, kl_on(model, corpus.truth, corpus.fresh), ratio)


def _distinct(strings: Strings) -> Strings:
    """Each string once, as the competition's test sets have it."""
    _, first = np.unique(PrefixTrie.of(strings).string_node, return_index=True)
    return strings.select(np.sort(first))


Curves = dict[str, Floats]
"""Sizes, values, and the two ends of their intervals, one row each."""


def _curves(learners: Learners, corpus: Corpus, outcomes: list[Outcome], progress: Progress) -> Curves:
    """KL on fresh strings for growing parts of the training strings; all of them were learned from before."""
    whole = {outcome.learner: outcome.divergence for outcome in outcomes}
    sizes = [size for size in CURVE_SIZES if size < len(corpus.train)]
    points: dict[str, list[tuple[float, float, float, float]]] = {name: [] for name in learners}
    for number, size in enumerate([*sizes, len(corpus.train)]):
        progress(f"automata: learning curves, {size:,} strings", 0.5 + 0.45 * number / (len(sizes) + 1))
        part = corpus.train.select(np.arange(size))
        for name, make in learners.items():
            found = whole[name] if size == len(corpus.train) else learn(name, make, part, corpus).divergence
            points[name].append((size, found.value, found.low, found.high))
    return {name: np.array(rows).T for name, rows in points.items()}


def _section(corpus: Corpus, outcomes: list[Outcome], curves: Curves) -> Section:
    truth = corpus.truth
    explanation = (
        f"{len(corpus.train):,} strings were drawn from a random probabilistic automaton with "
        f"{truth.n_states} states over {len(truth.alphabet)} symbols. Every learner is judged on "
        f"{len(corpus.fresh):,} fresh strings. KL is the mean of log p(x) - log q(x), in nats per string: "
        "how much the model q loses against the truth p. R is the perplexity over the distinct fresh "
        "strings, weighted by p(x), divided by that of the truth. EM is given the true number of states "
        f"and keeps the best of {N_EM_STARTS} random starts; fast and auto find their own number. Where EM "
        "is level with auto, that number and so many strings make its climb easy; the curves show fewer."
    )
    parts: list[Part] = [Text(explanation), _table(outcomes)]
    by_name = {outcome.learner: outcome for outcome in outcomes}
    drawn = _automaton_pictures(corpus, by_name["auto"])
    try:
        parts += _plots(corpus, by_name, curves)
    except MissingMatplotlibError as problem:
        parts.append(Text(f"Curves and spectra are left out: {problem}."))
    return Section("Automata from strings", [*parts, *drawn])


def _table(outcomes: list[Outcome]) -> Table:
    columns = ("learner", "states", "KL, nats per string", "95% interval", "R", "seconds")
    rows = [
        (
            o.learner,
            o.n_states if o.estimator is not None else N_STATES,
            f"{o.divergence.value:.4f}",
            f"{o.divergence.low:.4f} to {o.divergence.high:.4f}" if o.estimator is not None else None,
            f"{o.ratio:.4f}",
            None if o.seconds is None else f"{o.seconds:.2f}",
        )
        for o in outcomes
    ]
    first = ahead([o.divergence for o in outcomes[1:]], is_error=True)  # behind the truth
    best = frozenset() if first is None else frozenset({(first + 1, 2)})
    note = f"Lower is better throughout{BOLD} Times are of one fit, without the compilation of kernels."
    return Table("Learners of automata", columns, rows, best, note)


def _plots(corpus: Corpus, by_name: dict[str, Outcome], curves: Curves) -> list[Part]:
    evidence = by_name["fast"].estimator.rank_evidence_
    string = _example(corpus.fresh)
    model = by_name["auto"].estimator.model_
    return [
        Picture(
            to_svg(plot_spectrum(evidence, score_name="held-out log-likelihood, nats per string")),
            "The singular values of the statistics, the level that noise alone would reach, and the score on "
            f"held-out strings for fast. Chosen: {evidence.chosen} states, {evidence.reason}.",
            f"Singular values falling with rank, and held-out scores; rank {evidence.chosen} is chosen.",
        ),
        Picture(
            to_svg(plot_learning_curves(curves, title="Loss against the truth")),
            "Loss by the number of strings learned from: see how steeply each line falls. Bands: 95% "
            "intervals over the fresh strings; where they overlap, learners are level.",
            "KL divergence against the number of training strings for " + ", ".join(curves) + ".",
        ),
        Picture(
            to_svg(plot_next_symbols(model, string, title="What auto expects next")),
            "Each column is the distribution of the next symbol before it is read; the circle marks "
            "the symbol that came.",
            f"Heat map of next-symbol probabilities along the string {' '.join(map(str, string))}.",
        ),
    ]


def _automaton_pictures(corpus: Corpus, auto: Outcome) -> list[Part]:
    legend = (
        "An arrow is a move, labelled with its symbols and their probabilities; short black arrows show "
        "where strings start; the green part of a ring is the probability to stop."
    )
    learned = auto.estimator.automaton_
    truth = f"The true automaton, {corpus.truth.n_states} states."
    found = f"What auto learned, {learned.n_states} states."
    order = (
        "Learned states carry no names, so their numbers need not match. Where a mixture of two automata "
        "did better on held-out strings, both are drawn, without arrows between them."
    )
    return [
        Picture(draw_automaton(corpus.truth), f"{truth} {legend}", f"Graph: {truth}"),
        Picture(draw_automaton(learned), f"{found} {order}", f"Graph: {found}"),
    ]


def _example(strings: Strings) -> tuple[Any, ...]:
    """A string long enough to show something and short enough to be read."""
    return strings[int(np.argmin(np.abs(strings.lengths - 22)))]
