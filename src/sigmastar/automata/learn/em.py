"""The two halves of expectation-maximization for probabilistic automata.

`EMCorpus.expect` counts the expected moves of an automaton on the prefix trie of a corpus, exactly;
`maximize` makes them sum to one out of every state. Counts of shards add up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.data.trie import PrefixTrie
from sigmastar.automata.kernels.expectations import expected_counts
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Array, Floats, Int32s
from sigmastar.core.parallel import thread_map

_PSEUDO_COUNT = 0.5
_SHARD_BYTES = 6_000_000  # of the forward vectors of one shard, at most about
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
    """A part of a corpus as a trie, with the numbers of strings that end at and pass through each node."""

    trie: PrefixTrie
    ends: Array
    through: Floats

    @classmethod
    def of(cls, trie: PrefixTrie, dtype: type, weights: Floats | None = None) -> Shard:
        """Each string counted once, or with a weight."""
        return cls(trie, trie.end_counts(weights).astype(dtype), trie.through_counts(weights))

    def expect(self, weights: Sequence[Array], room: Array) -> MoveCounts:
        """Expected moves; `room`, for one vector per node, is overwritten."""
        trie, (initial, transitions, final) = self.trie, weights
        scales, endings, *counts = expected_counts(
            trie.parent, trie.symbol, trie.level_starts, self.ends, initial, transitions, final, room
        )
        with np.errstate(divide="ignore"):
            log_likelihood = self.through @ np.log(scales) + self.ends @ np.log(endings)
        return MoveCounts(float(log_likelihood), *(part.astype(np.float64) for part in counts))


class EMCorpus:
    """A corpus laid out for EM: tries of shards small enough that their vectors fit in memory."""

    def __init__(self, strings: Strings, n_states: int, dtype: type = np.float64) -> None:
        self.alphabet, self.n_strings, self.dtype = strings.alphabet, len(strings), dtype
        self.shards = [Shard.of(trie, dtype) for trie in _shards(strings, n_states, dtype)]
        self._rooms: list[Array] = []  # for the vectors of a shard, one per thread, used again and again

    def expect(self, automaton: WeightedAutomaton) -> MoveCounts:
        weights: list[Array] = [np.ascontiguousarray(w, self.dtype) for w in automaton.arrays]

        def counts_of(shard: Shard) -> MoveCounts:
            room = self._room(automaton.n_states)
            counts = shard.expect(weights, room)
            self._rooms.append(room)
            return counts

        counted = thread_map(counts_of, self.shards)
        return sum(counted[1:], start=counted[0])

    def _room(self, n_states: int) -> Array:
        """A room that no other thread has."""
        try:
            room = self._rooms.pop()
        except IndexError:
            room = np.empty((0, n_states), self.dtype)
        if room.shape[1] == n_states and room.size:
            return room
        return np.empty((max(shard.trie.n_nodes for shard in self.shards), n_states), self.dtype)


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


def _shards(strings: Strings, n_states: int, dtype: type) -> list[PrefixTrie]:
    whole = PrefixTrie.of(strings)
    n_bytes = whole.n_nodes * n_states * np.dtype(dtype).itemsize
    if n_bytes <= _SMALL:
        return [whole]
    n_shards = 2 * math.ceil(n_bytes / _SHARD_BYTES / 2)  # an even number keeps two cores busy to the end
    order = np.lexsort(
        [_symbols_at(strings, position) for position in (3, 2, 1, 0)]
    )  # neighbours share prefixes
    return [PrefixTrie.of(strings.select(part)) for part in np.array_split(order, n_shards)]


def _symbols_at(strings: Strings, position: int) -> Int32s:
    """The symbol of each string at a position, -1 past its end."""
    symbols = np.full(len(strings), -1, dtype=np.int32)
    long_enough = strings.lengths > position
    symbols[long_enough] = strings.codes[strings.offsets[:-1][long_enough] + position]
    return symbols
