"""Is an automaton recovered exactly where most entries of its Hankel matrix are missing, and at what cost?

Targets are signed automata of 3 states over 2 symbols; 15% of the strings of up to 8 symbols have a value.
The nuclear norm alone stands beside: the completed matrix itself, and the automaton extracted from it; and
the refinement from random starts, without completion.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from benchmarks.harness import Finding, Question, Row, Settings, Target, timed
from sigmastar import HankelRegressor
from sigmastar.optimise.completers import COMPLETERS
from sigmastar.regression import MadeRegression, make_regression
from sigmastar.regression.counts import HankelEntries

N_SEEDS, EXACT = 8, 1e-6
RANDOM = "random starts"


def units(settings: Settings) -> list[str]:
    return ["proximal", RANDOM] if settings.quick else [*COMPLETERS, RANDOM]


def regressor(unit: str, seed: int) -> HankelRegressor:
    """With a solver; random starts are what a penalty leaves under which the completed matrix is zero."""
    if unit == RANDOM:
        return HankelRegressor(n_states=3, strengths=(0.9999,), random_state=seed)
    rank = 3 if unit == "hard" else None
    return HankelRegressor(n_states=3, solver=unit, rank=rank, random_state=seed)


def measure(unit: str, settings: Settings) -> Iterator[Row]:
    for seed in range(2 if settings.quick else N_SEEDS):
        made = make_regression(settings.rng(seed))
        model = regressor(unit, seed)
        _, timing = timed(partial(model.fit, made.seen_strings, made.seen_values))
        extracted = regressor(unit, seed).set_params(n_starts=0).fit(made.seen_strings, made.seen_values)
        yield {
            "seed": seed,
            "matrix": matrix_error(made, model),
            "extracted": made.relative_error(extracted.predict(made.strings)),
            "refined": made.relative_error(model.predict(made.strings)),
            "cpu_seconds": timing.cpu_seconds,
        }


def matrix_error(made: MadeRegression, model: HankelRegressor) -> float:
    """Of the completed matrix: relative to the true one, on all its entries; the best of the penalties."""
    rows, columns = (np.array(part) for part in true_factors(made, HankelEntries.of(made.seen_strings)))
    truth, scale = (
        rows @ columns.T,
        np.abs(made.seen_values).max(),
    )  # values are scaled before they are fitted
    errors = [np.linalg.norm(one.triples.matrix * scale - truth) for one in model.completions_]
    return float(min(errors) / np.linalg.norm(truth))


def true_factors(made: MadeRegression, entries: HankelEntries) -> tuple[list, list]:
    """Forward vectors of the prefixes and backward vectors of the suffixes under the true automaton."""
    target = made.automaton
    before, after = [target.initial], [target.final]
    for node in range(1, entries.prefixes.n_nodes):
        step = target.transitions[entries.prefixes.symbol[node]]
        before.append(before[entries.prefixes.parent[node]] @ step)
    for node in range(1, entries.suffixes.n_nodes):
        step = target.transitions[entries.suffixes.symbol[node]]
        after.append(step @ after[entries.suffixes.parent[node]])
    return before, after


def conclude(rows: list[Row]) -> list[Finding]:
    findings = []
    for solver in dict.fromkeys(row["unit"] for row in rows):
        of_solver = [row for row in rows if row["unit"] == solver]
        exact = 100.0 * float(np.mean([row["refined"] <= EXACT for row in of_solver]))
        alone = 100.0 * float(np.mean([row["matrix"] <= EXACT for row in of_solver]))
        off = 100.0 * float(np.median([row["matrix"] for row in of_solver]))
        goal = Target(">=", 80.0) if solver == "proximal" else None
        findings.append(Finding(f"{solver}: exact, % of seeds", exact, goal))
        if solver == RANDOM:
            continue
        findings.append(Finding(f"{solver}: nuclear norm alone exact, % of seeds", alone))
        findings.append(Finding(f"{solver}: nuclear norm alone, median error in %", off))
    return findings


def prepare(settings: Settings) -> None:
    HankelRegressor(n_states=1).fit(["a", "b", "ab"], [1.0, 1.0, 1.0])


QUESTION = Question(
    name="hankel_completion",
    title="Automata with 85% of the Hankel entries missing",
    units=units,
    measure=measure,
    conclude=conclude,
    columns=("seed", "matrix", "extracted", "refined", "cpu_seconds"),
    prepare=prepare,
)
