"""Which tag comes next? Automata on sequences of tags, beside n-grams and EM.

Error of the next tag (the end of a sentence included), perplexity and training time, on the 12 universal tags
of the WSJ sample and the 17 UPOS tags of EWT. n-grams are interpolated Kneser-Ney, plain or modified, of the
order that errs least on the development part. EM has 60 states, one random start, and stops where held-out
strings say. `fast-60` is given its size as EM is: 60 states, on 1,000 context classes, a number that was
chosen on the development parts; `fast` chooses both by held-out strings, and does many times the work. Times
of quick learners are medians of five runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.corpora import require_folder
from benchmarks.harness import Finding, Question, Row, Settings, Target, timed
from sigmastar import EMAutomaton, NgramAutomaton, SpectralAutomaton, Strings
from sigmastar.automata.metrics import log_likelihood, next_symbol_error, next_symbol_errors
from sigmastar.automata.model.sequence import SequenceModel
from sigmastar.core.intervals import bootstrap
from sigmastar.reproduce.corpora import read_tag_map, read_tags
from sigmastar.taggers.data.columns import read_tagged

UNITS = ("ptb", "ewt")
KN, EM = "kneser-ney", "em-60"
SAME = "fast-60"
JUDGED = ("fast", "auto")  # the default, and the most accurate: named here, not picked by their figures
METHODS = (KN, SAME, "fast", "convex", "auto", EM)
QUICK, N_RUNS = (KN, SAME, "fast"), 5
N_STATES, N_CLASSES = 60, 1000
PARTS = ("train", "dev", "test")


def units(settings: Settings) -> list[str]:
    require_folder(settings, "ptb_sample")
    return ["ptb"] if settings.quick else list(UNITS)


def files(unit: str, settings: Settings) -> list[Path]:
    if unit == "ewt":
        return [require_folder(settings, "ud") / f"en_ewt-{part}.conllu.gz" for part in PARTS]
    return [require_folder(settings, "ptb_sample") / f"wsj-{part}.dp" for part in PARTS]


def read(unit: str, settings: Settings) -> list[Strings]:
    paths = files(unit, settings)
    if unit == "ptb":
        mapping = read_tag_map(require_folder(settings, "universal_tagset") / "en-ptb.map")
        return [read_tags(path, mapping) for path in paths]
    parts = [read_tagged(path, "conllu", "upos") for path in paths]
    first = Strings.of(parts[0].cut(parts[0].tags or []))
    return [first, *(Strings.of(p.cut(p.tags or []), alphabet=first.alphabet) for p in parts[1:])]


def measure(unit: str, settings: Settings) -> Iterator[Row]:
    train, dev, test = read(unit, settings)
    learners: dict[str, Callable[[Strings], SequenceModel]] = {
        KN: lambda strings: _best_ngram(strings, dev),
        SAME: lambda strings: SpectralAutomaton(n_states=N_STATES, n_classes=N_CLASSES).fit(strings).model_,
        "fast": lambda strings: SpectralAutomaton().fit(strings).model_,
        "convex": lambda strings: SpectralAutomaton("convex").fit(strings).model_,
        "auto": lambda strings: SpectralAutomaton("auto").fit(strings).model_,
        EM: lambda strings: EMAutomaton(N_STATES).fit(strings).model_,
    }
    for method in settings.chosen(METHODS):
        learners[method](train.select(np.arange(100)))  # compiles
        n_runs = N_RUNS if method in QUICK else 1
        model, timing = timed(lambda method=method: learners[method](train), n_runs)  # type: ignore[misc]
        wrong = next_symbol_errors(model, test).astype(float)
        error = bootstrap(wrong, settings.rng(1))
        logs = log_likelihood(model, test)
        yield {
            "method": method,
            "error": error.value,
            "low": error.low,
            "high": error.high,
            "perplexity": float(np.exp(-logs.sum() / test.n_gaps)),
            "seconds": timing.seconds,
            "cpu_seconds": timing.cpu_seconds,
        }


def _best_ngram(strings: Strings, dev: Strings) -> SequenceModel:
    models = [
        NgramAutomaton(order, smoothing).fit(strings).model_
        for order in (2, 3, 4, 5)
        for smoothing in ("kneser-ney", "modified-kneser-ney")
    ]
    return min(models, key=lambda model: next_symbol_error(model, dev))


def conclude(rows: list[Row]) -> list[Finding]:
    at = {(row["unit"], row["method"]): row for row in rows}
    found = []
    for unit in UNITS:
        if (unit, KN) not in at or (unit, EM) not in at:
            continue
        kn, em = at[unit, KN], at[unit, EM]
        for name in JUDGED:
            if own := at.get((unit, name)):
                found += _beside(unit, own, kn, em)
    return found


def _beside(unit: str, own: Row, kn: Row, em: Row) -> list[Finding]:
    """One of our learners: as good as both rivals, and how much faster than EM."""
    who, none = f"{unit}, {own['method']}", Target("<=", 0)
    return [
        Finding(f"{who}: error - Kneser-Ney's", own["error"] - kn["error"], none),
        Finding(f"{who}: error - EM's", own["error"] - em["error"], none),
        Finding(f"{who}: perplexity - Kneser-Ney's", own["perplexity"] - kn["perplexity"], none),
        Finding(f"{who}: EM's time / its own", em["cpu_seconds"] / own["cpu_seconds"], Target(">=", 30)),
    ]


QUESTION = Question(
    name="next_tags",
    title="The next tag: automata beside n-grams and EM",
    units=units,
    measure=measure,
    conclude=conclude,
    columns=("method", "error", "low", "high", "perplexity", "seconds", "cpu_seconds"),
    files=files,
)
