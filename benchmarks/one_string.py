"""One long string of a small hidden Markov model: are the default learners as good as EM of the right size?

Each problem is a random hidden Markov model of 3 states that stay where they are most of the time, over 6
symbols. Learners see one string of 20,000 symbols, as users of hmmlearn often have it; a fresh string of as
many judges them, in nats per symbol. EM knows the number of states and has the best of five starts.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.harness import Finding, Question, Row, Settings, Target, timed
from sigmastar import EMAutomaton, NgramAutomaton, SpectralAutomaton
from sigmastar.automata.estimator.sequence import SequenceEstimator

N_STATES, N_SYMBOLS, LENGTH, N_SEEDS = 3, 6, 20_000, 5
STAY = 0.9  # how likely a state is to stay
NEAR = 0.01  # nats per symbol
METHODS = ("fast", "convex", "auto", "em", "hmm", "ngram")
JUDGED = ("fast", "convex", "auto")


def units(settings: Settings) -> list[str]:
    return [str(seed) for seed in range(1 if settings.quick else N_SEEDS)]


def learner(method: str, seed: int) -> SequenceEstimator:
    if method == "em":
        return EMAutomaton(N_STATES, n_seeds=5, random_state=seed)
    if method == "hmm":
        return EMAutomaton(N_STATES, n_seeds=5, structure="hmm", random_state=seed)
    return NgramAutomaton() if method == "ngram" else SpectralAutomaton(method, random_state=seed)


def measure(unit: str, settings: Settings) -> Iterator[Row]:
    rng, length = settings.rng(int(unit)), LENGTH // 10 if settings.quick else LENGTH
    moves = STAY * np.eye(N_STATES) + (1.0 - STAY) * rng.dirichlet(np.ones(N_STATES), size=N_STATES)
    emissions = rng.dirichlet(np.full(N_SYMBOLS, 0.5), size=N_STATES)
    seen, fresh = (drawn(moves, emissions, length, rng) for _ in range(2))
    for method in settings.chosen(METHODS):
        model, timing = timed(lambda method=method: learner(method, int(unit)).fit([seen]))
        yield {
            "method": method,
            "nats per symbol": model.score([fresh]) / length,
            "states": str(getattr(model, "n_states_", "")),
            "cpu_seconds": timing.cpu_seconds,
        }


def drawn(moves: np.ndarray, emissions: np.ndarray, length: int, rng: np.random.Generator) -> list[int]:
    """A string of a hidden Markov model that never stops, cut."""
    state, string = int(rng.integers(len(moves))), []
    for _ in range(length):
        string.append(int(rng.choice(emissions.shape[1], p=emissions[state])))
        state = int(rng.choice(len(moves), p=moves[state]))
    return string


def conclude(rows: list[Row]) -> list[Finding]:
    scores = {(row["unit"], row["method"]): row["nats per symbol"] for row in rows}
    peers = [peer for peer in ("em", "hmm") if any(method == peer for _, method in scores)]
    findings: list[Finding] = []
    for method in () if not peers else dict.fromkeys(row["method"] for row in rows):
        pairs = [(unit, other) for unit, other in scores if other == method]
        gaps = [max(scores[unit, peer] for peer in peers) - scores[unit, method] for unit, _ in pairs]
        target = Target("<=", NEAR) if method in JUDGED else None
        findings.append(
            Finding(f"{method}: nats per symbol below EM of the right size, worst", max(gaps), target)
        )
        findings.append(Finding(f"{method}: the same, mean", float(np.mean(gaps))))
    return findings


QUESTION = Question(
    name="one_string",
    title=f"One string of {LENGTH:,} symbols from a hidden Markov model of {N_STATES} states",
    units=units,
    measure=measure,
    conclude=conclude,
    columns=("method", "nats per symbol", "states", "cpu_seconds"),
)
