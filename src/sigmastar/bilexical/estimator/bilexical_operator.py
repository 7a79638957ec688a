"""`BilexicalOperator`: which modifiers fit a head."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sigmastar.bilexical.data.pairs import HeadSplit, Pairs
from sigmastar.bilexical.learn.operator import OperatorSettings, learn_operator
from sigmastar.bilexical.metrics import pairwise_accuracy
from sigmastar.bilexical.model.operator import BilexicalModel
from sigmastar.bilexical.model.vectors import Vectors
from sigmastar.core.arrays import Floats
from sigmastar.core.estimator import Estimator, as_generator
from sigmastar.core.progress import silent

VectorsLike = Vectors | Mapping[str, Sequence[float]]
SomePairs = Iterable[tuple[str, str]] | Pairs


class _FittedOperator(Estimator):
    model_: BilexicalModel
    split_: HeadSplit
    strength_: float
    validation_scores_: dict[float, float]
    objectives_: list[float]
    n_left_out_: int


@dataclass(eq=False, repr=False)
class BilexicalOperator(_FittedOperator):
    """Which modifiers fit a head, heads without training pairs included.

    Pr(m | h) is a softmax of a bilinear form between word vectors, learned by penalized likelihood
    (Madhyastha, Carreras and Quattoni 2014); it is neither of the two ideas of the core.

    Parameters
    ----------
    vectors : Vectors, mapping or None
        Vectors of the words, as `WordVectors` learns them, or a mapping from words to numbers. `fit` needs
        them.
    penalty : {"nuclear", "l1", "l2"}
        Few dimensions, few weights, or small weights.
    rank : int
        Number of dimensions at most, for "nuclear".
    strengths : sequence of float
        Penalties to try, in units of 1 / sqrt(pairs); the best on validation heads is kept. Empty: three
        usual ones.
    solver : {"factored", "fista", "fobos"}
        Thin factors and L-BFGS (for "nuclear"), or proximal gradients.
    bias : float
        Size of the coordinate that lets modifiers be popular by themselves; 0 leaves it out, as in the paper.
    max_iter : int
        Iterations of each penalty, at most.
    warm : bool
        Each penalty starts where the one before it ended.
    similarity : float or sequence of float
        Weight of the inner product of the vectors beside what is learned; for few pairs. Of several the best
        on validation heads is taken.

    Attributes
    ----------
    model_ : BilexicalModel
        The operator.
    split_ : HeadSplit
        The heads that trained, validated, and are left for a test.
    strength_ : float
        The penalty that was chosen.
    validation_scores_ : dict
        Pairwise accuracy on validation heads of each penalty.
    objectives_ : list of float
        The objective after each iteration of the chosen penalty.
    n_left_out_ : int
        Pairs with a word that has no vector.

    Examples
    --------
    >>> from sigmastar.bilexical import make_relation
    >>> made = make_relation(np.random.default_rng(0), n_heads=100, n_modifiers=20, dimension=8, rank=2)
    >>> operator = BilexicalOperator(made.vectors, rank=4).fit(made.pairs)
    >>> unseen = made.pairs.select(operator.split_.test)
    >>> operator.score(unseen) > 0.8
    True
    """

    vectors: VectorsLike | None = None
    penalty: str = "nuclear"
    rank: int = 40
    strengths: Sequence[float] = ()
    solver: str = "factored"
    bias: float = 0.06
    max_iter: int = 150
    warm: bool = False
    similarity: float | Sequence[float] = 0.0

    def fit(self, X: SomePairs, y: object = None, split: HeadSplit | None = None) -> BilexicalOperator:
        """Learn from pairs; those with a word that has no vector are left out.

        Parameters
        ----------
        X : Pairs or iterable of tuple
            (head, modifier) pairs.
        y
            Not used.
        split : HeadSplit or None
            Heads that train, choose, and are not looked at; None: 60%, 10% and 30%, at random.

        Returns
        -------
        BilexicalOperator
            The estimator itself.
        """
        pairs = X if isinstance(X, Pairs) else Pairs.of((str(head), str(mod)) for head, mod in X)
        if not pairs.heads:
            raise ValueError("there are no pairs to learn from")
        vectors, settings = as_vectors(self.vectors), self._settings()
        known = pairs.of_known(vectors)
        if not known.heads:
            raise ValueError(f"no pair of {len(pairs.heads)} heads has vectors; use vectors of these words")
        with self._working():
            fit = learn_operator(
                known, vectors, as_generator(self.random_state), settings, split, self.progress or silent
            )
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
        """The likeliest modifiers of heads.

        Parameters
        ----------
        X : sequence of str
            Heads.
        top : int
            Number of modifiers per head.

        Returns
        -------
        list
            One modifier per head, or with `top` above 1 a list of them.
        """
        rows = [[word for word, _ in self.top(head, top)] for head in X]
        return [row[0] for row in rows] if top == 1 else rows

    def predict_log_proba(self, X: Sequence[str]) -> Floats:
        """log Pr(m | h), one row per head and one column per modifier in the order of `model_.modifiers`."""
        self.check_fitted()
        return self.model_.log_probabilities(list(X))

    def top(self, head: str, k: int = 10) -> list[tuple[str, float]]:
        """The likeliest modifiers of one head.

        Parameters
        ----------
        head : str
            The head.
        k : int
            Number of modifiers.

        Returns
        -------
        list of tuple
            Modifiers and their probabilities.
        """
        self.check_fitted()
        return self.model_.top(head, k)

    def score_samples(self, X: SomePairs) -> Floats:
        """log Pr(m | h) of each pair, -inf where the modifier is unknown."""
        self.check_fitted()
        return self.model_.pair_log_probabilities(X)

    def score(self, X: SomePairs, y: object = None) -> float:
        """Pairwise accuracy: the share of (compatible, other) modifiers in the right order, over these heads.

        Parameters
        ----------
        X : Pairs or iterable of tuple
            (head, modifier) pairs; unknown modifiers are left out. Heads that were trained on flatter the
            model: in a cross-validation, split by heads.
        y
            Not used.

        Returns
        -------
        float
            0.5 is chance.
        """
        self.check_fitted()
        pairs = X if isinstance(X, Pairs) else Pairs.of(X, self.model_.modifiers)
        return float(np.nan_to_num(pairwise_accuracy(self.model_.scores, pairs).micro))

    def _settings(self) -> OperatorSettings:
        return OperatorSettings(
            penalty=self.penalty,
            path=tuple(self.strengths),
            rank=self.rank,
            solver=self.solver,
            bias=self.bias,
            n_iterations=self.max_iter,
            warm=self.warm,
            similarity=tuple(self.similarity) if isinstance(self.similarity, Sequence) else self.similarity,
        )


def as_vectors(vectors: VectorsLike | None) -> Vectors:
    """Vectors as models hold them."""
    if vectors is None:
        raise ValueError("vectors are needed: learn them from text, or read them from a file")
    if isinstance(vectors, Vectors):
        return vectors
    return Vectors(tuple(vectors), np.array(list(vectors.values()), dtype=np.float64))
