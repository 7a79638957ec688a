"""Bilexical operators and prepositional-phrase attachment, in the manner of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sigmastar.bilexical.data.pairs import HeadSplit, Pairs
from sigmastar.bilexical.data.quadruples import Quadruples
from sigmastar.bilexical.learn.attachment import AttachmentSettings, learn_attachment
from sigmastar.bilexical.learn.bilexical import (
    BilexicalSettings,
    known_pairs,
    learn_bilexical,
    pooled_accuracy,
)
from sigmastar.bilexical.model.attachment import JUDGES, AttachmentModel
from sigmastar.bilexical.model.bilexical import BilexicalModel
from sigmastar.bilexical.model.vectors import Vectors
from sigmastar.core.estimator import Estimator, RandomState, as_generator
from sigmastar.core.parallel import limited_threads

Array = NDArray[np.float64]
Say = Callable[[str], None]
WordVectors = Vectors | Mapping[str, Sequence[float]]


class BilexicalOperator(Estimator):
    """Which modifiers fit a head, heads without training pairs included.

    vectors        of the words: `Vectors`, or a mapping from words to numbers
    penalty        "nuclear" (few dimensions), "l1" (few weights) or "l2"
    rank           dimensions at most, for "nuclear"
    strengths      penalties to try, in units of 1 / sqrt(pairs); the best on validation heads is kept
    solver         "factored" (fast, low-rank), "fista" or "fobos"
    bias           size of the coordinate that lets modifiers be popular by themselves; 0 leaves it out
    n_iterations   at most, of each penalty
    warm           start each penalty where the one before it ended
    similarity     how much the inner product of the vectors counts beside what is learned; for few pairs
    progress       a function that is told what is being done
    """

    model_: BilexicalModel
    split_: HeadSplit
    strength_: float
    validation_scores_: dict[float, float]

    def __init__(
        self,
        vectors: WordVectors | None = None,
        penalty: str = "nuclear",
        rank: int = 40,
        strengths: Sequence[float] = (),
        solver: str = "factored",
        bias: float = 0.06,
        n_iterations: int = 150,
        warm: bool = False,
        similarity: float = 0.0,
        random_state: RandomState = 0,
        n_threads: int = 1,
        progress: Say | None = None,
    ) -> None:
        self.vectors = vectors
        self.penalty = penalty
        self.rank = rank
        self.strengths = strengths
        self.solver = solver
        self.bias = bias
        self.n_iterations = n_iterations
        self.warm = warm
        self.similarity = similarity
        self.random_state = random_state
        self.n_threads = n_threads
        self.progress = progress

    def fit(
        self, X: Iterable[tuple[str, str]] | Pairs, y: object = None, split: HeadSplit | None = None
    ) -> BilexicalOperator:
        """Learn from (head, modifier) pairs; 60% of the heads train, 10% choose, 30% are kept for a test.

        Pairs with a word that has no vector are left out; `n_left_out_` says how many.
        """
        pairs = X if isinstance(X, Pairs) else Pairs.of((str(head), str(mod)) for head, mod in X)
        if not pairs.heads:
            raise ValueError("there are no pairs to learn from")
        settings = BilexicalSettings(
            penalty=self.penalty,
            path=tuple(self.strengths),
            rank=self.rank,
            solver=self.solver,
            bias=self.bias,
            n_iterations=self.n_iterations,
            warm=self.warm,
            similarity=self.similarity,
        )
        rng, say = as_generator(self.random_state), self.progress or _silent
        with limited_threads(self.n_threads):
            vectors = as_vectors(self.vectors)
            known = known_pairs(pairs, vectors)
            fit = learn_bilexical(known, vectors, rng, settings, split, say)
        self._replace_fitted(
            model_=fit.model,
            split_=fit.model.split,
            strength_=fit.weight,
            validation_scores_=fit.validation_scores,
            objectives_=list(fit.objectives),
            n_left_out_=pairs.n_pairs - known.n_pairs,
        )
        return self

    def predict(self, X: Sequence[str], top: int = 1) -> list[Any]:
        """The likeliest modifier of each head, or the `top` of them."""
        self.check_fitted()
        rows = [[word for word, _ in self.model_.top(head, top)] for head in X]
        return [row[0] for row in rows] if top == 1 else rows

    def predict_log_proba(self, X: Sequence[str]) -> Array:
        """log Pr(m | h), a row a head and a column a modifier in the order of `model_.modifiers`."""
        self.check_fitted()
        return self.model_.log_probabilities(list(X))

    def top(self, head: str, k: int = 10) -> list[tuple[str, float]]:
        """The k likeliest modifiers of a head, with their probabilities."""
        self.check_fitted()
        return self.model_.top(head, k)

    def score(self, X: Iterable[tuple[str, str]] | Pairs, y: object = None) -> float:
        """Pairwise accuracy on the heads of these pairs; unknown modifiers are left out."""
        self.check_fitted()
        pairs = X if isinstance(X, Pairs) else Pairs.of(X, self.model_.modifiers)
        return pooled_accuracy(self.model_, pairs)


class PPAttachment(Estimator):
    """Where a prepositional phrase attaches: to the verb (V) or to the noun (N).

    vectors    of the words, as for `BilexicalOperator`
    judges     which of "linear", "backed_off" and "bilinear" have a vote
    penalty    on the matrices of each preposition: "nuclear" (low rank), "l1" (few weights) or "l2"
    rank       of the matrices of each preposition, at most, for "nuclear"
    bilinear_weight  of that penalty; None: a usual one
    dev_share  of the training items that weigh the votes, where `fit` is given no others
    """

    model_: AttachmentModel

    def __init__(
        self,
        vectors: WordVectors | None = None,
        judges: Sequence[str] = JUDGES,
        rank: int = 6,
        linear_weight: float = 1.0,
        bilinear_weight: float | None = None,
        penalty: str = "nuclear",
        dev_share: float = 0.15,
        random_state: RandomState = 0,
        n_threads: int = 1,
        progress: Say | None = None,
    ) -> None:
        self.vectors = vectors
        self.judges = judges
        self.rank = rank
        self.linear_weight = linear_weight
        self.bilinear_weight = bilinear_weight
        self.penalty = penalty
        self.dev_share = dev_share
        self.random_state = random_state
        self.n_threads = n_threads
        self.progress = progress

    def fit(
        self,
        X: Quadruples | Sequence[Sequence[str]],
        y: Sequence[str] | None = None,
        dev: Quadruples | None = None,
    ) -> PPAttachment:
        """Learn from (verb, noun, preposition, noun) rows and their labels V or N."""
        if y is None and not isinstance(X, Quadruples):
            raise ValueError("attachment is learned from labels: give y, V or N for each row")
        rng, train = as_generator(self.random_state), _quadruples(X, y)
        if dev is None:
            order, cut = rng.permutation(len(train)), round(self.dev_share * len(train))
            train, dev = train.select(order[cut:].tolist()), train.select(order[:cut].tolist())
        settings = AttachmentSettings(
            linear_weight=self.linear_weight,
            bilinear_weight=self.bilinear_weight,
            penalty=self.penalty,
            rank=self.rank,
            judges=tuple(self.judges),
        )
        with limited_threads(self.n_threads):
            model = learn_attachment(
                train, dev, as_vectors(self.vectors), rng, settings, self.progress or _silent
            )
        self._replace_fitted(model_=model, classes_=np.array(["N", "V"]))
        return self

    def predict(self, X: Quadruples | Sequence[Sequence[str]]) -> list[str]:
        self.check_fitted()
        return self.model_.predict(_quadruples(X))

    def predict_proba(self, X: Quadruples | Sequence[Sequence[str]]) -> Array:
        """The probabilities of N and V, in this order."""
        self.check_fitted()
        noun = self.model_.probabilities(_quadruples(X))
        return np.column_stack([noun, 1.0 - noun])

    def score(self, X: Quadruples | Sequence[Sequence[str]], y: Sequence[str] | None = None) -> float:
        """The share of right answers."""
        self.check_fitted()
        items = _quadruples(X, y)
        return float(np.mean([a == b for a, b in zip(self.model_.predict(items), items.labels, strict=True)]))


def as_vectors(vectors: WordVectors | None) -> Vectors:
    """Vectors as the models want them."""
    if vectors is None:
        raise ValueError("vectors are needed: learn them from text, or read them from a file")
    if isinstance(vectors, Vectors):
        return vectors
    return Vectors(tuple(vectors), np.array(list(vectors.values()), dtype=np.float64))


def _quadruples(
    items: Quadruples | Sequence[Sequence[str]], labels: Sequence[str] | None = None
) -> Quadruples:
    return items if isinstance(items, Quadruples) else Quadruples.of(items, labels)


def _silent(message: str) -> None:
    """Nobody listens."""
