"""Gaussian hidden Markov models: spectral starts and EM against the best of 10 restarts of hmmlearn.

Five generated data sets, each of 40 series of 100 rows to learn from and as many to judge by, of 4 to 10
states in 1 to 6 dimensions that overlap; and a real one, 1,797 handwritten digits of 8 x 8 grey values, each
a series of its lines from top to bottom (values are whole numbers, to which a uniform share of one is added,
so that densities are finite): 400 to learn from, 10 states in 8 dimensions.

hmmlearn's `GaussianHMM` has full covariances, its faster "scaling" implementation, up to 200 iterations and
its own tolerance. dynamax (JAX) and pomegranate (PyTorch) stand beside it where they are installed, with full
covariances, starts by k-means, as many iterations and three restarts. dynamax has no tolerance. Models of
pomegranate end series too, which is in their densities: about log 100 / 100 nats per row of series of 100.

Of all restarts the one of the highest training likelihood is judged. "as high" is how many came within a
thousandth of a nat per row of the best that any method found, "needed" which of them was the first;
`GaussianHMM()` has its defaults but for the number of states, and is one fit of one seed. Times are
processor time, with that of the compilers of peers.
"""

from __future__ import annotations

import importlib.util
import logging
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.harness import Finding, Question, Row, Settings, Target, say
from sigmastar.continuous import GaussianHmm
from sigmastar.continuous.data import Series
from sigmastar.continuous.estimator import GaussianHMM
from sigmastar.core.arrays import Floats

SHAPES = {
    "4 in 2": (4, 2, 1.5),
    "6 in 2": (6, 2, 1.0),
    "8 in 4": (8, 4, 1.0),
    "5 in 1": (5, 1, 1.5),
    "10 in 6": (10, 6, 0.8),
}
REAL = "digits"
N_DIGIT_STATES, N_DIGITS = 10, 400
N_RESTARTS = {"hmmlearn": 10, "dynamax": 3, "pomegranate": 3}
N_SERIES, LENGTH, N_ITERATIONS = 40, 100, 200
NEAR = 1e-3  # nats per row


def units(settings: Settings) -> list[str]:
    return list(SHAPES)[:1] if settings.quick else [*SHAPES, REAL]


def truth(unit: str) -> GaussianHmm:
    """A random model whose states stay for a while."""
    n, d, apart = SHAPES[unit]
    rng = np.random.default_rng(list(SHAPES).index(unit))
    transition = 0.4 * rng.dirichlet(np.full(n, 0.5), size=n) + 0.6 * np.eye(n)
    means = apart * rng.standard_normal((n, 1, d))
    roots = np.eye(d) + 0.3 * rng.standard_normal((n, 1, d, d))
    covariances = roots @ np.swapaxes(roots, -1, -2) + 0.05 * np.eye(d)
    return GaussianHmm(np.full(n, 1 / n), transition, np.ones((n, 1)), means, covariances)


def digits(seed: int) -> tuple[Series, Series]:
    """Lines of handwritten digits, as scikit-learn brings them, to learn from and to judge by."""
    from sklearn.datasets import load_digits

    images = load_digits().images
    values = images + np.random.default_rng(seed).random(images.shape)
    return Series.of(list(values[:N_DIGITS])), Series.of(list(values[N_DIGITS:]))


def measure(unit: str, settings: Settings) -> Iterator[Row]:
    if unit == REAL:
        n_states, (train, test) = N_DIGIT_STATES, digits(settings.seed)
    else:
        model, rng = truth(unit), np.random.default_rng(100 + list(SHAPES).index(unit) + settings.seed)
        n_states = model.n_states
        train, test = (model.sample(N_SERIES, rng, LENGTH) for _ in range(2))
        held_out = float(model.log_probability(test).sum()) / len(test.values)
        yield {"set": unit, "method": "truth", "held-out": held_out}
    runs = {"ours": _ours(n_states, train, test, settings.seed)}
    for name in settings.chosen(list(PEERS)):
        if importlib.util.find_spec(name) is None:
            say(f"{name} is not installed: left out")
        else:
            n_restarts = 2 if settings.quick else N_RESTARTS[name]
            runs[name] = _restarts(PEERS[name], n_states, train, test, n_restarts)
    best = max(max(run["training"]) for run in runs.values())
    yield from ({"set": unit, "method": name, **_judged(run, best)} for name, run in runs.items())


def _ours(n_states: int, train: Series, test: Series, seed: int) -> dict[str, Any]:
    at = time.process_time()
    fit = GaussianHMM(n_states=n_states, n_jobs=1, random_state=seed).fit(train)
    seconds = time.process_time() - at
    return {
        "seconds": seconds,
        "training": [fit.log_likelihoods_[-1]],
        "held-out": [fit.score(test)],
        "fits": fit.n_seeds,
    }


