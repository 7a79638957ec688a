"""What distances say of arcs: a counted factor beside head automata, which do not see them.

    weight(h, e) = (P(bin | arc from h to e) / P(bin | h and e in one sentence)) ^ 1/2

by the symbols of h and e and the direction. Distances carry much of what tags do not say (Eisner and Smith
2010), and as a ratio nothing of what automata count already. Both probabilities are shrunk towards what head
and modifier say each for itself, P(bin | h) P(bin | e) / P(bin). The root halves what automata and distances
say twice; it and the shrinkage were chosen on development sets.
"""

from __future__ import annotations

import numpy as np

from sigmastar.core.arrays import Floats, Int32s
from sigmastar.core.shrinkage import normalized, towards
from sigmastar.dependency.data.treebank import DependencyTreebank
from sigmastar.dependency.learn.counting import directions
from sigmastar.dependency.model.arcs import count_distances

POWER = 0.5
SHRINKAGE = 40.0
_COARSE_SHRINKAGE = 5.0


def learn_distances(
    treebank: DependencyTreebank, codes: Int32s, n_symbols: int, power: float = POWER
) -> Floats:
    """Weights [sort, symbol, bin] from trees; `codes` are the symbols of their words."""
    arcs, pairs = count_distances(codes, treebank.head, treebank.sentence_offsets, n_symbols)
    return np.asarray((shrunk_bins(arcs) / shrunk_bins(pairs)) ** power)


def shrunk_bins(counts: Floats, strength: float = SHRINKAGE) -> Floats:
    """P(bin | sort, symbol) from counts of all three."""
    sides = directions(len(counts))
    by_direction, by_modifier = np.zeros((3, counts.shape[2])), np.zeros((3, *counts.shape[1:]))
    by_sort = counts.sum(axis=1)
    np.add.at(by_direction, sides, by_sort)
    np.add.at(by_modifier, sides, counts)
    coarse = towards(by_direction, normalized(by_direction.sum(axis=0) + 0.1), _COARSE_SHRINKAGE)
    heads = towards(by_sort, coarse[sides], strength)
    modifiers = towards(by_modifier, coarse[:, None], strength)
    both = heads[:, None] * modifiers[sides] / coarse[sides][:, None]
    return towards(counts, normalized(both), strength)
