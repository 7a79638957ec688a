"""What estimators of distributions share: criteria of likelihood and size."""

from __future__ import annotations

from typing import Any

import numpy as np

from sigmastar.core.estimator import Estimator


class LikelihoodEstimator(Estimator):
    """An estimator of a distribution: models can be weighed by their likelihood and their size."""

    def score_samples(self, X: Any, y: object = None, lengths: Any = None) -> Any:
        """The natural log-probability, or log-density, of each sequence."""
        raise NotImplementedError

    def aic(self, X: Any, y: object = None, lengths: Any = None) -> float:
        """Akaike's criterion on all sequences: smaller is better.

        Parameters
        ----------
        X, y, lengths
            As of `fit`.

        Returns
        -------
        float
            -2 log-likelihood + 2 free parameters.
        """
        total = float(self.score_samples(X, y, lengths).sum())
        return -2.0 * total + 2.0 * self._n_parameters()

    def bic(self, X: Any, y: object = None, lengths: Any = None) -> float:
        """The Bayesian criterion on all sequences: smaller is better.

        Parameters
        ----------
        X, y, lengths
            As of `fit`.

        Returns
        -------
        float
            -2 log-likelihood + free parameters times the logarithm of the number of observations: rows, or
            symbols with the ends of strings.
        """
        total = float(self.score_samples(X, y, lengths).sum())
        n_observed = max(self._n_observed(X, y, lengths), 1)
        return -2.0 * total + float(self._n_parameters() * np.log(n_observed))

    def _n_parameters(self) -> int:
        """Free parameters of the fitted model."""
        raise NotImplementedError

    def _n_observed(self, X: Any, y: object, lengths: Any) -> int:
        """How many observations the sequences hold."""
        raise NotImplementedError
