"""How fast are 100,000 strings scored by an automaton of 40 states, against a NumPy loop a string?

The loop carries a scale as it must (products underflow after some hundreds of symbols): one product,
one norm and one division a symbol. Ours pays for building the prefix trie in the same time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.corpora import pautomac_problem
from benchmarks.harness import Finding, Question, Row, Settings, Target, timed
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.generators import make_automaton

N_STATES, N_STRINGS, N_QUICK = 40, 100_000, 10_000
N_RUNS, N_LOOP_RUNS = 7, 3
N_SYMBOLS = 10
PROBLEMS = ("8", "47")  # real ones of 100,000 strings: many and few states, long and short strings


def units(settings: Settings) -> list[str]:
    return ["made"] if settings.data is None else ["made", *PROBLEMS]


def measure(unit: str, settings: Settings) -> Iterator[Row]:
    strings = _strings(unit, settings)
    automaton = make_automaton(N_STATES, len(strings.alphabet), settings.rng(1), density=1.0)
    automaton.log_value(strings.select(np.arange(10)))  # compile
    ours, timing = timed(lambda: automaton.log_value(strings).log, N_RUNS)
    loop, loop_timing = timed(lambda: score_by_loop(automaton, strings), 1 if settings.quick else N_LOOP_RUNS)
    yield {
        "strings": len(strings),
        "symbols": strings.n_symbols,
        "cpu_seconds": timing.cpu_seconds,
        "loop seconds": loop_timing.cpu_seconds,
        "times faster": loop_timing.cpu_seconds / timing.cpu_seconds,
        "times faster, clock": loop_timing.seconds / timing.seconds,
        "largest difference": float((np.abs(ours - loop) / np.maximum(np.abs(loop), 1.0)).max()),
    }


def _strings(unit: str, settings: Settings) -> Strings:
    n = N_QUICK if settings.quick else N_STRINGS
    if unit == "made":
        machine = make_automaton(N_STATES, N_SYMBOLS, settings.rng(0), density=0.1)
        return machine.sample(n, settings.rng(2))
    train = pautomac_problem(unit, settings).train
    return train.select(np.arange(min(n, len(train))))


def score_by_loop(automaton: WeightedAutomaton, strings: Strings) -> np.ndarray:
    """The logarithm of |f| of each string, one after the other, as one would write it with NumPy alone."""
    initial, final, operators = automaton.initial, automaton.final, list(automaton.transitions)
    starts, codes = strings.offsets.tolist(), strings.codes.tolist()
    logs = np.empty(len(strings))
    for i in range(len(strings)):
        state, scale = initial, 0.0
        for code in codes[starts[i] : starts[i + 1]]:
            state = state @ operators[code]
            norm = math.sqrt(state @ state)
            state = state / norm
            scale += math.log(norm)
        logs[i] = math.log(abs(state @ final)) + scale
    return logs


def conclude(rows: list[Row]) -> list[Finding]:
    gains = [
        Finding(f"{row['unit']}: times faster than the loop", row["times faster"], Target(">=", 20.0))
        for row in rows
    ]
    return [
        *gains,
        Finding(
            "largest relative difference of logarithms",
            max(row["largest difference"] for row in rows),
            Target("<=", 1e-9),
        ),
    ]


def files(unit: str, settings: Settings) -> list[Path]:
    return [] if unit == "made" else pautomac_problem(unit, settings).files[:1]


QUESTION = Question(
    name="scoring",
    title=f"Scoring strings with {N_STATES} states",
    units=units,
    measure=measure,
    conclude=conclude,
    columns=("strings", "symbols", "cpu_seconds", "loop seconds", "times faster", "times faster, clock"),
    files=files,
)
