"""Learn a bilexical operator: conditional likelihood of modifiers given heads, under a penalty.

The weight of a penalty is c / sqrt(N) for N training pairs: so one c serves relations of all sizes. The
best c of a path, and when to stop, are told by the pairwise accuracy on validation heads. Each c starts
afresh, or, `warm`, where the one before it ended: factored solvers then go from the smallest c upwards, as a
low-rank start from a larger one never regains the dimensions that it lost; convex ones go downwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sigmastar.bilexical.data.pairs import HeadSplit, Pairs, split_heads
from sigmastar.bilexical.kernels import compare_pairs
from sigmastar.bilexical.learn.bilexical_loss import ConditionalLoss
from sigmastar.bilexical.model.bilexical import (
    BilexicalModel,
    FullWeights,
    LowRankWeights,
    Weights,
    head_features,
)
from sigmastar.bilexical.model.vectors import Vectors
from sigmastar.core.factors import factorize_up_to
from sigmastar.optimise.factored import factored, triples_of_product
from sigmastar.optimise.proximal import PENALTIES
from sigmastar.optimise.solvers import SolverStep, fista, fobos

Array = NDArray[np.float64]
Say = Callable[[str], None]

PATHS = {"nuclear": (0.06, 0.1, 0.16), "l1": (0.001, 0.003, 0.01), "l2": (0.001, 0.003, 0.01)}
"""The c that are tried for each penalty."""
SOLVERS = ("factored", "fista", "fobos")


@dataclass(frozen=True)
class BilexicalSettings:
    """How to learn; see `learn_bilexical`."""

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
    similarity: float = 0.0  # of the vectors, added to W once that is learned: for relations of few pairs

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
class BilexicalFit:
    """A model, and what was found on the way to it."""

    model: BilexicalModel
    weight: float
    validation_scores: dict[float, float]
    objectives: tuple[float, ...]


@dataclass
class _Best:
    """Early stopping: the best weights so far by the judge, looked at every few steps."""

    settings: BilexicalSettings
    score: Callable[[Weights], float]
    say: Say
    value: float = -np.inf
    weights: Weights | None = None
    misses: int = 0
    objectives: list[float] = field(default_factory=list)

    def __call__(self, step: SolverStep) -> bool:
        self.objectives.append(step.objective)
        if step.iteration % self.settings.check_every:
            return False
        return self.look(step.weights, step.objective)

    def look(self, weights: tuple[Array, ...], objective: float) -> bool:
        found = _weights(weights, self.settings)
        value = self.score(found)
        self.misses = 0 if value > self.value else self.misses + 1
        if value > self.value:
            self.value, self.weights = value, found
        self.say(f"objective {objective:.4f}, rank {found.rank}, validation {100 * value:.2f}%")
        return self.misses >= self.settings.patience


def learn_bilexical(
    pairs: Pairs,
    vectors: Vectors,
    rng: np.random.Generator,
    settings: BilexicalSettings | None = None,
    split: HeadSplit | None = None,
    say: Say = lambda message: None,
) -> BilexicalFit:
    """Learn from the training heads of a split, choose on its validation heads; test heads are not seen."""
    settings = settings or BilexicalSettings()
    split = split or split_heads(pairs.heads, rng)
    train, held = pairs.select(split.train), pairs.select(split.validation)
    if not train.heads or not held.heads:
        raise ValueError(
            f"{len(pairs.heads)} heads are too few: some must train and others choose; give pairs of 10 heads"
        )
    words = _vectors_needed(pairs, vectors)
    empty = BilexicalModel(
        pairs.modifiers, train.popularity, words, FullWeights(np.zeros((0, 0))), split, settings.bias
    )
    loss = _loss(empty, train)

    def model_of(weights: Weights) -> BilexicalModel:
        model = BilexicalModel(pairs.modifiers, train.popularity, vectors, weights, split, settings.bias)
        return model.with_similarity(settings.similarity) if settings.similarity else model

    seed = int(rng.integers(2**63))
    tried: dict[float, _Best] = {}
    end: tuple[Array, ...] | None = None
    for c in settings.weights_to_try:
        best = _Best(
            settings, lambda weights: pooled_accuracy(_with(empty, weights), held), _prefixed(say, c)
        )
        end = _solve(
            loss,
            c / np.sqrt(train.n_pairs),
            settings,
            np.random.default_rng(seed),
            best,
            end if settings.warm else None,
        )
        tried[c] = best
    chosen = max(tried, key=lambda c: tried[c].value)
    found = tried[chosen].weights
    assert found is not None
    scores = {c: best.value for c, best in tried.items()}
    return BilexicalFit(model_of(found), chosen, scores, tuple(tried[chosen].objectives))


def pooled_accuracy(model: BilexicalModel, pairs: Pairs) -> float:
    """The share of (compatible, other) modifiers of these heads that score in this order."""
    scores = np.ascontiguousarray(model.scores(pairs.heads), dtype=np.float64)
    one_class = np.zeros(len(pairs.modifiers), dtype=np.int64)
    won, judged = compare_pairs(scores, pairs.counts.toarray() > 0, one_class)
    return float(won.sum() / max(judged.sum(), 1.0))


def known_pairs(pairs: Pairs, vectors: Vectors) -> Pairs:
    """The pairs whose words both have a vector; of the others nothing can be said or learned."""
    heads = [row for row, head in enumerate(pairs.heads) if head in vectors]
    modifiers = [column for column, word in enumerate(pairs.modifiers) if word in vectors]
    counts = sparse.csr_array(pairs.counts[heads][:, modifiers])
    met, used = np.diff(counts.indptr) > 0, np.bincount(counts.indices, minlength=len(modifiers)) > 0
    if not met.any():
        raise ValueError(f"no pair of {len(pairs.heads)} heads has vectors; use vectors of these words")
    return Pairs(
        tuple(pairs.heads[row] for row, there in zip(heads, met.tolist(), strict=True) if there),
        tuple(
            pairs.modifiers[column] for column, there in zip(modifiers, used.tolist(), strict=True) if there
        ),
        sparse.csr_array(counts[met][:, used]),
    )


def unsupervised(pairs: Pairs, vectors: Vectors, split: HeadSplit, rank: int | None = None) -> BilexicalModel:
    """The inner product of vectors (equation 1), or of their `rank` leading directions (equation 2)."""
    popularity = pairs.select(split.train).popularity
    if rank is None:
        weights: Weights = FullWeights(np.eye(vectors.dimension))
    else:
        directions = factorize_up_to(vectors.matrix, rank).right
        weights = LowRankWeights(directions, np.ones(directions.shape[1]), directions)
    return BilexicalModel(pairs.modifiers, popularity, vectors, weights, split)


def popularity_scores(train: Pairs, heads: Sequence[str]) -> Array:
    """The same order for every head: how often each modifier was met in training."""
    return np.tile(train.popularity, (len(heads), 1))


def maximum_likelihood_scores(train: Pairs, heads: Sequence[str]) -> Array:
    """Counted Pr(m | h); nothing is known of heads that were not met."""
    row_of = {head: row for row, head in enumerate(train.heads)}
    table = np.zeros((len(heads), len(train.modifiers)))
    for at, head in enumerate(heads):
        if head in row_of:
            row = train.counts[[row_of[head]]].toarray()[0]
            table[at] = row / row.sum()
    return table


def _loss(model: BilexicalModel, train: Pairs) -> ConditionalLoss:
    """Heads without a vector teach the popularity terms alone, if there are such."""
    known = train if model.bias else train.select(head for head in train.heads if head in model.vectors)
    if not any(head in model.vectors for head in known.heads):
        raise ValueError(
            f"none of the {len(train.heads)} training heads has a vector; use vectors of these words"
        )
    heads = head_features(model.vectors, known.heads, model.bias)
    modifiers = model.vectors.rows(known.modifiers)
    return ConditionalLoss(modifiers.astype(np.float32), heads.astype(np.float32), known.counts, np.float32)


def _solve(
    loss: ConditionalLoss,
    weight: float,
    settings: BilexicalSettings,
    rng: np.random.Generator,
    best: _Best,
    start: tuple[Array, ...] | None,
) -> tuple[Array, ...]:
    """Minimise for one weight of the penalty; where the solver ended."""
    options: dict[str, Any] = {"n_iterations": settings.n_iterations, "tolerance": settings.tolerance}
    if settings.is_factored:
        solution = factored(loss, weight, settings.rank, rng, watch=best, start=_two(start), **options)
        best.look((solution.left, solution.right), solution.objective)
        return solution.left, solution.right
    solver = fobos if settings.solver == "fobos" else fista
    penalty = PENALTIES[settings.penalty](weight)
    found = solver(
        loss, penalty, step=settings.step, watch=best, start=start[0] if start else None, **options
    )
    best.look((found.matrix,), found.objective)
    return (found.matrix,)


def _two(factors: tuple[Array, ...] | None) -> tuple[Array, Array] | None:
    return None if factors is None else (factors[0], factors[1])


def _weights(weights: tuple[Array, ...], settings: BilexicalSettings) -> Weights:
    if len(weights) == 2:
        triples = triples_of_product(*weights)
        return LowRankWeights(triples.left, triples.singular_values, triples.right)
    full = FullWeights(weights[0].copy())
    if settings.penalty != "nuclear":
        return full
    return full.low_rank(settings.rank) if np.any(full.matrix) else full


def _with(model: BilexicalModel, weights: Weights) -> BilexicalModel:
    found = BilexicalModel(model.modifiers, model.popularity, model.vectors, weights, model.split, model.bias)
    found.__dict__["modifier_rows"] = model.modifier_rows  # they do not change with the weights
    return found


def _vectors_needed(pairs: Pairs, vectors: Vectors) -> Vectors:
    """Only those of the pairs: what training reads."""
    words = [*pairs.modifiers, *pairs.heads]
    return vectors.select([*words, *(word.lower() for word in words)])


def _prefixed(say: Say, c: float) -> Say:
    return lambda message: say(f"c {c:g}: {message}")
