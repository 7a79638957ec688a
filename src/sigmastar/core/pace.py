"""How long a fit will take, told before it begins.

    seconds  =  fixed  +  sum over sizes of  pace * size

The records of families name the sizes of data that decide (`Family.paces`), with seconds of one core that
were measured for estimators whose parameters are the defaults: on four sizes of data or more, work of above a
second took between half and twice the estimate. Other settings, and data whose size is not known beforehand,
have no estimate: a wrong one is worse than none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from operator import attrgetter
from typing import Any, NamedTuple

LONG = 10.0  # seconds of work that are told
_INDIFFERENT = {"random_state", "n_jobs", "progress", "verbose", "decoding", "threshold", "ledger"}
_listeners: list[Callable[[float], None]] = []
_INSIDE: ContextVar[bool] = ContextVar("fitting", default=False)


class Pace(NamedTuple):
    """Seconds of one core that an estimator takes with its default parameters.

    Parameters
    ----------
    seconds : mapping
        Seconds per unit, by attributes of the data that are numbers, or have a length: `n_words`.
    fixed : float
        Seconds however little there is.
    """

    seconds: Mapping[str, float]
    fixed: float = 0.0

    def of(self, data: Any) -> float | None:
        """Seconds for data; None where they do not have the attributes."""
        total = self.fixed
        for name, pace in self.seconds.items():
            try:
                size = attrgetter(name)(data)
            except AttributeError:
                return None
            total += pace * (len(size) if hasattr(size, "__len__") else size)
        return total


def expected_seconds(estimator: Any, data: Any) -> float | None:
    """What a fit will take of one core, about; None where nothing is known.

    Parameters
    ----------
    estimator : Estimator
        As it will be fitted.
    data : object
        The container that `fit` will get.
    """
    from sigmastar.core.family import families  # whose records hold the paces

    if not set(estimator._changed_parameters()) <= _INDIFFERENT:
        return None
    name = type(estimator).__name__
    found = [family.paces[name] for family in families().values() if name in family.paces]
    return found[0].of(data) if found else None


def on_long_work(callback: Callable[[float], None]) -> Callable[[], None]:
    """Have `callback` called with the seconds that a fit will take, before it begins, where they are many.

    Parameters
    ----------
    callback : callable
        Takes seconds. Fits inside of fits are their parts, and not told.

    Returns
    -------
    callable
        Takes the callback back.
    """
    _listeners.append(callback)

    def forget() -> None:
        with suppress(ValueError):
            _listeners.remove(callback)

    return forget


@contextmanager
def announced(estimator: Any, data: Any) -> Iterator[None]:
    """A fit, told beforehand to those who listen."""
    is_part, token = _INSIDE.get(), _INSIDE.set(True)
    try:
        if _listeners and not is_part:
            seconds = expected_seconds(estimator, data)
            for listener in _listeners if seconds is not None and seconds > LONG else ():
                listener(seconds)
        yield
    finally:
        _INSIDE.reset(token)
