"""The two halves of expectation-maximization for probabilistic automata.

`EMCorpus.expect` counts the expected moves of an automaton on a corpus, exactly;
`maximize` makes them sum to one out of every state. Counts of shards add up.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.gpu.weighted import TorchAutomaton
from sigmastar.automata.kernels.expectations import CutStrings, expected_counts
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Array, Floats, Int32s
from sigmastar.core.jit import vector_width
from sigmastar.core.resources import thread_map

_PSEUDO_COUNT = 0.5
_SHARD_BYTES = 16_000_000  # of the forward vectors of one shard, at most about
_SMALL = 500_000  # a corpus whose vectors take less is not worth a second thread


@dataclass(frozen=True, eq=False)
class MoveCounts:
    """Expected numbers of starts, moves and stops, and the log-likelihood under which they were counted."""

    log_likelihood: float
    initial: Floats
    transitions: Floats
    final: Floats

    def __add__(self, other: MoveCounts) -> MoveCounts:
        return MoveCounts(
            self.log_likelihood + other.log_likelihood,
            self.initial + other.initial,
            self.transitions + other.transitions,
            self.final + other.final,
        )


@dataclass(frozen=True, eq=False)
class Shard:
    """Distinct strings of a part of a corpus, cut in two, and how often each is met.

    `through` has for each node of the front and of the back trie how many strings pass or end there.
    """

    cut: CutStrings
    counts: Array
    through: tuple[Floats, Floats]

    @classmethod
    def of(cls, strings: Strings, dtype: type) -> Shard:
        cut = CutStrings.of(strings)
        counts = cut.counts()
        through = cut.front.through(cut.fronts, counts), cut.back.through(cut.backs, counts)
        return cls(cut, counts.astype(dtype), through)

    def expect(self, weights: tuple[Array, Array, Array], room: Array) -> MoveCounts:
        """Expected moves; `room`, for one vector per node, is overwritten."""
        found = expected_counts(self.cut, self.counts, weights, room)
        rows = (found.front_scales, found.back_scales, found.meetings)
        with np.errstate(divide="ignore"):
            logs = [
                np.log(row) @ times for row, times in zip(rows, (*self.through, self.counts), strict=True)
            ]
        parts = (found.starts, found.moves, found.stops)
        return MoveCounts(float(sum(logs)), *(part.astype(np.float64) for part in parts))


class ExpectsMoves(Protocol):
    """A corpus, wherever it lies, that counts the expected moves of an automaton."""

    @property
    def alphabet(self) -> Alphabet: ...
    @property
    def n_strings(self) -> int: ...

    def expect(self, automaton: WeightedAutomaton) -> MoveCounts: ...


class EMCorpus:
    """A corpus laid out for EM, in shards small enough that their vectors fit in memory."""

    def __init__(self, strings: Strings, n_states: int, dtype: type = np.float64) -> None:
        self.alphabet, self.n_strings, self.dtype = strings.alphabet, len(strings), dtype
        self.shards = [Shard.of(part, dtype) for part in _shards(strings, n_states, dtype)]
        self._rooms: list[Array] = []  # for the vectors of a shard, one per thread, used again and again

    def expect(self, automaton: WeightedAutomaton) -> MoveCounts:
        arrays: list[Array] = [np.ascontiguousarray(array, self.dtype) for array in automaton.arrays]
        initial, transitions, final = arrays

        def counts_of(shard: Shard) -> MoveCounts:
            room = self._room(automaton.n_states)
            counts = shard.expect((initial, transitions, final), room)
            self._rooms.append(room)
            return counts

        counted = thread_map(counts_of, self.shards)
        return sum(counted[1:], start=counted[0])

    def _room(self, n_states: int) -> Array:
        """A room that no other thread has."""
        try:
            room = self._rooms.pop()
        except IndexError:
            room = np.empty((0, 0), self.dtype)
        width = vector_width(n_states, room.itemsize)
        if room.shape[1] == width and room.size:
            return room
        return np.empty((max(shard.cut.n_nodes for shard in self.shards), width), self.dtype)


class TorchCorpus:
    """A corpus whose expected moves PyTorch counts, on a GPU where there is one."""

    def __init__(self, strings: Strings, dtype: type, device: str) -> None:
        self.alphabet, self.n_strings, self.strings = strings.alphabet, len(strings), strings
        self.device, self.precision = device, np.dtype(dtype).name

    def expect(self, automaton: WeightedAutomaton) -> MoveCounts:
        tensors = TorchAutomaton(*automaton.arrays, device=self.device, precision=self.precision)
        return MoveCounts(*tensors.expect(self.strings.codes, self.strings.offsets))


def laid_out(strings: Strings, n_states: int, dtype: type, device: str) -> EMCorpus | TorchCorpus:
    """A corpus for EM on a device."""
    return EMCorpus(strings, n_states, dtype) if device == "cpu" else TorchCorpus(strings, dtype, device)


Maximize = Callable[[Alphabet, MoveCounts], WeightedAutomaton]


def maximize(alphabet: Alphabet, counts: MoveCounts) -> WeightedAutomaton:
    """The automaton under which the counted moves are most likely."""
    return normalized(alphabet, counts.initial, counts.transitions, counts.final)


def normalized(alphabet: Alphabet, initial: Floats, moves: Floats, stops: Floats) -> WeightedAutomaton:
    """The proper automaton of weights that need not sum to one; states without any stop at once."""
    leaving = moves.sum(axis=(0, 2)) + stops
    dead = leaving <= 0
    leaving = np.where(dead, 1.0, leaving)
    return WeightedAutomaton(
        alphabet,
        initial / initial.sum(),
        moves / leaving[None, :, None],
        np.where(dead, 1.0, stops / leaving),
    )


def maximize_smoothed(alphabet: Alphabet, counts: MoveCounts) -> WeightedAutomaton:
    """The same after half a pseudo-count of every state's moves, spread as the symbols are: no zeros."""
    return maximize(alphabet, _with_chance(counts))


