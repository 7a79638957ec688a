"""Outputs proposed for inputs: paths of units that spell the same output are added up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import Symbol
from sigmastar.transducers.data.string_pairs import StringPairs
from sigmastar.transducers.data.units import Units
from sigmastar.transducers.model.joint_ngram import Paths

Array = NDArray[np.float64]
Longs = NDArray[np.int64]
Ranking = list[tuple[tuple[Symbol, ...], float]]
"""Outputs, best first, with their shares."""

_BELOW = 5.0  # nats below the worst known score: where a model cannot score a proposal


@dataclass(frozen=True, eq=False)
class Proposals:
    """Pairs of an input and an output proposed for it; those of an input together, heaviest first."""

    pairs: StringPairs
    owner: Longs
    log_weights: Array
    n_inputs: int

    @classmethod
    def of(cls, paths: Paths, inputs: Strings, units: Units, n_best: int) -> Proposals:
        """The `n_best` heaviest distinct outputs of each input."""
        outputs = units.spell(paths.strings).outputs
        keys = _hashes(outputs) ^ (paths.owner.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15))
        _, first, group = np.unique(keys, return_index=True, return_inverse=True)
        sums = np.full(len(first), -np.inf)
        np.logaddexp.at(sums, group, paths.log_weights)
        owner = paths.owner[first]
        order = np.lexsort((-sums, owner))
        rank = np.arange(len(order)) - np.searchsorted(owner[order], owner[order])
        kept = order[rank < n_best]
        pairs = StringPairs(inputs.select(owner[kept]), outputs.select(first[kept]))
        return cls(pairs, owner[kept], sums[kept], len(inputs))

    @property
    def starts(self) -> Longs:
        """Where the proposals of each input begin that has any."""
        return np.flatnonzero(np.append(True, np.diff(self.owner) > 0))[: len(self.owner)]

    def floored(self, scores: Array) -> Array:
        """Scores with -inf replaced by a little less than the worst of the same input."""
        if not len(scores):
            return scores
        finite = np.isfinite(scores)
        worst = np.minimum.reduceat(np.where(finite, scores, np.inf), self.starts)
        worst = np.where(np.isfinite(worst), worst - _BELOW, 0.0)
        sizes = np.diff(np.append(self.starts, len(scores)))
        return np.where(finite, scores, np.repeat(worst, sizes))


def ranked(proposals: Proposals, scores: Array, n_best: int) -> list[Ranking]:
    """The best outputs of each input, with their shares of the proposals' weight."""
    rankings: list[Ranking] = [[] for _ in range(proposals.n_inputs)]
    if not len(scores):
        return rankings
    starts = proposals.starts
    sizes = np.diff(np.append(starts, len(scores)))
    totals = np.repeat(np.logaddexp.reduceat(scores, starts), sizes)
    order = np.lexsort((-scores, proposals.owner))
    rank = np.arange(len(order)) - np.repeat(starts, sizes)
    for at in order[rank < n_best].tolist():
        share = float(np.exp(scores[at] - totals[at]))
        rankings[int(proposals.owner[at])].append((proposals.pairs.outputs[at], share))
    return rankings


def _hashes(strings: Strings) -> NDArray[np.uint64]:
    """A number for each string: different strings have different ones, but for 64-bit accidents."""
    place = np.arange(strings.n_symbols) - np.repeat(strings.offsets[:-1], strings.lengths)
    random = np.random.default_rng(0x5163).integers(0, 2**64, int(place.max(initial=0)) + 1, dtype=np.uint64)
    mixed = (strings.codes.astype(np.uint64) + np.uint64(1)) * (random[place] | np.uint64(1))
    mixed = (mixed ^ (mixed >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9)
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed, dtype=np.uint64)])
    return np.asarray(sums[strings.offsets[1:]] - sums[strings.offsets[:-1]], dtype=np.uint64)
