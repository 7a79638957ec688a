"""Words: how good, fast and small are language models over tens of thousands of words?

On WikiText-2, in its two conventions, which must not be mixed: *lines*, each non-empty line a string, and
*stream*, all lines as one text, ends of lines counted as words. N-grams and the learners of automata read
lines, word models the stream; automata are also tried on a made text over 100,000 symbols. Each learner runs
in a process of its own, whose resident peak is reported; seconds are those of the processor. Figures of KenLM
(`lmplz -o 5`, lines) were measured once on another day and stand here as they were found then.

The random start of a word model has as many iterations of EM as begin in the seconds that the spectral start
and its EM take together, unless held-out text stops it before. Each takes longer, since its posteriors are
less sparse; a trial that is not reported finds their number.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.corpora import require_folder
from benchmarks.harness import Finding, Question, Row, Settings, Target
from benchmarks.record import HERE
from sigmastar.automata.data.formats import Layout
from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.progress import Progress

METHODS = ("fast", "convex", "auto")
MADE = "1e5"
N_SEEDS, N_ITERATIONS = 3, 20
KENLM: Row = {"what": "KenLM, order 5, cited", "perplexity": 224.8, "cpu": 3.5, "MB": 450.0}
_QUICK_LINES, _QUERIES = 1500, 2000
_CLASSES, _PER_CLASS, _LENGTH = 50, 2000, 20
_ITERATION, _AFTER = "EM, iteration", "discounts"  # what a learner tells
_MOST_MB, _MOST_SECONDS = 4096.0, 600.0


def units(settings: Settings) -> list[str]:
    _file(settings, "train")
    made = [f"{method} {MADE}" for method in METHODS]
    return ["KN-3", "KN-5", *METHODS, *made, *(f"states {seed}" for seed in range(N_SEEDS)), "queries"]


def _file(settings: Settings, part: str) -> Path:
    return require_folder(settings, "wikitext-2") / f"{part}.txt.gz"


def measure(unit: str, settings: Settings) -> Iterator[Row]:
    if unit == "KN-5":
        yield KENLM
    call = [unit, str(_file(settings, "train").parent), str(settings.seed), str(int(settings.quick))]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.words", *call], capture_output=True, text=True, cwd=HERE.parent
    )
    if done.returncode:
        raise RuntimeError(f"{unit} failed: {done.stderr.strip().splitlines()[-1:]}")
    yield from map(json.loads, done.stdout.splitlines())


class Texts:
    """The texts of a run, read when they are asked for."""

    def __init__(self, folder: Path, is_quick: bool) -> None:
        self.folder, self.is_quick = folder, is_quick

    def lines(self) -> tuple[Strings, Strings]:
        """Lines that are not empty, to learn from and to test on."""
        train, test = (_without_empty(text) for text in (self.stream("train"), self.stream("test")))
        return train, test.recoded(train.alphabet)

    def stream(self, part: str, alphabet: Alphabet | None = None) -> Strings:
        read = Layout("lines", False, None).read
        every = alphabet or read(str(self.folder / "train.txt.gz")).alphabet
        strings = read(str(self.folder / f"{part}.txt.gz"), every)
        return strings.select(np.arange(_QUICK_LINES)) if self.is_quick else strings

    def made(self, seed: int) -> tuple[Strings, Strings]:
        """Lines over 100,000 symbols: classes follow each other, and symbols of a class are Zipf's."""
        rng, n_lines = np.random.default_rng(seed), 3_000 if self.is_quick else 50_000
        moves = rng.dirichlet(np.full(_CLASSES, 0.1), _CLASSES).cumsum(axis=1)
        ranks = (1.0 / (np.arange(_PER_CLASS) + 2.7)).cumsum()
        state, columns = rng.integers(0, _CLASSES, n_lines), []
        for _ in range(_LENGTH):
            drawn = np.searchsorted(ranks / ranks[-1], rng.random(n_lines))
            columns.append(state * _PER_CLASS + np.minimum(drawn, _PER_CLASS - 1))
            state = np.minimum((moves[state] < rng.random(n_lines)[:, None]).sum(axis=1), _CLASSES - 1)
        alphabet = Alphabet(range(_CLASSES * _PER_CLASS))
        offsets = np.arange(n_lines + 1) * _LENGTH
        text = Strings(alphabet, np.stack(columns, axis=1).ravel().astype(np.int32), offsets)
        cut = n_lines // 10
        return text.select(np.arange(cut, n_lines)), text.select(np.arange(cut))


def _without_empty(strings: Strings) -> Strings:
    return strings.select(np.flatnonzero(strings.lengths))


def _perplexity(model: Any, strings: Strings) -> float:
    return float(np.exp(-model.log_probability(strings).sum() / strings.n_gaps))


def ngram(order: int, texts: Texts, seed: int) -> Iterator[Row]:
    from sigmastar import NgramAutomaton

    train, test = texts.lines()
    learner = NgramAutomaton(order=order, smoothing="modified-kneser-ney")
    learner.fit(train.select(np.arange(9)))  # kernels
    seconds, _ = _timed(lambda: learner.fit(train))
    peak = _peak()
    yield {"what": f"KN-{order}", "perplexity": _perplexity(learner.model_, test), "cpu": seconds, "MB": peak}


def automaton(unit: str, texts: Texts, seed: int) -> Iterator[Row]:
    from sigmastar import NgramAutomaton, SpectralAutomaton

    method, _, made = unit.partition(" ")
    train, test = texts.made(seed) if made else texts.lines()
    learner = SpectralAutomaton(method=method, random_state=seed)
    seconds, _ = _timed(lambda: learner.fit(train))
    row: Row = {"what": unit, "cpu": seconds, "MB": _peak(), "states": learner.n_states_}
    rival = NgramAutomaton(order=3, smoothing="kneser-ney").fit(train).model_
    row |= {"perplexity": _perplexity(learner.model_, test), "KN-3": _perplexity(rival, test)}
    yield {**row, "ratio": row["perplexity"] / row["KN-3"]}


