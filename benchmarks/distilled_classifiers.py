"""Classifiers of the TAYSIR competition distilled: how small an automaton, and how often is it wrong?

Half of the validation words, drawn by the seed, are given to the learner. The other half, edited words of it
(one to three symbols replaced, removed or put in) and random words of its lengths judge the automaton.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.corpora import require_folder
from benchmarks.harness import Finding, Question, Row, Settings, Target, timed
from sigmastar import DistilledClassifier
from sigmastar.reproduce.taysir import edited

MOST_STATES = {"1.2": 6, "1.5": 5, "1.7": 2, "1.1": 40, "1.9": 40}
MOST_ERRORS = {"1.1": (0.01, 0.012, 0.01), "1.9": (0.005, 0.01, 0.03)}
KINDS = ("held out", "edited", "random")
N_SEEDS, N_JUDGED = 5, 1000


def units(settings: Settings) -> list[str]:
    require_folder(settings, "taysir")
    return [f"{name}/{seed}" for name in MOST_STATES for seed in range(1 if settings.quick else N_SEEDS)]


def files(unit: str, settings: Settings) -> list[Path]:
    name = unit.partition("/")[0]
    folder = require_folder(settings, "taysir")
    return [folder / f"{name}.safetensors", folder / f"{name}.valid.words.gz"]


def networks(settings: Settings) -> Any:
    """The module that runs the networks, which lies beside them."""
    path = require_folder(settings, "taysir") / "networks.py"
    spec = importlib.util.spec_from_file_location("taysir_networks", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def measure(unit: str, settings: Settings) -> Iterator[Row]:
    name, _, seed = unit.partition("/")
    module, rng = networks(settings), settings.rng(int(seed))
    network = module.load(name)
    words = module.read_words(require_folder(settings, "taysir") / f"{name}.valid.words.gz")
    order = rng.permutation(len(words))
    given, judged = ([words[k] for k in part] for part in (order[::2], order[1::2]))
    model, timing = timed(lambda: DistilledClassifier(random_state=int(seed)).fit(network, given))
    row: Row = {"kind": model.method_, "states": model.n_states_, "queries": model.n_queries_}
    others = {
        "held out": judged,
        "edited": [
            edited(judged[rng.integers(len(judged))], network.alphabet_size, rng) for _ in range(N_JUDGED)
        ],
        "random": [
            tuple(rng.integers(0, network.alphabet_size, len(judged[rng.integers(len(judged))])).tolist())
            for _ in range(N_JUDGED)
        ],
    }
    for kind, strings in others.items():
        row[kind] = float((model.predict(strings) != network.accepts(strings)).mean())
    yield {**row, "cpu_seconds": timing.cpu_seconds}


def conclude(rows: list[Row]) -> list[Finding]:
    findings = []
    for name, most in MOST_STATES.items():
        own = [row for row in rows if row["unit"].startswith(f"{name}/")]
        if not own:
            continue
        findings.append(
            Finding(f"{name}: states, most", max(row["states"] for row in own), Target("<=", most))
        )
        for kind, limit in zip(KINDS, MOST_ERRORS.get(name, (0.0, 0.0, 0.0)), strict=True):
            worst = max(row[kind] for row in own)
            findings.append(Finding(f"{name}: share of errors, {kind}, worst", worst, Target("<=", limit)))
    return findings


QUESTION = Question(
    name="distilled_classifiers",
    title="Five trained classifiers (TAYSIR) as automata",
    units=units,
    measure=measure,
    conclude=conclude,
    columns=("kind", "states", "queries", *KINDS, "cpu_seconds"),
    files=files,
)
