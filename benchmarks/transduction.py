"""Do transducers that combine n-grams and spectral models transcribe better than the best joint n-gram?

The rival is the joint Kneser-Ney n-gram with the inventory of units, the dislike of long units and the
order that do best on a thousand inputs of the development set, one corpus at a time. All others learn from
the train set alone and choose on a held-out part of it. Every model is asked for the test set once.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.corpora import require_folder
from benchmarks.harness import Finding, Question, Row, Settings, Target, timed
from sigmastar import SpectralTransducer, StringPairs, Strings
from sigmastar.core.intervals import mcnemar
from sigmastar.transducers import (
    EnsembleSpec,
    Transducer,
    learn_transducer,
    read_transductions,
    transduction_scores,
)
from sigmastar.transducers.data import SHAPES
from sigmastar.transducers.learn.combined import ORDERS, SINGLE, TransducerFit
from sigmastar.transducers.metrics import TransductionScores, best_outputs

WITHOUT_STRESS = "CMUdict without stress"
CORPORA = {
    "French": "g2p2021-fre",
    "Hungarian": "g2p2021-hun",
    "CMUdict": "cmudict",
    WITHOUT_STRESS: "cmudict",
}
RIVALS = ((SHAPES, 0.1), (SHAPES, 0.02), (SINGLE, 1.0), ((*SHAPES, (0, 1)), 0.02))
"""Inventories of units, and the dislike of long ones, that the n-gram may choose from."""
LARGE, FEW_RIVALS, FEW_ORDERS = 50_000, (RIVALS[0], RIVALS[2]), (6, 7, 8)
"""From so many pairs on, the n-gram chooses from fewer settings: short orders are far behind there."""
N_CHOICE = 1000  # inputs of the development set that choose
N_QUICK = 1000


class Corpus(NamedTuple):
    train: StringPairs
    dev: StringPairs
    test: StringPairs


def units(settings: Settings) -> list[str]:
    require_folder(settings, "transduction")
    return list(CORPORA)[: 1 if settings.quick else None]


def files(unit: str, settings: Settings) -> list[Path]:
    folder = require_folder(settings, "transduction")
    return [next(folder.glob(f"{CORPORA[unit]}-{part}.tsv*")) for part in ("train", "dev", "test")]


@cache
def _corpus(paths: tuple[Path, ...], quick: bool, stress: bool = True) -> Corpus:
    read = [read_transductions(path) for path in paths]
    if not stress:
        read = [[(word, tuple(sound.rstrip("012") for sound in y)) for word, y in part] for part in read]
    parts = [StringPairs.of(part) for part in read]
    if quick:
        parts = [part.select(np.arange(min(N_QUICK, len(part)))) for part in parts]
    return Corpus(*parts)


def best_ngram(corpus: Corpus) -> tuple[Transducer, Row]:
    """The joint n-gram that errs least on the development set."""
    best: tuple[float, Transducer, Row] | None = None
    is_large = len(corpus.train) >= LARGE
    places = np.sort(np.random.default_rng(0).permutation(len(corpus.dev))[:N_CHOICE])
    dev = corpus.dev.select(places)
    for shapes, long_units in FEW_RIVALS if is_large else RIVALS:
        for order in FEW_ORDERS if is_large else ORDERS:
            settings = {"order": order, "shapes": shapes, "long_units": long_units}
            found = SpectralTransducer("ngram", **settings).fit(corpus.train).model_
            error = _judged(found, dev)[0].word_error_rate.value
            if best is None or error < best[0]:
                said = {"order": order, "units": " ".join(f"{p}-{q}" for p, q in shapes), "long": long_units}
                best = (error, found, said)
    assert best is not None
    return best[1], best[2]


def measure(unit: str, settings: Settings) -> Iterator[Row]:
    corpus = _corpus(tuple(files(unit, settings)), settings.quick, unit != WITHOUT_STRESS)
    rival, chosen = best_ngram(corpus)
    theirs, row = _row("best n-gram", rival, corpus)
    yield {**row, **chosen}
    learners = {"combined": _default, "n-grams combined": _ngrams}
    for name in settings.chosen(tuple(learners)):
        fit, timing = timed(partial(learners[name], corpus.train, settings.seed))
        ours, row = _row(name, fit.transducer, corpus)
        paired = mcnemar(~ours.wrong, ~theirs.wrong)
        yield {
            **row,
            "order": fit.order,
            "better": paired.only_first,
            "worse": paired.only_second,
            "p": paired.p_value,
            "seconds": timing.seconds,
            "cpu_seconds": timing.cpu_seconds,
            "weights": dict(zip(fit.transducer.names, fit.transducer.weights.round(3).tolist(), strict=True)),
        }


def _default(pairs: StringPairs, seed: int) -> TransducerFit:
    """The estimator as it is shipped."""
    fit: TransducerFit = SpectralTransducer(random_state=seed).fit(pairs).fit_
    return fit


def _ngrams(pairs: StringPairs, seed: int) -> TransducerFit:
    """The n-grams of both inventories without other models."""
    spec = EnsembleSpec(kinds=("ngram",), outputs=False)
    fit: TransducerFit = learn_transducer(pairs, spec, np.random.default_rng(seed))
    return fit


def _row(name: str, transducer: Transducer, corpus: Corpus) -> tuple[TransductionScores, Row]:
    dev, _ = _judged(transducer, corpus.dev)
    test, milliseconds = _judged(transducer, corpus.test)
    words, symbols = test.word_error_rate, test.symbol_error_rate
    return test, {
        "method": name,
        "dev": 100 * dev.word_error_rate.value,
        "word": 100 * words.value,
        "low": 100 * words.low,
        "high": 100 * words.high,
        "symbol": 100 * symbols.value,
        "ms": milliseconds,
    }


def _judged(transducer: Transducer, pairs: StringPairs) -> tuple[TransductionScores, float]:
    """Error rates, and milliseconds per input."""
    references = pairs.references()
    inputs = Strings.of(list(references))
    transducer.predict(inputs.select(np.arange(min(len(inputs), 20))))  # compiles
    rankings, timing = timed(partial(transducer.predict, inputs))
    scores = transduction_scores(best_outputs(rankings), list(references.values()), np.random.default_rng(0))
    return scores, 1000 * timing.cpu_seconds / len(inputs)


def conclude(rows: list[Row]) -> list[Finding]:
    """What the combination errs less than the best n-gram, and how long a word takes."""
    findings, below = [], 0
    rival = {row["unit"]: row for row in rows if row["method"] == "best n-gram"}
    ours = [row for row in rows if row["method"] == "combined"]
    for row in ours:
        gap = row["word"] - rival[row["unit"]]["word"]
        below += gap < 0
        note = f"better on {row['better']} words, worse on {row['worse']}, p = {row['p']:.2g}"
        findings.append(
            Finding(f"{row['unit']}: word error above the n-gram's", gap, Target("<=", 0.0), note)
        )
        findings.append(Finding(f"{row['unit']}: milliseconds a word", row["ms"], Target("<=", 10.0)))
    if len(ours) == len(CORPORA):
        findings.append(Finding("corpora with fewer errors than the n-gram", below, Target(">=", 2)))
    return findings


QUESTION = Question(
    "transduction",
    "Letters to sounds: combined transducers against the best joint n-gram",
    units,
    measure,
    conclude,
    ("method", "dev", "word", "low", "high", "symbol", "ms", "better", "worse", "p", "seconds"),
    files,
)
