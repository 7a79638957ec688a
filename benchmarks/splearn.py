"""Is `fast` better and faster than scikit-splearn at its best?

The peer is made to run on current NumPy from outside. Its setting is the best of a grid *on the test
set*, and so is the remedy for its negative values: a floor, or its own trigram smoothing, which counts
the test strings too. Its time is that of `fit` at that one setting, without conversion of the data and
without the search; ours is the whole of `fast`, choice of the rank by held-out strings included. Like
is compared with like beside that: one fit at the chosen setting against one fit ("single"), and the
whole search against the whole of `fast` ("search"; the peer's blocks are shared by all ranks).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.corpora import PautomacProblem, pautomac_numbers, pautomac_problem
from benchmarks.harness import Finding, Question, Row, Settings, Target, say, timed
from benchmarks.learners import fast, warm_up
from sigmastar import SpectralAutomaton, Strings
from sigmastar.automata.data.contexts import grow_contexts
from sigmastar.automata.metrics import competition_perplexity, competition_score

LENGTHS = {"classic": (3, 5, 7), "prefix": (2, 3, 4, 5), "factor": (2, 3, 4, 5)}  # of rows and columns
RANKS = (5, 10, 20, 40, 80)  # as far as `fast` goes
MAX_SUBSTRINGS = {"classic": 30_000, "prefix": 8_000, "factor": 8_000}  # beyond them a fit takes minutes
FLOORS = 10.0 ** -np.arange(2.0, 41.0)
QUICK, QUICK_LENGTHS = ("7",), {"classic": (3,), "factor": (3,)}
N_RUNS = 3


@dataclass(frozen=True)
class Setting:
    """One point of the grid."""

    version: str
    length: int
    rank: int
    remedy: str = ""

    def estimator(self) -> Any:
        from splearn.spectral import Spectral

        return Spectral(
            rank=self.rank,
            lrows=self.length,
            lcolumns=self.length,
            version=self.version,
            partial=True,
            sparse=True,
            mode_quiet=True,
        )

    def __str__(self) -> str:
        return f"{self.version}, length {self.length}, rank {self.rank}, {self.remedy}"


def units(settings: Settings) -> list[str]:
    numbers = pautomac_numbers(settings)
    return [number for number in numbers if number in QUICK] if settings.quick else numbers


def measure(number: str, settings: Settings) -> Iterator[Row]:
    problem = pautomac_problem(number, settings)
    fit, timing = timed(lambda: SpectralAutomaton(random_state=int(number)).fit(problem.train), N_RUNS)
    _, single = timed(lambda: _fit_again(problem.train, fit), N_RUNS)
    ratio = competition_perplexity(fit.model_, problem.test, problem.solution).ratio
    grid = QUICK_LENGTHS if settings.quick else LENGTHS
    (best_ratio, best, n_tried), search = timed(lambda: best_of_grid(problem, grid))
    data = to_array(problem.train)
    _, peer_timing = timed(lambda: best.estimator().fit(data))
    yield {
        "R": ratio,
        "splearn R": best_ratio,
        "cpu_seconds": timing.cpu_seconds,
        "splearn seconds": peer_timing.cpu_seconds,
        "times faster": peer_timing.cpu_seconds / timing.cpu_seconds,
        "times faster, clock": peer_timing.seconds / timing.seconds,
        "single seconds": single.cpu_seconds,
        "times faster, single": peer_timing.cpu_seconds / single.cpu_seconds,
        "search seconds": search.cpu_seconds,
        "times faster, search": search.cpu_seconds / timing.cpu_seconds,
        "setting": str(best),
        "settings tried": n_tried,
    }


def _fit_again(train: Strings, fit: SpectralAutomaton) -> SpectralAutomaton:
    """One fit at the number of states and classes that `fit` has chosen."""
    n_classes = fit.model_.backoff.contexts.n_classes
    made = SpectralAutomaton(n_states=fit.n_states_, n_classes=n_classes, random_state=fit.random_state)
    return made.fit(train)


def patch() -> None:
    """What scikit-splearn 1.2.1 needs to run on NumPy 2: a name that is gone."""
    if not hasattr(np, "float_"):
        np.float_ = np.float64  # type: ignore[attr-defined]  # noqa: NPY201


def to_array(strings: Strings) -> Any:
    """The peer's kind of corpus: one row a string, filled up with -1."""
    from splearn.datasets.data_sample import SplearnArray

    rows = np.full((len(strings), max(int(strings.lengths.max()), 1)), -1.0)
    row = np.repeat(np.arange(len(strings)), strings.lengths)
    rows[row, np.arange(strings.n_symbols) - strings.offsets[row]] = strings.codes
    return SplearnArray(rows, nbL=len(strings.alphabet), nbEx=len(strings))


