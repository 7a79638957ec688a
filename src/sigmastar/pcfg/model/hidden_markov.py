"""Hidden Markov models as probabilistic grammars: 2s + 1 multinomials.

    start                 a state                                  events 0 .. s - 1
    move of state i       a state, or the end of the string        s + 1 events
    emission of state i   a symbol                                 len(alphabet) events

Inference runs on the automaton `A_x[i, j] = emission(i, x) move(i, j)`, whose last state is the end.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.kernels.expectations import CutStrings, expected_counts
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Array, Floats, Int32s, Int64s
from sigmastar.core.errors import InputError
from sigmastar.core.jit import kernel
from sigmastar.core.notebook import Shown
from sigmastar.core.stored_parts import Parts, floats
from sigmastar.pcfg.data.events import Derivations, EventSystem
from sigmastar.pcfg.model.probabilistic_grammar import sample_strings


@dataclass(frozen=True, eq=False)
class HiddenMarkovModel(Shown):
    """A hidden Markov model on finite, not empty strings.

    Parameters
    ----------
    alphabet : Alphabet
        The symbols.
    initial : Floats
        The probability of each state to be the first.
    moves : Floats
        states x (states + 1): of each state the probability of the next one; the last column is the end.
    emissions : Floats
        states x symbols.

    Examples
    --------
    >>> moves, emissions = np.array([[0.5, 0.5]]), np.array([[0.75, 0.25]])
    >>> model = HiddenMarkovModel(Alphabet("ab"), np.ones(1), moves, emissions)
    >>> np.exp(model.log_probability(Strings.of(["a", "ab"]))).round(4).tolist()
    [0.375, 0.0469]
    """

    alphabet: Alphabet
    initial: Floats
    moves: Floats
    emissions: Floats

    def __post_init__(self) -> None:
        n_states, n_symbols = len(self.initial), len(self.alphabet)
        if self.moves.shape != (n_states, n_states + 1) or self.emissions.shape != (n_states, n_symbols):
            raise ValueError(
                f"moves {self.moves.shape} and emissions {self.emissions.shape} do not fit "
                f"{n_states} states and {n_symbols} symbols"
            )
        self.events.require_distributions(self.parameters)

    @classmethod
    def random(
        cls, alphabet: Alphabet, n_states: int, rng: np.random.Generator, stop: float = 0.2
    ) -> HiddenMarkovModel:
        """Dirichlet rows; a string ends after each symbol with probability `stop`."""
        moves = rng.dirichlet(np.ones(n_states), n_states) * (1 - stop)
        return cls(
            alphabet,
            rng.dirichlet(np.ones(n_states)),
            np.hstack([moves, np.full((n_states, 1), stop)]),
            rng.dirichlet(np.ones(len(alphabet)), n_states),
        )

    @property
    def n_states(self) -> int:
        return len(self.initial)

    @property
    def parameters(self) -> Floats:
        return np.concatenate([self.initial, self.moves.ravel(), self.emissions.ravel()])

    @cached_property
    def events(self) -> EventSystem:
        states, n_symbols = range(self.n_states), len(self.alphabet)
        following = [[1 + self.n_states + state, 1 + state] for state in states]  # emission, then move
        move_events = [*following, []] * self.n_states
        children = [*following, *move_events, *([[]] * (self.n_states * n_symbols))]
        return EventSystem.of(
            [len(states), *[len(states) + 1] * len(states), *[n_symbols] * len(states)], children
        )

    def with_parameters(self, parameters: Floats) -> HiddenMarkovModel:
        n_states, n_moves = self.n_states, self.moves.size
        return HiddenMarkovModel(
            self.alphabet,
            np.array(parameters[:n_states]),
            np.reshape(parameters[n_states : n_states + n_moves], self.moves.shape),
            np.reshape(parameters[n_states + n_moves :], self.emissions.shape),
        )

    @cached_property
    def automaton(self) -> WeightedAutomaton:
        """The weighted automaton of the same function, with one state more: the end."""
        n_states = self.n_states
        transitions = np.zeros((len(self.alphabet), n_states + 1, n_states + 1))
        transitions[:, :n_states] = self.emissions.T[:, :, None] * self.moves
        final = np.zeros(n_states + 1)
        final[-1] = 1.0
        return WeightedAutomaton(self.alphabet, np.append(self.initial, 0.0), transitions, final)

    def log_probability(self, strings: Strings) -> Floats:
        """Natural log-probability of each string; -inf where it has none, as the empty one."""
        return self.automaton.log_probability(strings)

    def gap_distributions(self, strings: Strings) -> Floats:
        return self.automaton.gap_distributions(strings)

    def expected_counts(self, strings: Strings, weights: Floats | None = None) -> tuple[Floats, Floats]:
        """Log-probability of each string, and the expected events in all, given the strings."""
        automaton, logs = self.automaton, self.log_probability(strings)
        possible = np.flatnonzero(np.isfinite(logs))
        if not len(possible):
            return logs, np.zeros(self.events.n_events)
        cut = CutStrings.of(strings.recoded(self.alphabet, allow_unknown=True).select(possible))
        times = cut.counts(None if weights is None else np.asarray(weights, dtype=float)[possible])
        starts, moved, *_ = expected_counts(cut, times, automaton.arrays)
        rows = moved[:, : self.n_states]
        return logs, np.concatenate([starts[:-1], rows.sum(axis=0).ravel(), rows.sum(axis=2).T.ravel()])

    def best_paths(self, strings: Strings, names: Sequence[Hashable] = ()) -> list[list[Any]]:
        """The most probable states of each string (Viterbi), by name where names are given."""
        coded = strings.recoded(self.alphabet, allow_unknown=True)
        with np.errstate(divide="ignore"):
            initial, moves, emissions = np.log(self.initial), np.log(self.moves), np.log(self.emissions)
        inner, stops = np.ascontiguousarray(moves[:, :-1]), np.ascontiguousarray(moves[:, -1])
        rows = [coded.codes[b:e] for b, e in zip(coded.offsets[:-1], coded.offsets[1:], strict=True)]
        paths = (_best_path(row, initial, inner, stops, emissions).tolist() for row in rows)
        known = dict(enumerate(names))
        return [[known.get(state, state) for state in path] for path in paths]

    def best_derivations(self, strings: Strings) -> Derivations:
        """The most probable derivation of each string, empty where it has none."""
        paths = self.best_paths(strings)
        possible = [number for number, path in enumerate(paths) if path]
        found = iter(self.derivations([paths[n] for n in possible], strings.select(possible)))
        return Derivations.of([next(found).tolist() if path else [] for path in paths])

    def derivations(self, paths: Iterable[Sequence[int]], strings: Strings) -> Derivations:
        """Paths of states, with the strings that they emit."""
        coded = strings.recoded(self.alphabet)
        rows = [coded.codes[b:e].tolist() for b, e in zip(coded.offsets[:-1], coded.offsets[1:], strict=True)]
        return Derivations.of(
            [self._derivation(list(path), row) for path, row in zip(paths, rows, strict=True)]
        )

    def _derivation(self, path: list[int], codes: list[int]) -> list[int]:
        n_states, offsets = self.n_states, self.events.offsets
        events = [path[0]]
        for state, following, code in zip(path, [*path[1:], n_states], codes, strict=True):
            events += [int(offsets[1 + n_states + state]) + code, int(offsets[1 + state]) + following]
        return events

    def strings(self, derivations: Derivations) -> Strings:
        """The symbols of emission events."""
        first = int(self.events.offsets[1 + self.n_states])
        emitted = derivations.events >= first
        codes = (derivations.events[emitted] - first) % len(self.alphabet)
        ends = np.concatenate([[0], np.cumsum(emitted)])[derivations.offsets]
        return Strings(self.alphabet, codes.astype(np.int32), ends.astype(np.int64))

    def sample(self, n_strings: int, rng: np.random.Generator, max_length: int = 10_000) -> Strings:
        """Draw strings; one longer than `max_length` is cut there."""
        return sample_strings(self, n_strings, rng, max_length)

    PARTS: ClassVar[Parts] = Parts(
        header={"alphabet": Alphabet},
        sizes={"symbols": "alphabet"},
        arrays={
            "initial": floats("states", least=0.0, sums=True),
            "moves": floats("states", "states+1", least=0.0, sums=True),
            "emissions": floats("states", "symbols", least=0.0, sums=True),
        },
    )

    def to_parts(self) -> tuple[dict[str, Array], dict[str, Any]]:
        arrays = {"initial": self.initial, "moves": self.moves, "emissions": self.emissions}
        return arrays, {"alphabet": self.alphabet}

    @classmethod
    def from_parts(cls, arrays: dict[str, Array], header: dict[str, Any]) -> HiddenMarkovModel:
        cls.PARTS.check(arrays, header)
        return cls(header["alphabet"], arrays["initial"], arrays["moves"], arrays["emissions"])


def state_names(
    strings: Strings, states: list[list[Hashable]], plain: Collection[int] = ()
) -> tuple[Hashable, ...]:
    """The states, in the order in which they come, after a look whether they fit the strings.

    Those of the strings `plain` are not known.
    """
    if not len(strings):
        raise InputError("there are no strings to learn from")
    if len(states) != len(strings):
        raise InputError(f"there are {len(strings)} strings, but states for {len(states)}")
    for number, (length, row) in enumerate(zip(strings.lengths.tolist(), states, strict=True), 1):
        if (length != len(row) or not row) and number - 1 not in plain:
            raise InputError(
                f"string {number} has {length} symbols and {len(row)} states; it takes one for each, and "
                "at least one"
            )
    return tuple(dict.fromkeys(name for row in states for name in row))


@kernel
def _best_path(codes: Int32s, initial: Floats, moves: Floats, stops: Floats, emissions: Floats) -> Int64s:
    """States of the best path: a maximum in place of every sum; empty where the string has none.

    Arguments but the codes are logarithms.
    """
    length, n_states = len(codes), len(initial)
    if length == 0 or codes.min() < 0:
        return np.empty(0, np.int64)
    scores = initial + emissions[:, codes[0]]
    back = np.zeros((length, n_states), np.int64)
    for t in range(1, length):
        following = np.full(n_states, -np.inf)
        for state in range(n_states):
            for before in range(n_states):
                score = scores[before] + moves[before, state]
                if score > following[state]:
                    following[state] = score
                    back[t, state] = before
        scores = following + emissions[:, codes[t]]
    scores = scores + stops
    path = np.empty(length, np.int64)
    path[-1] = np.argmax(scores)
    if scores[path[-1]] == -np.inf:
        return path[:0]
    for t in range(length - 1, 0, -1):
        path[t - 1] = back[t, path[t]]
    return path
