"""Bilexical operators: which modifiers fit a head, as a bilinear form between word vectors.

    score(m, h) = a(m)^T W b(h)        Pr(m | h) = softmax over the modifiers         equation 3
    a(m) = phi(m)        b(h) = [phi(h), s]

The last coordinate of b is ours: it gives the form a term for the modifier alone, which learns what
kinds of words are popular and is all that is left where a head has no vector. With `bias` s = 0 the form
is the paper's. W = U S V^T of rank k makes two embeddings of k dimensions; scoring a head then takes
k (n + m) operations instead of the weights of W times m.

Relations that are known: words with vectors, and pairs drawn from a bilinear form of low rank.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy import sparse, special

from sigmastar.bilexical.data.pairs import HeadSplit, Pairs, WordPairs
from sigmastar.bilexical.model.vectors import Rows, Vectors, dense
from sigmastar.core.arrays import Array, Floats
from sigmastar.core.factors import factorize_up_to
from sigmastar.core.notebook import Shown
from sigmastar.core.stored_parts import Parts, between, check_header, distinct_texts, floats, texts
from sigmastar.optimise.proximal import keep_largest


@dataclass(frozen=True, eq=False)
class LowRankWeights:
    """W = U S V^T."""

    left: Floats
    singular_values: Floats
    right: Floats

    @property
    def rank(self) -> int:
        return len(self.singular_values)

    @property
    def matrix(self) -> Floats:
        """W, multiplied out."""
        return (self.left * self.singular_values) @ self.right.T

    def projected(self, rank: int) -> LowRankWeights:
        """The best approximation of a smaller rank."""
        return LowRankWeights(self.left[:, :rank], self.singular_values[:rank], self.right[:, :rank])

    def scores(self, modifiers: Rows, heads: Rows) -> Floats:
        projected = np.asarray(heads @ self.right)
        return np.asarray(projected @ np.asarray(modifiers @ (self.left * self.singular_values)).T)

    def n_operations(self, dimension: int, n_modifiers: int) -> int:
        """To score all modifiers of one head, theirs projected beforehand: k n + k m."""
        return self.rank * (dimension + n_modifiers)

    def to_arrays(self) -> dict[str, Array]:
        return {"left": self.left, "singular_values": self.singular_values, "right": self.right}


@dataclass(frozen=True, eq=False)
class FullWeights:
    """W as it is; entries that are zero cost nothing."""

    matrix: Floats

    @property
    def rank(self) -> int:
        return int(min(self.matrix.shape))

    @property
    def n_weights(self) -> int:
        return int(np.count_nonzero(self.matrix))

    def projected(self, n_weights: int) -> FullWeights:
        """The largest weights alone."""
        return FullWeights(keep_largest(self.matrix, n_weights))

    def low_rank(self, rank: int) -> LowRankWeights:
        factors = factorize_up_to(self.matrix, rank)
        return LowRankWeights(factors.left, factors.singular_values, factors.right)

    def scores(self, modifiers: Rows, heads: Rows) -> Floats:
        return np.asarray(heads @ np.asarray(modifiers @ self.matrix).T)

    def n_operations(self, dimension: int, n_modifiers: int) -> int:
        """The paper's count: k non-zero weights for each of m modifiers."""
        return self.n_weights * n_modifiers

    def to_arrays(self) -> dict[str, Array]:
        return {"matrix": self.matrix}


Weights = LowRankWeights | FullWeights
_PARTS = ("train", "validation", "test")


