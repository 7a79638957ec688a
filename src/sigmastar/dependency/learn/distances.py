"""What distances say of arcs: a counted factor beside head automata, which do not see them.

    weight(h, e) = (P(bin | arc from h to e) / P(bin | h and e in one sentence)) ^ 1/2

by the symbols of h and e and the direction. Distances carry much of what tags do not say (Eisner and Smith
2010), and as a ratio nothing of what automata count already. Both probabilities are shrunk towards what head
and modifier say each for itself, P(bin | h) P(bin | e) / P(bin). The root halves what automata and distances
say twice; it and the shrinkage were chosen on development sets.
"""

from __future__ import annotations

import numpy as np

from sigmastar.dependency.data.gaps import Array
from sigmastar.dependency.data.sequences import Codes
from sigmastar.dependency.data.treebank import DependencyTreebank
from sigmastar.dependency.kernels.distances import count_distances
from sigmastar.dependency.learn.counting import directions

POWER = 0.5
SHRINKAGE = 40.0
_COARSE_SHRINKAGE = 5.0


def learn_distances(
    treebank: DependencyTreebank, codes: Codes, n_symbols: int, power: float = POWER
) -> Array:
    """Weights [sort, symbol, bin] from trees; `codes` are the symbols of their words."""
    arcs, pairs = count_distances(codes, treebank.head, treebank.sentence_offsets, n_symbols)
    weights: Array = (shrunk(arcs) / shrunk(pairs)) ** power
    return weights


def shrunk(counts: Array, strength: float = SHRINKAGE) -> Array:
    """P(bin | sort, symbol) from counts of all three."""
    towards = directions(len(counts))
    by_direction, by_modifier = np.zeros((3, counts.shape[2])), np.zeros((3, *counts.shape[1:]))
    by_sort = counts.sum(axis=1)
    np.add.at(by_direction, towards, by_sort)
    np.add.at(by_modifier, towards, counts)
    everywhere = by_direction.sum(axis=0) + 0.1
    coarse = _towards(by_direction, everywhere / everywhere.sum(), _COARSE_SHRINKAGE)
    heads = _towards(by_sort, coarse[towards], strength)
    modifiers = _towards(by_modifier, coarse[:, None], strength)
    both = heads[:, None] * modifiers[towards] / coarse[towards][:, None]
    return _towards(counts, both / both.sum(axis=-1, keepdims=True), strength)


def _towards(counts: Array, prior: Array, strength: float) -> Array:
    return (counts + strength * prior) / (counts.sum(axis=-1, keepdims=True) + strength)  # type: ignore[no-any-return]
