"""The manner of scikit-learn, without scikit-learn.

A constructor only stores its arguments under their own names; `fit` sets attributes that end in `_`
and returns the estimator. That is all that `clone`, `GridSearchCV` and `Pipeline` ask for, besides
`__sklearn_tags__`: scikit-learn is imported there and nowhere else, and only it calls that method.

An estimator is a dataclass of its parameters, so that its constructor is written by its declaration:

    @dataclass(eq=False, repr=False)
    class SpectralAutomaton(SequenceEstimator):
        method: str = "fast"
        n_states: int | str = "auto"

Attributes that `fit` sets are declared in a base class that is no dataclass, or not at all.

Columns of Arrow are read as lists, but where a family takes their buffers as they are (`_takes_columns`).
What looks like a list of structures but is iterated otherwise (tables by their column names, mappings by
their keys, sets in no fixed order) is refused by every method of every estimator that takes data as `X`.

An estimator as a file is a model file that also holds which class learned it, with which parameters:

    SpectralAutomaton().fit(strings).save("model.sigma")
    sigmastar.load("model.sigma").predict_next(["ab"])

So files of the command line load as estimators too. What `fit` found beside the model is stored as far as
JSON can hold it: numbers and short lists, no objects.
"""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from types import FunctionType
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from sigmastar import __version__
from sigmastar.core import plain_kernels
from sigmastar.core.errors import InputError, ModelFileError, NotFittedError
from sigmastar.core.family import families
from sigmastar.core.family import load as load_place
from sigmastar.core.model_reading import load_model, read_header, save_model
from sigmastar.core.notebook import Shown, estimator_card
from sigmastar.core.progress import Progress, announced, told
from sigmastar.core.resources import limited_threads

RandomState = int | np.random.Generator | None
Self = TypeVar("Self", bound="Estimator")
Choice = TypeVar("Choice")
_LEARNING = ("fit", "partial_fit")
_OF_TEXT = ("text", "tokens", "words", "sentence", "sentences", "string", "strings")  # columns, by name
_MOST = 1000  # entries of a list that is worth keeping in a file


class _Fitted:
    """What `fit` of every estimator sets; classes say what it is."""

    model_: Any


