"""Marginals of refined tags: every token has a few candidate tags, every tag its states.

    alpha_i = (alpha_{i-1} P) o e(x_i),         beta_{i-1} = P (e(x_i) o beta_i)
    mu(i, a) = sum_{z in a} alpha beta,         mu(i, a, b) = sum_{z in a, z' in b} alpha P e beta

The emissions of candidate c, one per state of its tag, stand in row `rows[c]`. Vectors are rescaled at every
token and the scales carried as logarithms. Tables are flat, as in `chains`.
Tutorial of Balle, Carreras and Quattoni (2014), "Prediction with WFTaggers".
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sigmastar.core.arrays import Floats, Int64s
from sigmastar.core.jit import fast_kernel, part
from sigmastar.taggers.kernels.chains import Lattice, Marginals


class Moves(NamedTuple):
    """A refined tagger; states whose share of alpha is at most `least` lead nowhere."""

    states: Int64s
    initial: Floats
    transitions: Floats
    backwards: Floats  # the transposed transitions
    final: Floats
    least: float


class Emissions(NamedTuple):
    """e(x) of candidates, one row each: candidate c has row `rows[c]`."""

    values: Floats
    rows: Int64s


class _Room(NamedTuple):
    beta: Floats
    weighted: Floats
    part: Floats


@fast_kernel
def refined_marginals(
    lattice: Lattice, low: int, high: int, moves: Moves, emissions: Emissions, found: Marginals
) -> None:
    """Fill the marginals of sentences low..high; logs get the logarithm of each normalizer."""
    offsets, types = lattice.offsets, lattice.types
    widest, longest = 1, 1
    for s in range(low, high):
        longest = max(longest, offsets[s + 1] - offsets[s])
        for i in range(offsets[s], offsets[s + 1]):
            widest = max(widest, _n_states(types[i], lattice, moves.states))
    alpha, room = np.zeros((longest, widest)), _Room(np.zeros(widest), np.zeros(widest), np.zeros(widest))
    for s in range(low, high):
        first, last = offsets[s], offsets[s + 1]
        if first == last:
            continue
        total = 0.0
        for i in range(first, last):
            row, x = alpha[i - first], types[i]
            if i == first:
                _begin(row, x, lattice, moves.states, moves.initial)
            else:
                _move(alpha[i - 1 - first], row, types[i - 1], x, lattice, moves)
            total += np.log(_meet(row, x, lattice, moves.states, emissions))
        _begin(room.beta, types[last - 1], lattice, moves.states, moves.final)
        for i in range(last - 1, first - 1, -1):
            row, x, here = alpha[i - first], types[i], found.unigrams[lattice.token_starts[i] :]
            mass = _unigrams(row, room, x, lattice, moves.states, emissions, here)
            if i == last - 1:
                total += np.log(mass)
            if i > first:
                pairs = found.bigrams[lattice.block_starts[i] :]
                _move_back(alpha[i - 1 - first], row, room, types[i - 1], x, lattice, moves, pairs)
        found.logs[s] = total


@part
def _n_states(x: int, lattice: Lattice, states: Int64s) -> int:
    """Of all candidates of a type."""
    count = 0
    for c in range(lattice.starts[x], lattice.starts[x + 1]):
        count += states[lattice.tags[c] + 1] - states[lattice.tags[c]]
    return count


@part
def _begin(row: Floats, x: int, lattice: Lattice, states: Int64s, edge: Floats) -> None:
    """The weights of the states of a type at the edge of a sentence."""
    at = 0
    for c in range(lattice.starts[x], lattice.starts[x + 1]):
        for z in range(states[lattice.tags[c]], states[lattice.tags[c] + 1]):
            row[at] = edge[z]
            at += 1


@part
def _move(before: Floats, row: Floats, y: int, x: int, lattice: Lattice, moves: Moves) -> None:
    """row = before P, from the states of type y to those of type x."""
    starts, tags, states, at = lattice.starts, lattice.tags, moves.states, 0
    for c in range(starts[x], starts[x + 1]):
        z0, width = states[tags[c]], states[tags[c] + 1] - states[tags[c]]
        here = row[at : at + width]
        here[:] = 0.0
        k = 0
        for d in range(starts[y], starts[y + 1]):
            for w in range(states[tags[d]], states[tags[d] + 1]):
                value = before[k]
                k += 1
                if value > moves.least:
                    arrow = moves.transitions[w, z0 : z0 + width]
                    for j in range(width):
                        here[j] += value * arrow[j]
        at += width


@part
def _meet(row: Floats, x: int, lattice: Lattice, states: Int64s, emissions: Emissions) -> float:
    """row o e(x), rescaled to sum to one; the sum it had."""
    starts, tags, values, rows = lattice.starts, lattice.tags, emissions.values, emissions.rows
    mass, at = 0.0, 0
    for c in range(starts[x], starts[x + 1]):
        width, emitted = states[tags[c] + 1] - states[tags[c]], values[rows[c]]
        for j in range(width):
            row[at + j] *= emitted[j]
            mass += row[at + j]
        at += width
    if mass <= 0.0:  # nothing leads here: begin anew with the emissions of the word alone
        at = 0
        for c in range(starts[x], starts[x + 1]):
            for j in range(states[tags[c] + 1] - states[tags[c]]):
                row[at] = values[rows[c], j] + 1e-300
                mass += row[at]
                at += 1
    for j in range(at):
        row[j] /= mass
    return mass


@part
def _unigrams(
    row: Floats, room: _Room, x: int, lattice: Lattice, states: Int64s, emissions: Emissions, found: Floats
) -> float:
    """mu(i, a) of each candidate; `room.weighted` gets e(x) o beta. The mass of all is returned."""
    starts, tags, beta = lattice.starts, lattice.tags, room.beta
    mass, at = 0.0, 0
    for c in range(starts[x], starts[x + 1]):
        width, emitted = states[tags[c] + 1] - states[tags[c]], emissions.values[emissions.rows[c]]
        mu = 0.0
        for j in range(width):
            mu += row[at + j] * beta[at + j]
            room.weighted[at + j] = emitted[j] * beta[at + j]
        found[c - starts[x]] = mu
        mass += mu
        at += width
    mass = max(mass, 1e-300)
    for c in range(starts[x + 1] - starts[x]):
        found[c] /= mass
    return mass


@part
def _move_back(
    before: Floats,
    row: Floats,
    room: _Room,
    y: int,
    x: int,
    lattice: Lattice,
    moves: Moves,
    found: Floats,
) -> None:
    """mu(i, a, b) of each pair of candidates; beta = P weighted, from type x to type y, its largest one."""
    starts, tags, states, beta, some = lattice.starts, lattice.tags, moves.states, room.beta, room.part
    top, pairs, k, pair = 0.0, 0.0, 0, 0
    for d in range(starts[y], starts[y + 1]):
        w0, wide = states[tags[d]], states[tags[d] + 1] - states[tags[d]]
        sums, at = beta[k : k + wide], 0
        sums[:] = 0.0
        for c in range(starts[x], starts[x + 1]):
            some[:wide] = 0.0
            for z in range(states[tags[c]], states[tags[c] + 1]):
                if row[at] > moves.least:
                    value, arrow = room.weighted[at], moves.backwards[z, w0 : w0 + wide]
                    for h in range(wide):
                        some[h] += value * arrow[h]
                at += 1
            mu = 0.0
            for h in range(wide):
                mu += before[k + h] * some[h]
                sums[h] += some[h]
            found[pair] = mu
            pairs += mu
            pair += 1
        for h in range(wide):
            top = max(top, sums[h])
        k += wide
    _scale_back(beta[:k], top, found[:pair], pairs)


@part
def _scale_back(beta: Floats, top: float, found: Floats, pairs: float) -> None:
    """Pairs to sum to one, the largest entry of beta to one; ones where all are zero."""
    for p in range(len(found)):
        found[p] /= max(pairs, 1e-300)
    if top <= 0.0:
        beta[:] = 1.0
        top = 1.0
    for h in range(len(beta)):
        beta[h] /= top
