"""From a black box to an automaton: candidates of several kinds, of which held-out answers choose.

    exact       the operators of a machine of low rank, where the answers show one
    spectral    operators from exact futures, refined, behind a filter that falls back on an n-gram
    clusters    a proper automaton from clusters of futures, refined
    ngram       averaged answers in contexts of at most three symbols

Candidates are compared by the divergence from held-out answers, the mean over the pools that judge.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sigmastar.automata.data.strings import PrefixTrie
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.ngram_smoothing import NgramModel
from sigmastar.automata.model.restart_filter import FilteredAutomaton
from sigmastar.automata.model.sequence import SequenceModel
from sigmastar.core.arrays import Floats
from sigmastar.core.clusters import k_means
from sigmastar.core.progress import Progress, announce, stage
from sigmastar.distil.asked_strings import Asked
from sigmastar.distil.averaged_ngram import averaged_ngram
from sigmastar.distil.futures import (
    cluster_automaton,
    coarse,
    future_features,
    future_points,
    n_directions,
    width_of,
)
from sigmastar.distil.gathering import Pool, sampled
from sigmastar.distil.kernels import Loss, SoftTrie, divergence
from sigmastar.distil.parametrizations import Proper, Signed
from sigmastar.distil.questions import Questions
from sigmastar.distil.refine import refine
from sigmastar.distil.spectral import Directions, Regression, exact_automaton, principal

METHODS = ("auto", "spectral", "clusters", "ngram")
FEW_STATES, MOST_STATES = 100, 130
_PER_DIRECTION = 8  # states per direction in which futures differ
_LADDER = (5, 10, 20, 40, 80, 120)
_EXACT = 1e-13  # nats: below, the divergence is rounding
_WORK = 2.1e12  # multiplications of a refinement: a minute or two
_SPEED = 4e10  # multiplications per second of one core; 2e10 to 7e10 were seen
_EPOCHS = 4, 120
_FEWER = 4  # of signed weights so many times fewer epochs
_WORTH = 1.3  # a start this far behind another candidate is not refined
_WEIGHTS = 20_000_000  # of an automaton, at most
_NODES = 25_000  # prefixes whose futures are asked
_CELLS = 40_000_000  # probabilities of futures that are kept
_BEGINNINGS = 4.0  # times that prefixes of at most one symbol count: short strings are the likely ones
_RATES = (1e-5, 1e-3, 1e-2, 3e-2, 0.1, 0.3)


Futures = tuple[PrefixTrie, SoftTrie, Floats]
"""Prefixes, what was told there, and the probabilities of their futures."""


@dataclass(frozen=True, eq=False)
class Distilled:
    """A stand-in, how it was chosen, and what was asked."""

    model: SequenceModel
    method: str
    scores: Mapping[str, float]  # nats per symbol on held-out answers, by candidate


@dataclass(frozen=True, eq=False)
class Evidence:
    """All that the candidates are made from."""

    questions: Questions
    pools: list[Pool]
    train: Asked
    rng: np.random.Generator
    progress: Progress

    def score(self, model: SequenceModel) -> float:
        """The divergence from held-out answers, the mean over the pools that judge."""
        judges = [pool for pool in self.pools if pool.judges]
        return float(np.mean([mean_divergence(model, pool.held) for pool in judges]))

    @property
    def loss(self) -> Loss:
        """The divergence, but for what is too small to be told by this black box."""
        told = self.train.rows[: 200_000 // self.train.rows.shape[1] + 1]
        return divergence(float(np.clip(0.1 * np.quantile(told, 0.001), 1e-7, 1e-3)), _BEGINNINGS)


def mean_divergence(model: SequenceModel, asked: Asked) -> float:
    """KL from the answers to a model, nats per gap; rounding may not take it below zero."""
    total, at = 0.0, 0
    for piece in asked.strings.pieces(max(1, 4_000_000 // asked.rows.shape[1])):
        rows = asked.rows[at : at + piece.n_gaps]
        total += float(divergences(rows, model.gap_distributions(piece)).sum())
        at += piece.n_gaps
    return max(total, 0.0) / max(at, 1)


def divergences(rows: Floats, told: Floats) -> Floats:
    """KL of each row from what a model told; what it holds impossible counts as 1e-12."""
    parts = rows * np.log(np.maximum(rows, 1e-300) / np.maximum(told, 1e-12))
    return np.asarray(parts.sum(axis=1))


def distil(evidence: Evidence, method: str, n_states: int | None) -> Distilled:
    """The best candidate of a method, or of all."""
    ngram = averaged_ngram(evidence.train)
    found: dict[str, SequenceModel] = {"ngram": ngram}
    if method != "ngram":
        found |= _from_futures(evidence, method, n_states, ngram)
    scores = {name: evidence.score(model) for name, model in found.items()}
    allowed = scores if method == "auto" else {n: s for n, s in scores.items() if n in (method, "exact")}
    best = "exact" if scores.get("exact", 1.0) < _EXACT else min(allowed, key=lambda name: allowed[name])
    return Distilled(found[best], best, scores)


def _from_futures(
    evidence: Evidence, method: str, n_states: int | None, ngram: NgramModel
) -> dict[str, SequenceModel]:
    questions = evidence.questions
    trie, soft, features = _futures(evidence)
    exact = exact_automaton(questions.alphabet, trie, features, soft)
    if exact is not None and evidence.score(exact) < _EXACT:
        return {"exact": exact}
    found: dict[str, SequenceModel] = {}
    points, spread = future_points(features, soft.weights)
    most = n_states or affordable(evidence, n_directions(spread))
    announce(refinement_seconds(evidence, method, most), "learning")
    if method in ("auto", "clusters"):
        found["clusters"] = _clusters(evidence, most, (trie, soft, points))
    if method in ("auto", "spectral"):
        to_beat = evidence.score(found["clusters"]) if found else np.inf
        ranks = [rank for rank in _LADDER if rank < most and n_states is None] + [most]
        found["spectral"] = _spectral(evidence, ranks, ngram, (trie, soft, features), to_beat)
    return found


def _futures(evidence: Evidence) -> Futures:
    """Of as many prefixes as the budget allows; of no more than what is told there, where it is spent."""
    questions, width = evidence.questions, width_of(len(evidence.questions.alphabet))
    n_outcomes = len(questions.alphabet) + 1
    target = int(min(_NODES, questions.left / width, _CELLS / (width * n_outcomes)))
    evidence.progress("asking at the futures of prefixes", 0.15)
    for _ in range(5):
        trie, soft = sampled(evidence.pools, max(target, 20), evidence.rng).on_trie()
        if trie.n_nodes * width <= questions.left:
            features = future_features(questions, trie, soft.targets)
            return trie, soft, coarse(features, evidence.rng)
        target //= 2
    return trie, soft, coarse(np.array(soft.targets), evidence.rng)


def affordable(evidence: Evidence, n_directions: int) -> int:
    """Fewer states where futures differ in few directions, where weights take memory, or prefixes are few."""
    by_weights = int(np.sqrt(_WEIGHTS / len(evidence.questions.alphabet)))
    by_futures = int(np.clip(_PER_DIRECTION * n_directions, FEW_STATES, MOST_STATES))
    return int(np.clip(evidence.train.strings.n_gaps // 50, 2, min(by_futures, by_weights)))


def n_epochs(evidence: Evidence, n_states: int) -> int:
    """As many as the work allows."""
    return int(np.clip(_WORK / _epoch_work(evidence, n_states), *_EPOCHS))


def _epoch_work(evidence: Evidence, n_states: int) -> float:
    """Multiplications of one epoch."""
    gaps: int = evidence.train.strings.n_gaps
    return 3.0 * n_states * (n_states + int(evidence.train.rows.shape[1])) * gaps


def refinement_seconds(evidence: Evidence, method: str, n_states: int) -> float:
    """What the refinements of a method will take of one core, about."""
    share = (method != "spectral") + (method != "clusters") / _FEWER
    return share * n_epochs(evidence, n_states) * _epoch_work(evidence, n_states) / _SPEED


def _spectral(
    evidence: Evidence, ranks: list[int], ngram: NgramModel, futures: Futures, to_beat: float
) -> FilteredAutomaton:
    """The rank that held-out answers prefer; refined, where that may be of use."""
    trie, soft, features = futures
    directions = principal(features, soft.weights, ranks[-1])
    regression = Regression.of(evidence.questions.alphabet, trie, directions.states, soft)
    ranks = sorted({min(rank, directions.states.shape[1]) for rank in ranks})
    evidence.progress("spectral operators", 0.8)
    restarts = _class_states(ngram, trie, directions)
    models = [_behind_filter(regression.solved(rank), ngram, restarts) for rank in ranks]
    best = min(models, key=evidence.score)
    automaton = best.automaton
    if evidence.score(best) < _WORTH * to_beat:
        automaton = _refined(evidence, best, _signed_form(directions, soft, automaton.n_states))
    rates = (_behind_filter(automaton, ngram, restarts, rate) for rate in _RATES)
    return min(rates, key=evidence.score)


def _signed_form(directions: Directions, soft: SoftTrie, rank: int) -> Signed:
    limits = 1.2 * np.quantile(np.abs(directions.states[:, :rank]), 0.9995, axis=0)
    limits[0] = 2.0
    return Signed(limits, 0.5 * max(float(np.quantile(soft.targets[:2000], 0.001)), 1e-6))


def _refined(evidence: Evidence, best: FilteredAutomaton, form: Signed) -> WeightedAutomaton:
    def score(automaton: WeightedAutomaton) -> float:
        return evidence.score(_behind_filter(automaton, best.backoff, best.restarts, float(best.mixing[0])))

    rounds = max(4, n_epochs(evidence, best.automaton.n_states) // _FEWER)
    progress = stage(evidence.progress, 0.8, 1.0)
    return refine(form, best.automaton, evidence.train, score, evidence.rng, rounds, evidence.loss, progress)[
        0
    ]


def _behind_filter(
    automaton: WeightedAutomaton, ngram: NgramModel, restarts: Floats, rate: float = 1e-2
) -> FilteredAutomaton:
    mass = np.eye(1, automaton.n_states)[0]
    states = np.ascontiguousarray(restarts[:, : automaton.n_states])
    return FilteredAutomaton(automaton, mass, ngram, states, np.full(len(restarts), rate))


def _class_states(ngram: NgramModel, trie: PrefixTrie, directions: Directions) -> Floats:
    """The mean state in each context of the n-gram, the overall mean where there is none."""
    classes = ngram.contexts.classify_prefixes(trie)
    sums = np.zeros((ngram.contexts.n_classes, directions.states.shape[1]))
    np.add.at(sums, classes, directions.states)
    counts = np.bincount(classes, minlength=len(sums)).astype(np.float64)
    mean = directions.states.mean(axis=0)
    return np.asarray((sums + mean) / (counts + 1.0)[:, None])


def _clusters(evidence: Evidence, n_states: int, futures: Futures) -> WeightedAutomaton:
    """States from clusters of futures, given as points, then all moves refined."""
    trie, soft, points = futures
    size = min(n_states, trie.n_nodes)
    evidence.progress("clusters of futures", 0.25)
    found = k_means(points, size, evidence.rng, weights=soft.weights, n_steps=15)
    start = cluster_automaton(evidence.questions.alphabet, trie, found.labels, soft, found.n_clusters)
    rounds, progress = n_epochs(evidence, size), stage(evidence.progress, 0.3, 0.8)
    return refine(
        Proper(), start, evidence.train, evidence.score, evidence.rng, rounds, evidence.loss, progress
    )[0]
