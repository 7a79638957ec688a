"""Rows of `benchmarks.gpu`: singular vectors of sparse blocks beside SciPy's PROPACK.

Three blocks of 100,000 x 100,000 with 2 million numbers: what the text of WikiText-2 has of one or two words
and the one or two that follow, as roots of counts and as correlations damped by 5, as learners decompose
them; and correlations of words at random with Zipf's frequencies, not damped, whose spectrum has no gap.
Values found in a space of columns are never above the true ones: where ours are above PROPACK's, it is
PROPACK that has missed one.
"""

from __future__ import annotations

import gzip
import os
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gpu_grammars import timed

SIZE, NONZEROS, RANK, TOLERANCE = 100_000, 2_000_000, 100, 1e-7


def correlated(matrix: Any, damping: float = 0.0) -> Any:
    """Counts divided by the roots of their margins and some, as `core.views.damped` has it."""
    from scipy import sparse

    sums = (matrix.sum(axis=k) + damping for k in (1, 0))
    left, right = (sparse.diags_array(1 / np.sqrt(np.maximum(side, 1))) for side in sums)
    return (left @ matrix @ right).tocsr()


def at_random(size: int, nonzeros: int) -> Any:
    from scipy import sparse

    rng = np.random.default_rng(0)
    rows, columns = ((size * rng.power(0.35, nonzeros)).astype(np.int64) for _ in range(2))
    return sparse.csr_array((np.ones(nonzeros), (rows, columns)), shape=(size, size))


def of_words(size: int, nonzeros: int) -> Any:
    """Counts of what stands before and behind, of the text that has so many pairs; None without the text."""
    from scipy import sparse

    text = Path(os.environ.get("SIGMASTAR_DATA", "")) / "wikitext-2" / "train.txt.gz"
    if not text.exists():
        return None
    names, found = dict[str, int](), list[int]()
    with gzip.open(text, "rt", encoding="utf-8") as lines:
        for line in lines:
            found += [names.setdefault(word, len(names)) for word in (*line.split(), "\n")]
    tokens = np.array(found)
    pairs = len(names) * (1 + tokens[:-1]) + tokens[1:]  # behind all single words
    before, after = (tokens[1:-2], pairs[:-2]), (tokens[2:-1], pairs[2:])
    rows, columns = (_by_frequency(np.concatenate(side), len(tokens) - 3) for side in (before, after))
    low, high = 0, len(tokens) - 3
    while True:  # the least text that suffices, to a thousand tokens
        n = (low + high + 1) // 2
        some = [(rows[i, :n], columns[k, :n]) for i in range(2) for k in range(2)]
        at = np.concatenate(some, axis=1)
        at = at[:, (at < size).all(axis=0)]
        matrix = sparse.csr_array((np.ones(at.shape[1]), (at[0], at[1])), shape=(size, size))
        matrix.sum_duplicates()
        if high - low <= 1000:
            return matrix
        low, high = (n, high) if matrix.nnz < nonzeros else (low, n)


def _by_frequency(codes: Any, n: int) -> Any:
    """Ranks of codes by how often they occur."""
    _, place, counts = np.unique(codes, return_inverse=True, return_counts=True)
    rank = np.empty(len(counts), dtype=np.int64)
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
    return rank[place].reshape(-1, n)


def blocks(quick: bool = False) -> dict[str, Any]:
    size, nonzeros = (2000, 30_000) if quick else (SIZE, NONZEROS)
    found, words = (
        {"at random, correlations": correlated(at_random(size, nonzeros))},
        of_words(size, nonzeros),
    )
    if words is None:
        return found
    return {"words, roots of counts": words.sqrt(), "words, correlations": correlated(words, 5.0), **found}


def svd(torch: Any, quick: bool = False) -> dict[str, Any]:
    """Milliseconds to a largest residual of 1e-7 of the first singular value, in float64."""
    from scipy.sparse.linalg import svds

    from sigmastar.core.torch_device import chosen_device
    from sigmastar.core.torch_krylov import krylov
    from sigmastar.core.torch_sparse import SparseRows

    row: dict[str, Any] = {"what": "SVD", "rank": 20 if quick else RANK, "tolerance": TOLERANCE}
    for name, matrix in blocks(quick).items():
        forth, back = (SparseRows(side, chosen_device("auto")) for side in (matrix, matrix.T))
        work = partial(krylov, forth, back, row["rank"], TOLERANCE)
        found = work()
        seconds = timed(work, torch, 1 if quick else 5)
        begin = time.perf_counter()
        theirs = np.sort(svds(matrix, row["rank"], solver="propack", return_singular_vectors=False))[::-1]
        peer = time.perf_counter() - begin
        row[name] = {
            "nonzeros": matrix.nnz, "milliseconds": 1e3 * seconds, "PROPACK s": peer, "times": peer / seconds,
            "largest residual": found.residual, "columns": found.n_columns, "products": found.n_products,
            "values above PROPACK's": float((found.values.cpu().numpy() - theirs).max()),
            "values below": float((theirs - found.values.cpu().numpy()).max()),
            "values": {str(k): float(theirs[k - 1]) for k in (1, 2, row["rank"] // 2, row["rank"])},
        }  # fmt: skip
    return row
