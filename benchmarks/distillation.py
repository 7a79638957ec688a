"""Stand-ins for trained networks: how far are they, on held-out words and on the network's own strings?

The language models of TAYSIR 2023. Each is asked by `DistilledAutomaton()` with its defaults, once with the
first half of the validation words (`distil`) and once without any (`distil-own`); what is judged are the
other half of the words, and strings that the network draws with another seed. Beside them stand `fast` and
an n-gram on 50,000 strings that the network draws, and an n-gram of its averaged answers. Divergences are in
millinats per symbol. Seconds are of the processor, the network's own apart. `mse` is the figure of the
competition, times 10^6, on fresh draws.
"""

from __future__ import annotations

import runpy
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.corpora import require_folder
from benchmarks.harness import Finding, Question, Row, Settings, Target
from sigmastar import DistilledAutomaton, NgramAutomaton, SpectralAutomaton, Strings
from sigmastar.automata.model.sequence import SequenceModel
from sigmastar.distil import Questions
from sigmastar.distil.asked_strings import Asked, ask, together
from sigmastar.distil.averaged_ngram import averaged_ngram
from sigmastar.distil.judging import tell_apart
from sigmastar.distil.learn import divergences
from sigmastar.distil.pools import draw
from sigmastar.reproduce.taysir import LONGEST, N_DRAWN, ReadsOn
from sigmastar.reproduce.taysir.report import LANGUAGE_MODELS

NETWORKS = tuple(LANGUAGE_MODELS)
METHODS = ("ngram", "fast", "averages", "distil", "distil-own")


def units(settings: Settings) -> list[str]:
    require_folder(settings, "taysir")
    return ["2.1"] if settings.quick else list(NETWORKS)


def files(unit: str, settings: Settings) -> list[Path]:
    folder = require_folder(settings, "taysir")
    return [folder / f"{unit}.safetensors", folder / f"{unit}.valid.words.gz"]


def measure(unit: str, settings: Settings) -> Iterator[Row]:
    folder = require_folder(settings, "taysir")
    tools = runpy.run_path(str(folder / "networks.py"))
    box = ReadsOn(tools["load"](unit, folder))
    questions = Questions(box)
    words = Strings.of(tools["read_words"](folder / f"{unit}.valid.words.gz"), alphabet=questions.alphabet)
    half = len(words) // 2
    given = words.select(np.arange(half))
    judges = [ask(questions, words.select(np.arange(half, len(words))))]
    judges.append(draw(questions, 1000, settings.rng(7), LONGEST))
    mean = np.concatenate([judge.rows for judge in judges]).mean(axis=0)
    for method in settings.chosen(METHODS):
        model, row = _learned(method, box, given, settings)
        told = [tell_apart(model, judge) for judge in judges]
        found = [1e3 * float(part.divergence.sum() / part.lengths.sum()) for part in told]
        gaps = (np.exp(told[1].log_box) - np.exp(told[1].log_model)) ** 2
        means = [
            1e3 * float(divergences(judge.rows, np.tile(mean, (len(judge.rows), 1))).mean())
            for judge in judges
        ]
        yield {
            "method": method, "words": found[0], "own": found[1], "mse": 1e6 * float(gaps.mean()),
            "mean_words": means[0], "mean_own": means[1], **row,
        }  # fmt: skip


def _learned(method: str, box: ReadsOn, given: Strings, settings: Settings) -> tuple[SequenceModel, Row]:
    begin, before = time.process_time(), box.seconds
    row: Row = {}
    model: SequenceModel
    if method.startswith("distil"):
        stand_in = DistilledAutomaton(random_state=settings.seed)
        stand_in.fit(box, given if method == "distil" else None)
        model = stand_in.model_
        states = vars(stand_in).get("n_states_", 0)
        row = {"chosen": stand_in.method_, "states": states, "queries": stand_in.n_queries_}
    else:
        drawn = _drawn(method, box, given, settings)
        begin, before = time.process_time(), box.seconds
        model = {
            "ngram": lambda: NgramAutomaton().fit(drawn.strings).model_,
            "fast": lambda: SpectralAutomaton(random_state=settings.seed).fit(drawn.strings).model_,
            "averages": lambda: averaged_ngram(drawn),
        }[method]()
    return model, {**row, "cpu_seconds": time.process_time() - begin - (box.seconds - before)}


def _drawn(method: str, box: ReadsOn, given: Strings, settings: Settings) -> Asked:
    questions = Questions(box)
    if method == "averages":
        return together([ask(questions, given), draw(questions, 2000, settings.rng(3), LONGEST)])
    n = 5000 if settings.quick else N_DRAWN
    return draw(questions, n, settings.rng(3), LONGEST)


def conclude(rows: list[Row]) -> list[Finding]:
    at = {(row["unit"], row["method"]): row for row in rows}
    networks = [unit for unit in NETWORKS if (unit, "fast") in at]
    found = []
    for method, limits in (("distil", (0.08, 0.45)), ("distil-own", (0.25, 0.45))):
        for column, limit in zip(("words", "own"), limits, strict=True):
            ratios = [at[u, method][column] / at[u, "fast"][column] for u in networks if (u, method) in at]
            if ratios:
                value = float(np.exp(np.mean(np.log(ratios))))
                found.append(
                    Finding(f"{method}, {column}: over fast, geometric mean", value, Target("<=", limit))
                )
    found += [finding for unit in networks for finding in _of_network(unit, at)]
    return found


def _of_network(unit: str, at: dict[tuple[str, str], Row]) -> list[Finding]:
    found, fast = [], at[unit, "fast"]
    own, averages, ngram = (at.get((unit, name)) for name in ("distil", "averages", "ngram"))
    for column in ("words", "own"):
        if own and averages:
            best = min(averages[column], own[f"mean_{column}"])
            found.append(Finding(f"{unit}, {column}: distil / averages", own[column] / best, Target("<", 1)))
        if ngram:
            found.append(
                Finding(f"{unit}, {column}: fast / n-gram", fast[column] / ngram[column], Target("<=", 1))
            )
    if own:
        found.append(
            Finding(f"{unit}: mse / the winners'", own["mse"] / LANGUAGE_MODELS[unit][1], Target("<=", 0.01))
        )
        found.append(Finding(f"{unit}: seconds beyond the queries", own["cpu_seconds"], Target("<=", 120)))
        found.append(Finding(f"{unit}: states", own["states"], Target("<=", 200)))
    return found


QUESTION = Question(
    name="distillation",
    title="Stand-ins for trained networks",
    units=units,
    measure=measure,
    conclude=conclude,
    columns=("method", "words", "own", "mse", "chosen", "states", "queries", "cpu_seconds"),
    files=files,
)
