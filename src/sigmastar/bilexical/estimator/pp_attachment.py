"""`PPAttachment`: where prepositional phrases attach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sigmastar.bilexical.data.quadruples import NOUN, VERB, Quadruples
from sigmastar.bilexical.estimator.bilexical_operator import VectorsLike, as_vectors
from sigmastar.bilexical.learn.attachment import AttachmentSettings, learn_attachment
from sigmastar.bilexical.model.attachment import JUDGES, AttachmentModel
from sigmastar.core.arrays import Array, Floats
from sigmastar.core.estimator import Estimator, as_generator
from sigmastar.core.held_out import split
from sigmastar.core.progress import silent

Items = Quadruples | Sequence[Sequence[str]]


class _FittedAttachment(Estimator):
    model_: AttachmentModel
    classes_: Array


@dataclass(eq=False, repr=False)
class PPAttachment(_FittedAttachment):
    """Where a prepositional phrase attaches: to the verb (V) or to the noun (N).

    Three judges are learned: weights of word subsets, counts that back off, and low-rank forms between
    vectors for each preposition; held-out items weigh their log-odds or probabilities. It is neither of the
    two ideas of the core.

    Parameters
    ----------
    vectors : Vectors, mapping or None
        Vectors of the words, as `WordVectors` learns them, or a mapping from words to numbers. `fit` needs
        them.
    judges : sequence of str
        Those of "linear", "backed_off" and "bilinear" that have a vote.
    rank : int
        Rank of the matrices of each preposition at most, for "nuclear".
    linear_weight : float
        Weight of the squared penalty on the linear judge.
    bilinear_weight : float or None
        Weight of the penalty on the matrices; None: a usual one.
    penalty : {"nuclear", "l1", "l2"}
        On the matrices of each preposition: low rank, few weights, or small ones.
    pooling : {"log-linear", "linear"}
        Log-odds of the judges weighed and added, or their probabilities interpolated (equation 7 of
        Madhyastha et al. 2014).
    dev_share : float
        Share of the training items that weigh the votes, where `fit` is given no others.

    Attributes
    ----------
    model_ : AttachmentModel
        The judges and their votes.
    classes_ : array
        "N" and "V".

    Examples
    --------
    >>> rows = [("see", f"noun{n}", "with", f"thing{n % 5}") for n in range(100)]
    >>> labels = ["N" if n % 5 < 2 else "V" for n in range(100)]
    >>> vectors = {f"thing{n}": np.eye(5)[n] for n in range(5)}
    >>> attachment = PPAttachment(vectors).fit(rows, labels)
    >>> attachment.predict([("hear", "him", "with", "thing1"), ("hear", "him", "with", "thing3")])
    ['N', 'V']
    """

    vectors: VectorsLike | None = None
    judges: Sequence[str] = JUDGES
    rank: int = 6
    linear_weight: float = 1.0
    bilinear_weight: float | None = None
    penalty: str = "nuclear"
    pooling: str = "log-linear"
    dev_share: float = 0.15

    def fit(self, X: Items, y: Sequence[str] | None = None, dev: Quadruples | None = None) -> PPAttachment:
        """Learn from items and where they attach.

        Parameters
        ----------
        X : Quadruples or sequence
            (verb, noun, preposition, noun) rows.
        y : sequence of str or None
            V or N of each row; `Quadruples` hold it themselves.
        dev : Quadruples or None
            Items that weigh the votes; None: a share of X.

        Returns
        -------
        PPAttachment
            The estimator itself.
        """
        if y is None and not isinstance(X, Quadruples):
            raise ValueError("attachment is learned from labels: give y, V or N for each row")
        rng, train, vectors = as_generator(self.random_state), _quadruples(X, y), as_vectors(self.vectors)
        if dev is None:
            parts = split(len(train), rng, self.dev_share, most=None)
            if parts is None:
                raise ValueError(f"{len(train)} items are too few to learn from and to weigh the judges by")
            train, dev = train.select(parts.kept.tolist()), train.select(parts.held.tolist())
        settings = AttachmentSettings(
            linear_weight=self.linear_weight,
            bilinear_weight=self.bilinear_weight,
            penalty=self.penalty,
            rank=self.rank,
            judges=tuple(self.judges),
            pooling=self.pooling,
        )
        with self._working():
            model = learn_attachment(train, dev, vectors, rng, settings, self.progress or silent)
        self._replace_fitted(**self._of_model(model))
        return self

    def _of_model(self, model: AttachmentModel) -> dict[str, Any]:
        return {"model_": model, "classes_": np.array([NOUN, VERB])}

    def predict(self, X: Items) -> list[str]:
        """V or N of each item."""
        self.check_fitted()
        return self.model_.predict(_quadruples(X))

    def predict_proba(self, X: Items) -> Floats:
        """The probabilities of N and V, in this order."""
        self.check_fitted()
        noun = self.model_.probabilities(_quadruples(X))
        return np.column_stack([noun, 1.0 - noun])

    def score_samples(self, X: Items, y: Sequence[str] | None = None) -> Floats:
        """log Pr(label | words) of each item.

        Parameters
        ----------
        X : Quadruples or sequence
            Items.
        y : sequence of str or None
            V or N of each row; `Quadruples` hold it themselves.

        Returns
        -------
        array
            Natural logarithms.
        """
        self.check_fitted()
        return self.model_.label_log_probabilities(_quadruples(X, y))

    def score(self, X: Items, y: Sequence[str] | None = None) -> float:
        """The share of right answers.

        Parameters
        ----------
        X : Quadruples or sequence
            Items.
        y : sequence of str or None
            V or N of each row; `Quadruples` hold it themselves.

        Returns
        -------
        float
            From 0 to 1.
        """
        self.check_fitted()
        items = _quadruples(X, y)
        return float(np.mean((self.model_.log_odds(items) > 0) == items.to_noun))

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        tags.target_tags.required = True
        return tags


def _quadruples(items: Items, labels: Sequence[str] | None = None) -> Quadruples:
    return items if isinstance(items, Quadruples) else Quadruples.of(items, labels)
