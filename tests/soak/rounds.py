"""One process that learns, writes, reads and answers again and again, as a service does.

Memory, open files and threads are measured after each round. They settle while caches fill; after a third of
the rounds they must stay.
"""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cli.calls import invoke, succeed
from sigmastar import NgramAutomaton, SpectralAutomaton, SpectralTagger, SpectralTransducer, load

WORDS = ["ab", "aab", "ba", "abab", "b", "aabb"]
TAGGED = [["the", "dog"], ["a", "cat"]], [["D", "N"], ["D", "N"]]
MOST_GROWTH, SLACK = 0.02, 2 << 20  # of memory; below the slack it is noise of the allocator


class Measure(NamedTuple):
    """What a process holds."""

    memory: int
    files: int
    threads: int

    @classmethod
    def now(cls) -> Measure:
        gc.collect()
        trim = getattr(
            ctypes.CDLL(None), "malloc_trim", None
        )  # what is free goes back, so that it is not counted
        if trim is not None:
            trim(0)
        with open("/proc/self/statm") as stream:
            memory = int(stream.read().split()[1]) * resource.getpagesize()
        return cls(memory, len(os.listdir("/proc/self/fd")), threading.active_count())


def a_round(place: Path, number: int) -> None:
    """Every kind of work once, on data that differ from round to round."""
    rng = np.random.default_rng(number)
    strings = ["".join(rng.choice(list("abc"), rng.integers(1, 8))) for _ in range(200)]
    for estimator in (SpectralAutomaton(random_state=number), NgramAutomaton(order=2)):
        estimator.fit(strings)
        estimator.save(place / "automaton")
        loaded = load(place / "automaton")
        loaded.score_samples(strings[:20])
        loaded.sample(5, random_state=number)
    SpectralTagger(method="chain", random_state=number).fit(*(40 * part for part in TAGGED)).predict(
        TAGGED[0]
    )
    pairs = [(word, word.upper()) for word in WORDS * 5]
    SpectralTransducer(method="ngram", random_state=number).fit(pairs).predict(WORDS)
    _commands(place, strings)


def _commands(place: Path, strings: list[str]) -> None:
    data, model = place / "lines.txt", place / "model"
    data.write_text("".join(" ".join(string) + "\n" for string in strings))
    succeed("learn", "automaton", data, "--method", "auto", "-o", model, "-q")
    for words in (("score",), ("predict",), ("evaluate",)):
        succeed(*words, model, data)
    succeed("show", model)
    for wrong in (("score", place, data), ("score", model, place / "nothing"), ("learn", "nothing")):
        assert invoke(*wrong).exit_code in (1, 2)


def soak(
    place: Path, seconds: float, work: Callable[[Path, int], Any] = a_round, least_rounds: int = 6
) -> list[Measure]:
    """What is held after each round, for some time."""
    found, begin = list[Measure](), time.monotonic()
    while len(found) < least_rounds or time.monotonic() - begin < seconds:
        work(place, len(found))
        found.append(Measure.now())
    return found


def growth(measures: list[Measure]) -> list[str]:
    """What grew after it should have settled, in words."""
    third = len(measures) // 3
    before, after = measures[third : 2 * third], measures[2 * third :]
    problems = []
    settled, last = (float(np.median([m.memory for m in part])) for part in (before, after))
    if last > settled + max(MOST_GROWTH * settled, SLACK):
        problems.append(f"memory grew from {settled / 1e6:.1f} to {last / 1e6:.1f} MB")
    for name in ("files", "threads"):
        most = [max(getattr(m, name) for m in part) for part in (before, after)]
        if most[1] > most[0]:
            problems.append(f"{name} grew from {most[0]} to {most[1]}")
    return problems
