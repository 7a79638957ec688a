"""Between spans with labels and charts of chains: a chain over one word ends in its tag, others have none."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.jit import kernel, part

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Array = NDArray[np.float64]
Singles = NDArray[np.float32]

_FORBIDDEN = -1e9


@kernel
def best_tags(n: int, starts: Longs, chains: Ints, values: Array, chain_tags: Longs, n_tags: int) -> Longs:
    """The most probable tag of every word, all chains that end in it together; -1 where no chain has one."""
    best, mass = np.full(n, -1, np.int64), np.zeros(n_tags)
    for i in range(n):
        mass[:] = 0.0
        for at in range(starts[i], starts[i + 1]):
            tag = chain_tags[chains[at]]
            if tag >= 0:
                mass[tag] += values[at]
                if best[i] < 0 or mass[tag] > mass[best[i]]:
                    best[i] = tag
    return best


@kernel
def forbid_others(
    n: int, starts: Longs, chains: Ints, leaf_columns: Longs, phrase_columns: Longs, scores: Singles
) -> None:
    """Take the labels that no chain of a cell has out of its scores."""
    kept = np.zeros(scores.shape[1], np.bool_)
    for c in range(len(starts) - 1):
        kept[:] = False
        for at in range(starts[c], starts[c + 1]):
            column = leaf_columns[chains[at]] if c < n else phrase_columns[chains[at]]
            if column >= 0:
                kept[column] = True
        for label in range(len(kept)):
            if not kept[label]:
                scores[c, label] = _FORBIDDEN


@kernel
def onto_chains(
    n: int,
    starts: Longs,
    chains: Ints,
    values: Array,
    posteriors: Singles,
    chain_tags: Longs,
    leaf_columns: Longs,
    phrase_columns: Longs,
) -> Array:
    """The posteriors of labels as those of chains; over one word each tag keeps the share it has in `values`.

    Columns are those of `posteriors`, -1 for chains that it does not have, -2 for a tag alone.
    """
    result = np.zeros(len(values))
    for c in range(len(starts) - 1):
        none = max(1.0 - posteriors[c].sum(), 0.0)
        for at in range(starts[c], starts[c + 1]):
            column = leaf_columns[chains[at]] if c < n else phrase_columns[chains[at]]
            if column >= 0:
                result[at] = posteriors[c, column]
            elif column == -2:
                result[at] = none
        if c < n:
            _keep_tags(starts[c], starts[c + 1], chains, values, chain_tags, result)
    return result


@part
def _keep_tags(low: int, high: int, chains: Ints, values: Array, chain_tags: Longs, result: Array) -> None:
    """Scale the results of one word so that every tag has the sum that it has among the values."""
    for at in range(low, high):
        tag, wanted, found, is_first = chain_tags[chains[at]], 0.0, 0.0, True
        for other in range(low, high):
            if chain_tags[chains[other]] == tag:
                wanted += values[other]
                found += result[other]
                is_first &= other >= at
        if is_first:  # all chains of a tag at once
            for other in range(at, high):
                if chain_tags[chains[other]] == tag:
                    result[other] = result[other] * wanted / found if found > 0.0 else values[other]
