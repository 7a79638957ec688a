"""How well do the learners predict the next symbol on SPiCe's public sets?

NDCG@5 (Balle et al. 2016) on the public test prefixes; higher is better. Methods see the train set
alone. EM runs at the size of the largest member of `auto`, for three times its time.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.corpora import spice_numbers, spice_problem
from benchmarks.harness import Finding, Question, Row, Settings, Skip, Target
from benchmarks.learners import (
    BEST_NGRAMS,
    SPECTRAL,
    TRIGRAMS,
    Timed,
    learn_timed,
    learner_named,
    warm_up,
)
from sigmastar.automata.metrics import ndcg_scores

LEARNERS = SPECTRAL | TRIGRAMS | BEST_NGRAMS
METHODS = (*LEARNERS, "em")
QUICK = ("4",)
RIVALS = ("fast", *TRIGRAMS)


def units(settings: Settings) -> list[str]:
    methods = settings.chosen(METHODS)
    if "em" in methods and "auto" not in methods:
        raise Skip("em is compared with auto: ask for --methods auto,em")
    return list(QUICK) if settings.quick else spice_numbers(settings)


def measure(number: str, settings: Settings) -> Iterator[Row]:
    problem = spice_problem(number, settings)
    gains: dict[str, np.ndarray] = {}
    of_auto: Timed | None = None
    for name in settings.chosen(METHODS):
        learner = learner_named(name, LEARNERS, of_auto)
        done = learn_timed(learner, problem.train, settings.rng(int(number)))
        of_auto = done if name == "auto" else of_auto
        gains[name] = ndcg_scores(done.learnt.model, problem.prefixes, problem.targets)
        yield {
            "method": name,
            "NDCG": float(gains[name].mean()),
            "error": float(gains[name].std(ddof=1) / np.sqrt(len(gains[name]))),
            **_behind(gains, name),
            "seconds": done.timing.seconds,
            "cpu_seconds": done.timing.cpu_seconds,
            "size": done.learnt.size,
            "n_prefixes": len(gains[name]),
        }


def _behind(gains: dict[str, np.ndarray], name: str) -> Row:
    """How far `auto` is ahead, paired prefix by prefix, with the standard error of that."""
    if "auto" not in gains or name == "auto":
        return {}
    ahead = gains["auto"] - gains[name]
    return {"auto ahead": float(ahead.mean()), "ahead error": float(ahead.std(ddof=1) / np.sqrt(len(ahead)))}


def conclude(rows: list[Row]) -> list[Finding]:
    scores = {(row["method"], row["unit"]): row["NDCG"] for row in rows}
    numbers = list(dict.fromkeys(row["unit"] for row in rows))
    findings = [
        Finding(f"auto above {rival}: share of problems", *_share_above(scores, rival, numbers))
        for rival in (*RIVALS, "witten-bell", "kneser-ney", "convex", "em")
        if all((name, number) in scores for name in ("auto", rival) for number in numbers)
    ]
    means = {
        method: float(np.mean([scores[method, number] for number in numbers]))
        for method in METHODS
        if all((method, number) in scores for number in numbers)
    }
    return findings + [Finding(f"{method}: mean NDCG@5", mean) for method, mean in means.items()]


def _share_above(
    scores: dict[tuple[str, str], float], rival: str, numbers: list[str]
) -> tuple[float, Target | None, str]:
    lost = [number for number in numbers if scores["auto", number] <= scores[rival, number]]
    target = Target(">=", 1.0) if rival in RIVALS else None
    note = f"not on {', '.join(lost)}" if lost else f"all {len(numbers)}"
    return 1 - len(lost) / len(numbers), target, note


def files(number: str, settings: Settings) -> list[Path]:
    return spice_problem(number, settings).files


QUESTION = Question(
    name="spice",
    title="SPiCe: NDCG@5 on the public sets",
    units=units,
    measure=measure,
    conclude=conclude,
    columns=("method", "NDCG", "error", "auto ahead", "ahead error", "seconds", "cpu_seconds", "size"),
    files=files,
    prepare=lambda settings: warm_up(LEARNERS),
)
