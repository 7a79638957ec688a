"""How good are `fast`, `convex` and `auto` on PAutomaC, beside n-grams and random-start EM?

For each problem and method: R = competition perplexity / the best one possible, on the test set; KL to
the true machine in nats per string, on fresh strings drawn from it, the same for all methods. Methods see
the train set alone. EM runs at the size of the largest member of `auto`, for three times its time.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.corpora import pautomac_numbers, pautomac_problem
from benchmarks.harness import Finding, Question, Row, Settings, Skip, Target
from benchmarks.learners import BEST_NGRAMS, SPECTRAL, Timed, learn_timed, learner_named, warm_up
from sigmastar.automata.metrics import competition_perplexity, log_ratios

METHODS = ("fast", "convex", "auto", "witten-bell", "kneser-ney", "em")
N_FRESH, N_FRESH_QUICK = 10_000, 2_000
QUICK = ("7", "31")
GOOD_RATIO = 1.005


def units(settings: Settings) -> list[str]:
    methods = settings.chosen(METHODS)
    if "em" in methods and "auto" not in methods:
        raise Skip("em is compared with auto: ask for --methods auto,em")
    numbers = pautomac_numbers(settings)
    return [number for number in numbers if number in QUICK] if settings.quick else numbers


def measure(number: str, settings: Settings) -> Iterator[Row]:
    problem = pautomac_problem(number, settings)
    n_fresh = N_FRESH_QUICK if settings.quick else N_FRESH
    fresh = problem.machine.sample(n_fresh, settings.rng(int(number), 1))
    excess: dict[str, np.ndarray] = {}
    of_auto: Timed | None = None
    for name in settings.chosen(METHODS):
        learner = learner_named(name, SPECTRAL | BEST_NGRAMS, of_auto)
        done = learn_timed(learner, problem.train, settings.rng(int(number)))
        of_auto = done if name == "auto" else of_auto
        model = done.learnt.model
        excess[name] = log_ratios(model, problem.machine, fresh)
        yield {
            "method": name,
            "R": competition_perplexity(model, problem.test, problem.solution).ratio,
            **_mean("KL", excess[name]),
            "seconds": done.timing.seconds,
            "cpu_seconds": done.timing.cpu_seconds,
            "size": done.learnt.size,
            **_compared(name, excess),
        }


def _mean(name: str, values: np.ndarray) -> Row:
    """A mean with its standard error."""
    return {name: float(values.mean()), f"{name} error": float(values.std(ddof=1) / np.sqrt(len(values)))}


def _compared(name: str, excess: dict[str, np.ndarray]) -> Row:
    """KL against other methods, paired string by string: what makes a string hard for both cancels."""
    rivals = {"convex": "fast", "auto": "fast", "em": "auto"}
    rival = rivals.get(name)
    return _mean(f"KL - {rival}'s", excess[name] - excess[rival]) if rival in excess else {}


def conclude(rows: list[Row]) -> list[Finding]:
    by_method: dict[str, dict[str, Row]] = {}
    for row in rows:
        by_method.setdefault(row["method"], {})[row["unit"]] = row
    findings = [finding for name, of in by_method.items() for finding in _quality(name, of)]
    if {"fast", "auto"} <= by_method.keys():
        findings += _against_fast("auto", by_method, 1 / 3)
    if {"fast", "convex"} <= by_method.keys():
        findings += _against_fast("convex", by_method, 1 / 2)
        findings.append(_never_above(by_method))
    if {"auto", "em"} <= by_method.keys():
        findings += _against_em(by_method)
    return findings


def _quality(name: str, rows: dict[str, Row]) -> list[Finding]:
    ratios, divergences = (np.array([row[key] for row in rows.values()]) for key in ("R", "KL"))
    mean_target = {"fast": Target("<=", 1.003), "auto": Target("<=", 1.002)}.get(name)
    return [
        Finding(f"{name}: geometric mean of R", float(np.exp(np.log(ratios).mean())), mean_target),
        Finding(f"{name}: median R", float(np.median(ratios))),
        Finding(f"{name}: largest R", float(ratios.max()), Target("<=", 1.02) if name == "fast" else None),
        Finding(f"{name}: share with R < {GOOD_RATIO}", float((ratios < GOOD_RATIO).mean())),
        Finding(
            f"{name}: median KL",
            float(np.median(divergences)),
            Target("<=", 0.05) if name == "auto" else None,
            f"{len(rows)} problems, nats per string",
        ),
        Finding(
            f"{name}: median processor seconds",
            float(np.median([row["cpu_seconds"] for row in rows.values()])),
            note=f"on the clock {np.median([row['seconds'] for row in rows.values()]):.2f}",
        ),
        Finding(
            f"{name}: all processor seconds",
            float(np.sum([row["cpu_seconds"] for row in rows.values()])),
            note=f"on the clock {np.sum([row['seconds'] for row in rows.values()]):.0f}",
        ),
    ]


def _pairs(first: str, second: str, by_method: dict[str, dict[str, Row]]) -> list[tuple[Row, Row]]:
    shared = by_method[first].keys() & by_method[second].keys()
    return [(by_method[first][unit], by_method[second][unit]) for unit in sorted(shared, key=int)]


def _against_fast(name: str, by_method: dict[str, dict[str, Row]], aim: float) -> list[Finding]:
    own, rival = (
        np.array(k)
        for k in zip(*((a["KL"], b["KL"]) for a, b in _pairs(name, "fast", by_method)), strict=True)
    )
    ratio = float(np.median(own) / np.median(rival))
    return [
        Finding(f"{name} / fast: ratio of the median KLs", ratio, Target("<=", aim)),
        Finding(f"{name} / fast: median of the KL ratios", float(np.median(own / rival)), Target("<=", aim)),
    ]


def _never_above(by_method: dict[str, dict[str, Row]]) -> Finding:
    pairs = _pairs("convex", "fast", by_method)
    above = [a for a, b in pairs if a["KL"] > b["KL"]]
    surely = [a for a in above if a["KL - fast's"] > 2 * a["KL - fast's error"]]
    note = f"above it on {len(above)} of {len(pairs)}, by more than two standard errors on {len(surely)}"
    if above:
        note += f": problems {', '.join(row['unit'] for row in above)}"
    return Finding("convex: share with KL <= fast's", 1 - len(above) / len(pairs), Target(">=", 1.0), note)


def _against_em(by_method: dict[str, dict[str, Row]]) -> list[Finding]:
    pairs = _pairs("auto", "em", by_method)
    wins = [b for a, b in pairs if a["KL"] < b["KL"]]
    gap, error = "KL - auto's", "KL - auto's error"
    sure = [b for b in wins if b[gap] > 2 * b[error]]
    sure_losses = [b for _, b in pairs if b[gap] < -2 * b[error]]
    times = np.array([b["cpu_seconds"] / a["cpu_seconds"] for a, b in pairs])
    note = (
        f"{len(wins)} of {len(pairs)}; by two standard errors {len(sure)}, EM by as much {len(sure_losses)}"
    )
    return [
        Finding("auto: share with KL below EM's", len(wins) / len(pairs), Target(">=", 0.85), note),
        Finding(
            "EM: processor time in terms of auto's, median",
            float(np.median(times)),
            note=f"from {times.min():.2f} to {times.max():.2f}",
        ),
    ]


def files(number: str, settings: Settings) -> list[Path]:
    return pautomac_problem(number, settings).files


QUESTION = Question(
    name="pautomac",
    title="PAutomaC: R on the test sets, KL on fresh strings",
    units=units,
    measure=measure,
    conclude=conclude,
    columns=("method", "R", "KL", "KL error", "seconds", "cpu_seconds", "size"),
    files=files,
    prepare=lambda settings: warm_up(SPECTRAL | BEST_NGRAMS),
)