def best_of_grid(problem: PautomacProblem, lengths: dict[str, tuple[int, ...]]) -> tuple[float, Setting, int]:
    """The lowest R of all settings and remedies, the setting, and how many gave a finite one."""
    data, words = to_array(problem.train), list(problem.test)
    trigrams = trigram_values(data, to_array(problem.test), words)
    found: list[tuple[float, Setting]] = []
    for version, length in _affordable(problem.train, lengths):
        estimator = Setting(version, length, min(RANKS)).estimator()
        try:
            estimator.fit(data)
        except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
            say(f"splearn {problem.number}: {version}, length {length}: {error}")
            continue
        for rank in (rank for rank in RANKS if rank < min(estimator.hankel.lhankel[0].shape)):
            values = _values(estimator.hankel, rank, words)
            ratio, remedy = best_remedy(values, trigrams, problem.solution)
            found.append((ratio, Setting(version, length, rank, remedy)))
    ratio, setting = min(found, key=lambda pair: pair[0])
    return ratio, setting, sum(math.isfinite(ratio) for ratio, _ in found)


def _affordable(train: Strings, lengths: dict[str, tuple[int, ...]]) -> Iterator[tuple[str, int]]:
    """Versions and lengths for which few enough substrings occur; the least length always."""
    for version, of_version in lengths.items():
        for length in of_version:
            n_substrings = grow_contexts(train, "past", max_depth=length).n_classes
            if length == min(of_version) or n_substrings <= MAX_SUBSTRINGS[version]:
                yield version, length


def _values(hankel: Any, rank: int, words: list[tuple[int, ...]]) -> np.ndarray:
    try:
        automaton = hankel.to_automaton(rank, True)
    except (ValueError, ArithmeticError, np.linalg.LinAlgError):
        return np.full(len(words), np.nan)
    with np.errstate(all="ignore"):
        return np.array([automaton.val(word) for word in words], dtype=np.float64)


def trigram_values(data: Any, test: Any, words: list[tuple[int, ...]]) -> np.ndarray:
    """What the peer's trigram smoothing puts in the place of a negative value."""
    estimator = Setting("classic", 1, 1).estimator()
    of_train, of_test = (
        estimator._threegramdict(estimator._populate_sample_dict(part)) for part in (data, test)
    )
    estimator.trigram = of_train
    return np.array([estimator._trigramprobability(word, of_test) for word in words], dtype=np.float64)


def best_remedy(values: np.ndarray, trigrams: np.ndarray, solution: np.ndarray) -> tuple[float, str]:
    """The lowest R that some treatment of values that are no probabilities gives."""
    usable = np.isfinite(values) & (values > 0)
    trials = [("trigrams", np.where(usable, values, trigrams))]
    trials += [(f"floor {floor:.0e}", np.where(usable, np.maximum(values, floor), floor)) for floor in FLOORS]
    with np.errstate(divide="ignore"):
        ratios = [(competition_score(np.log(trial), solution).ratio, name) for name, trial in trials]
    return min((ratio if np.isfinite(ratio) else np.inf, name) for ratio, name in ratios)


def conclude(rows: list[Row]) -> list[Finding]:
    lost = [row["unit"] for row in rows if row["R"] >= row["splearn R"]]
    times = [row["times faster"] for row in rows]
    return [
        Finding(
            "share of problems with a lower R than scikit-splearn's best",
            1 - len(lost) / len(rows),
            Target(">=", 1.0),
            f"not on {', '.join(lost)}" if lost else f"all {len(rows)}",
        ),
        Finding("median gain in processor time of a fit", float(np.median(times)), Target(">=", 20.0)),
        Finding("median gain in time on the clock", _median(rows, "times faster, clock")),
        Finding("median gain, single fit against single fit", _median(rows, "times faster, single")),
        Finding("median gain, search against all of fast", _median(rows, "times faster, search")),
        Finding("least gain in time", min(times)),
        Finding("largest gain in time", max(times)),
        Finding(
            "geometric mean of splearn's R",
            float(np.exp(np.mean(np.log([row["splearn R"] for row in rows])))),
        ),
    ]


def _median(rows: list[Row], name: str) -> float:
    return float(np.median([row[name] for row in rows]))


def prepare(settings: Settings) -> None:
    patch()
    warm_up({"fast": fast})


def files(number: str, settings: Settings) -> list[Path]:
    return pautomac_problem(number, settings).files[:3]


QUESTION = Question(
    name="splearn",
    title="fast against scikit-splearn at its best",
    units=units,
    measure=measure,
    conclude=conclude,
    columns=(
        "R",
        "splearn R",
        "cpu_seconds",
        "splearn seconds",
        "times faster",
        "times faster, clock",
        "single seconds",
        "search seconds",
        "setting",
    ),
    files=files,
    prepare=prepare,
    modules=("splearn",),
)
