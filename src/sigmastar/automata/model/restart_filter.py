"""Automata read through the restart filter: next-symbol distributions that are proper, from any operators.

At each step the automaton's own prediction, clipped at zero and made to sum to one, is mixed with a
back-off distribution, and the state with the restart state of the current context class r:

    q(y)  = max(s A_y one, 0) / Z
    p(y)  = (1 - e_r) q(y) + e_r g(y | r)
    s'    = [(1 - e_r) s A_y / Z + e_r g(y | r) W_r'] / p(y)         (first term only where q(y) > 0)

so a state that has strayed is pulled back exactly as far as its prediction failed, and the loss per
symbol is at most the back-off model's plus log(1 / e_r). States are rows with `s . one = 1`; one that
has grown beyond the limit all the same, on strings unlike those that were learnt from, is replaced by W_r'.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sigmastar.automata.data.strings import PrefixTrie, Strings
from sigmastar.automata.kernels.values import gap_nodes
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.ngram_smoothing import NgramModel
from sigmastar.automata.model.sequence import sample_lockstep
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Array, Floats, Indices, Int32s, Int64s
from sigmastar.core.jit import fast_kernel, kernel, part
from sigmastar.core.model_reading import above, below
from sigmastar.core.notebook import Shown
from sigmastar.core.stored_parts import Parts, floats

CELLS = 1 << 20  # next-symbol weights held at a time


class FilterTrie(NamedTuple):
    """A trie, and what the back-off model gives along it: all that does not depend on the automaton."""

    parent: Int32s
    symbol: Int32s
    level_starts: Int64s
    classes: Int32s
    edge_backoff: Floats  # g(symbol | class of the parent), for each node
    end_backoff: Floats  # g(end | class), for each node


class FilterWeights(NamedTuple):
    """The automaton, and how it is mixed with the back-off model."""

    initial: Array
    transitions: Array
    readout: Array  # a column `A_y one` for each symbol, and `final` last
    restarts: Array
    mixing: Floats
    limit: float  # of the coordinates of a state: what `one` does not see may grow without bound


class _Room(NamedTuple):
    """What the filter works in: states of two levels, some rows of them, and some weights of outcomes."""

    states: Array
    following: Array
    totals: Floats
    gathered: Array
    weights: Array


def filter_trie(trie: FilterTrie, weights: FilterWeights, predictions: Array) -> tuple[Floats, Floats]:
    """Filter every prefix of a trie.

    Returns for every node q of its edge (1 for the root) and q of an end there; where the automaton has no
    prediction, g takes its place.
    `predictions`, if it has rows, receives all of q for every node, or zeros where there is none.
    """
    own = np.ones(len(trie.parent)), np.zeros(len(trie.parent))
    widest = int(np.diff(trie.level_starts).max())
    (n_states, n_outcomes), dtype = weights.readout.shape, weights.readout.dtype
    room = _Room(
        np.empty((widest, n_states), dtype),
        np.empty((widest, n_states), dtype),
        np.empty(widest),
        np.empty((min(widest, max(1, CELLS // n_states)), n_states), dtype),
        np.empty((min(widest, max(1, CELLS // n_outcomes)), n_outcomes), dtype),
    )
    room.states[0] = weights.initial
    _filter_trie(trie, weights, np.ascontiguousarray(weights.readout.T), room, own, predictions)
    return own


@kernel
def _filter_trie(
    trie: FilterTrie,
    weights: FilterWeights,
    columns: Array,
    room: _Room,
    own: tuple[Floats, Floats],
    predictions: Array,
) -> None:
    level_starts, states, following = trie.level_starts, room.states, room.following
    for level in range(len(level_starts) - 1):
        first, end = level_starts[level], level_starts[level + 1]
        _read_out(states, end - first, weights.readout, room, predictions, first)
        for node in range(first, end):
            total = room.totals[node - first]
            stop_weight = max(_dot(states, node - first, columns, len(columns) - 1), 0.0)
            own[1][node] = stop_weight / total if total > 0.0 else trie.end_backoff[node]
        if level + 2 == len(level_starts):
            break
        _move(
            trie, (first, end, level_starts[level + 2]), weights.transitions, room.gathered, states, following
        )
        for node in range(end, level_starts[level + 2]):
            row, code, rate = (
                trie.parent[node] - first,
                trie.symbol[node],
                weights.mixing[trie.classes[trie.parent[node]]],
            )
            weight = max(_dot(states, row, columns, code), 0.0) if code >= 0 else 0.0
            total, from_backoff = room.totals[row], rate * trie.edge_backoff[node]
            own[0][node] = weight / total if total > 0.0 else trie.edge_backoff[node]
            kept, share = 0.0, 1.0
            if weight > 0.0 and total > 0.0:
                probability = (1.0 - rate) * own[0][node] + from_backoff
                kept, share = (1.0 - rate) / (total * probability), from_backoff / probability
            _pull_back(following, node - end, kept, share, weights, trie.classes[node])
        states, following = following, states


@kernel
def sums_along(parent: Int32s, values: Floats) -> Floats:
    """For each node of a trie the sum of the values on the way to it, its own included."""
    sums = values.copy()
    for node in range(1, len(parent)):
        sums[node] += sums[parent[node]]
    return sums


@fast_kernel
def _dot(first: Array, row: int, second: Array, other: int) -> float:
    total = 0.0
    for k in range(first.shape[1]):
        total += first[row, k] * second[other, k]
    return total


@fast_kernel
def _clipped_sum(weights: Array) -> float:
    total = 0.0
    for outcome in range(len(weights)):
        total += max(weights[outcome], 0.0)
    return total


@part
def _pull_back(
    states: Array, row: int, kept: float, share: float, weights: FilterWeights, restart: int
) -> None:
    """state <- kept state + share restart, in place; the restart alone if that strays too far."""
    restarts, is_near = weights.restarts, True
    for k in range(states.shape[1]):
        states[row, k] = kept * states[row, k] + share * restarts[restart, k]
        is_near &= abs(states[row, k]) < weights.limit  # not true of NaN
    if not is_near:
        for k in range(states.shape[1]):
            states[row, k] = restarts[restart, k]


@part
def _read_out(
    states: Array, n_rows: int, readout: Array, room: _Room, predictions: Array, first: int
) -> None:
    """What the clipped weights of all outcomes sum to in each state; q into `predictions` if it has rows.

    A piece of the states at a time: with a large alphabet the weights of a whole level may be too many.
    """
    n_outcomes, at_once = readout.shape[1], len(room.weights)
    for begin in range(0, n_rows, at_once):
        end = min(begin + at_once, n_rows)
        weights = np.dot(states[begin:end], readout, room.weights[: end - begin])
        for row in range(end - begin):
            total = _clipped_sum(weights[row])
            room.totals[begin + row] = total
            if len(predictions) and total > 0.0:
                for outcome in range(n_outcomes):
                    predictions[first + begin + row, outcome] = max(weights[row, outcome], 0.0) / total


@part
def _move(
    trie: FilterTrie,
    level: tuple[int, int, int],
    transitions: Array,
    gathered: Array,
    states: Array,
    moved: Array,
) -> None:
    """The state of each parent times the operator of its symbol; none for unknown symbols."""
    first, end, after = level
    run = end
    while run < after:
        code, stop = trie.symbol[run], run
        while stop < after and stop < run + len(gathered) and trie.symbol[stop] == code:
            for state in range(states.shape[1]):
                gathered[stop - run, state] = states[trie.parent[stop] - first, state]
            stop += 1
        if code >= 0:
            np.dot(gathered[: stop - run], transitions[code], moved[run - end : stop - end])
        run = stop


FARTHEST = 10.0  # times the farthest state to restart from: what strays beyond it starts anew
FilterStates = tuple[Floats, Int32s]
"""The states of many strings that are read together, and their context classes."""


class FilterRun(NamedTuple):
    """The automaton's own probability of each node's edge, and of an end there: see `filter_trie`."""

    edge_own: Floats
    end_own: Floats


@dataclass(frozen=True, eq=False)
class FilteredAutomaton(Shown):
    """An automaton, a back-off model of next symbols, and how they mix in each context class."""

    automaton: WeightedAutomaton
    mass: Floats  # the vector `one`: a state s is normalized to s . mass = 1
    backoff: NgramModel
    restarts: Floats  # classes x n: the state to restart from in each context class
    mixing: Floats  # classes: the weight of the back-off model

    @property
    def alphabet(self) -> Alphabet:
        return self.automaton.alphabet

    @cached_property
    def readout(self) -> Floats:
        """Columns `A_y one` for each symbol, and `final`."""
        columns = np.vstack([self.automaton.transitions @ self.mass, self.automaton.final])
        return np.ascontiguousarray(columns.T)

    @cached_property
    def start(self) -> Floats:
        mass = self.automaton.initial @ self.mass
        return self.automaton.initial / mass if mass > 0 else self.restarts[self.backoff.contexts.start]

    @cached_property
    def limit(self) -> float:
        """How far a state may stray: those to restart from show how far states go."""
        return FARTHEST * max(1.0, float(np.abs(self.restarts).max(initial=0.0)))

    def with_mixing(self, mixing: Floats) -> FilteredAutomaton:
        return replace(self, mixing=mixing)

    def leading(self, n_states: int) -> FilteredAutomaton:
        """The leading states of an automaton whose smaller ranks are its leading blocks."""
        n = n_states
        part = self.automaton.leading(n)
        return FilteredAutomaton(part, self.mass[:n], self.backoff, self.restarts[:, :n], self.mixing)

    def walk(self, trie: PrefixTrie) -> FilterTrie:
        """A trie as the back-off model sees it."""
        classes = self.backoff.contexts.classify_prefixes(trie)
        ends = np.full(trie.n_nodes, len(self.alphabet), dtype=np.int32)
        edge_backoff = self.backoff.probabilities(classes[trie.parent], trie.symbol)
        end_backoff = self.backoff.probabilities(classes, ends)
        return FilterTrie(trie.parent, trie.symbol, trie.level_starts, classes, edge_backoff, end_backoff)

    def run(
        self, walk: FilterTrie, predictions: Floats | None = None, dtype: type[np.floating[Any]] = np.float64
    ) -> FilterRun:
        """Filter every prefix; float32 is enough to compare models by."""
        weights = FilterWeights(
            np.ascontiguousarray(self.start, dtype),
            np.ascontiguousarray(self.automaton.transitions, dtype),
            np.ascontiguousarray(self.readout, dtype),
            np.ascontiguousarray(self.restarts, dtype),
            self.mixing,
            self.limit,
        )
        return FilterRun(
            *filter_trie(walk, weights, np.zeros((0, 0)) if predictions is None else predictions)
        )

    def log_probability(self, strings: Strings) -> Floats:
        trie = PrefixTrie.of(Strings.of(strings, None, self.alphabet, True))
        return log_products(trie, *self.step_probabilities(trie))

    def step_probabilities(self, trie: PrefixTrie) -> tuple[Floats, Floats]:
        """For every node of a trie the probability of the symbol that leads to it, and of an end there."""
        walk = self.walk(trie)
        run, rates = self.run(walk), self.mixing[walk.classes]
        before = rates[trie.parent]
        before[0] = 0.0  # nothing is read before the root
        edges: Floats = (1.0 - before) * run.edge_own + before * walk.edge_backoff
        ends: Floats = (1.0 - rates) * run.end_own + rates * walk.end_backoff
        return edges, ends

    def gap_distributions(self, strings: Strings) -> Floats:
        strings = Strings.of(strings, None, self.alphabet, True)
        trie = PrefixTrie.of(strings)
        predictions = np.zeros((trie.n_nodes, len(self.alphabet) + 1))
        walk = self.walk(trie)
        self.run(walk, predictions)
        mixed = self._mix(predictions, walk.classes)
        return mixed[gap_nodes(trie.parent, trie.string_node, strings.offsets)]

    def sample(self, n_strings: int, rng: np.random.Generator, max_length: int = 10_000) -> Strings:
        return sample_lockstep(
            self.alphabet, n_strings, rng, max_length, self.start_states, self.distributions, self.advance
        )

    PARTS: ClassVar[Parts] = Parts(
        inner=("automaton.", "backoff."),
        arrays={
            "mass": floats("states"),
            "restarts": floats("contexts", "states"),
            "mixing": floats("contexts", least=0.0, most=1.0),
        },
    )

    def to_parts(self) -> tuple[dict[str, Array], dict[str, Any]]:
        automaton, header = self.automaton.to_parts()
        backoff, _ = self.backoff.to_parts()
        arrays = above("automaton.", automaton) | above("backoff.", backoff)
        return arrays | {"mass": self.mass, "restarts": self.restarts, "mixing": self.mixing}, header

    @classmethod
    def from_parts(cls, arrays: dict[str, Array], header: dict[str, Any]) -> FilteredAutomaton:
        automaton = WeightedAutomaton.from_parts(below("automaton.", arrays), header)
        backoff = NgramModel.from_parts(below("backoff.", arrays), header)
        cls.PARTS.check(arrays, header, states=automaton.n_states, contexts=backoff.contexts.n_classes)
        return cls(automaton, arrays["mass"], backoff, arrays["restarts"], arrays["mixing"])

    def _mix(self, predictions: Floats, classes: Int32s) -> Floats:
        rates = np.where(predictions.sum(axis=1) > 0, self.mixing[classes], 1.0)[:, None]
        mixed = (1.0 - rates) * predictions + rates * self.backoff.distributions(classes)
        return np.asarray(mixed / mixed.sum(axis=1, keepdims=True))

    def start_states(self, size: int) -> FilterStates:
        """Where `size` strings begin: the first of the three functions that `sample_lockstep` needs."""
        return np.tile(self.start, (size, 1)), np.full(size, self.backoff.contexts.start, dtype=np.int32)

    def distributions(self, states: FilterStates) -> Floats:
        """What comes next in each state."""
        vectors, classes = states
        return self._mix(_clipped(vectors @ self.readout)[0], classes)

    def advance(self, before: FilterStates, rows: Indices, symbols: Indices) -> FilterStates:
        """The states that follow in the chosen rows."""
        vectors, classes = before[0][rows], before[1][rows]
        predictions, totals = _clipped(vectors @ self.readout)
        picked = predictions[np.arange(len(rows)), symbols]
        rates = np.where(totals > 0, self.mixing[classes], 1.0)
        from_backoff = rates * self.backoff.probabilities(classes, symbols.astype(np.int32))
        probabilities = (1.0 - rates) * picked + from_backoff
        scale = np.where(picked > 0, (1.0 - rates) / np.maximum(totals, 1e-300) / probabilities, 0.0)
        moved = np.empty_like(vectors)
        for symbol in np.flatnonzero(np.bincount(symbols)):  # `unique` imports more than this needs
            chosen = symbols == symbol
            moved[chosen] = vectors[chosen] @ self.automaton.transitions[symbol]
        following = self.backoff.contexts.follow(classes, symbols)
        restart = (from_backoff / probabilities)[:, None] * self.restarts[following]
        states = scale[:, None] * moved + restart
        strayed = ~(np.abs(states) < self.limit).all(axis=1)  # NaN is not below
        states[strayed] = self.restarts[following[strayed]]
        return states, following


def log_products(trie: PrefixTrie, edges: Floats, ends: Floats) -> Floats:
    """The log-probabilities of the strings of a trie, given the probabilities of steps and of ends."""
    with np.errstate(divide="ignore"):
        return sums_along(trie.parent, np.log(edges))[trie.string_node] + np.log(ends[trie.string_node])


def _clipped(weights: Floats) -> tuple[Floats, Floats]:
    """Weights clipped at zero and made to sum to one (rows of zeros stay), and the sums."""
    clipped = np.maximum(weights, 0.0)
    totals = clipped.sum(axis=1)
    return clipped / np.where(totals > 0, totals, 1.0)[:, None], totals
