"""Control of a large hidden Markov model: how long does one step take, and do all samples keep the rule?

4,096 states, 10,000 symbols, random weights; the rule, two phrases that must come and one that must not, has
about twenty states and a length of at most 24. A step reads one symbol of 64 prefixes and gives the weights
of all next symbols.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np

from benchmarks.harness import Finding, Question, Row, Settings, Target, timed
from sigmastar import Alphabet, ConstrainedDecoder
from sigmastar.automata import Strings
from sigmastar.control import avoids, contains

N_STATES, N_SYMBOLS, N_PREFIXES, MOST, N_SAMPLES = 4096, 10_000, 64, 24, 10_000
RULE = contains([1, 2, 3], [4, 5, 6, 7]) & avoids([8, 9, 10])


def model(rng: np.random.Generator, n_states: int, n_symbols: int) -> Any:
    """Few weights of a row are large, as in models of words."""

    def rows(n_columns: int) -> np.ndarray:
        weights = rng.random((n_states, n_columns)) ** 8
        return weights / weights.sum(axis=1, keepdims=True)

    return SimpleNamespace(
        alphabet=Alphabet(range(n_symbols)),
        initial=np.full(n_states, 1 / n_states),
        transition=rows(n_states),
        emission=rows(n_symbols),
        stop=np.full(n_states, 0.02),
    )


def measure(unit: str, settings: Settings) -> Iterator[Row]:
    rng, scale = settings.rng(), 16 if settings.quick else 1
    made = model(rng, N_STATES // scale, N_SYMBOLS // scale)
    decoder, built = timed(lambda: ConstrainedDecoder(made, RULE, MOST, device=unit))
    prefixes = decoder.read(rng.integers(0, N_SYMBOLS // scale, (N_PREFIXES, 3)).tolist())
    codes = rng.integers(0, N_SYMBOLS // scale, N_PREFIXES)
    _, step = timed(lambda: decoder.log_weights(decoder.advance(prefixes, codes)), n_runs=3)
    strings, drawn = timed(lambda: decoder.draw(N_SAMPLES // scale, rng))
    kept = decoder.dfa.accepts(Strings.of(strings, alphabet=made.alphabet)) & (strings.lengths <= MOST)
    yield {
        "rule states": decoder.dfa.n_states,
        "build": built.seconds,
        "step": step.seconds,
        "samples": drawn.seconds,
        "kept": float(kept.mean()),
    }


def conclude(rows: list[Row]) -> list[Finding]:
    limits = {"cpu": 2.0, "cuda": 0.02}
    findings = [
        Finding(f"{row['unit']}: seconds per step", row["step"], Target("<=", limits[str(row["unit"])]))
        for row in rows
    ]
    worst = min(row["kept"] for row in rows)
    return [*findings, Finding("share of samples that keep the rule", worst, Target(">=", 1.0))]


QUESTION = Question(
    name="control",
    title=f"One step of control: {N_STATES:,} states, {N_SYMBOLS:,} symbols, {N_PREFIXES} prefixes",
    units=lambda settings: ["cpu"] if settings.problems is None else ["cpu", "cuda"],
    measure=measure,
    conclude=conclude,
    columns=("rule states", "build", "step", "samples", "kept"),
)