def states(seed: int, texts: Texts) -> Iterator[Row]:
    """Both starts, the random one within the seconds of the spectral one."""
    train = texts.stream("train")
    valid, test = (texts.stream(part, train.alphabet) for part in ("valid", "test"))
    n_iterations, seconds = N_ITERATIONS, 0.0
    for start in ("spectral", "random"):
        timed = _Timed(train, valid, start, seed)
        if start == "random":
            n_iterations = timed.iterations_within(seconds)
        model, seconds, row = timed.model(n_iterations)
        row |= {"perplexity": _perplexity(model, test), "alone": _perplexity(model.states, test)}
        yield {"what": f"{start} start, seed {seed}", **row}


class _Spent(Exception):
    """The seconds of a trial are over."""


class _Timed(NamedTuple):
    """Word models from one start, in seconds of the processor."""

    train: Strings
    valid: Strings
    start: str
    seed: int

    def iterations_within(self, seconds: float) -> int:
        """How many iterations begin within so many seconds: a trial, which is stopped."""
        began, n_begun = time.process_time(), 0

        def noted(message: str, done: float | None = None) -> None:
            nonlocal n_begun
            if message.startswith(_ITERATION):
                if time.process_time() - began > seconds:
                    raise _Spent
                n_begun += 1

        with suppress(_Spent):
            self._learner(10 * N_ITERATIONS, noted).fit(self.train)
        return n_begun

    def model(self, n_iterations: int) -> tuple[Any, float, Row]:
        """The model, the seconds until EM has ended, and a row."""
        began, ended = time.process_time(), list[float]()

        def noted(message: str, done: float | None = None) -> None:
            if message.startswith(_AFTER) and not ended:
                ended.append(time.process_time() - began)

        learner = self._learner(n_iterations, noted).fit(self.train)
        row = {"cpu": time.process_time() - began, "MB": _peak(), "states": learner.n_states_}
        return learner.model_, ended[0], {**row, "iterations": learner.n_iterations_}

    def _learner(self, n_iterations: int, progress: Progress) -> Any:
        from sigmastar import WordModel

        return WordModel(
            stream=True,
            start=self.start,
            max_iter=n_iterations,
            validation=self.valid,
            random_state=self.seed,
            progress=progress,
        )


def queries(texts: Texts, seed: int) -> Iterator[Row]:
    """Ten next words after prefixes of test lines; the states are few iterations old, which costs no less."""
    from sigmastar import WordModel

    train = texts.stream("train")
    test = _without_empty(texts.stream("test", train.alphabet))
    model = WordModel(stream=True, max_iter=1, random_state=seed).fit(train)
    rng = np.random.default_rng(seed)
    chosen = rng.integers(0, len(test), 200 if texts.is_quick else _QUERIES)
    prefixes = [list(string)[: 1 + rng.integers(0, len(string))] for string in test.select(chosen)]
    model.predict_next(prefixes[:9], top=10)  # kernels
    seconds, _ = _timed(lambda: model.predict_next(prefixes, top=10))
    yield {"what": "next words, top 10", "per second": len(prefixes) / seconds, "MB": _peak()}


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.process_time()
    found = work()
    return time.process_time() - began, found


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def conclude(rows: list[Row]) -> list[Finding]:
    by_name, findings = {row["what"]: row for row in rows}, list[Finding]()
    if "KN-5" in by_name:
        for name, most in (("perplexity", 224.9), ("cpu", 4.0), ("MB", 512.0)):
            findings.append(Finding(f"KN-5, lines, {name}", by_name["KN-5"][name], Target("<=", most)))
    for row in rows:
        if "ratio" in row:
            findings.append(Finding(f"{row['what']}, over KN-3", row["ratio"], Target("<=", 1.0)))
            findings.append(Finding(f"{row['what']}, seconds", row["cpu"], Target("<=", _MOST_SECONDS)))
            findings.append(Finding(f"{row['what']}, MB", row["MB"], Target("<=", _MOST_MB)))
        if "per second" in row:
            findings.append(Finding("next words per second", row["per second"], Target(">=", 2000.0)))
    for start, targets in (("spectral", (290.0, 197.0, _MOST_SECONDS)), ("random", None)):
        found = [row for row in rows if row["what"].startswith(f"{start} start")]
        for k, name in enumerate(("alone", "perplexity", "cpu") if found else ()):
            target = Target("<=", targets[k]) if targets else None
            label = f"{start} start, stream, {name}, mean of {len(found)}"
            findings.append(Finding(label, float(np.mean([row[name] for row in found])), target))
    return findings


QUESTION = Question(
    name="words",
    title="Language models over tens of thousands of words",
    units=units,
    measure=measure,
    conclude=conclude,
    columns=("what", "perplexity", "alone", "KN-3", "cpu", "MB", "states", "iterations", "per second"),
    files=lambda unit, settings: [_file(settings, part) for part in ("train", "valid", "test")],
)


def main(unit: str, folder: str, seed: str, is_quick: str) -> None:
    """One unit in this process, a row of JSON per line."""
    texts, number = Texts(Path(folder), is_quick == "1"), int(seed)
    if unit.startswith("KN-"):
        rows = ngram(int(unit[3:]), texts, number)
    elif unit.startswith("states "):
        rows = states(number + int(unit.split()[1]), texts)
    else:
        rows = queries(texts, number) if unit == "queries" else automaton(unit, texts, number)
    for row in rows:
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
