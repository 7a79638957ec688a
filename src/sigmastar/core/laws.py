"""What a family shows of itself so that the laws can be tried on it.

    exact statistics     the learner on the exact statistics of a known model gives its values back
    from samples         sampler -> counts -> learner -> inference: the error falls with the data
    files                a model that was saved and loaded has the same values
    repeatability        the same seed gives the same model, on any number of threads
    length               structures of 10^5 symbols have finite log-values
    contract             estimators clone, pickle, refit, survive a failed fit, work in a grid search
    defaults             `sigmastar learn` and the estimator give the same model

The record of a family names the place of an object of this kind. It is also what a reader looks at to see a
family at work in few lines.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from sigmastar.core.arrays import Floats
from sigmastar.core.estimator import Estimator


@dataclass(frozen=True)
class Example:
    """An estimator with settings that make it quick, and data that it can be fitted on.

    Parameters
    ----------
    estimator : Estimator
        Not fitted.
    X, y : object
        What `fit` takes; `y` is None where there is nothing to predict.
    grid : mapping
        Values of one or two parameters for a grid search.
    empty : object
        Data that `fit` must refuse.
    """

    estimator: Estimator
    X: Any
    y: Any = None
    grid: Mapping[str, list[Any]] = field(default_factory=dict)
    empty: Any = ()


@dataclass(frozen=True)
class Call:
    """A call of `sigmastar learn NAME` with defaults, and the estimator that must give the same model.

    Parameters
    ----------
    words : tuple of str
        The words behind `learn NAME`: files and options, but not `-o`.
    estimator : Estimator
        Its class with default settings.
    X, y : object
        The data of the files.
    given : mapping
        Parameters without a usable default, such as word vectors, with what the estimator was given.
    """

    words: tuple[str, ...]
    estimator: Estimator
    X: Any
    y: Any = None
    given: Mapping[str, Any] = field(default_factory=dict)


class Laws(Protocol):
    """A family seen by the laws. A `truth` is a small known model, `structures` what it gives values to."""

    def truth(self, rng: np.random.Generator) -> Any:
        """A random model of the family that its spectral learner can find."""
        ...

    def exact(self, truth: Any) -> Any:
        """The model that the family's learner makes of the exact statistics of `truth`."""
        ...

    def structures(self, truth: Any, rng: np.random.Generator) -> Any:
        """Structures, most of them larger than those that the statistics hold."""
        ...

    def values(self, model: Any, structures: Any) -> Floats:
        """The value, or the log-value, that a model gives each structure, by the family's own inference."""
        ...

    def learned(self, truth: Any, n_samples: int, seed: int, n_jobs: int = 1) -> Any:
        """The model that the estimator learns from so many structures drawn from `truth`."""
        ...

    def distance(self, model: Any, truth: Any) -> float:
        """How far a model is from the truth; zero where they agree."""
        ...

    sizes: tuple[int, int]
    """Two sample sizes; the distance falls at least by half from the first to the second."""

    def long(self, truth: Any) -> float:
        """The log-value of a structure of 10^5 symbols."""
        ...

    def examples(self) -> Mapping[str, Example]:
        """An example for every estimator of the family, by name."""
        ...

    def calls(self, folder: Path) -> Mapping[str, Call]:
        """A call for every `learn` command of the family, by name, on files written into `folder`."""
        ...
