"""Learn where prepositional phrases attach: each judge from the training set, the pool from development.

    linear    Pr(N | x) = sigmoid(w . f(x)),                 penalty  |w|^2 / 2
    bilinear  Pr(N | x) = sigmoid(sum_b x_b^T W_b z_b),      penalty  sum_b |W_b|_*, l1 or l2
    pool      log-odds of the judges, weighed log-linearly on development items; or their probabilities,
              interpolated (equation 7 of Madhyastha et al. 2014), with the shares of largest likelihood there

The nuclear norm goes by W_b = L_b R_b^T with the squared norms of L_b and R_b (see `optimise.factored`): one
smooth problem for all blocks together, solved by L-BFGS. l1 and l2 go by accelerated proximal gradient on the
blocks, one below the other. Neither of the two ideas of the core is used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import optimize, special

from sigmastar.bilexical.counts import BackedOffCounts, FeatureTable
from sigmastar.bilexical.data.quadruples import Quadruples
from sigmastar.bilexical.model.attachment import JUDGES, POOLINGS, AttachmentModel, Factors, Places
from sigmastar.bilexical.model.vectors import Vectors
from sigmastar.core.arrays import Flags, Floats
from sigmastar.core.log_linear import best_on_grid, fit_votes
from sigmastar.core.mixture import mixture_weights
from sigmastar.core.progress import Progress, silent
from sigmastar.optimise.proximal import L1, L2
from sigmastar.optimise.solvers import fista

PENALTIES = {"nuclear": 5.0, "l1": 0.3, "l2": 0.2}
"""Of the bilinear judges, each with the weight that did best on development."""

DIMENSION = 100
"""Vectors are compressed to so many directions for the bilinear judges."""
_POOL_RIDGE = 1e-3


@dataclass(frozen=True)
class AttachmentSettings:
    """How to learn; weights are of penalties on sums over items."""

    linear_weight: float = 1.0
    bilinear_weight: float | None = None  # None: the usual one of the penalty
    penalty: str = "nuclear"
    rank: int = 6
    min_count: int = 50  # training items that a preposition needs for matrices of its own
    judges: tuple[str, ...] = JUDGES
    pooling: str = "log-linear"
    n_iterations: int = 60
    refit: bool = True  # learn the judges once more, from both sets, with the votes as they are

    def __post_init__(self) -> None:
        if wrong := sorted(set(self.judges) - set(JUDGES)):
            raise ValueError(f"judges: {wrong[0]!r} must be among {', '.join(JUDGES)}")
        if self.pooling not in POOLINGS:
            raise ValueError(f"pooling={self.pooling!r} must be one of {', '.join(POOLINGS)}")
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
    progress: Progress = silent,
) -> AttachmentModel:
    """Learn all judges from `train`, weigh their votes on `dev`, and learn them anew from both."""
    settings = settings or AttachmentSettings()
    if not len(train) or not len(dev):
        raise ValueError("attachment needs quadruples to train on and others to weigh the judges by")
    small = vectors.compressed(DIMENSION) if vectors.dimension > DIMENSION else vectors
    pool = mixed if settings.pooling == "linear" else pooled
    model = pool(learn_judges(train, small, rng, settings, progress), dev, settings.judges)
    if not settings.refit:
        return model
    again = learn_judges(train.joined(dev), small, rng, settings, progress)
    return replace(again, pool=model.pool, pooling=model.pooling)


def learn_judges(
    train: Quadruples,
    vectors: Vectors,
    rng: np.random.Generator,
    settings: AttachmentSettings,
    progress: Progress = silent,
) -> AttachmentModel:
    """A model whose judges have no votes yet; `vectors` as they are to be used."""
    counted = Counter(word.lower() for word in train.preposition)
    prepositions = tuple(sorted(counted))
    places = Places.of(train, vectors, prepositions)
    progress("linear")
    features = FeatureTable.of(train)
    linear = fit_votes(features.matrix(train), train.to_noun, settings.linear_weight)
    bilinear = {}
    for name in (name for name in prepositions if counted[name] >= settings.min_count):
        progress(f"bilinear: {name}")
        bilinear[name] = _own_matrices(name, train, places, settings, rng)
    counts = BackedOffCounts.of(train)
    return AttachmentModel(features, linear, counts, vectors, prepositions, bilinear, {"constant": 0.0})


def pooled(model: AttachmentModel, dev: Quadruples, judges: Sequence[str] = JUDGES) -> AttachmentModel:
    """The model with the votes of some judges weighed on a development set."""
    odds = model.judgements(dev)
    table = np.column_stack([*(odds[name] for name in judges), np.ones(len(dev))])
    weights = fit_votes(table, dev.to_noun, _POOL_RIDGE)
    return replace(model, pool=dict(zip([*judges, "constant"], weights.tolist(), strict=True)))


def mixed(model: AttachmentModel, dev: Quadruples, judges: Sequence[str] = JUDGES) -> AttachmentModel:
    """The model with the probabilities of some judges interpolated, by the likeliest shares on `dev`."""
    odds, signs = model.judgements(dev), np.where(dev.to_noun, 1.0, -1.0)
    likelihoods = np.stack([special.expit(signs * odds[name]) for name in judges])
    shares = mixture_weights(np.maximum(likelihoods, 1e-12))
    return replace(model, pool=dict(zip(judges, shares.tolist(), strict=True)), pooling="linear")


def interpolated(
    model: AttachmentModel, dev: Quadruples, first: str = "linear", second: str = "bilinear"
) -> tuple[float, Callable[[Quadruples], Floats]]:
    """Equation 7: probabilities of two judges mixed.

    Parameters
    ----------
    model
        With both judges.
    dev
        Items that choose the share of the first judge.
    first, second
        Names of judges.

    Returns
    -------
    tuple
        The share, and a function from items to probabilities of attachment to the noun.
    """

    def probabilities(quadruples: Quadruples) -> tuple[Floats, Floats]:
        odds = model.judgements(quadruples)
        return special.expit(odds[first]), special.expit(odds[second])

    one, two = probabilities(dev)
    shares = np.linspace(0.0, 1.0, 21).tolist()
    best = best_on_grid(
        shares,
        lambda share: float(((share * one + (1 - share) * two > 0.5) == dev.to_noun).mean()),
        smooth=False,
    )

    def mixture(quadruples: Quadruples) -> Floats:
        one, two = probabilities(quadruples)
        return best * one + (1 - best) * two

    return best, mixture


@dataclass(frozen=True, eq=False)
class Block:
    """One bilinear form: a row of `left` and of `right` per item."""

    left: Floats
    right: Floats


def _own_matrices(
    name: str, train: Quadruples, places: Places, settings: AttachmentSettings, rng: np.random.Generator
) -> tuple[Factors, Factors]:
    """The matrices of one preposition, over the noun and over the verb."""
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


def fit_low_rank(
    blocks: Sequence[Block],
    targets: Flags,
    weight: float,
    rank: int,
    rng: np.random.Generator,
    n_iterations: int = 100,
    scale: float = 0.1,
) -> list[Factors]:
    """Factors (L_b, R_b) of the weights of each block under weight x the sum of nuclear norms."""
    signs = np.where(targets, 1.0, -1.0)
    shapes = [(side.shape[1], rank) for block in blocks for side in (block.left, block.right)]
    sizes = [rows * columns for rows, columns in shapes]
    cuts = np.cumsum(sizes)[:-1]

    def parts(flat: Floats) -> list[Floats]:
        return [piece.reshape(shape) for piece, shape in zip(np.split(flat, cuts), shapes, strict=True)]

    def objective(flat: Floats) -> tuple[float, Floats]:
        factors = parts(flat)
        projected = [
            (block.left @ factors[2 * b], block.right @ factors[2 * b + 1]) for b, block in enumerate(blocks)
        ]
        value, slope = _logistic(sum(np.einsum("ik,ik->i", *pair) for pair in projected), signs)
        gradients = []
        for block, (left, right) in zip(blocks, projected, strict=True):
            gradients.append(block.left.T @ (right * slope[:, None]))
            gradients.append(block.right.T @ (left * slope[:, None]))
        gradient = np.concatenate([g.ravel() for g in gradients]) + weight * flat
        return value + 0.5 * weight * float(flat @ flat), gradient

    start = rng.standard_normal(sum(sizes)) * scale
    options = {"maxiter": n_iterations, "maxcor": 10}
    found = optimize.minimize(  # type: ignore[call-overload]
        objective, start, jac=True, method="L-BFGS-B", options=options
    )
    factors = parts(np.asarray(found.x))
    return list(zip(factors[::2], factors[1::2], strict=True))


def fit_matrices(
    blocks: Sequence[Block], targets: Flags, penalty: L1 | L2, n_iterations: int = 100
) -> list[Floats]:
    """The weights W_b of each block under a penalty on every weight by itself."""
    loss = _StackedLoss(blocks, np.where(targets, 1.0, -1.0))
    found = fista(loss, penalty, n_iterations, step=1.0 / len(targets), tolerance=1e-5)
    return loss.parts(found.matrix)


@dataclass(frozen=True, eq=False)
class _StackedLoss:
    """The logistic loss of blocks of equal width whose weights stand one below the other."""

    blocks: Sequence[Block]
    signs: Floats

    @property
    def shape(self) -> tuple[int, int]:
        return sum(block.left.shape[1] for block in self.blocks), self.blocks[0].right.shape[1]

    def parts(self, matrix: Floats) -> list[Floats]:
        return np.split(matrix, np.cumsum([block.left.shape[1] for block in self.blocks])[:-1])

    def value(self, matrix: Floats) -> float:
        return _logistic(self._scores(matrix), self.signs)[0]

    def value_and_gradient(self, matrix: Floats) -> tuple[float, Floats]:
        value, slope = _logistic(self._scores(matrix), self.signs)
        return value, np.vstack([(block.left * slope[:, None]).T @ block.right for block in self.blocks])

    def _scores(self, matrix: Floats) -> Floats:
        forms = zip(self.blocks, self.parts(matrix), strict=True)
        return np.asarray(sum(np.einsum("ij,ij->i", b.left @ weights, b.right) for b, weights in forms))


def _logistic(scores: Any, signs: Floats) -> tuple[float, Floats]:
    """The sum of log(1 + exp(-s y)), and its derivative in the scores."""
    margins = signs * scores
    return float(-special.log_expit(margins).sum()), -signs * special.expit(-margins)
