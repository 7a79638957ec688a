"""What `benchmarks.scale` runs in processes of its own: `python -m benchmarks.scale_probe STAGE ..`.

    text N SEED             text of N words on standard output, made while it is read
    build TEXT|- DIR        a corpus, from a file or from standard input
    count DIR CLASSES WORKERS [ADDRESS]
    learn DIR STATES WORKERS [BYTES]
    em DIR STATES WORKERS
    killed DIR CLASSES      two workers, one of which is killed at its first shard
    svd STATES              singular vectors of counts of pairs of words, beside SciPy's two solvers

Each but the first prints one JSON object: seconds on the clock and on the processors, and the resident peak.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import svds

from sigmastar.automata.counts.on_shards import StepCounts, count_shards, count_steps
from sigmastar.automata.data.corpora import ShardedStrings
from sigmastar.automata.estimator.spectral import SpectralAutomaton
from sigmastar.automata.learn.context_operators import choose_classes
from sigmastar.automata.learn.em_steps import EMCorpus, random_start
from sigmastar.automata.learn.on_shards import ShardedEMCorpus
from sigmastar.core.arrays import Array, Floats
from sigmastar.core.engines import engine_of
from sigmastar.core.factors import Factors, factorize
from sigmastar.core.model_format import hash_arrays
from sigmastar.core.progress import silent
from sigmastar.core.sparse_svd import lanczos_svd
from sigmastar.core.worker_processes import Processes
from sigmastar.corpus.build import build_corpus
from sigmastar.corpus.reading import StringCorpus

N_WORDS, N_STATES, LENGTH = 200, 20, 20
_LANES, _TRIES, _SLOTS = 5000, 3, 1 << 16


def write_text(n_tokens: int, seed: int) -> None:
    """Lines of twenty words from a hidden Markov model with 20 states and 200 words, five letters each."""
    rng = np.random.default_rng(seed)
    moves = _drawn_by(rng.dirichlet(np.full(N_STATES, 0.3), N_STATES))
    words = _drawn_by(rng.dirichlet(np.full(N_WORDS, 0.05), N_STATES))
    spelled = np.frombuffer(b"".join(f"w{k:04d} ".encode() for k in range(N_WORDS)), "S6")
    state = rng.integers(0, N_STATES, _LANES)
    for _ in range(-(-n_tokens // (_LANES * LENGTH))):
        draws = rng.integers(0, _SLOTS, (2, LENGTH, _LANES), np.uint16)
        lines = np.empty((_LANES, LENGTH), "S6")
        for at in range(LENGTH):
            lines[:, at] = spelled[words[state, draws[0, at]]]
            state = moves[state, draws[1, at]]
        letters = lines.view(np.uint8)
        letters[:, -1] = 10
        sys.stdout.buffer.write(letters.tobytes())


def _drawn_by(distributions: Floats) -> Array:
    """Per row, what each of equally probable slots stands for: a draw is one look."""
    slots = (np.arange(_SLOTS) + 0.5) / _SLOTS
    rows = [np.searchsorted(row.cumsum()[:-1], slots) for row in distributions]
    return np.array(rows, np.uint8)


def build(source: str, folder: str) -> dict[str, Any]:
    corpus = build_corpus([source], folder)
    return {"tokens": corpus.n_symbols, "shards": corpus.n_shards}


def counted(folder: str, n_classes: str, workers: str, address: str | None = None) -> dict[str, Any]:
    strings = ShardedStrings(StringCorpus.open(folder))
    classes = choose_classes(strings, int(n_classes))
    count_steps(strings.select(range(10)), classes)  # kernels are compiled before the clock runs
    with closing(engine_of(int(workers), address)) as engine:
        if int(workers) > 1 or address is not None:
            count_shards(strings, classes, engine)  # processes are begun before it, too
        seconds = cpu = float("inf")
        for _ in range(_TRIES):  # the best of some: neighbours come and go
            began = time.perf_counter(), time.process_time()
            found = count_shards(strings, classes, engine)
            seconds = min(seconds, time.perf_counter() - began[0])
            cpu = min(cpu, time.process_time() - began[1])
    return {**_described(found), "tokens": strings.n_symbols, "count seconds": seconds, "count cpu": cpu}


def _described(found: StepCounts) -> dict[str, Any]:
    return {"entries": len(found.keys), "sha256": hash_arrays(*found), "pruned": int(found.lost[1])}


def killed(folder: str, n_classes: str) -> dict[str, Any]:
    strings = ShardedStrings(StringCorpus.open(folder))
    classes = choose_classes(strings, int(n_classes))
    with closing(_Unlucky(2)) as engine:
        engine.mark = f"{folder}.killed"
        found = count_shards(strings, classes, engine)
    return {**_described(found), "killed": Path(engine.mark).exists()}


class _Unlucky(Processes):
    """Processes of which the first that works is killed."""

    mark: str

    def run(self, task: Any, items: Any, merge: Any, progress: Any = silent) -> Any:
        return super().run(partial(_dies, self.mark, task), items, merge, progress)


def _dies(mark: str, task: Callable[[Any], Any], item: Any) -> Any:
    if not os.path.exists(mark):
        Path(mark).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return task(item)


def learned(folder: str, n_states: str, workers: str, memory: str | None = None) -> dict[str, Any]:
    room = None if memory is None else int(memory)
    learner = SpectralAutomaton(n_states=int(n_states), workers=int(workers), memory=room)
    model = learner.fit(StringCorpus.open(folder))
    return {"score": model.held_out_score_, "pruned": model.pruned_[1]}


def em(folder: str, n_states: str, workers: str) -> dict[str, Any]:
    """One iteration over shards; over all strings in one piece where `workers` is 0."""
    strings = ShardedStrings(StringCorpus.open(folder))
    sample = strings.select(range(0, len(strings), max(len(strings) // 1000, 1)))
    start = random_start(strings.alphabet, int(n_states), sample, np.random.default_rng(0))
    if int(workers):
        with closing(engine_of(int(workers))) as engine:
            counts = ShardedEMCorpus(strings, np.zeros(0, np.int64), engine).expect(start)
    else:
        counts = EMCorpus(strings.whole(), int(n_states)).expect(start)
    return {"log-likelihood": counts.log_likelihood, "tokens": strings.n_symbols}


def svd(n_states: str) -> dict[str, Any]:
    """Roots of counts of pairs of 50,000 words, about 4 million that differ; seconds of processors."""
    lanczos_svd(_pairs_of_words(500, 20_000), 10)  # kernels are compiled before the clock runs
    matrix, found = _pairs_of_words(50_000, 5_000_000), dict[str, Any]()
    found["nonzeros"], values = matrix.nnz, list[Floats]()
    solvers: dict[str, Callable[..., Any]] = {
        "factorize": factorize,
        "PROPACK": partial(svds, solver="propack", rng=0),
        "ARPACK": partial(svds, solver="arpack", rng=0),
    }
    for name, solve in solvers.items():
        began = time.process_time()
        solved = solve(matrix, int(n_states))
        found[f"{name} cpu"] = time.process_time() - began
        values.append(np.sort(solved.singular_values if isinstance(solved, Factors) else solved[1]))
    found["apart"] = max(float(np.abs(other / values[0] - 1.0).max()) for other in values[1:])
    return found


def _pairs_of_words(n_words: int, n_pairs: int) -> sparse.csr_array:
    """Both words of a pair fall by Zipf's law, in an order that one of 30 classes has for itself."""
    rng, n_classes = np.random.default_rng(0), 30
    shares = 1.0 / np.arange(1, n_words + 1)
    drawn = rng.choice(n_words, (2, n_pairs), p=shares / shares.sum())
    kinds, shifts = rng.integers(0, n_classes, n_pairs), rng.integers(0, n_words, (2, n_classes))
    first, second = (drawn + shifts[:, kinds]) % n_words
    counts = sparse.coo_array((np.ones(n_pairs), (first, second)), (n_words, n_words)).tocsr()
    return sparse.csr_array(np.sqrt(counts))


STAGES: dict[str, Callable[..., dict[str, Any]]] = {
    "build": build,
    "count": counted,
    "killed": killed,
    "learn": learned,
    "em": em,
    "svd": svd,
}


def main(stage: str, *words: str) -> None:
    if stage == "text":
        write_text(int(words[0]), int(words[1]))
        return
    began = time.perf_counter()
    found = STAGES[stage](*words)
    uses = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    found["seconds"] = time.perf_counter() - began
    found["cpu"] = sum(use.ru_utime + use.ru_stime for use in uses)
    found["peak MB"], found["worker MB"] = (use.ru_maxrss / 1024 for use in uses)
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
