"""Estimators as files: a model file that also holds which class learned it, with which parameters.

    SpectralAutomaton().fit(strings).save("model.sigma")
    sigmastar.load("model.sigma").predict_next(["ab"])

So files of the command line load as estimators too. What `fit` found beside the model is stored as far as
JSON can hold it: numbers and short lists, no objects.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from sigmastar import __version__
from sigmastar.core.errors import ModelFileError
from sigmastar.core.estimator import Estimator, is_fitted_name, is_plain, plain
from sigmastar.core.family import families
from sigmastar.core.family import load as load_place
from sigmastar.core.model_files import load_model, read_header, save_model


def save_estimator(estimator: Estimator, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator.

    Parameters
    ----------
    estimator : Estimator
        Of any family.
    path : str or path
        Where to write it, all of the file or nothing.
    """
    estimator.check_fitted()
    save_model(estimator.model_, path, {**described(estimator), "sigmastar": __version__})


def described(estimator: Estimator) -> dict[str, Any]:
    """The class of an estimator, its parameters, and what `fit` found beside the model."""
    fitted = {name: value for name, value in vars(estimator).items() if is_fitted_name(name)}
    kept = {name: plain(value) for name, value in fitted.items() if is_plain(value)}
    return {
        "estimator": type(estimator).__name__,
        "settings": {n: plain(v) for n, v in estimator.get_params().items() if is_plain(v)},
        "fitted": kept,
    }


def load(path: str | os.PathLike[str]) -> Any:
    """A fitted estimator from a file that `save` or the command `learn` wrote.

    Parameters
    ----------
    path : str or path
        A model file.

    Returns
    -------
    Estimator
        Of the class that learned the model, as it was after `fit`.

    Examples
    --------
    >>> import tempfile, pathlib, sigmastar
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.sigma"
    >>> sigmastar.SpectralAutomaton().fit(["ab", "abab", "", "ab"] * 20).save(path)
    >>> sigmastar.load(path).predict_next(["aba"], top=1)
    [('b',)]
    """
    learned = read_header(path).get("learned")
    learned = learned if isinstance(learned, Mapping) else {}
    places = {name: place for family in families().values() for name, place in family.public.items()}
    place = places.get(str(learned.get("estimator")))
    if place is None:
        raise ModelFileError(
            "the file does not hold which estimator learned the model; use load_model, which gives the model",
            file=os.fspath(path),
        )
    cls: type[Estimator] = load_place(place)
    estimator = cls(**_settings(cls, learned))
    fitted = learned.get("fitted")
    kept = {n: v for n, v in fitted.items() if is_fitted_name(n)} if isinstance(fitted, Mapping) else {}
    estimator.restore(load_model(path), kept)
    return estimator


def _settings(cls: type[Estimator], learned: Mapping[str, Any]) -> dict[str, Any]:
    given, defaults = learned.get("settings"), cls.parameter_defaults()
    if not isinstance(given, Mapping):
        return {}
    return {n: tuple(v) if isinstance(defaults[n], tuple) else v for n, v in given.items() if n in defaults}