def maximize_hmm(alphabet: Alphabet, counts: MoveCounts) -> WeightedAutomaton:
    """The same for hidden Markov models: the symbol and the next state are drawn independently."""
    going = counts.transitions.sum(axis=(0, 2))
    leaving = going + counts.final
    dead = leaving <= 0
    safe = np.where(going <= 0, 1.0, going)
    emission = counts.transitions.sum(axis=2) / safe
    movement = (
        counts.transitions.sum(axis=0) / safe[:, None] * (going / np.where(dead, 1.0, leaving))[:, None]
    )
    return WeightedAutomaton(
        alphabet,
        counts.initial / counts.initial.sum(),
        emission[:, :, None] * movement[None],
        np.where(dead, 1.0, counts.final / np.where(dead, 1.0, leaving)),
    )


def maximize_hmm_smoothed(alphabet: Alphabet, counts: MoveCounts) -> WeightedAutomaton:
    """The same without zeros: a symbol that only held-out strings hold would make every score infinite."""
    return maximize_hmm(alphabet, _with_chance(counts))


def random_start(
    alphabet: Alphabet, n_states: int, strings: Strings, rng: np.random.Generator
) -> WeightedAutomaton:
    """Random moves around the unigram frequencies, with stops that give the mean length."""
    frequencies = np.bincount(strings.codes, minlength=len(alphabet)) + 0.5
    moves = rng.dirichlet(np.ones(n_states), size=(len(alphabet), n_states))
    emission = rng.gamma(5.0, size=(len(alphabet), n_states)) * (frequencies / frequencies.sum())[:, None]
    stop = len(strings) / max(strings.n_gaps, 1)
    emission *= (1.0 - stop) / np.maximum(emission.sum(axis=0), 1e-300)  # an alphabet may be empty
    return WeightedAutomaton(
        alphabet, rng.dirichlet(np.ones(n_states)), emission[:, :, None] * moves, np.full(n_states, stop)
    )


def split_states(
    automaton: WeightedAutomaton, rng: np.random.Generator, noise: float = 0.2
) -> WeightedAutomaton:
    """Every state twice, with half the moves to each copy and a little chance to tell them apart."""

    def shaken(weights: Floats) -> Floats:
        return weights * np.exp(noise * rng.standard_normal(weights.shape))

    moves = shaken(np.repeat(np.repeat(automaton.transitions, 2, axis=1), 2, axis=2) / 2)
    starts, stops = shaken(np.repeat(automaton.initial, 2)), shaken(np.repeat(automaton.final, 2))
    return maximize(automaton.alphabet, MoveCounts(0.0, starts, moves, stops))


def _with_chance(counts: MoveCounts) -> MoveCounts:
    n = len(counts.initial)
    frequencies = np.append(counts.transitions.sum(axis=(1, 2)), counts.final.sum())
    frequencies = np.maximum(frequencies, _PSEUDO_COUNT)  # symbols of the alphabet that this part lacks
    chance = _PSEUDO_COUNT * frequencies / frequencies.sum()
    return MoveCounts(
        counts.log_likelihood,
        counts.initial + _PSEUDO_COUNT / n,
        counts.transitions + chance[:-1, None, None] / n,
        counts.final + chance[-1],
    )


def _shards(strings: Strings, n_states: int, dtype: type) -> list[Strings]:
    """An even number keeps two cores busy to the end. No shard is smaller than the table that it fills."""
    width = n_states * np.dtype(dtype).itemsize
    n_bytes, table = strings.n_gaps * width, len(strings.alphabet) * n_states * width
    if n_bytes <= max(_SMALL, table):
        return [strings]
    n_shards = 2 * math.ceil(n_bytes / max(_SHARD_BYTES, table) / 2)
    order = np.lexsort(
        [_symbols_at(strings, position) for position in (3, 2, 1, 0)]
    )  # neighbours share prefixes
    return [strings.select(part) for part in np.array_split(order, n_shards)]


def _symbols_at(strings: Strings, position: int) -> Int32s:
    """The symbol of each string at a position, -1 past its end."""
    symbols = np.full(len(strings), -1, dtype=np.int32)
    long_enough = strings.lengths > position
    symbols[long_enough] = strings.codes[strings.offsets[:-1][long_enough] + position]
    return symbols
