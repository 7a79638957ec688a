"""What bilexical operators cost: solvers, a step of each, counting words."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.bilexical_relations import plain_vectors
from benchmarks.corpora import require_folder
from benchmarks.harness import Row, Settings, timed
from sigmastar.bilexical import Pairs, Vectors, split_heads
from sigmastar.bilexical.counts import WindowCounter
from sigmastar.bilexical.data.text import coded_blocks, word_frequencies
from sigmastar.bilexical.learn.operator import ConditionalLoss
from sigmastar.optimise.factored import factored
from sigmastar.optimise.proximal import NuclearNorm
from sigmastar.optimise.solvers import fista
from sigmastar.reproduce.madhyastha2014 import RELATIONS, pairs_of, treebanks


def solvers(_: str, settings: Settings) -> Iterator[Row]:
    """Processor time to within 1e-3 of the objective that FISTA ends at, in 2,000 dimensions."""
    folder = require_folder(settings, "ud").parent
    vectors = plain_vectors(folder)
    pairs = pairs_of(RELATIONS["adjectives given noun"], treebanks(folder), vectors)
    train = pairs.select(split_heads(pairs.heads, settings.rng(0)).train)
    loss = ConditionalLoss.of(train, vectors.compressed(300) if settings.quick else vectors)
    weight = 0.1 / np.sqrt(train.n_pairs)
    convex = fista(loss, NuclearNorm(weight), n_iterations=40, step=20.0, tolerance=1e-5)
    thin = factored(loss, weight, 40, settings.rng(1), n_iterations=200, tolerance=1e-7)
    goal = convex.objective * (1 + 1e-3)
    for name, found in (("fista", convex), ("factored", thin)):
        reached = [s for s, value in zip(found.cpu_seconds, found.objectives, strict=True) if value <= goal]
        seconds = reached[0] if reached else float("nan")
        yield {"method": name, "objective": found.objective, "cpu_seconds": seconds}


def step(_: str, settings: Settings) -> Iterator[Row]:
    """One dense proximal step against one factored gradient: n = 2000, 5000 modifiers, 3000 heads."""
    rng, size = settings.rng(0), 500 if settings.quick else 2000
    n_modifiers, n_heads = (500, 300) if settings.quick else (5000, 3000)
    words = [f"m{n}" for n in range(n_modifiers)] + [f"h{n}" for n in range(n_heads)]
    vectors = Vectors(tuple(words), rng.standard_normal((len(words), size))).normalized()
    drawn = [
        (f"h{n % n_heads}", f"m{m}") for n, m in enumerate(rng.integers(0, n_modifiers, 3 * n_modifiers))
    ]
    loss = ConditionalLoss.of(Pairs.of(drawn), vectors)
    penalty, matrix = NuclearNorm(1e-3), 0.01 * rng.standard_normal((size, size))
    left, right = rng.standard_normal((size, 30)), rng.standard_normal((size, 30))
    _, dense = timed(lambda: penalty.prox(matrix - loss.value_and_gradient(matrix)[1], 1.0))
    _, thin = timed(lambda: loss.factored(left, right))
    yield {"method": "dense step", "cpu_seconds": dense.cpu_seconds}
    yield {"method": "factored step", "cpu_seconds": thin.cpu_seconds}


def counting(_: str, settings: Settings) -> Iterator[Row]:
    """Counts of coded text: window 10, 2,000 contexts."""
    files = sorted(require_folder(settings, "text").glob("*.txt.gz"))[: 1 if settings.quick else None]
    frequencies = word_frequencies(files).most_common()
    codes = {word: code for code, (word, _) in enumerate(frequencies)}
    blocks = list(coded_blocks(files, codes))
    totals = np.array([count for _, count in frequencies])

    def count() -> WindowCounter:
        counter = WindowCounter.of(totals, 2000, 10)
        for block in blocks:
            counter.add(*block)
        counter.counts()
        return counter

    count()  # compiles
    counter, timing = timed(count, 3)
    yield {
        "n_tokens": int(totals.sum()),
        "cpu_seconds": timing.cpu_seconds,
        "megabytes": counter.table.cells.nbytes / 1e6,
    }
