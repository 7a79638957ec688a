"""Learn a bilexical operator: conditional likelihood of modifiers given heads, under a penalty.

The weight of a penalty is c / sqrt(N) for N training pairs: so one c serves relations of all sizes. The
best c of a path, and when to stop, are chosen by the pairwise accuracy on validation heads. Each c starts
afresh, or, `warm`, where the one before it ended: factored solvers then go from the smallest c upwards, as a
low-rank start from a larger one never regains the dimensions that it lost; convex ones go downwards.

This is neither of the two ideas of the core: the problem is convex in W, and smooth in thin factors of it.

The likelihood of modifiers given heads under a bilinear form, and its gradients:

    Pr(m | h) = exp(phi(m)^T W phi(h)) / sum_m' exp(phi(m')^T W phi(h))                     equation 3
    loss(W)   = -1/N sum_(m,h) log Pr(m | h)                                                equation 4

Pairs are grouped by head: with S = Phi_m W Phi_h^T and R = (softmax(S) n_h - C) / N, the gradient is
Phi_m^T R Phi_h. With W = L R^T only the thin products Phi_m L and Phi_h R are needed. Heads come in
pieces, so that the table of scores never outgrows MAX_CELLS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from sigmastar.bilexical.data.pairs import HeadSplit, Pairs, split_heads
from sigmastar.bilexical.metrics import pairwise_accuracy
from sigmastar.bilexical.model.operator import (
    BilexicalModel,
    FullWeights,
    LowRankWeights,
    Weights,
    head_features,
)
from sigmastar.bilexical.model.vectors import Rows, Vectors
from sigmastar.core.arrays import Floats
from sigmastar.core.progress import Progress, silent
from sigmastar.optimise.factored import factored, triples_of_product
from sigmastar.optimise.proximal import PENALTIES
from sigmastar.optimise.solvers import SolverStep, fista, fobos

MAX_CELLS = 4_000_000


@dataclass(frozen=True, eq=False)
class ConditionalLoss:
    """-log Pr(m | h), the mean over pairs, as a function of W."""

    modifier_rows: Rows
    head_rows: Rows
    counts: sparse.csr_array  # heads x modifiers
    dtype: type[np.floating[Any]] = np.float64

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.modifier_rows.shape[1]), int(self.head_rows.shape[1])

    def value(self, matrix: Floats) -> float:
        projected = self.head_rows @ matrix.T.astype(self.dtype)
        rows = self.modifier_rows
        return sum(self._residual(rows @ projected[piece].T, piece)[0] for piece in self._pieces())

    def value_and_gradient(self, matrix: Floats) -> tuple[float, Floats]:
        projected = self.head_rows @ matrix.T.astype(self.dtype)
        total, gradient = 0.0, np.zeros(self.shape)
        for piece in self._pieces():
            value, residual = self._residual(self.modifier_rows @ projected[piece].T, piece)
            total += value
            gradient += (self.head_rows[piece].T @ (self.modifier_rows.T @ residual).T).T
        return total, gradient

    def factored(self, left: Floats, right: Floats) -> tuple[float, Floats, Floats]:
        """The value at L R^T, and its gradients in L and R."""
        modifiers = np.asarray(self.modifier_rows @ left.astype(self.dtype))
        heads = np.asarray(self.head_rows @ right.astype(self.dtype))
        total, by_modifier, by_head = 0.0, np.zeros_like(modifiers), np.zeros_like(heads)
        for piece in self._pieces():
            value, residual = self._residual(modifiers @ heads[piece].T, piece)
            total += value
            by_modifier += residual @ heads[piece]
            by_head[piece] = residual.T @ modifiers
        return total, _float64(self.modifier_rows.T @ by_modifier), _float64(self.head_rows.T @ by_head)

    def _pieces(self) -> Iterator[slice]:
        at_once = max(1, MAX_CELLS // self.modifier_rows.shape[0])
        for first in range(0, self.counts.shape[0], at_once):
            yield slice(first, min(first + at_once, self.counts.shape[0]))

    def _residual(self, scores: Any, piece: slice) -> tuple[float, Any]:
        """The loss of some heads, and its derivative in their scores (modifiers x heads), in place."""
        observed = self.counts[piece].tocoo()
        head, modifier = observed.coords
        total = self.counts.sum()
        n_of_head = np.asarray(self.counts[piece].sum(axis=1), dtype=np.float64).ravel()
        reached = float((observed.data * scores[modifier, head]).sum(dtype=np.float64))
        top = scores.max(axis=0)
        scores -= top
        np.exp(scores, out=scores)
        normalizer = scores.sum(axis=0, dtype=np.float64)
        value = float(n_of_head @ (np.log(normalizer) + top)) - reached
        scores *= (n_of_head / (normalizer * total)).astype(self.dtype)
        scores[modifier, head] -= (observed.data / total).astype(self.dtype)
        return value / total, scores


def _float64(values: Any) -> Floats:
    return np.asarray(values, dtype=np.float64)


PATHS = {"nuclear": (0.06, 0.1, 0.16), "l1": (0.001, 0.003, 0.01), "l2": (0.001, 0.003, 0.01)}
"""The c that are tried for each penalty."""
SOLVERS = ("factored", "fista", "fobos")


@dataclass(frozen=True)
class OperatorSettings:
    """How to learn; see `learn_operator`."""

    penalty: str = "nuclear"
    path: tuple[float, ...] = ()
    rank: int = 40
    solver: str = "factored"
    bias: float = 0.06
    n_iterations: int = 150
    tolerance: float = 2e-4
    check_every: int = 10
    patience: int = 3
    step: float = 20.0
    warm: bool = False
    similarity: float | tuple[float, ...] = 0.0  # of the vectors, added to W once that is learned

    def __post_init__(self) -> None:
        if self.penalty not in PENALTIES:
            raise ValueError(f"penalty={self.penalty!r} must be one of {', '.join(PENALTIES)}")
        if self.solver not in SOLVERS:
            raise ValueError(f"solver={self.solver!r} must be one of {', '.join(SOLVERS)}")
        if self.rank < 1:
            raise ValueError(f"rank={self.rank} must be 1 or more")
        if self.bias < 0:
            raise ValueError(f"bias={self.bias} must not be negative")
        if any(not c >= 0 for c in self.path):
            raise ValueError(f"path={self.path}: penalties must be numbers of 0 or more")

    @property
    def weights_to_try(self) -> Sequence[float]:
        path = self.path or PATHS[self.penalty]
        return sorted(path, reverse=not self.is_factored) if self.warm else path

    @property
    def is_factored(self) -> bool:
        return self.penalty == "nuclear" and self.solver == "factored"


@dataclass(frozen=True, eq=False)
class OperatorFit:
    """A model, and what was found on the way to it."""

    model: BilexicalModel
    weight: float
    validation_scores: dict[float, float]
    objectives: tuple[float, ...]


@dataclass
class EarlyStopping:
    """The best weights so far on validation heads, looked at every few steps."""

    settings: OperatorSettings
    score: Callable[[Weights], float]
    report: Callable[[str], None]
    value: float = -np.inf
    weights: Weights | None = None
    misses: int = 0
    objectives: list[float] = field(default_factory=list)

    @classmethod
    def never(cls, settings: OperatorSettings) -> EarlyStopping:
        """No validation heads: the solver goes on to its end."""
        return cls(settings, lambda weights: 0.0, lambda message: None)

    def __call__(self, step: SolverStep) -> bool:
        self.objectives.append(step.objective)
        if step.iteration % self.settings.check_every:
            return False
        return self.look(step.weights, step.objective)

    def look(self, weights: tuple[Floats, ...], objective: float) -> bool:
        """Measure weights; whether there was no gain for too long."""
        found = as_weights(weights, self.settings)
        value = self.score(found)
        self.misses = 0 if value > self.value else self.misses + 1
        if value > self.value:
            self.value, self.weights = value, found
        self.report(f"objective {objective:.4f}, rank {found.rank}, validation {100 * value:.2f}%")
        return self.misses >= self.settings.patience


def learn_operator(
    pairs: Pairs,
    vectors: Vectors,
    rng: np.random.Generator,
    settings: OperatorSettings | None = None,
    split: HeadSplit | None = None,
    progress: Progress = silent,
) -> OperatorFit:
    """Learn from the training heads of a split, choose on its validation heads; test heads are not seen."""
    settings = settings or OperatorSettings()
    split = split or split_heads(pairs.heads, rng)
    train, held = pairs.select(split.train), pairs.select(split.validation)
    if not train.heads or not held.heads:
        raise ValueError(
            f"{len(pairs.heads)} heads are too few: some must train and others choose; give pairs of 10 heads"
        )
    words = [*pairs.modifiers, *pairs.heads]
    needed = vectors.select([*words, *(word.lower() for word in words)])  # what training reads
    zero = FullWeights(np.zeros((0, 0)))
    empty = BilexicalModel(pairs.modifiers, train.popularity, needed, zero, split, settings.bias)
    tried = _path(empty, train, held, rng, settings, progress)
    chosen = max(tried, key=lambda c: tried[c].value)
    weights = tried[chosen].weights
    assert weights is not None
    model = replace(empty, vectors=vectors, weights=weights)
    similarity = _best_similarity(model, held, settings.similarity)
    model = model.with_similarity(similarity) if similarity else model
    scores = {c: best.value for c, best in tried.items()}
    return OperatorFit(model, chosen, scores, tuple(tried[chosen].objectives))


def _best_similarity(model: BilexicalModel, held: Pairs, tried: float | tuple[float, ...]) -> float:
    """Of several weights of the similarity, the one that orders the modifiers of validation heads best."""
    if not isinstance(tried, tuple):
        return tried
    matrix = model.weights.matrix

    def accuracy(weight: float) -> float:
        whole = replace(model, weights=FullWeights(matrix + weight * np.eye(*matrix.shape)))
        return pairwise_accuracy(whole.scores, held).micro

    return max(tried, key=accuracy)


def _path(
    empty: BilexicalModel,
    train: Pairs,
    held: Pairs,
    rng: np.random.Generator,
    settings: OperatorSettings,
    progress: Progress,
) -> dict[float, EarlyStopping]:
    """What each penalty of the path reaches on validation heads."""
    loss, seed = _loss(empty, train), int(rng.integers(2**63))
    tried: dict[float, EarlyStopping] = {}
    end: tuple[Floats, ...] | None = None
    modifier_rows = empty.modifier_rows  # they do not change with the weights

    def score(weights: Weights) -> float:
        model = replace(empty, weights=weights)
        model.__dict__["modifier_rows"] = modifier_rows
        return float(np.nan_to_num(pairwise_accuracy(model.scores, held).micro))

    for number, c in enumerate(settings.weights_to_try):
        done = number / len(settings.weights_to_try)
        best = EarlyStopping(settings, score, _reporting(progress, c, done))
        start = end if settings.warm else None
        end = solve(loss, c / np.sqrt(train.n_pairs), settings, np.random.default_rng(seed), best, start)
        tried[c] = best
    return tried


def _reporting(progress: Progress, c: float, done: float) -> Callable[[str], None]:
    return lambda message: progress(f"c {c:g}: {message}", done)


def _loss(model: BilexicalModel, train: Pairs) -> ConditionalLoss:
    """In single precision; heads without a vector teach the popularity terms alone, if there are such."""
    if not any(head in model.vectors for head in train.heads):
        raise ValueError(
            f"none of the {len(train.heads)} training heads has a vector; use vectors of these words"
        )
    known = train if model.bias else train.select(head for head in train.heads if head in model.vectors)
    heads = head_features(model.vectors, known.heads, model.bias)
    return ConditionalLoss(
        model.modifier_rows.astype(np.float32), heads.astype(np.float32), known.counts, np.float32
    )


def solve(
    loss: ConditionalLoss,
    weight: float,
    settings: OperatorSettings,
    rng: np.random.Generator,
    watch: EarlyStopping,
    start: tuple[Floats, ...] | None = None,
) -> tuple[Floats, ...]:
    """Minimize the loss under one weight of the penalty; where the solver ended."""
    options: dict[str, Any] = {
        "n_iterations": settings.n_iterations,
        "tolerance": settings.tolerance,
        "watch": watch,
    }
    if settings.is_factored:
        factors = None if start is None else (start[0], start[1])
        thin = factored(loss, weight, settings.rank, rng, start=factors, **options)
        watch.look((thin.left, thin.right), thin.objective)
        return thin.left, thin.right
    solver = fobos if settings.solver == "fobos" else fista
    penalty, matrix = PENALTIES[settings.penalty](weight), None if start is None else start[0]
    found = solver(loss, penalty, step=settings.step, start=matrix, **options)
    watch.look((found.matrix,), found.objective)
    return (found.matrix,)


def as_weights(weights: tuple[Floats, ...], settings: OperatorSettings) -> Weights:
    """The matrix, or the two factors, of a solver as weights of a model."""
    if len(weights) == 2:
        triples = triples_of_product(*weights)
        return LowRankWeights(triples.left, triples.singular_values, triples.right)
    full = FullWeights(weights[0].copy())
    if settings.penalty != "nuclear":
        return full
    return full.low_rank(settings.rank) if np.any(full.matrix) else full