@dataclass(frozen=True, eq=False)
class BilexicalModel(Shown):
    """A distribution over modifiers for every head that has a vector, seen in training or not.

    Parameters
    ----------
    modifiers : tuple of str
        The words that can be asked for.
    popularity : array
        How often each of them was met in training.
    vectors : Vectors
        Of heads and modifiers.
    weights : LowRankWeights or FullWeights
        W.
    split : HeadSplit
        The heads that trained, validated and are left for a test.
    bias : float
        The last coordinate of b(h); 0: there is none.
    """

    modifiers: tuple[str, ...]
    popularity: Floats
    vectors: Vectors
    weights: Weights
    split: HeadSplit
    bias: float = 0.0

    def __post_init__(self) -> None:
        if len(self.popularity) != len(self.modifiers):
            raise ValueError(f"{len(self.popularity)} counts for {len(self.modifiers)} modifiers")

    @cached_property
    def modifier_rows(self) -> Rows:
        return self.vectors.rows(self.modifiers)

    def scores(self, heads: Sequence[str]) -> Floats:
        """The bilinear form, heads by modifiers."""
        return self.weights.scores(self.modifier_rows, head_features(self.vectors, heads, self.bias))

    def log_probabilities(self, heads: Sequence[str]) -> Floats:
        """log Pr(m | h), heads by modifiers."""
        return np.asarray(special.log_softmax(self.scores(heads), axis=1))

    def pair_log_probabilities(self, pairs: Iterable[tuple[str, str]]) -> Floats:
        """log Pr(m | h) of each (head, modifier) pair, -inf where the modifier is unknown."""
        listed = list(pairs)
        place = {word: column for column, word in enumerate(self.modifiers)}
        row = {head: number for number, head in enumerate(sorted({head for head, _ in listed}))}
        logs = self.log_probabilities(list(row))
        values = [logs[row[h], place[m]] if m in place else -np.inf for h, m in listed]
        return np.array(values, dtype=np.float64)

    def sample(self, heads: Sequence[str], rng: np.random.Generator, n_of_head: int = 1) -> WordPairs:
        """Pairs of heads with modifiers drawn from Pr(m | h), `n_of_head` for each head in turn."""
        chances = np.exp(self.log_probabilities(heads))
        chances /= chances.sum(axis=1, keepdims=True)
        return [
            (head, self.modifiers[m])
            for head, row in zip(heads, chances, strict=True)
            for m in rng.choice(len(row), n_of_head, p=row).tolist()
        ]

    def top(self, head: str, k: int = 10) -> list[tuple[str, float]]:
        """The k likeliest modifiers of a head, with their probabilities."""
        logs = self.log_probabilities([head])[0]
        return [(self.modifiers[m], float(np.exp(logs[m]))) for m in np.argsort(-logs, kind="stable")[:k]]

    def projected(self, capacity: int) -> BilexicalModel:
        """The model at a smaller rank, or with fewer weights where W is full."""
        if capacity < 1:
            raise ValueError(f"capacity={capacity} must be 1 or more")
        return replace(self, weights=self.weights.projected(capacity))

    def with_similarity(self, weight: float) -> BilexicalModel:
        """W + weight I: how alike the words are (equation 1) counts beside what was learned.

        The sum has the rank of the vectors' dimension. All singular values of I are equal, so that a cut by
        those of the sum would be by chance; the factors are such that a cut to rank k changes scores least,

            min over rank-k M   |A (W + weight I - M) B^T|   A: modifiers less their mean,  B: modifiers

        Modifiers stand for heads that were not trained on: they are more words than training heads.
        """
        matrix = self.weights.matrix
        whole = matrix + weight * np.eye(*matrix.shape)
        if not self.is_low_rank:
            return replace(self, weights=FullWeights(whole))
        modifiers = dense(self.modifier_rows)
        heads = dense(head_features(self.vectors, self.modifiers, self.bias))
        left, left_inverse = _roots(modifiers - modifiers.mean(axis=0))
        right, right_inverse = _roots(heads)
        best = factorize_up_to(left @ whole @ right, min(whole.shape))
        weights = LowRankWeights(left_inverse @ best.left, best.singular_values, right_inverse @ best.right)
        return replace(self, weights=weights)

    @property
    def is_low_rank(self) -> bool:
        return isinstance(self.weights, LowRankWeights)

    @property
    def n_operations(self) -> int:
        return self.weights.n_operations(self.vectors.dimension, len(self.modifiers))

    def modifier_embedding(self, rank: int | None = None) -> Floats:
        """Modifiers in the space of the relation, scaled by the roots of the singular values."""
        weights = self._low_rank(rank)
        return np.asarray(self.modifier_rows @ (weights.left * np.sqrt(weights.singular_values)))

    def head_embedding(self, heads: Sequence[str], rank: int | None = None) -> Floats:
        """Heads in the same space: inner products with the modifiers are the scores."""
        weights = self._low_rank(rank)
        rows = head_features(self.vectors, heads, self.bias)
        return np.asarray(rows @ (weights.right * np.sqrt(weights.singular_values)))

    def nearest(self, modifier: str, k: int = 10) -> list[tuple[str, float]]:
        """The modifiers whose embeddings point the same way, with the cosines."""
        if modifier not in self.modifiers:
            raise ValueError(f"{modifier!r} is not among the {len(self.modifiers)} modifiers of the model")
        rows = self.modifier_embedding()
        lengths = np.linalg.norm(rows, axis=1)
        rows = rows / np.where(lengths > 0, lengths, 1.0)[:, None]
        own = self.modifiers.index(modifier)
        cosines = rows @ rows[own]
        cosines[own] = -np.inf
        return [(self.modifiers[m], float(cosines[m])) for m in np.argsort(-cosines, kind="stable")[:k]]

    def _low_rank(self, rank: int | None) -> LowRankWeights:
        if isinstance(self.weights, FullWeights):
            return self.weights.low_rank(rank or self.weights.rank)
        return self.weights if rank is None else self.weights.projected(rank)

    PARTS: ClassVar[Parts] = Parts(
        inner=("vectors.",),
        header={"modifiers": distinct_texts, "vectors": dict, "bias": between(0.0, 1e6), "heads": dict},
        sizes={"modifiers": "modifiers"},
        arrays={
            "popularity": floats("modifiers", least=0.0),
            "matrix": floats("dimension", "columns").or_none(),
            "left": floats("dimension", "rank").or_none(),
            "singular_values": floats("rank", least=0.0).or_none(),
            "right": floats("columns", "rank").or_none(),
        },
    )

    def to_parts(self) -> tuple[dict[str, Array], dict[str, Any]]:
        """Arrays and a description for a model file."""
        arrays, words = self.vectors.parts_below("vectors")
        header = {
            "modifiers": list(self.modifiers),
            "vectors": words,
            "bias": self.bias,
            "heads": {name: list(getattr(self.split, name)) for name in _PARTS},
        }
        return {"popularity": self.popularity, **self.weights.to_arrays(), **arrays}, header

    @classmethod
    def from_parts(cls, arrays: dict[str, Array], header: dict[str, Any]) -> BilexicalModel:
        """The model of a file, checked."""
        check_header(header, cls.PARTS.header)
        check_header(header["heads"], dict.fromkeys(_PARTS, texts))
        vectors, bias = Vectors.from_below("vectors", arrays, header["vectors"]), float(header["bias"])
        sizes = {"dimension": vectors.dimension, "columns": vectors.dimension + (bias > 0)}
        cls.PARTS.check(arrays, header, **sizes)
        weights: Weights = (
            FullWeights(arrays["matrix"])
            if "matrix" in arrays
            else LowRankWeights(arrays["left"], arrays["singular_values"], arrays["right"])
        )
        split = HeadSplit(*(tuple(header["heads"][name]) for name in _PARTS))
        return cls(tuple(header["modifiers"]), arrays["popularity"], vectors, weights, split, bias)


