"""How long work will take: by its speed so far; on many inputs before it begins, by trials on a few of them.

    inputs of up to some length     as long as those that are tried, by their lengths to a power
    longer ones                     by ever longer begins of the longest, and how the time of these grows

Trials are on one core, and take a few percent of the work or a second, whichever is more. What they compile
does not count: each is made once before it is timed.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sigmastar.core.arrays import Floats
from sigmastar.core.progress import LONG, Progress, compilation, in_words, tell

Run = Callable[[NDArray[np.int64], int], object]

_ENOUGH = 0.2  # seconds of a trial that an estimate may rest on
_SHARE = 1 / 32  # of the inputs, that a trial takes at most
_FACTOR = 4  # by which trials grow
_clock = time.process_time
MUCH_LEFT = 30.0  # seconds of work that are worth a line
_LEAST_SECONDS, _LEAST_SHARE = 3.0, 0.02  # that an estimate by speed rests on


def foretell(
    work: str,
    lengths: ArrayLike,
    run: Run,
    power: float = 1.0,
    longest: int = 10_000,
    growth: float = 3.0,
    remedy: str = "",
    quiet: bool = False,
) -> None:
    """Tell how long work on inputs will take, where that is long.

    Parameters
    ----------
    work : str
        What it is, as in "parsing".
    lengths : array of int
        Of the inputs.
    run : callable
        Does the work on the inputs with some numbers, on one core; of each it takes so many symbols at most.
    power : float
        By which the time of short inputs grows with their length.
    longest : int
        Length up to which inputs are short.
    growth : float
        Power that the time of longer ones comes to.
    remedy : str
        What to do where one input is long, as in "--max-length 300 leaves it out".
    quiet : bool
        Tell nothing, and try nothing.
    """
    sizes = np.asarray(lengths, dtype=np.float64)
    if quiet or not sizes.sum():
        return
    is_short = sizes <= longest
    seconds = _of_short(np.flatnonzero(is_short & (sizes > 0)), sizes, run, power, longest)
    if not is_short.all():
        seconds += _of_long(sizes, longest, growth, run)
    if seconds > LONG:
        most = "" if is_short.all() else f"; the longest input has {int(sizes.max()):,} symbols"
        advice = f": {remedy}" if remedy and most else ""
        tell(f"{work}: about {in_words(seconds)} on one core{most}{advice}")


def _of_short(short: NDArray[np.int64], sizes: Floats, run: Run, power: float, longest: int) -> float:
    """Seconds of all short inputs, by a sample of them that grows until it takes long enough."""
    order, n_tried = np.random.default_rng(0).permutation(short), 1
    while n_tried <= _SHARE * len(short):
        tried = order[:n_tried]
        seconds = _seconds(run, tried, longest, again=n_tried == 1)
        if seconds >= _ENOUGH or n_tried * _FACTOR > _SHARE * len(short):
            return seconds * float((sizes[short] ** power).sum() / (sizes[tried] ** power).sum())
        n_tried *= _FACTOR
    return 0.0  # few


def _of_long(sizes: Floats, longest: int, growth: float, run: Run) -> float:
    """Seconds of all long inputs, by ever longer begins of the longest, until these take long enough.

    How the time grows from one begin to the next tells how it goes on, half and half with what it comes to.
    """
    one, long = np.array([int(np.argmax(sizes))]), sizes[sizes > longest]
    size, before = longest, 0.0
    seconds = _seconds(run, one, size, again=True)
    while seconds < _ENOUGH and 2 * size <= long.max():
        if seconds * float(((long / size) ** growth).sum()) < LONG:
            break
        size, before = 2 * size, seconds
        seconds = _seconds(run, one, size, again=False)
    seen = np.log2(seconds / before) if before > 0.0 < seconds else growth
    return seconds * float(((long / size) ** (0.5 * (growth + np.clip(seen, 1.0, growth)))).sum())


def seconds_of(work: Callable[[], object], first: Callable[[], object] | None = None) -> float:
    """Seconds of the processor that work takes; before it less of its kind, or itself, compiles kernels."""
    (first or work)()
    begin = _clock()
    work()
    return _clock() - begin


def _seconds(run: Run, numbers: NDArray[np.int64], most: int, again: bool) -> float:
    """Seconds of a trial; the first may compile, and is made twice."""
    for _ in range(1 + again):
        begin = _clock()
        run(numbers, most)
        seconds = _clock() - begin
    return seconds


class Outlook:
    """How long work will take, at its speed since now or since it said that none of it is done.

    Parameters
    ----------
    clock : callable
        Seconds of work so far, from any beginning.
    """

    def __init__(self, clock: Callable[[], float] | None = None) -> None:
        self.clock = clock or _seconds_of_work
        self.begin = self.clock()

    def seconds_left(self, done: float | None) -> float | None:
        """An estimate from the share that is done; None where it would rest on too little."""
        if done == 0.0:
            self.begin = self.clock()
        passed = self.clock() - self.begin
        if done is None or done < _LEAST_SHARE or passed < _LEAST_SECONDS:
            return None
        return passed * (1.0 - min(done, 1.0)) / done


def _seconds_of_work() -> float:
    return time.perf_counter() - compilation.seconds()


def line_if_long(outlook: Outlook) -> Progress:
    """What tells once how much time is left, where that is much."""
    told = False

    def say(message: str, done: float | None = None) -> None:
        nonlocal told
        if told:
            return
        seconds = outlook.seconds_left(done)
        if seconds is not None and seconds > MUCH_LEFT:
            told = True
            tell(f"{message}: about {in_words(seconds)} left")

    return say
