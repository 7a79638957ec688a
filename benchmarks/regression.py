"""Can an automaton take the place of a trained network that accepts or rejects strings?

Five networks of the TAYSIR competition (recurrent ones, and a transformer) say of 1,000 words each whether
they accept them. Learners see 700 of the words with their labels and are judged by the others. Beside
`HankelClassifier` with its defaults stand the larger class, and two distributions, one of the accepted and
one of the rejected words, of which the more likely one decides: 3-grams, and `fast` automata.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from benchmarks.corpora import require_folder
from benchmarks.harness import Finding, Question, Row, Settings, Target, timed
from sigmastar import HankelClassifier, NgramAutomaton, SpectralAutomaton
from sigmastar.automata.data.pautomac import read_pautomac
from sigmastar.automata.estimator.sequence import SequenceEstimator

NETWORKS = ("1.1", "1.2", "1.5", "1.7", "1.9")
N_TRAIN = 700
METHODS = ("larger class", "two 3-grams", "two fast automata", "hankel")
HALF = 0.5


def units(settings: Settings) -> list[str]:
    require_folder(settings, "taysir")
    return list(NETWORKS[:1] if settings.quick else NETWORKS)


def files(unit: str, settings: Settings) -> list[Path]:
    folder = require_folder(settings, "taysir")
    return [folder / f"{unit}.valid.{kind}" for kind in ("words.gz", "safetensors")]


def words_and_labels(unit: str, settings: Settings) -> tuple[list[tuple[int, ...]], np.ndarray]:
    """Without the marks of START and END, which all words have."""
    words, scores = files(unit, settings)
    labels = load_file(str(scores))["score"] > HALF
    return [tuple(word[1:-1]) for word in read_pautomac(words)], labels


def measure(unit: str, settings: Settings) -> Iterator[Row]:
    words, labels = words_and_labels(unit, settings)
    n_train = N_TRAIN // 7 if settings.quick else N_TRAIN
    seen, fresh = (words[:n_train], labels[:n_train]), (words[N_TRAIN:], labels[N_TRAIN:])
    for method in settings.chosen(METHODS):
        found, timing = timed(lambda method=method: predicted(method, seen, words, fresh[0]))
        yield {
            "method": method,
            "accuracy": float(np.mean(found == fresh[1])),
            "n": len(fresh[0]),
            "cpu_seconds": timing.cpu_seconds,
        }


def predicted(
    method: str,
    seen: tuple[list[tuple[int, ...]], np.ndarray],
    words: list[tuple[int, ...]],
    fresh: list[tuple[int, ...]],
) -> np.ndarray:
    strings, labels = seen
    alphabet = sorted({symbol for word in words for symbol in word})
    if method == "larger class":
        return np.full(len(fresh), labels.mean() > HALF)
    if method == "hankel":
        return HankelClassifier(alphabet=alphabet).fit(strings, labels).predict(fresh)
    logs = []
    for label in (False, True):
        own = [word for word, one in zip(strings, labels, strict=True) if one == label]
        logs.append(distribution(method, alphabet).fit(own).score_samples(fresh) + np.log(len(own)))
    return logs[1] > logs[0]


def distribution(method: str, alphabet: list[int]) -> SequenceEstimator:
    return NgramAutomaton(alphabet=alphabet) if "grams" in method else SpectralAutomaton(alphabet=alphabet)


def conclude(rows: list[Row]) -> list[Finding]:
    means = {}
    for method in dict.fromkeys(row["method"] for row in rows):
        means[method] = 100.0 * float(np.mean([row["accuracy"] for row in rows if row["method"] == method]))
    others = [value for method, value in means.items() if method != "hankel"]
    return [
        Finding(
            f"{method}: accuracy in %, mean of the networks",
            value,
            Target(">=", max(others)) if method == "hankel" and others else None,
        )
        for method, value in means.items()
    ]


QUESTION = Question(
    name="regression",
    title="Automata in place of networks that accept or reject",
    units=units,
    measure=measure,
    conclude=conclude,
    columns=("method", "accuracy", "n", "cpu_seconds"),
    files=files,
)