def _roots(rows: Floats) -> tuple[Floats, Floats]:
    """The root of the second moments of rows, a little of the identity added, and its inverse."""
    moments = rows.T @ rows / max(len(rows), 1)
    ridge = 1e-6 * (np.trace(moments) / len(moments) or 1.0)
    values, vectors = np.linalg.eigh(moments + ridge * np.eye(len(moments)))
    return (vectors * np.sqrt(values)) @ vectors.T, (vectors / np.sqrt(values)) @ vectors.T


def head_features(vectors: Vectors, words: Sequence[str], bias: float) -> Rows:
    """b(h) of each word."""
    return _with_column(vectors.rows(words), np.full(len(words), bias)) if bias else vectors.rows(words)


def _with_column(rows: Rows, column: Floats) -> Rows:
    if not isinstance(rows, sparse.csr_array):
        return np.column_stack([rows, column])
    return sparse.csr_array(sparse.hstack([rows, sparse.csr_array(column[:, None])]))


@dataclass(frozen=True, eq=False)
class MadeRelation:
    """A known relation and pairs of it.

    Parameters
    ----------
    vectors : Vectors
        Of heads `h1`, `h2`, .. and modifiers `m1`, `m2`, ..
    pairs : Pairs
        Drawn from the model.
    model : BilexicalModel
        The operator that the pairs were drawn from.
    """

    vectors: Vectors
    pairs: Pairs
    model: BilexicalModel


def make_relation(
    rng: np.random.Generator,
    n_heads: int = 400,
    n_modifiers: int = 120,
    dimension: int = 40,
    rank: int = 3,
    pairs_of_head: int = 8,
    sharpness: float = 12.0,
) -> MadeRelation:
    """Draw pairs from Pr(m | h) = softmax(phi(m)^T W phi(h)) with W of low rank.

    Parameters
    ----------
    rng
        The source of chance.
    n_heads, n_modifiers, dimension
        Numbers of words, and the length of their vectors.
    rank
        Of W.
    pairs_of_head
        Pairs drawn for each head.
    sharpness
        The size of the scores: small ones make all modifiers alike.

    Returns
    -------
    MadeRelation
        The vectors, the pairs and the model.
    """
    heads, modifiers = (
        tuple(f"{kind}{n}" for n in range(1, size + 1)) for kind, size in (("h", n_heads), ("m", n_modifiers))
    )
    rows = rng.standard_normal((n_heads + n_modifiers, dimension))
    vectors = Vectors(heads + modifiers, rows).normalized()
    form = rng.standard_normal((dimension, rank)) @ rng.standard_normal((rank, dimension))
    weights = FullWeights(form * sharpness / np.sqrt(rank)).low_rank(rank)
    model = BilexicalModel(modifiers, np.ones(n_modifiers), vectors, weights, HeadSplit(heads, (), ()))
    return MadeRelation(vectors, Pairs.of(model.sample(heads, rng, pairs_of_head)), model)