Score = Callable[[Series], float]
"""The log-density of series, all rows together."""
Fit = Callable[[int, Series, int], Score]
"""From a number of states, series to learn from and a seed."""


def _restarts(fit: Fit, n_states: int, train: Series, test: Series, n_restarts: int) -> dict[str, Any]:
    at = time.process_time()
    fits = [fit(n_states, train, seed) for seed in range(n_restarts)]
    seconds = time.process_time() - at
    training, held_out = ([one(part) / len(part.values) for one in fits] for part in (train, test))
    return {"seconds": seconds, "training": training, "held-out": held_out, "fits": n_restarts}


def _judged(run: dict[str, Any], best: float) -> Row:
    """The restart of the highest training likelihood, and how many came as high as any method did."""
    top, near = int(np.argmax(run["training"])), np.asarray(run["training"]) >= best - NEAR
    row = {name: run[name] for name in ("seconds", "fits")}
    row |= {name: run[name][top] for name in ("training", "held-out")}
    row |= {"median": float(np.median(run["held-out"])), "as high": int(near.sum())}
    return row | ({"needed": int(np.argmax(near)) + 1} if near.any() else {})


def _hmmlearn(n_states: int, train: Series, seed: int) -> Score:
    from hmmlearn.hmm import GaussianHMM as Peer

    logging.getLogger("hmmlearn").setLevel(logging.ERROR)
    peer = Peer(n_states, "full", n_iter=N_ITERATIONS, random_state=seed, implementation="scaling")
    peer.fit(train.values, train.lengths)
    return lambda part: float(peer.score(part.values, part.lengths))


def _dynamax(n_states: int, train: Series, seed: int) -> Score:
    import jax
    from dynamax.hidden_markov_model import GaussianHMM as Peer

    jax.config.update("jax_enable_x64", True)
    rows = _stacked(train)
    peer = Peer(n_states, rows.shape[2])
    given, kinds = peer.initialize(jax.random.PRNGKey(seed), method="kmeans", emissions=rows)
    found, _ = peer.fit_em(given, kinds, rows, num_iters=N_ITERATIONS, verbose=False)
    score = jax.vmap(lambda one: peer.marginal_log_prob(found, one))
    return lambda part: float(score(_stacked(part)).sum())


def _pomegranate(n_states: int, train: Series, seed: int) -> Score:
    import torch
    from pomegranate.distributions import Normal
    from pomegranate.hmm import DenseHMM

    def tensor(part: Series) -> Any:
        return torch.tensor(_stacked(part), dtype=torch.float32)

    torch.set_num_threads(1)
    peer = DenseHMM([Normal() for _ in range(n_states)], max_iter=N_ITERATIONS, random_state=seed)
    peer.fit(tensor(train))
    return lambda part: float(peer.log_probability(tensor(part)).sum())


def _stacked(series: Series) -> Floats:
    """Series x rows x dimensions: all are of one length."""
    return np.asarray(series.values).reshape(len(series), -1, series.values.shape[1])


PEERS: dict[str, Fit] = {"hmmlearn": _hmmlearn, "dynamax": _dynamax, "pomegranate": _pomegranate}


def conclude(rows: list[Row]) -> list[Finding]:
    findings, gaps = [], []
    for unit in dict.fromkeys(row["set"] for row in rows):
        own = {row["method"]: row for row in rows if row["set"] == unit}
        for name in (name for name in PEERS if name in own):
            is_first = name == "hmmlearn"
            gap = own["ours"]["held-out"] - own[name]["held-out"]
            share = own["ours"]["seconds"] / own[name]["seconds"]
            label = f"{unit}: held-out log-density per row, ours less {name}"
            findings += [
                Finding(label, gap, Target(">=", -NEAR) if is_first else None),
                Finding(f"{unit}: time over that of {name}", share, Target("<=", 0.1) if is_first else None),
            ]
            gaps += [gap] if is_first else []
    mean = (
        [Finding("all sets: mean of the differences", float(np.mean(gaps)), Target(">=", 0.0))]
        if gaps
        else []
    )
    return [*findings, *mean]


def prepare(settings: Settings) -> None:
    GaussianHMM(n_states=2).fit([np.random.default_rng(0).standard_normal((100, 2))])


QUESTION = Question(
    name="continuous",
    title="Gaussian hidden Markov models beside hmmlearn's best of 10 restarts",
    units=units,
    measure=measure,
    conclude=conclude,
    columns=("set", "method", "fits", "as high", "needed", "seconds", "training", "held-out", "median"),
    prepare=prepare,
    modules=("hmmlearn",),
)
