"""Learn where prepositional phrases attach: each judge from the training set, the pool from development."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from sigmastar.bilexical.counts.attachment import BackedOffCounts, FeatureTable
from sigmastar.bilexical.data.quadruples import Quadruples
from sigmastar.bilexical.learn.logistic import Block, fit_linear, fit_low_rank, fit_matrices
from sigmastar.bilexical.model.attachment import JUDGES, AttachmentModel, Factors, Places
from sigmastar.bilexical.model.vectors import Vectors
from sigmastar.optimise.proximal import L1, L2

Array = NDArray[np.float64]
Say = Callable[[str], None]

PENALTIES = {"nuclear": 5.0, "l1": 0.3, "l2": 0.2}
"""Of the bilinear judges, each with the weight that did best on development."""

DIMENSION = 100
"""Vectors are compressed to so many directions before the bilinear judges see them."""


@dataclass(frozen=True)
class AttachmentSettings:
    """How to learn; weights are of penalties on sums over items."""

    linear_weight: float = 1.0
    bilinear_weight: float | None = None  # None: the usual one of the penalty
    penalty: str = "nuclear"
    rank: int = 6
    min_count: int = 50  # training items that a preposition needs for matrices of its own
    judges: tuple[str, ...] = JUDGES
    n_iterations: int = 60
    refit: bool = True  # learn the judges once more, from both sets, with the votes as they are

    def __post_init__(self) -> None:
        if wrong := sorted(set(self.judges) - set(JUDGES)):
            raise ValueError(f"judges: {wrong[0]!r} must be among {', '.join(JUDGES)}")
        if self.penalty not in PENALTIES:
            raise ValueError(f"penalty={self.penalty!r} must be one of {', '.join(PENALTIES)}")

    @property
    def weight(self) -> float:
        """Of the penalty on the bilinear judges."""
        return PENALTIES[self.penalty] if self.bilinear_weight is None else self.bilinear_weight


def learn_attachment(
    train: Quadruples,
    dev: Quadruples,
    vectors: Vectors,
    rng: np.random.Generator,
    settings: AttachmentSettings | None = None,
    say: Say = lambda message: None,
) -> AttachmentModel:
    """Learn all judges from `train`, weigh their votes on `dev`, and learn them anew from both."""
    settings = settings or AttachmentSettings()
    if not len(train) or not len(dev):
        raise ValueError("attachment needs quadruples to train on and others to weigh the judges by")
    small = vectors.compressed(DIMENSION) if vectors.dimension > DIMENSION else vectors
    model = pooled(learn_judges(train, small, rng, settings, say), dev, settings.judges)
    if not settings.refit:
        return model
    again = learn_judges(train.joined(dev), small, rng, settings, say)
    return replace(again, pool=model.pool)


def learn_judges(
    train: Quadruples, vectors: Vectors, rng: np.random.Generator, settings: AttachmentSettings, say: Say
) -> AttachmentModel:
    """A model whose judges have no votes yet; `vectors` as they are to be used."""
    counted = Counter(word.lower() for word in train.preposition)
    prepositions = tuple(sorted(counted))
    places = Places.of(train, vectors, prepositions)
    say("linear")
    features = FeatureTable.of(train)
    linear = fit_linear(features.matrix(train), train.to_noun, settings.linear_weight)
    bilinear = {}
    for name in (name for name in prepositions if counted[name] >= settings.min_count):
        say(f"bilinear: {name}")
        bilinear[name] = _own_matrices(name, train, places, settings, rng)
    counts = BackedOffCounts.of(train)
    return AttachmentModel(features, linear, counts, vectors, prepositions, bilinear, {"constant": 0.0})


def pooled(model: AttachmentModel, dev: Quadruples, judges: Sequence[str] = JUDGES) -> AttachmentModel:
    """The model with the votes of some judges weighed on a development set."""
    found = model.judgements(dev)
    table = np.column_stack([*(found[name] for name in judges), np.ones(len(dev))])
    weights = fit_linear(table, dev.to_noun, 1e-3)
    pool = dict(zip([*judges, "constant"], weights.tolist(), strict=True))
    return replace(model, pool=pool)


def interpolated(
    model: AttachmentModel, dev: Quadruples, first: str = "linear", second: str = "bilinear"
) -> tuple[float, Callable[[Quadruples], Array]]:
    """Equation 7: the share of the first judge that does best on development, and the mixture."""

    def mixture(share: float, quadruples: Quadruples) -> Array:
        found = model.judgements(quadruples)
        return np.asarray(share * expit(found[first]) + (1 - share) * expit(found[second]))

    shares = np.linspace(0.0, 1.0, 21)
    judged = model.judgements(dev)
    one, two = expit(judged[first]), expit(judged[second])
    right = [float((((s * one + (1 - s) * two) > 0.5) == dev.to_noun).mean()) for s in shares]
    best = float(shares[int(np.argmax(right))])
    return best, lambda quadruples: mixture(best, quadruples)


def _own_matrices(
    name: str, train: Quadruples, places: Places, settings: AttachmentSettings, rng: np.random.Generator
) -> tuple[Factors, Factors]:
    rows = places.preposition == places.prepositions.index(name)
    second = places.second[rows]
    blocks = [Block(places.noun[rows], second), Block(-places.verb[rows], second)]
    targets = train.to_noun[rows]
    if settings.penalty == "nuclear":
        over_noun, over_verb = fit_low_rank(
            blocks, targets, settings.weight, settings.rank, rng, settings.n_iterations
        )
        return over_noun, over_verb
    penalty = (L1 if settings.penalty == "l1" else L2)(settings.weight)
    unit = np.eye(second.shape[1])
    of_noun, of_verb = fit_matrices(blocks, targets, penalty, settings.n_iterations)
    return (of_noun, unit), (of_verb, unit)
