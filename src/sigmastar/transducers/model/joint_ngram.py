"""A joint n-gram of alignment units as the machine that decodes: candidates for inputs, with their paths."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.ngram import NgramModel
from sigmastar.core.parallel import thread_map
from sigmastar.transducers.data.units import Units
from sigmastar.transducers.kernels.joint_beam import joint_beam

Array = NDArray[np.float64]
Longs = NDArray[np.int64]
Integers = NDArray[np.int32]
Tables = tuple[int, Array, Integers, Integers, Longs, Integers, Array, Array, Integers]

BEAM = 40
_PIECE = 64  # inputs decoded at a time by one thread


@dataclass(frozen=True, eq=False)
class Paths:
    """Strings of units with the input that each is for and its log-weight; those of an input together."""

    strings: Strings
    owner: Longs
    log_weights: Array


@dataclass(frozen=True, eq=False)
class JointNgram:
    """An n-gram whose symbols are units."""

    units: Units
    model: NgramModel

    @cached_property
    def tables(self) -> Tables:
        """The start, p(. | nothing) and what follows, the trie, its rows, and what follows each entry."""
        model, rows, contexts = self.model, self.model.rows, self.model.contexts
        end = len(self.units)
        owners = np.repeat(np.arange(contexts.n_classes, dtype=np.int32), np.diff(rows.row_starts))
        row_next = contexts.follow(owners, rows.outcomes)
        root = np.zeros(end, dtype=np.int32)
        base_next = contexts.follow(root, np.arange(end, dtype=np.int32))
        base = model.distributions(np.zeros(1, dtype=np.int32))[0]
        arrays = (contexts.parent, rows.row_starts, rows.outcomes, rows.own, rows.backoff, row_next)
        return contexts.start, base, base_next, *arrays

    def paths(self, inputs: Strings, beam: int = BEAM, n_best: int = BEAM) -> Paths:
        """The likeliest paths that read each input."""
        inputs = inputs.recoded(self.units.inputs, allow_unknown=True)
        machine: tuple[Any, ...] = (*self.units.arrays, *self.tables)  # made once, before threads ask

        def decoded(low: int) -> tuple[NDArray[Any], ...]:
            ends = inputs.offsets[low : low + _PIECE + 1]
            return joint_beam(inputs.codes, ends, beam, n_best, *machine)

        lows = range(0, len(inputs), _PIECE)
        parts = thread_map(decoded, lows)
        codes = np.concatenate([np.empty(0, np.int32), *(part[0] for part in parts)])
        lengths = np.concatenate([np.zeros(1, np.int64), *(np.diff(part[1]) for part in parts)])
        owner = [part[2] + low for part, low in zip(parts, lows, strict=True)]
        logs = np.concatenate([np.empty(0), *(part[3] for part in parts)])
        strings = Strings(self.units.alphabet, codes, np.cumsum(lengths))
        return Paths(strings, np.concatenate([np.empty(0, np.int64), *owner]), logs)
