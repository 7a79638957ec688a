"""One relation of Madhyastha et al. (2014): accuracy against operations, under each penalty."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from sigmastar.bilexical.data.pairs import HeadSplit, Pairs, split_heads
from sigmastar.bilexical.demo import capacity_curve
from sigmastar.bilexical.learn.bilexical import (
    BilexicalSettings,
    learn_bilexical,
    popularity_scores,
    unsupervised,
)
from sigmastar.bilexical.metrics import pairwise_accuracy
from sigmastar.bilexical.model.bilexical import BilexicalModel
from sigmastar.bilexical.model.vectors import Vectors
from sigmastar.reproduce.madhyastha2014.relations import SIMILARITY

RANKS = (1, 2, 5, 10, 20, 40)
WEIGHTS = (10, 30, 100, 1000, 10_000, 100_000)
FULL_PATH = (0.001,)  # what l1 and l2 want, by validation heads; early stopping does the rest
Curve = tuple[list[int], list[float]]


@dataclass(frozen=True, eq=False)
class Measured:
    """One relation: curves by method, popularity, and the model under the nuclear norm."""

    curves: Mapping[str, Curve]
    popularity: float
    matched: float
    model: BilexicalModel
    n_splits: int = 1

    def best(self, method: str) -> float:
        return max(self.curves[method][1])

    def within(self, method: str, operations: int) -> float:
        """The best at no more than so many operations; chance if that is too few."""
        return max((y for x, y in zip(*self.curves[method], strict=True) if x <= operations), default=50.0)


def measure(
    pairs: Pairs, vectors: Vectors, whole: Vectors, rng: np.random.Generator, n_splits: int, quick: bool
) -> Measured:
    """Learn under each penalty; curves and figures are means over splits of the heads.

    Where `vectors` are fewer directions of the `whole`, as for few pairs, their similarity has a say.
    """
    found = [_measure_split(pairs, vectors, whole, rng, quick) for _ in range(n_splits)]
    curves = {name: _mean_curve([one.curves[name] for one in found]) for name in found[0].curves}
    popularity, matched = (float(np.mean([getattr(f, n) for f in found])) for n in ("popularity", "matched"))
    return Measured(curves, popularity, matched, found[0].model, n_splits)


def _measure_split(
    pairs: Pairs, vectors: Vectors, whole: Vectors, rng: np.random.Generator, quick: bool
) -> Measured:
    split = split_heads(pairs.heads, rng)
    train, test = pairs.select(split.train), pairs.select(split.test)
    similarity = SIMILARITY if vectors is not whole else 0.0
    options = BilexicalSettings(similarity=similarity)
    nuclear = learn_bilexical(pairs, vectors, rng, options, split).model
    curves = {
        "unsupervised": _unsupervised_curve(pairs, whole, split, test),
        "nuclear": capacity_curve(nuclear, test, (*RANKS, vectors.dimension) if similarity else RANKS),
    }
    for penalty in () if quick else ("l1", "l2"):
        settings = BilexicalSettings(penalty, path=FULL_PATH, n_iterations=60, similarity=similarity)
        model = learn_bilexical(pairs, vectors, rng, settings, split).model
        curves[penalty] = capacity_curve(model, test, WEIGHTS)
    popular = pairwise_accuracy(partial(popularity_scores, train), test).micro
    matched = pairwise_accuracy(nuclear.scores, test, train.popularity).micro
    return Measured(curves, 100 * popular, 100 * matched, nuclear)


def _mean_curve(curves: list[Curve]) -> Curve:
    operations, accuracy = (np.mean([one[part] for one in curves], axis=0) for part in (0, 1))
    return [round(x) for x in operations.tolist()], accuracy.tolist()


def _unsupervised_curve(pairs: Pairs, vectors: Vectors, split: HeadSplit, test: Pairs) -> Curve:
    """Equation 2 at each rank, and equation 1, the inner product in all dimensions."""
    operations, accuracy = capacity_curve(unsupervised(pairs, vectors, split, max(RANKS)), test, RANKS)
    inner = pairwise_accuracy(unsupervised(pairs, vectors, split).scores, test).micro
    return [*operations, vectors.dimension * (vectors.dimension + len(pairs.modifiers))], [
        *accuracy,
        100 * inner,
    ]
