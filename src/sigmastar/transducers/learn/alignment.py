"""The EM aligner: unit probabilities from unaligned pairs.

A bag of units, p(alignment) = prod theta(u), fitted by EM from a uniform start. Left to itself EM likes
long units, since fewer of them are multiplied: expected counts of a unit of p + q > 2 symbols are
multiplied by `long_units` before they are normalised. In the end only units of best alignments are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sigmastar.automata.data.strings import require_known
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.errors import InputError
from sigmastar.transducers.data.string_pairs import StringPairs, require_pairs
from sigmastar.transducers.data.units import SHAPES, Shape, Unit, Units
from sigmastar.transducers.kernels.alignment import NO_KEY, best_alignments, expected_counts, fill_keys
from sigmastar.transducers.model.aligner import Aligner, LatticeCorpus, key_radix

Array = NDArray[np.float64]
Longs = NDArray[np.int64]

N_ITERATIONS = 10
LONG_UNITS = 0.1


@dataclass(frozen=True, eq=False)
class AlignerFit:
    """An aligner, and the log-likelihood before every step."""

    aligner: Aligner
    log_likelihoods: tuple[float, ...]


def learn_aligner(
    pairs: StringPairs,
    shapes: Sequence[Shape] = SHAPES,
    n_iterations: int = N_ITERATIONS,
    long_units: float = LONG_UNITS,
) -> AlignerFit:
    """Fit unit probabilities by EM."""
    require_pairs(pairs)
    shapes = _checked(shapes)
    corpus = _corpus(pairs, shapes)
    table = _keys(corpus)
    liking = _liking(table, corpus[5], long_units)
    theta = np.where(table == NO_KEY, 0.0, liking)
    theta /= theta.sum()
    likelihoods: list[float] = []
    logs = np.empty(len(pairs))
    for _ in range(n_iterations):
        counts = expected_counts(*corpus, table, theta, _tilt(likelihoods, pairs), logs)
        known = np.isfinite(logs)
        if not known.any():
            raise InputError(f"no pair can be aligned by units of shapes {_listed(shapes)}; allow more")
        likelihoods.append(float(logs[known].sum()))
        theta = counts * liking
        theta /= theta.sum()
    return AlignerFit(_kept(pairs, corpus, table, theta), tuple(likelihoods))


def _kept(pairs: StringPairs, corpus: LatticeCorpus, table: Longs, theta: Array) -> Aligner:
    """The aligner of those units that best alignments use."""
    with np.errstate(divide="ignore"):
        places, *_ = best_alignments(*corpus, table, np.log(theta), 1)
    used = np.unique(places)
    inputs, outputs = pairs.inputs.alphabet, pairs.outputs.alphabet
    found = [_unit(key, corpus[5].tolist(), inputs, outputs) for key in table[used].tolist()]
    order = sorted(range(len(found)), key=lambda at: tuple(map(str, found[at])))
    kept = theta[used][order]
    return Aligner(Units(Alphabet(found[at] for at in order), inputs, outputs), kept / kept.sum())


def _unit(key: int, radix: list[int], inputs: Alphabet, outputs: Alphabet) -> Unit:
    sides: list[list[int]] = [[], []]
    for side in (1, 0):
        for _ in range(radix[2 + side]):
            key, code = divmod(key, radix[side])
            sides[side] = [code - 1, *sides[side]] if code else sides[side]
    return inputs.decode(sides[0]), outputs.decode(sides[1])


def _corpus(pairs: StringPairs, shapes: tuple[Shape, ...]) -> LatticeCorpus:
    left, right = require_known(pairs.inputs), require_known(pairs.outputs)
    radix = key_radix(left.alphabet, right.alphabet, shapes)
    return left.codes, left.offsets, right.codes, right.offsets, np.array(shapes, dtype=np.int64), radix


def _keys(corpus: LatticeCorpus) -> Longs:
    size = 1 << 12
    while True:
        table = np.full(size, NO_KEY, dtype=np.int64)
        if fill_keys(*corpus, table) >= 0:
            return table
        size *= 4


def _liking(table: Longs, radix: Longs, long_units: float) -> Array:
    """1, and `long_units` for units of more than two symbols."""
    lengths, rest = np.zeros(len(table), dtype=np.int64), np.maximum(table, 0)
    for side in (1, 0):
        for _ in range(int(radix[2 + side])):
            rest, digit = np.divmod(rest, radix[side])
            lengths += digit > 0
    return np.where(lengths > 2, long_units, 1.0)


def _tilt(log_likelihoods: Sequence[float], pairs: StringPairs) -> float:
    """The factor a symbol that brings the mean pair to one."""
    n_symbols = pairs.inputs.n_symbols + pairs.outputs.n_symbols
    return float(np.exp(-log_likelihoods[-1] / max(n_symbols, 1))) if log_likelihoods else 100.0


def _checked(shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    found = tuple(dict.fromkeys((int(p), int(q)) for p, q in shapes))
    if not found or any(p < 0 or q < 0 or p + q == 0 for p, q in found):
        raise ValueError(f"shapes {shapes!r}: give pairs of numbers such as (1, 1) or (1, 0), not (0, 0)")
    return found


def _listed(shapes: Sequence[Shape]) -> str:
    return ", ".join(f"{p}-{q}" for p, q in shapes)