@dataclass(eq=False, repr=False, kw_only=True)
class Estimator(Shown, _Fitted):
    """Parameters by name, and what `fit` found by names that end in `_`.

    Parameters
    ----------
    random_state : int, Generator or None
        Seed, or source, of all random choices.
    n_jobs : int or None
        Number of threads; -1: one per core, None: one. It changes no result.
    progress : callable or None
        Called with what is being done, and the share that is done where it is known.
    verbose : bool
        Whether that is written to standard error. The logger `sigmastar` hears of it in any case.
    """

    random_state: RandomState = 0
    n_jobs: int | None = -1
    progress: Progress | None = None
    verbose: bool = False
    _takes_tables: ClassVar[bool] = False  # whether rows of numbers are data
    _takes_columns: ClassVar[bool] = False  # whether its data may be columns of Arrow, read as they are

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name in _LEARNING:
            if name in vars(cls):
                setattr(cls, name, _learning(vars(cls)[name]))
        for name in filter(lambda name: _takes_data(name, getattr(cls, name, None)), dir(cls)):
            setattr(cls, name, _refusing_lookalikes(getattr(cls, name)))

    def _looked_at(
        self, method: str, X: Any, arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
        """What a method was called with, columns as rows; tables, mappings and sets are refused."""
        if not (self._takes_tables and hasattr(X, "to_numpy")):
            refuse_lookalikes(X, method)
        if self._takes_columns:
            return X, arguments, options
        named = {name: rows_of(value) for name, value in options.items()}
        return rows_of(X), tuple(map(rows_of, arguments)), named

    @contextmanager
    def _working(self) -> Iterator[None]:
        """The threads that this estimator may use, and one for BLAS."""
        with limited_threads(n_threads(self.n_jobs)):
            yield

    @classmethod
    def parameter_defaults(cls) -> dict[str, Any]:
        """The names of the constructor's arguments, with their defaults."""
        parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
        return {parameter.name: parameter.default for parameter in parameters}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The arguments that this estimator was made with; none of them is an estimator in turn."""
        return {name: getattr(self, name) for name in self.parameter_defaults()}

    def set_params(self: Self, **params: Any) -> Self:
        """Change arguments by name; what was fitted stays until the next `fit`."""
        known = self.parameter_defaults()
        for name, value in params.items():
            if name not in known:
                from sigmastar.core.habits import no_parameter  # errors alone need it

                raise ValueError(no_parameter(type(self), name, known))
            setattr(self, name, value)
        return self

    def _repr_html_(self) -> str:
        """A table of the parameters, whether `fit` was called, and what it found: in words, and drawn."""
        return estimator_card(self)

    def __repr__(self) -> str:
        changed = (f"{name}={value!r}" for name, value in self._changed_parameters().items())
        return f"{type(self).__name__}({', '.join(changed)})"

    def _changed_parameters(self) -> dict[str, Any]:
        """Those that are not the defaults."""
        defaults = self.parameter_defaults()
        return {name: value for name, value in self.get_params().items() if not _is(value, defaults[name])}

    def check_fitted(self) -> None:
        """Raise `NotFittedError` before `fit`."""
        if not self.__sklearn_is_fitted__():
            name = type(self).__name__
            raise NotFittedError(f"this {name} is not fitted yet; call fit with your data first")

    def __sklearn_is_fitted__(self) -> bool:
        return any(is_fitted_name(name) for name in vars(self))

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            input_tags=InputTags(two_d_array=False, string=True),
        )

    if not TYPE_CHECKING:  # type checkers know what classes declare, and nothing else

        def __new__(cls, *_, **params):  # refused here, where the names of other libraries are known
            if strange := params.keys() - getattr(cls, "__dataclass_fields__", params).keys():
                from sigmastar.core.habits import no_parameter  # errors alone need it

                known = cls.parameter_defaults()
                if first := next((name for name in params if name in strange and name not in known), None):
                    raise TypeError(no_parameter(cls, first, known))
            return super().__new__(cls)

        def __getattr__(self, name: str) -> Any:  # asked only where there is no such attribute
            if is_fitted_name(name) or hasattr(type(self), name):  # a property that asked for the model
                self.check_fitted()
            from sigmastar.core.habits import attribute_meant  # errors alone need it

            meant = attribute_meant(name, type(self))
            why = self._why_absent(name) or (f"; here it is {meant}" if meant else "")
            raise AttributeError(f"this {type(self).__name__} has no attribute {name!r}{why}")

    def _why_absent(self, name: str) -> str:
        """The message about an attribute that fitted estimators of other kinds have."""
        return ""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write this fitted estimator to a file; `sigmastar.load` gives it back.

        Parameters
        ----------
        path : str or path
            Where to write it, all of the file or nothing.
        """
        self.check_fitted()
        save_model(self.model_, path, {**described(self), "sigmastar": __version__})

    def restore(self, model: Any, found: Mapping[str, Any]) -> None:
        """Become what `fit` made.

        Parameters
        ----------
        model : object
            The model.
        found : mapping
            What was found beside it, by the names of attributes.
        """
        self._replace_fitted(**{**found, **self._of_model(model)})

    def _of_model(self, model: Any) -> dict[str, Any]:
        """The fitted attributes that follow from the model."""
        return {"model_": model}

    @property
    def _last_model(self) -> Any:
        """What the fit before this one found, where `warm_start` asks to go on from it."""
        return vars(self).get("model_") if vars(self).get("warm_start") else None

    def _replace_fitted(self, **attributes: Any) -> None:
        """Forget all that an earlier `fit` set, then set what was found and is not None."""
        for name in [name for name in vars(self) if is_fitted_name(name)]:
            delattr(self, name)
        for name, value in attributes.items():
            if value is not None:
                setattr(self, name, value)


def _learning(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def checked(self: Any, X: Any, *arguments: Any, **options: Any) -> Any:
        if sys.modules.get(plain_kernels.COMPILED) is plain_kernels:
            raise RuntimeError(plain_kernels.NOT_TO_LEARN_IN)
        X, arguments, options = self._looked_at(method.__name__, X, arguments, options)
        asked = self.progress
        with announced(self, X), told(type(self).__name__, self.verbose, asked) as self.progress:
            try:
                return method(self, X, *arguments, **options)
            finally:
                self.progress = asked

    return checked


def _takes_data(name: str, method: Any) -> bool:
    """Whether a public method of an estimator takes data as `X`, and does not look at them yet."""
    return (
        isinstance(method, FunctionType)
        and not name.startswith("_")
        and name not in _LEARNING
        and not hasattr(method, "__wrapped__")
        and method.__code__.co_varnames[1:2] == ("X",)
    )


def _refusing_lookalikes(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of an estimator that refuses what only looks like its data."""

    @wraps(method)
    def checked(self: Any, X: Any, *arguments: Any, **options: Any) -> Any:
        X, arguments, options = self._looked_at(method.__name__, X, arguments, options)
        return method(self, X, *arguments, **options)

    return checked


def rows_of(given: Any) -> Any:
    """The rows of a column of pyarrow as lists, text and numbers; all else as it is.

    Items of such a column are scalars of Arrow, which look like lists and text and are neither.
    """
    is_column = type(given).__module__.startswith("pyarrow") and hasattr(given, "null_count")
    return given.to_pylist() if is_column else given


def refuse_lookalikes(X: Any, method: str = "fit") -> None:
    """Refuse tables, mappings and sets in place of lists, with what to pass to the method instead."""
    if hasattr(X, "columns") and (hasattr(X, "iloc") or hasattr(X, "__dataframe__")):
        raise InputError(f"X is a table; pass one column of it, as in {method}(X[{_text_column(X)!r}])")
    if isinstance(X, Mapping):
        parts = [key for key in X if hasattr(X[key], "column_names")]
        lists = f"X[{parts[0]!r}][{_text_column(X[parts[0]])!r}]" if parts else "list(X.values())"
        raise InputError(f"X is a mapping; pass a list, as in {method}({lists})")
    if isinstance(X, Set):
        raise InputError(f"X is a set, which has no fixed order; pass a list, as in {method}(sorted(X))")


def _text_column(table: Any) -> str:
    """The column that most likely holds strings: by its name, else the first."""
    names = map(str, table.column_names if hasattr(table, "column_names") else table.columns)  # of Arrow too
    return next(iter(sorted(names, key=lambda name: name not in _OF_TEXT)), "text")


@dataclass(eq=False, repr=False, kw_only=True)
class SpreadEstimator(Estimator):
    """One that counts in pieces: so many processes share them, or a Dask cluster (`core.engines.spread`)."""

    workers: int | None = None
    client: Any = None

    @contextmanager
    def _working(self) -> Iterator[None]:
        from sigmastar.core.engines import spreading  # most work is done here

        with super()._working(), spreading(self.workers, self.client):
            yield


def n_threads(n_jobs: int | None) -> int | None:
    """The number of threads that `n_jobs` asks for; None stands for one per core.

    Examples
    --------
    >>> n_threads(None), n_threads(2), n_threads(-1)
    (1, 2, None)
    """
    if n_jobs is None:
        return 1
    if n_jobs == -1:
        return None
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or n_jobs < 1:
        raise ValueError(f"n_jobs={n_jobs!r} must be -1 (one thread per core), None (one), or 1 or more")
    return int(n_jobs)


def as_generator(random_state: RandomState) -> np.random.Generator:
    """A generator of random numbers; one that is given is used as it is, and moves on."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise ValueError(
            f"random_state={random_state!r} must be a whole number, 0 or more, a Generator, or None"
        ) from None


def is_fitted_name(name: str) -> bool:
    """Whether `fit` sets an attribute of this name."""
    return name.endswith("_") and not name.startswith("_")


def _is(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and bool(np.all(value == default)))


def is_plain(value: Any) -> bool:
    """Whether JSON can hold a value, and give it back."""
    if value is None or isinstance(value, (bool, int, float, str, np.integer, np.floating)):
        return True
    if isinstance(value, (list, tuple)):
        return len(value) <= _MOST and all(map(is_plain, value))
    return isinstance(value, np.ndarray) and value.size <= _MOST and value.dtype.kind in "biufU"


def plain(value: Any) -> Any:
    """A value as JSON can hold it."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def chosen(table: Mapping[str, Choice], value: str | Choice, name: str) -> Choice:
    """What a parameter names in a table of choices; a choice itself is taken as it is."""
    if not isinstance(value, str):
        return value
    if value not in table:
        raise ValueError(f"{name}={value!r} must be one of {', '.join(map(repr, table))}")
    return table[value]


def no_method(value: str, names: Iterable[str], elsewhere: Mapping[str, str]) -> ValueError:
    """The error about a method that an estimator does not have; `elsewhere` names those that others have."""
    other = f"; {value!r} is {elsewhere[value]}" if value in elsewhere else ""
    return ValueError(f"method={value!r} must be one of {', '.join(map(repr, names))}{other}")


def positive(value: int, name: str) -> int:
    """A whole number above zero."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise ValueError(f"{name}={value!r} must be a whole number, 1 or more")
    return int(value)


def positive_or_auto(value: int | str, name: str) -> int | None:
    """A whole number above zero, or None where it is left to the learner."""
    if value is None or value == "auto":
        return None
    try:
        return positive(value, name)  # type: ignore[arg-type]
    except ValueError:
        raise ValueError(f"{name}={value!r} must be 'auto' or a whole number, 1 or more") from None


def described(estimator: Estimator) -> dict[str, Any]:
    """The class of an estimator, its parameters, and what `fit` found beside the model."""
    fitted = {name: value for name, value in vars(estimator).items() if is_fitted_name(name)}
    return {
        "estimator": type(estimator).__name__,
        "settings": {n: plain(v) for n, v in estimator.get_params().items() if is_plain(v)},
        "fitted": {n: plain(v) for n, v in fitted.items() if is_plain(v)},
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
    defaults, found = cls.parameter_defaults(), learned.get("settings")
    given = found.items() if isinstance(found, Mapping) else ()
    return {n: tuple(v) if isinstance(defaults[n], tuple) else v for n, v in given if n in defaults}
