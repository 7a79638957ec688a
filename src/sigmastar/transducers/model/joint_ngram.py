"""A joint n-gram of units: outputs that it proposes for inputs, its sums over alignments and over outputs.

Outputs are proposed by a beam (`kernels.beam`).

A cell (i, j) of the edit lattice holds the contexts that alignments of x[:i] with y[:j] end in, each with the
sum of their weights: alignments that agree in their context are one from there on.

    W(i, j, c') = sum over (edge u into (i, j) from (i', j'), context c with follow(c, u) = c') of
                  W(i', j', c) p(u | c)
    g(x, y)     = sum over c of W(n, m, c) p(end | c)

If outputs need not be told apart, paths that meet in a context at a position are one:

    W(i, c')    = sum over (unit u of x[i-p:i], context c with follow(c, u) = c') of W(i-p, c) p(u | c)
    g(x)        = sum over c of W(n, c) p(end | c) = sum over y of g(x, y)

Units without input lead from a position to itself: they are added round by round, until a round adds nothing.
Weights are mantissas and powers of two in the lattice, and along inputs relative to the heaviest of the
position that is looked at, so that long strings neither vanish nor overflow.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sigmastar.automata.data.contexts import place_in_row
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.ngram_smoothing import NgramModel
from sigmastar.core.alphabet import Symbol
from sigmastar.core.arrays import Array, Floats, Int32s, Int64s
from sigmastar.core.jit import kernel, part
from sigmastar.core.resources import thread_map
from sigmastar.core.scaling import add_numbers, grown, rescale_number
from sigmastar.transducers.data import (
    Lattice,
    PairCodes,
    StringPairs,
    UnitArrays,
    UnitKeys,
    Units,
    hashes_of,
)
from sigmastar.transducers.kernels.beam import NgramTables, joint_beam, reads
from sigmastar.transducers.model.aligner import UnitTable, edge_places, pair_codes

Ranking = list[tuple[tuple[Symbol, ...], float]]
"""Outputs, best first, with their shares."""

BEAM = 40
_PIECE, _MANY = 64, 2048  # inputs decoded at a time by one thread; pairs or inputs summed over
_ROUNDS = 1000  # of units without input in a row, at most
_NOTHING = 1e-14  # contexts that weigh no more, beside all of their position, lead nowhere
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


def _keys(strings: Strings, owners: Int64s) -> NDArray[np.uint64]:
    """A number for each string and its owner."""
    return hashes_of(strings) ^ (owners.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15))


@kernel
def step(node: int, outcome: int, ngram: NgramTables) -> tuple[float, int]:
    """p(outcome | node), and the context that follows; -1 after the end."""
    weight, total, following = 1.0, 0.0, -1
    while node > 0:
        place = place_in_row(outcome, ngram.outcomes, ngram.row_starts[node], ngram.row_starts[node + 1])
        if place >= 0:
            total += weight * ngram.own[place]
            if following < 0:
                following = ngram.row_next[place]
        weight *= ngram.backoff[node]
        node = ngram.parent[node]
    if following < 0 and outcome < len(ngram.base_next):
        following = ngram.base_next[outcome]
    return total + weight * ngram.base[outcome], following


@kernel
def ngram_lattice(lattice: Lattice, ngram: NgramTables) -> float:
    """log g of the pair whose lattice has these edges."""
    rows, columns, n_shapes = lattice.edges.shape
    heads = np.full((rows, columns), -1, np.int64)
    contexts, following = np.empty(256, np.int32), np.empty(256, np.int64)  # the next entry of the same cell
    weights, exponents = np.empty(256), np.empty(256, np.int64)
    contexts[0], following[0], weights[0], exponents[0] = ngram.start, -1, 1.0, 0
    heads[0, 0], size = 0, 1
    for i in range(rows):
        for j in range(columns):
            entry = heads[i, j]
            while entry >= 0:
                weights[entry], exponents[entry] = rescale_number(weights[entry], exponents[entry])
                for shape in range(n_shapes):
                    unit = lattice.edges[i, j, shape]
                    if unit < 0:
                        continue
                    p, after = step(contexts[entry], unit, ngram)
                    to = i + lattice.shapes[shape, 0], j + lattice.shapes[shape, 1]
                    at = heads[to]
                    while at >= 0 and contexts[at] != after:
                        at = following[at]
                    if at < 0:
                        contexts, following = grown(contexts, size + 1), grown(following, size + 1)
                        weights, exponents = grown(weights, size + 1), grown(exponents, size + 1)
                        at, size = size, size + 1
                        contexts[at], weights[at], following[at] = after, 0.0, heads[to]
                        heads[to] = at
                    more = weights[entry] * p
                    total = add_numbers(weights[at], exponents[at], more, exponents[entry])
                    weights[at], exponents[at] = total
                entry = following[entry]
    return _log_total(heads[-1, -1], contexts, following, weights, exponents, ngram)


@kernel
def _log_total(
    entry: int, contexts: Int32s, following: Int64s, weights: Floats, exponents: Int64s, ngram: NgramTables
) -> float:
    """log of the sum over the entries of the last cell, each times p(end)."""
    total, exponent = 0.0, 0
    while entry >= 0:
        p = step(contexts[entry], len(ngram.base) - 1, ngram)[0]
        total, exponent = add_numbers(total, exponent, weights[entry] * p, exponents[entry])
        entry = following[entry]
    return float(np.log(total) + exponent * np.log(2.0))


@kernel
def log_pair_sums(pairs: PairCodes, keys: UnitKeys, unit_of_place: Int64s, ngram: NgramTables) -> Floats:
    """log g(x, y) of every pair; -inf without alignment."""
    logs = np.empty(len(pairs.x_ends) - 1)
    for number in range(len(logs)):
        xs = pairs.x[pairs.x_ends[number] : pairs.x_ends[number + 1]]
        ys = pairs.y[pairs.y_ends[number] : pairs.y_ends[number + 1]]
        edges = edge_places(xs, ys, keys)
        for i in range(edges.shape[0]):
            for j in range(edges.shape[1]):
                for shape in range(edges.shape[2]):
                    if edges[i, j, shape] >= 0:
                        edges[i, j, shape] = unit_of_place[edges[i, j, shape]]
        logs[number] = ngram_lattice(Lattice(edges, keys.shapes), ngram)
    return logs


class Fronts(NamedTuple):
    """Weights of contexts at positions in turn, and two fronts more for units without input."""

    contexts: Int32s
    weights: Floats
    sizes: Int64s
    places: Int32s  # front x context: where it stands, or -1


@part
def _fronts(units: UnitArrays, ngram: NgramTables) -> Fronts:
    cycle = 2
    for length in units.input_lengths:
        cycle = max(cycle, length + 1)
    n_contexts = len(ngram.parent)
    shape = (cycle + 2, n_contexts)
    return Fronts(
        np.empty(shape, np.int32),
        np.empty(shape),
        np.zeros(cycle + 2, np.int64),
        np.full(shape, -1, np.int32),
    )


@kernel
def _add(fronts: Fronts, front: int, context: int, weight: float) -> None:
    at = fronts.places[front, context]
    if at < 0:
        at = fronts.sizes[front]
        fronts.places[front, context] = at
        fronts.contexts[front, at], fronts.weights[front, at] = context, 0.0
        fronts.sizes[front] += 1
    fronts.weights[front, at] += weight


@kernel
def _cleared(fronts: Fronts, front: int) -> None:
    for at in range(fronts.sizes[front]):
        fronts.places[front, fronts.contexts[front, at]] = -1
    fronts.sizes[front] = 0


@kernel
def _total(fronts: Fronts, front: int) -> float:
    total = 0.0
    for at in range(fronts.sizes[front]):
        total += fronts.weights[front, at]
    return total


@part
def _inserted(fronts: Fronts, front: int, units: UnitArrays, ngram: NgramTables) -> None:
    """Add to a front what units without input lead to from it."""
    n_inputs, cycle = len(units.first_starts) - 2, len(fronts.sizes) - 2
    low, high = units.first_starts[n_inputs], units.first_starts[n_inputs + 1]
    newest, following = cycle, cycle + 1
    for at in range(fronts.sizes[front] if high > low else 0):
        _add(fronts, newest, fronts.contexts[front, at], fronts.weights[front, at])
    for _ in range(_ROUNDS):
        if _total(fronts, newest) <= _NOTHING * _total(fronts, front):
            break
        for at in range(fronts.sizes[newest]):
            if fronts.weights[newest, at] <= _NOTHING:
                continue
            for place in range(low, high):
                unit = units.first_units[place]
                p, after = step(fronts.contexts[newest, at], unit, ngram)
                _add(fronts, following, after, fronts.weights[newest, at] * p)
        for at in range(fronts.sizes[following]):
            _add(fronts, front, fronts.contexts[following, at], fronts.weights[following, at])
        _cleared(fronts, newest)
        newest, following = following, newest
    _cleared(fronts, newest)


@part
def _input_sum(xs: Int32s, fronts: Fronts, units: UnitArrays, ngram: NgramTables) -> float:
    """log g(x) of one input."""
    n, cycle, log = len(xs), len(fronts.sizes) - 2, 0.0
    for front in range(cycle + 2):
        _cleared(fronts, front)
    _add(fronts, 0, ngram.start, 1.0)
    for i in range(n + 1):
        here = i % cycle
        scale = _total(fronts, here)
        if scale > 0.0:
            log += np.log(scale)
            for front in range(cycle):
                for at in range(fronts.sizes[front]):
                    fronts.weights[front, at] /= scale
            _inserted(fronts, here, units, ngram)
        if i == n:
            break
        for at in range(fronts.sizes[here] if xs[i] >= 0 else 0):
            context, weight = fronts.contexts[here, at], fronts.weights[here, at]
            if weight <= _NOTHING:
                continue
            for place in range(units.first_starts[xs[i]], units.first_starts[xs[i] + 1]):
                unit = units.first_units[place]
                if reads(xs, i, units.input_codes[unit], units.input_lengths[unit]):
                    p, after = step(context, unit, ngram)
                    _add(fronts, (i + units.input_lengths[unit]) % cycle, after, weight * p)
        _cleared(fronts, here)
    total = 0.0
    for at in range(fronts.sizes[n % cycle]):
        p = step(fronts.contexts[n % cycle, at], len(ngram.base) - 1, ngram)[0]
        total += fronts.weights[n % cycle, at] * p
    return float(log + np.log(total))


@kernel
def log_input_sums(x: Int32s, x_ends: Int64s, units: UnitArrays, ngram: NgramTables) -> Floats:
    """log g(x) of every input; -inf where no units read it."""
    logs, fronts = np.empty(len(x_ends) - 1), _fronts(units, ngram)
    for number in range(len(logs)):
        logs[number] = _input_sum(x[x_ends[number] : x_ends[number + 1]], fronts, units, ngram)
    return logs
