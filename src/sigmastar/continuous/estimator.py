"""Hidden Markov models of real-valued sequences, in the manner of scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from sigmastar.continuous.data import Series, as_array, is_one_array
from sigmastar.continuous.learn import STARTS, begin, require_room, seconds_of_fit, spectral_start
from sigmastar.continuous.model import COVARIANCES, GaussianHmm
from sigmastar.core.arrays import Array, Floats, Int32s
from sigmastar.core.em import Monitor, Stopping, best_of, by_absolute
from sigmastar.core.errors import InputError
from sigmastar.core.estimator import RandomState, as_generator, chosen, positive
from sigmastar.core.likelihood import LikelihoodEstimator
from sigmastar.core.progress import announce, silent

Vectors = Any
"""A list of arrays, rows x dimensions or flat; `Series`; or one array, a series or with lengths several."""
Lengths = Sequence[int] | None


class _Fitted:
    """What `fit` sets."""

    model_: GaussianHmm
    log_likelihoods_: list[float]


@dataclass(eq=False, repr=False)
class GaussianHMM(_Fitted, LikelihoodEstimator):
    """A hidden Markov model of vectors: a Gaussian, or a mixture of Gaussians, per state.

    Parameters
    ----------
    n_states : int
        Number of states.
    n_components : int
        Number of Gaussians per state.
    covariance : {"diag", "full"}
        Whether dimensions are independent in a state.
    start : {"spectral", "random"}
        "spectral": states from two views of every row, what it is and what stands before and after it,
        exchanged as long as that gains;
        "random": k-means of the rows alone.
    n_seeds : int
        Number of ascents, of which the highest is kept.
    max_iter : int
        Number of iterations of EM per ascent, at most.
    tolerance : float
        Gain of log-likelihood per row, in nats, that is worth going on for.
    warm_start : bool
        Whether `fit` goes on from the model of the last one.

    Attributes
    ----------
    model_ : GaussianHmm
        The model.
    log_likelihoods_ : list of float
        Log-likelihood per row before each iteration of the best ascent.
    monitor_ : Monitor
        The same as hmmlearn has them: `history`, `iter` and `converged`.
    startprob_, transmat_, means_, covars_ : arrays
        The parameters of the model.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> slow = np.repeat(rng.integers(0, 2, 40), 25)
    >>> model = GaussianHMM(n_states=2).fit([10.0 * slow + rng.standard_normal(1000)])
    >>> states = model.predict([10.0 * slow])[0]
    >>> bool((states == slow).all() or (states == 1 - slow).all())
    True
    """

    n_states: int = 4
    n_components: int = 1
    covariance: str = "full"
    start: str = "spectral"
    n_seeds: int = 1
    max_iter: int = 200
    tolerance: float = 1e-5
    warm_start: bool = False
    _takes_tables: ClassVar[bool] = True

    def fit(self, X: Vectors, y: object = None, lengths: Lengths = None) -> Self:
        """Learn from series.

        Parameters
        ----------
        X : list of arrays, Series, or one array
            The series, each rows x dimensions or flat; a table of numbers is an array.
        y : object
            Not used, but for one array `X`: then it is `lengths`, as in hmmlearn.
        lengths : sequence of int, optional
            Lengths of the series in one array `X`; without them it is one series.
        """
        series = _series(X, y, lengths)
        n_states, n_parts = positive(self.n_states, "n_states"), positive(self.n_components, "n_components")
        if len(series.values) < 2 * n_states:
            raise InputError(f"{len(series.values)} rows are too few for {n_states} states; use fewer states")
        if self.covariance not in COVARIANCES:
            raise ValueError(f"covariance={self.covariance!r} must be one of {', '.join(COVARIANCES)}")
        first, rng = chosen(STARTS, self.start, "start"), as_generator(self.random_state)
        stopping = Stopping(by_absolute(self.tolerance), every=1, patience=1)
        last, progress, is_diagonal = self._last_model, self.progress or silent, self.covariance == "diag"
        n_seeds, is_spectral = positive(self.n_seeds, "n_seeds"), first is spectral_start and last is None
        require_room(series, n_states, n_parts)

        def say(message: str, done: float | None = None) -> None:
            progress(message)  # most ascents end long before the last iteration that they may have

        with self._working():
            announce(
                lambda: n_seeds * seconds_of_fit(series, n_states, n_parts, is_diagonal, is_spectral),
                "learning",
            )
            best = best_of(
                begin(series, last or first(series, n_states, n_parts, is_diagonal, rng)).run(
                    positive(self.max_iter, "max_iter"), stopping, None, say
                )
                for _ in range(n_seeds)
            ).best
        self._replace_fitted(model_=best.latest, log_likelihoods_=list(best.log_likelihoods))
        return self

    def score_samples(self, X: Vectors, y: object = None, lengths: Lengths = None) -> Floats:
        """The log-density of each series, given its length.

        Parameters
        ----------
        X, y, lengths
            As of `fit`.

        Returns
        -------
        array of shape (n_series,)
            In nats.
        """
        model, series = self.model_, _series(X, y, lengths)
        with self._working():
            return model.log_probability(series)

    def score(self, X: Vectors, y: object = None, lengths: Lengths = None) -> float:
        """The mean log-density per row: larger is better.

        Parameters
        ----------
        X, y, lengths
            As of `fit`.

        Returns
        -------
        float
            In nats.
        """
        self.check_fitted()
        series = _series(X, y, lengths)
        return float(self.score_samples(series).sum() / max(len(series.values), 1))

    def decode(self, X: Vectors, lengths: Lengths = None) -> tuple[Floats, list[Int32s]]:
        """The most probable states of each series (Viterbi).

        Parameters
        ----------
        X, lengths
            As of `fit`.

        Returns
        -------
        tuple
            The log-density of each path, and one array of states per series.
        """
        model, series = self.model_, _series(X, None, lengths)
        states, logs = model.best_states(series)
        return logs, np.split(states, series.offsets[1:-1]) if len(series) else []

    def predict(self, X: Vectors, lengths: Lengths = None) -> list[Int32s]:
        """The most probable state of each row, one array per series, as `decode` has them.

        Parameters
        ----------
        X, lengths
            As of `fit`.
        """
        return self.decode(X, lengths)[1]

    def predict_proba(self, X: Vectors, lengths: Lengths = None) -> list[Floats]:
        """How probable each state is at each row, given its series: one table per series.

        Parameters
        ----------
        X, lengths
            As of `fit`.
        """
        model, series = self.model_, _series(X, None, lengths)
        with self._working():
            table = model.posteriors(series)
        return np.split(table, series.offsets[1:-1]) if len(series) else []

    def sample(self, n_samples: int = 1, random_state: RandomState = None, length: int = 100) -> list[Array]:
        """Draw series.

        Parameters
        ----------
        n_samples : int
            Number of series.
        random_state : int, Generator or None
            None: that of the estimator, so that calls repeat.
        length : int
            Number of rows of each.

        Returns
        -------
        list of arrays
            Rows x dimensions.
        """
        model = self.model_
        rng = as_generator(self.random_state if random_state is None else random_state)
        return list(model.sample(n_samples, rng, length))

    def _n_parameters(self) -> int:
        return self.model_.n_parameters

    def _n_observed(self, X: Vectors, y: object, lengths: Lengths) -> int:
        return len(_series(X, y, lengths).values)

    @property
    def monitor_(self) -> Monitor:
        """How the best ascent went."""
        return Monitor.of(self.log_likelihoods_, self.max_iter)

    @property
    def startprob_(self) -> Floats:
        """The probability of each state to begin with."""
        return self.model_.initial

    @property
    def transmat_(self) -> Floats:
        """The probability of each move from state to state."""
        return self.model_.transition

    @property
    def means_(self) -> Floats:
        """States x dimensions; with mixtures states x components x dimensions."""
        return self.model_.means[:, 0] if self.n_components == 1 else self.model_.means

    @property
    def covars_(self) -> Floats:
        """Of each state its covariance, or the diagonal of it; with mixtures of each component."""
        return self.model_.covariances[:, 0] if self.n_components == 1 else self.model_.covariances


def _series(X: Vectors, y: Any, lengths: Lengths) -> Series:
    X = as_array(X)
    if is_one_array(X) and lengths is None and y is not None:
        lengths = [int(length) for length in y]
    return Series.of(X, lengths)
