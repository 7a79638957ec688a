"""Gaussian hidden Markov models: spectral starts and EM against the best of 10 restarts of hmmlearn.

Five generated data sets, each of 40 series of 100 rows to learn from and as many to judge by, of 4 to 10
states in 1 to 6 dimensions that overlap. hmmlearn's `GaussianHMM` has full covariances, its faster "scaling"
implementation, up to 200 iterations and its own tolerance; of its restarts the one of the highest training
likelihood is judged. `GaussianHMM()` has its defaults but for the number of states. Times are processor time.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator

import numpy as np

from benchmarks.harness import Finding, Question, Row, Settings, Target
from sigmastar.continuous import GaussianHmm
from sigmastar.continuous.data import Series
from sigmastar.continuous.estimator import GaussianHMM

SHAPES = {
    "4 in 2": (4, 2, 1.5),
    "6 in 2": (6, 2, 1.0),
    "8 in 4": (8, 4, 1.0),
    "5 in 1": (5, 1, 1.5),
    "10 in 6": (10, 6, 0.8),
}
N_RESTARTS, N_SERIES, LENGTH = 10, 40, 100


def units(settings: Settings) -> list[str]:
    return list(SHAPES)[:1] if settings.quick else list(SHAPES)


def truth(unit: str) -> GaussianHmm:
    """A random model whose states stay for a while."""
    n, d, apart = SHAPES[unit]
    rng = np.random.default_rng(list(SHAPES).index(unit))
    transition = 0.4 * rng.dirichlet(np.full(n, 0.5), size=n) + 0.6 * np.eye(n)
    means = apart * rng.standard_normal((n, 1, d))
    roots = np.eye(d) + 0.3 * rng.standard_normal((n, 1, d, d))
    covariances = roots @ np.swapaxes(roots, -1, -2) + 0.05 * np.eye(d)
    return GaussianHmm(np.full(n, 1 / n), transition, np.ones((n, 1)), means, covariances)


def measure(unit: str, settings: Settings) -> Iterator[Row]:
    model, rng = truth(unit), np.random.default_rng(100 + list(SHAPES).index(unit) + settings.seed)
    train, test = (model.sample(N_SERIES, rng, LENGTH) for _ in range(2))
    n_rows = len(test.values)
    yield {"set": unit, "method": "truth", "held-out": float(model.log_probability(test).sum()) / n_rows}
    at = time.process_time()
    ours = GaussianHMM(n_states=model.n_states, n_jobs=1, random_state=settings.seed).fit(train)
    yield {
        "set": unit,
        "method": "ours",
        "seconds": time.process_time() - at,
        "training": ours.log_likelihoods_[-1],
        "held-out": ours.score(test),
        "fits": ours.n_seeds,
    }
    yield {"set": unit, **_hmmlearn(model.n_states, train, test, 2 if settings.quick else N_RESTARTS)}


def _hmmlearn(n_states: int, train: Series, test: Series, n_restarts: int) -> Row:
    from hmmlearn.hmm import GaussianHMM as Peer

    logging.getLogger("hmmlearn").setLevel(logging.ERROR)
    at, fits = time.process_time(), []
    for seed in range(n_restarts):
        peer = Peer(n_states, "full", n_iter=200, random_state=seed, implementation="scaling")
        fits.append(peer.fit(train.values, train.lengths))
    seconds = time.process_time() - at
    scores = [fit.score(train.values, train.lengths) / len(train.values) for fit in fits]
    held_out = [fit.score(test.values, test.lengths) / len(test.values) for fit in fits]
    best = int(np.argmax(scores))
    return {
        "method": "hmmlearn",
        "seconds": seconds,
        "training": scores[best],
        "held-out": held_out[best],
        "median": float(np.median(held_out)),
        "fits": n_restarts,
    }


def conclude(rows: list[Row]) -> list[Finding]:
    findings, gaps = [], []
    for unit in dict.fromkeys(row["set"] for row in rows):
        own = {row["method"]: row for row in rows if row["set"] == unit}
        gaps.append(own["ours"]["held-out"] - own["hmmlearn"]["held-out"])
        share = own["ours"]["seconds"] / own["hmmlearn"]["seconds"]
        findings += [
            Finding(
                f"{unit}: held-out log-density per row, ours less hmmlearn", gaps[-1], Target(">=", -1e-3)
            ),
            Finding(f"{unit}: time over that of hmmlearn", share, Target("<=", 0.1)),
        ]
    return [*findings, Finding("all sets: mean of the differences", float(np.mean(gaps)), Target(">=", 0.0))]


def prepare(settings: Settings) -> None:
    GaussianHMM(n_states=2).fit([np.random.default_rng(0).standard_normal((100, 2))])


QUESTION = Question(
    name="continuous",
    title="Gaussian hidden Markov models beside hmmlearn's best of 10 restarts",
    units=units,
    measure=measure,
    conclude=conclude,
    columns=("set", "method", "fits", "seconds", "training", "held-out", "median"),
    prepare=prepare,
    modules=("hmmlearn",),
)
