"""A process of its own that learns once and prints what memory that took, as one line of JSON.

`python -m benchmarks.probe METHOD CORPUS SEED rss|traced`. `rss` is the peak of the resident set above
what the process had after imports and a warm-up of all kernels, before the corpus was read. `traced` is
the peak of what Python and NumPy allocated by tracemalloc; arrays that kernels make are not seen there.
"""

from __future__ import annotations

import json
import sys
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np

from benchmarks.learners import SPECTRAL, warm_up
from sigmastar.automata.counts.on_classes import ContextCounts
from sigmastar.automata.data.pautomac import read_pautomac
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.learn.context_operators import choose_classes
from sigmastar.automata.learn.fast import CLASSES
from sigmastar.core.resources import one_blas_thread

STATUS = Path("/proc/self/status")


def resident(key: str) -> int:
    """VmRSS or VmHWM in bytes."""
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(key))
    return int(line.split()[1]) * 1024


def reset_peak() -> None:
    with suppress(OSError):  # then the peak since the start of the process is reported: never too low
        Path("/proc/self/clear_refs").write_text("5")


def peak_resident(work: Callable[[], object]) -> int:
    reset_peak()
    before = resident("VmRSS")
    work()
    return resident("VmHWM") - before


def peak_traced(work: Callable[[], object]) -> int:
    tracemalloc.start()
    work()
    return tracemalloc.get_traced_memory()[1]


def block_bytes(strings: Strings) -> int:
    """The count blocks of the finest context classes as sparse arrays of floats: matrix, slices, edges."""
    counts = ContextCounts.of(strings, *choose_classes(strings, max(CLASSES)))
    n_entries = len(counts.counts) + len(counts.slice_counts)
    return 12 * n_entries + 8 * (len(counts.ends) + len(counts.starts))


def main(method: str, path: str, seed: str, kind: str) -> dict[str, int]:
    learner = SPECTRAL[method]
    warm_up({method: learner})
    measure = {"rss": peak_resident, "traced": peak_traced}[kind]
    peak = measure(lambda: learner(read_pautomac(path), np.random.default_rng(int(seed))))
    whole = resident("VmHWM")
    strings = read_pautomac(path)
    return {
        "peak": peak,
        "whole process": whole,
        "corpus": strings.codes.nbytes + strings.offsets.nbytes,
        "blocks": block_bytes(strings),
        "strings": len(strings),
        "symbols": strings.n_symbols,
    }


if __name__ == "__main__":
    with one_blas_thread():
        print(json.dumps(main(*sys.argv[1:])))
