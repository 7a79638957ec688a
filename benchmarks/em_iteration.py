"""How fast is one EM iteration, n = 16, on tag sequences, against hmmlearn?

Both start from the same random hidden Markov model. hmmlearn's `CategoricalHMM` does one iteration in
`fit`, with its faster "scaling" implementation and with its default, "log"; ours is `EMCorpus.expect`
and an M-step. Both have one thread, and times are processor times. Laying the corpus out is done once for
all iterations: it is reported on its own, and counted in a second figure, for a climb of 20 iterations. That
both count the same is checked by their log-likelihoods.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.corpora import ewt_file, upos_sequences
from benchmarks.harness import Finding, Question, Row, Settings, Target, Timing, timed
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.learn.em_steps import EMCorpus, Maximize, maximize, maximize_hmm
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.resources import limited_threads

N_STATES = 16
N_RUNS, N_PEER_RUNS = 15, 3
N_ITERATIONS = 20  # that share the cost of laying the corpus out
N_QUICK = 1_000
STEPS: dict[str, Maximize] = {"hmm": maximize_hmm, "pfa": maximize}
PEERS = ("scaling", "log")  # the faster one, which is the target, and hmmlearn's default
DTYPES = {"float64": np.float64, "float32": np.float32}


@dataclass(frozen=True, eq=False)
class Start:
    """A random hidden Markov model, with no word on where strings end: hmmlearn's has none."""

    initial: np.ndarray
    moves: np.ndarray
    emissions: np.ndarray

    @classmethod
    def drawn(cls, n_symbols: int, rng: np.random.Generator) -> Start:
        n = N_STATES
        return cls(rng.dirichlet(np.ones(n)), *(rng.dirichlet(np.ones(m), size=n) for m in (n, n_symbols)))

    def automaton(self, strings: Strings) -> WeightedAutomaton:
        """The same as operators; `final` is one: prefixes are weighed, as hmmlearn does."""
        operators = self.emissions.T[:, :, None] * self.moves[None]
        return WeightedAutomaton(strings.alphabet, self.initial, operators, np.ones(N_STATES))


def units(settings: Settings) -> list[str]:
    ewt_file(settings)
    return ["EWT"]


def measure(unit: str, settings: Settings) -> Iterator[Row]:
    with limited_threads(1):
        yield from _measure(settings)


def _measure(settings: Settings) -> Iterator[Row]:
    strings = upos_sequences(ewt_file(settings))
    if settings.quick:
        strings = strings.select(np.arange(N_QUICK))
    start = Start.drawn(len(strings.alphabet), settings.rng(0))
    sizes = {"sequences": len(strings), "tokens": strings.n_symbols, "states": N_STATES}
    peers = {}
    for name in PEERS:
        peers[name], likelihood = _time_hmmlearn(strings, start, name, 1 if settings.quick else N_PEER_RUNS)
        yield {
            "method": f"hmmlearn, {name}",
            "milliseconds": 1e3 * peers[name].cpu_seconds,
            "log-likelihood": likelihood,
            **sizes,
        }
    for kind, dtype in DTYPES.items():
        for row in _time_ours(strings, start, dtype, peers):
            yield {**row, "method": f"ours, {row['method']}, {kind}", **sizes}


def _time_ours(strings: Strings, start: Start, dtype: type, peers: dict[str, Timing]) -> Iterator[Row]:
    automaton, peer = start.automaton(strings), peers["scaling"].cpu_seconds
    EMCorpus(strings, N_STATES, dtype)  # kernels are compiled once
    corpus, layout = timed(lambda: EMCorpus(strings, N_STATES, dtype), 3)
    counted = corpus.expect(automaton)
    for name, step in STEPS.items():
        _, timing = timed(lambda step=step: step(strings.alphabet, corpus.expect(automaton)), N_RUNS)
        seconds = timing.cpu_seconds
        yield {
            "method": name,
            "milliseconds": 1e3 * seconds,
            "layout milliseconds": 1e3 * layout.cpu_seconds,
            "times faster": peer / seconds,
            "with layout": peer / (seconds + layout.cpu_seconds / N_ITERATIONS),
            "than log": peers["log"].cpu_seconds / seconds,
            "log-likelihood": counted.log_likelihood,
        }


def _time_hmmlearn(strings: Strings, start: Start, implementation: str, n_runs: int) -> tuple[Timing, float]:
    from hmmlearn.hmm import CategoricalHMM

    logging.getLogger("hmmlearn").setLevel(logging.ERROR)
    tokens, lengths = strings.codes.astype(np.int64)[:, None], strings.lengths.tolist()

    def model() -> CategoricalHMM:
        made = CategoricalHMM(N_STATES, n_iter=1, tol=0.0, init_params="", implementation=implementation)
        made.n_features = len(strings.alphabet)
        made.startprob_, made.transmat_ = start.initial.copy(), start.moves.copy()
        made.emissionprob_ = start.emissions.copy()
        return made

    few = int(strings.offsets[10])
    model().fit(tokens[:few], lengths[:10])
    fitted, timing = timed(lambda: model().fit(tokens, lengths), n_runs)
    return timing, float(fitted.monitor_.history[0])


def conclude(rows: list[Row]) -> list[Finding]:
    ours = {row["method"]: row for row in rows if "times faster" in row}
    peer = next(row for row in rows if "times faster" not in row)
    off = {name: abs(row["log-likelihood"] / peer["log-likelihood"] - 1) for name, row in ours.items()}
    findings = [
        Finding(f"{name}: times faster than hmmlearn", row["times faster"], Target(">=", 50.0))
        for name, row in ours.items()
    ]
    findings += [
        Finding(f"{name}: the same, layout counted over {N_ITERATIONS} iterations", row["with layout"])
        for name, row in ours.items()
    ]
    return [
        *findings,
        Finding(
            "log-likelihoods, float64: relative difference", off["ours, hmm, float64"], Target("<=", 1e-9)
        ),
        Finding("log-likelihoods, float32: relative difference", off["ours, hmm, float32"]),
    ]


def files(unit: str, settings: Settings) -> list[Path]:
    return [ewt_file(settings)]


QUESTION = Question(
    name="em_iteration",
    title=f"One EM iteration with {N_STATES} states on UPOS sequences",
    units=units,
    measure=measure,
    conclude=conclude,
    columns=(
        "method",
        "milliseconds",
        "layout milliseconds",
        "times faster",
        "with layout",
        "than log",
        "log-likelihood",
    ),
    files=files,
    modules=("hmmlearn",),
)
