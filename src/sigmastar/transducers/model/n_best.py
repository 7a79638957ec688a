"""Outputs proposed for inputs by a joint n-gram of units: paths that spell the same output are added up."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.ngram import NgramModel
from sigmastar.core.alphabet import Alphabet, Symbol
from sigmastar.core.arrays import Array, Floats, Int64s
from sigmastar.core.parallel import thread_map
from sigmastar.transducers.data.string_pairs import StringPairs
from sigmastar.transducers.data.units import Units
from sigmastar.transducers.kernels.beam import joint_beam
from sigmastar.transducers.kernels.edit_lattice import NgramTables

Ranking = list[tuple[tuple[Symbol, ...], float]]
"""Outputs, best first, with their shares."""

BEAM = 40
_PIECE = 64  # inputs decoded at a time by one thread
_BELOW = 5.0  # nats below the worst known score: where a model cannot score a proposal


@dataclass(frozen=True, eq=False)
class Proposals:
    """Pairs of an input and an output proposed for it; those of an input together, heaviest first."""

    pairs: StringPairs
    owner: Int64s
    log_weights: Floats
    n_inputs: int

    @property
    def starts(self) -> Int64s:
        """Where the proposals of each input begin that has any."""
        return np.flatnonzero(np.append(True, np.diff(self.owner) > 0))[: len(self.owner)]

    def floored(self, scores: Floats) -> Floats:
        """Scores with -inf replaced by a little less than the worst of the same input."""
        if not len(scores):
            return scores
        finite = np.isfinite(scores)
        worst = np.minimum.reduceat(np.where(finite, scores, np.inf), self.starts)
        worst = np.where(np.isfinite(worst), worst - _BELOW, 0.0)
        sizes = np.diff(np.append(self.starts, len(scores)))
        return np.where(finite, scores, np.repeat(worst, sizes))

    def ranked(self, scores: Floats, n_best: int) -> list[Ranking]:
        """The best outputs of each input, with their shares of the proposals' weight."""
        rankings: list[Ranking] = [[] for _ in range(self.n_inputs)]
        if not len(scores):
            return rankings
        sizes = np.diff(np.append(self.starts, len(scores)))
        totals = np.repeat(np.logaddexp.reduceat(scores, self.starts), sizes)
        order = np.lexsort((-scores, self.owner))
        rank = np.arange(len(order)) - np.repeat(self.starts, sizes)
        for at in order[rank < n_best].tolist():
            share = float(np.exp(scores[at] - totals[at]))
            rankings[int(self.owner[at])].append((self.pairs.outputs[at], share))
        return rankings


@dataclass(frozen=True, eq=False)
class JointNgram:
    """An n-gram whose symbols are units."""

    units: Units
    model: NgramModel

    @cached_property
    def tables(self) -> NgramTables:
        """The n-gram as kernels read it."""
        model, rows, contexts = self.model, self.model.rows, self.model.contexts
        owners = np.repeat(np.arange(contexts.n_classes, dtype=np.int32), np.diff(rows.row_starts))
        root, every = np.zeros(len(self.units), dtype=np.int32), np.arange(len(self.units), dtype=np.int32)
        return NgramTables(
            contexts.start,
            model.distributions(np.zeros(1, dtype=np.int32))[0],
            contexts.follow(root, every),
            contexts.parent,
            rows.row_starts,
            rows.outcomes,
            rows.own,
            rows.backoff,
            contexts.follow(owners, rows.outcomes),
        )

    def propose(self, inputs: Strings, n_best: int, beam: int = BEAM) -> Proposals:
        """The `n_best` heaviest distinct outputs of each input."""
        paths, owners, logs = self._paths(inputs, beam)
        outputs = self.units.spell(paths).outputs
        keys = _hashes(outputs) ^ (owners.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15))
        _, first, group = np.unique(keys, return_index=True, return_inverse=True)
        sums = np.full(len(first), -np.inf)
        np.logaddexp.at(sums, group, logs)
        owner = owners[first]
        order = np.lexsort((-sums, owner))
        rank = np.arange(len(order)) - np.searchsorted(owner[order], owner[order])
        kept = order[rank < n_best]
        pairs = StringPairs(inputs.select(owner[kept]), outputs.select(first[kept]))
        return Proposals(pairs, owner[kept], sums[kept], len(inputs))

    def _paths(self, inputs: Strings, beam: int) -> tuple[Strings, Int64s, Floats]:
        """The likeliest strings of units that read each input, the input of each, its log-weight."""
        inputs = inputs.recoded(self.units.inputs, allow_unknown=True)
        machine = (beam, beam, self.units.arrays, self.tables)  # made once, before threads ask

        def decoded(low: int) -> tuple[Array, ...]:
            return joint_beam(inputs.codes, inputs.offsets[low : low + _PIECE + 1], *machine)

        lows = range(0, len(inputs), _PIECE)
        parts = thread_map(decoded, lows)
        codes = np.concatenate([np.empty(0, np.int32), *(part[0] for part in parts)])
        lengths = np.concatenate([np.zeros(1, np.int64), *(np.diff(part[1]) for part in parts)])
        owner = [part[2] + low for part, low in zip(parts, lows, strict=True)]
        logs = np.concatenate([np.empty(0), *(part[3] for part in parts)])
        strings = Strings(self.units.alphabet, codes, np.cumsum(lengths))
        return strings, np.concatenate([np.empty(0, np.int64), *owner]), logs


def where_read(rankings: list[Ranking], inputs: Strings, alphabet: Alphabet) -> list[Ranking]:
    """Rankings that are empty for inputs none of whose symbols is known."""
    codes = inputs.recoded(alphabet, allow_unknown=True).codes
    known = np.append(0, np.cumsum(codes >= 0))[inputs.offsets]
    unread = (np.diff(known) == 0) & (inputs.lengths > 0)
    return [[] if nothing else ranking for nothing, ranking in zip(unread, rankings, strict=True)]


def _hashes(strings: Strings) -> NDArray[np.uint64]:
    """A number for each string: different strings have different ones, but for 64-bit accidents."""
    place = np.arange(strings.n_symbols) - np.repeat(strings.offsets[:-1], strings.lengths)
    random = np.random.default_rng(0x5163).integers(0, 2**64, int(place.max(initial=0)) + 1, dtype=np.uint64)
    mixed = (strings.codes.astype(np.uint64) + np.uint64(1)) * (random[place] | np.uint64(1))
    mixed = (mixed ^ (mixed >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9)
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed, dtype=np.uint64)])
    return np.asarray(sums[strings.offsets[1:]] - sums[strings.offsets[:-1]], dtype=np.uint64)
