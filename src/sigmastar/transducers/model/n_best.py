"""Outputs proposed for inputs by a joint n-gram of units, and its sums over alignments and over outputs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.ngram import NgramModel
from sigmastar.core.alphabet import Alphabet, Symbol
from sigmastar.core.arrays import Array, Floats, Int64s
from sigmastar.core.resources import thread_map
from sigmastar.transducers.data import StringPairs, Units
from sigmastar.transducers.kernels.alignment import PairCodes
from sigmastar.transducers.kernels.beam import joint_beam
from sigmastar.transducers.kernels.ngram_sums import NgramTables, log_input_sums, log_pair_sums
from sigmastar.transducers.model.aligner import UnitTable, pair_codes

Ranking = list[tuple[tuple[Symbol, ...], float]]
"""Outputs, best first, with their shares."""

BEAM = 40
_PIECE, _MANY = 64, 2048  # inputs decoded at a time by one thread; pairs or inputs summed over
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

    def log_totals(self, scores: Floats) -> Floats:
        """log of the sum of exp(scores) over the proposals of the same input, for every proposal."""
        if not len(scores):
            return scores
        sizes = np.diff(np.append(self.starts, len(scores)))
        return np.repeat(np.logaddexp.reduceat(scores, self.starts), sizes)

    def ranked(self, logs: Floats, n_best: int) -> list[Ranking]:
        """The best outputs of each input by the logarithms of their shares."""
        rankings: list[Ranking] = [[] for _ in range(self.n_inputs)]
        order = np.lexsort((-logs, self.owner))
        rank = np.arange(len(order)) - np.searchsorted(self.owner[order], self.owner[order])
        for at in order[rank < n_best].tolist():
            rankings[int(self.owner[at])].append((self.pairs.outputs[at], float(np.exp(logs[at]))))
        return rankings

    def places(self, outputs: Strings, owner: Int64s) -> Int64s:
        """Where each output stands among the proposals of its owner; -1 where it is none of them."""
        listed = _keys(self.pairs.outputs, self.owner)
        wanted = _keys(outputs.recoded(self.pairs.outputs.alphabet, allow_unknown=True), owner)
        order = np.argsort(listed)
        at = np.searchsorted(listed, wanted, sorter=order)
        found = order[np.minimum(at, len(order) - 1)] if len(order) else np.zeros(len(wanted), np.int64)
        same = listed[found] == wanted if len(order) else np.zeros(len(wanted), bool)
        return np.where(same, found, -1)

    def draw(self, logs: Floats, owner: Int64s, rng: np.random.Generator) -> Strings:
        """An output for each owner, of those proposed for it, by the logarithms of their shares."""
        sums = np.append(0.0, np.cumsum(np.exp(logs)))
        low, high = (np.searchsorted(self.owner, owner, side=side) for side in ("left", "right"))
        wanted = sums[low] + rng.random(len(owner)) * (sums[high] - sums[low])
        at = np.clip(np.searchsorted(sums, wanted, side="right") - 1, low, high - 1)
        return self.pairs.outputs.select(at)


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

    @cached_property
    def table(self) -> UnitTable:
        return UnitTable.of(self.units)

    def log_sums(self, pairs: StringPairs) -> Floats:
        """log g(x, y), the sum over all alignments; -inf where there is none."""
        coded = pair_codes(pairs.recoded(self.units.inputs, self.units.outputs, allow_unknown=True))
        table, tables = self.table, self.tables  # made once, before threads ask

        def summed(low: int) -> Floats:
            part = PairCodes(
                coded.x, coded.x_ends[low : low + _MANY + 1], coded.y, coded.y_ends[low : low + _MANY + 1]
            )
            return log_pair_sums(part, table.keys, table.unit, tables)

        return np.concatenate([np.empty(0), *thread_map(summed, range(0, len(pairs), _MANY))])

    def log_input_sums(self, inputs: Strings) -> Floats:
        """log g(x), the sum over all outputs; -inf where no units read x."""
        inputs = inputs.recoded(self.units.inputs, allow_unknown=True)
        machine = (self.units.arrays, self.tables)

        def summed(low: int) -> Floats:
            return log_input_sums(inputs.codes, inputs.offsets[low : low + _MANY + 1], *machine)

        return np.concatenate([np.empty(0), *thread_map(summed, range(0, len(inputs), _MANY))])

    def propose(self, inputs: Strings, n_best: int, beam: int = BEAM) -> Proposals:
        """The `n_best` heaviest distinct outputs of each input."""
        paths, owners, logs = self._paths(inputs, beam)
        outputs = self.units.spell(paths).outputs
        keys = _keys(outputs, owners)
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


def where_read(rankings: list[Ranking], inputs: Strings, units: Units) -> list[Ranking]:
    """Rankings that are empty for inputs none of whose symbols is known.

    An unknown symbol may spell any output symbol or none, all alike: the share of outputs without anything
    for it is divided by their number.
    """
    codes = inputs.recoded(units.inputs, allow_unknown=True).codes
    unknown = np.diff(np.append(0, np.cumsum(codes < 0))[inputs.offsets])
    if not unknown.any():
        return rankings
    unread = (unknown == inputs.lengths) & (inputs.lengths > 0)
    factors = (1.0 + len(units.outputs)) ** -unknown.astype(np.float64)
    return [
        [] if nothing else [(output, share * factor) for output, share in ranking]
        for nothing, factor, ranking in zip(unread, factors.tolist(), rankings, strict=True)
    ]


def distinct(strings: Strings) -> tuple[Int64s, Int64s]:
    """Where each string that differs from all before stands first, and the number of each string."""
    _, first, number = np.unique(_hashes(strings), return_index=True, return_inverse=True)
    return first, number


def joined(first: Strings, second: Strings) -> Strings:
    """Strings over one alphabet, one corpus behind the other."""
    offsets = np.append(first.offsets, first.offsets[-1] + second.offsets[1:])
    return Strings(first.alphabet, np.concatenate([first.codes, second.codes]), offsets)


def known_symbols(inputs: Strings, alphabet: Alphabet) -> Strings:
    """Inputs without the symbols that an alphabet lacks."""
    coded = inputs.recoded(alphabet, allow_unknown=True)
    kept = coded.codes >= 0
    ends = np.append(0, np.cumsum(kept))[coded.offsets]
    return coded if kept.all() else Strings(alphabet, coded.codes[kept], ends)


def _keys(strings: Strings, owners: Int64s) -> NDArray[np.uint64]:
    """A number for each string and its owner."""
    return _hashes(strings) ^ (owners.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15))


def _hashes(strings: Strings) -> NDArray[np.uint64]:
    """A number for each string: different strings have different ones, but for 64-bit accidents."""
    place = np.arange(strings.n_symbols) - np.repeat(strings.offsets[:-1], strings.lengths)
    random = np.random.default_rng(0x5163).integers(0, 2**64, int(place.max(initial=0)) + 1, dtype=np.uint64)
    mixed = (strings.codes.astype(np.uint64) + np.uint64(2)) * (random[place] | np.uint64(1))
    mixed = (mixed ^ (mixed >> np.uint64(31))) * np.uint64(0xBF58476D1CE4E5B9)
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed, dtype=np.uint64)])
    return np.asarray(sums[strings.offsets[1:]] - sums[strings.offsets[:-1]], dtype=np.uint64)
