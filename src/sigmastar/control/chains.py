"""Probabilistic models with states, as control sees them: how values move back and beliefs move on.

    A_a[q, q'] = P(emit a and move to q' | q),    final[q] = P(stop | q)

Three kinds: `Factored`, a hidden Markov model with A_a = diag(E_a) T, which needs no operator per symbol;
`Dense`, an operator per symbol; `Contexts`, an n-gram model, where the symbol decides what state comes next.
Symbols that move a constraint alike are one group: they lie side by side, and values move back by group.
Arrays are NumPy's, or tensors on a device: products, sums and rows by index are written alike for both.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from sigmastar.automata.model.dfa import DEAD, DFA
from sigmastar.control.tensors import Backend
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Floats, Indices, Int64s
from sigmastar.core.jit import kernel


@dataclass(frozen=True, eq=False)
class Groups:
    """Symbols that move a deterministic automaton alike, and where each group moves each state."""

    order: Int64s  # symbols, group by group
    starts: Int64s  # groups + 1
    moves: Int64s  # states x groups; the number of states stands for dead

    @classmethod
    def of(cls, dfa: DFA) -> Groups:
        columns, kind = np.unique(dfa.next_state, axis=1, return_inverse=True)
        kind = kind.reshape(-1)
        starts = np.concatenate([[0], np.cumsum(np.bincount(kind, minlength=columns.shape[1]))])
        moves = np.where(columns == DEAD, dfa.n_states, columns)
        return cls(np.argsort(kind, kind="stable"), starts, moves)

    @property
    def n_groups(self) -> int:
        return len(self.starts) - 1

    @cached_property
    def place(self) -> Int64s:
        """Where each symbol stands in the order."""
        places = np.empty_like(self.order)
        places[self.order] = np.arange(len(self.order))
        return places

    @cached_property
    def of_places(self) -> Int64s:
        """The group of each place."""
        return np.repeat(np.arange(self.n_groups), np.diff(self.starts))

    def slice(self, group: int) -> slice:
        return slice(int(self.starts[group]), int(self.starts[group + 1]))


class Chain(Protocol):
    """A model with states; rows of `values` are states of the constraint, the last of them dead."""

    @property
    def alphabet(self) -> Alphabet: ...

    @property
    def groups(self) -> Groups: ...

    @property
    def backend(self) -> Backend: ...

    @property
    def n_weights(self) -> int:
        """Number of weights per row that `walk` draws from."""
        ...

    @property
    def initial(self) -> Any: ...

    @property
    def final(self) -> Any: ...

    def ahead(self, values: Any) -> Any:
        """What `pull`, `weigh` and `walk` need of the values one symbol later, computed once."""
        ...

    def pull(self, ahead: Any, factors: Floats) -> Any:
        """Row d: the sum over groups g of factors[d, g] A_g values[moves[d, g]]."""
        ...

    def begin(self, size: int) -> Any:
        """The beliefs before the first symbol."""
        ...

    def advance(self, beliefs: Any, places: Indices) -> tuple[Any, Floats]:
        """The beliefs after a symbol each, which sum to one, and what each symbol was worth before."""
        ...

    def weigh(self, beliefs: Any, ahead: Any, targets: Indices, group: int) -> Any:
        """A column per symbol of a group: b A_a values[target] for each belief b and its target."""
        ...

    def expect(self, beliefs: Any) -> Any:
        """The probability of each place of the order as the next symbol."""
        ...

    def spread(self, beliefs: Any) -> Any:
        """Beliefs as weights of states."""
        ...

    def stops(self, beliefs: Any) -> Any:
        """The probability of the end."""
        ...

    def walk(
        self, states: Indices, ahead: Any, values: Floats, targets: Indices, scales: Floats, rng: Any
    ) -> tuple[Indices, Indices]:
        """Draw a place of the order, -1 for the end, and a next state for each of some states."""
        ...


def draw(weights: Floats, rng: np.random.Generator) -> Indices:
    """A column of each row, by its weights; never one whose weight is zero."""
    cumulative = np.cumsum(weights, axis=1)
    totals = cumulative[:, -1]
    aims = np.minimum(rng.random(len(totals)) * totals, np.nextafter(totals, 0.0))
    return np.asarray((cumulative > aims[:, None]).argmax(axis=1))


class _Beliefs:
    """Beliefs that are one weight per state."""

    backend: Backend
    initial: Any
    final: Any

    def begin(self, size: int) -> Any:
        return self.backend.rows(self.initial, size)

    def spread(self, beliefs: Any) -> Any:
        return beliefs

    def stops(self, beliefs: Any) -> Any:
        return beliefs @ self.final


@dataclass(frozen=True, eq=False)
class Factored(_Beliefs):
    """A hidden Markov model: what a state emits and where it moves are independent."""

    alphabet: Alphabet
    groups: Groups
    backend: Backend
    initial: Any  # n
    transition: Any  # n x n
    emission: Any  # n x symbols in groups; a row and the final weight sum to one
    final: Any  # n

    @property
    def n_weights(self) -> int:
        return self.groups.n_groups

    @cached_property
    def of_groups(self) -> Any:
        """What each state emits of each group: groups x n."""
        parts = [self.emission[:, self.groups.slice(g)].sum(1) for g in range(self.groups.n_groups)]
        return self.backend.stack(parts)

    def ahead(self, values: Any) -> Any:
        return values @ self.transition.T

    def pull(self, ahead: Any, factors: Floats) -> Any:
        moves, scales = self.backend.indices(self.groups.moves), self.backend.array(factors)
        found = 0.0
        for group in range(self.groups.n_groups):
            found = found + scales[:, group, None] * self.of_groups[group] * ahead[moves[:, group]]
        return found

    def advance(self, beliefs: Any, places: Indices) -> tuple[Any, Floats]:
        emitted = beliefs * self.emission[:, self.backend.indices(places)].T
        worth = emitted.sum(1)
        return self.backend.divided(emitted, worth) @ self.transition, self.backend.host(worth)

    def weigh(self, beliefs: Any, ahead: Any, targets: Indices, group: int) -> Any:
        return (beliefs * ahead[self.backend.indices(targets)]) @ self.emission[:, self.groups.slice(group)]

    def expect(self, beliefs: Any) -> Any:
        return beliefs @ self.emission

    def walk(
        self, states: Indices, ahead: Any, values: Floats, targets: Indices, scales: Floats, rng: Any
    ) -> tuple[Indices, Indices]:
        if self.backend.is_tensor:
            return self.on_host.walk(states, self.backend.host(ahead), values, targets, scales, rng)
        of_groups = self.of_groups[:, states].T * ahead[targets, states[:, None]]
        picked = draw(np.column_stack([of_groups, self.final[states]]) * scales, rng)
        places, following = np.full(len(states), -1), np.zeros(len(states), dtype=np.intp)
        going = np.flatnonzero(picked < self.groups.n_groups)
        rows, group = states[going].astype(np.int64), picked[going]
        starts, ones = self.groups.starts, np.ones((1, self.emission.shape[1]))
        nothing, aims = np.zeros(len(going), dtype=np.int64), rng.random((2, len(going)))
        within = starts[group], starts[group + 1]
        places[going] = draw_products(self.emission, rows, *within, ones, nothing, aims[0])
        all_states = nothing, nothing + len(self.final)
        target = targets[going, group].astype(np.int64)
        following[going] = draw_products(self.transition, rows, *all_states, values, target, aims[1])
        return places, following

    @cached_property
    def on_host(self) -> Factored:
        arrays = (self.initial, self.transition, self.emission, self.final)
        return Factored(self.alphabet, self.groups, Backend(), *map(self.backend.host, arrays))


@dataclass(frozen=True, eq=False)
class Dense(_Beliefs):
    """A proper probabilistic automaton with an operator per symbol."""

    alphabet: Alphabet
    groups: Groups
    backend: Backend
    initial: Any  # n
    transitions: Any  # symbols in groups x n x n
    final: Any  # n

    @property
    def n_weights(self) -> int:
        return len(self.alphabet)

    @cached_property
    def of_groups(self) -> Any:
        parts = [self.transitions[self.groups.slice(g)].sum(0) for g in range(self.groups.n_groups)]
        return self.backend.stack(parts)

    def ahead(self, values: Any) -> Any:
        return values

    def pull(self, ahead: Any, factors: Floats) -> Any:
        moves, scales = self.backend.indices(self.groups.moves), self.backend.array(factors)
        found = 0.0
        for group in range(self.groups.n_groups):
            found = found + scales[:, group, None] * (ahead[moves[:, group]] @ self.of_groups[group].T)
        return found

    def advance(self, beliefs: Any, places: Indices) -> tuple[Any, Floats]:
        moved = self.backend.like(beliefs)
        for place in np.unique(places):
            rows = self.backend.indices(np.flatnonzero(places == place))
            moved[rows] = beliefs[rows] @ self.transitions[int(place)]
        worth = moved.sum(1)
        return self.backend.divided(moved, worth), self.backend.host(worth)

    def weigh(self, beliefs: Any, ahead: Any, targets: Indices, group: int) -> Any:
        rows, part = ahead[self.backend.indices(targets)], self.groups.slice(group)
        return self.backend.stack(
            [((beliefs @ self.transitions[place]) * rows).sum(1) for place in range(part.start, part.stop)]
        ).T

    def expect(self, beliefs: Any) -> Any:
        return beliefs @ self.transitions.sum(2).T

    def walk(
        self, states: Indices, ahead: Any, values: Floats, targets: Indices, scales: Floats, rng: Any
    ) -> tuple[Indices, Indices]:
        operators, final = self.backend.host(self.transitions), self.backend.host(self.final)
        groups = self.groups.of_places
        pulled = operators @ values.T
        weights = pulled[np.arange(len(groups)), states[:, None], targets[:, groups]]
        scaled = np.column_stack([weights * scales[:, groups], final[states] * scales[:, -1]])
        places = draw(scaled, rng)
        places[places == len(groups)] = -1
        following = np.zeros(len(states), dtype=np.intp)
        going = np.flatnonzero(places >= 0)
        target = targets[going, groups[places[going]]]
        following[going] = draw(operators[places[going], states[going]] * values[target], rng)
        return places, following


@dataclass(frozen=True, eq=False)
class Contexts:
    """An n-gram model: the state is the context, and the next symbol decides the next one."""

    alphabet: Alphabet
    groups: Groups
    backend: Backend
    begins: int
    emission: Floats  # contexts x symbols in groups
    follow: Int64s  # contexts x symbols in groups
    final: Floats

    @property
    def n_weights(self) -> int:
        return len(self.alphabet)

    @property
    def initial(self) -> Floats:
        return np.asarray(np.arange(len(self.final)) == self.begins, dtype=np.float64)

    def ahead(self, values: Floats) -> Floats:
        return values

    def pull(self, ahead: Floats, factors: Floats) -> Floats:
        found = np.empty((len(factors), len(self.final)))
        for state, moves in enumerate(self.groups.moves):
            rows = ahead[moves[self.groups.of_places][None], self.follow]
            found[state] = (self.emission * rows * factors[state, self.groups.of_places]).sum(1)
        return found

    def begin(self, size: int) -> Indices:
        return np.full(size, self.begins)

    def advance(self, beliefs: Indices, places: Indices) -> tuple[Indices, Floats]:
        return self.follow[beliefs, places], self.emission[beliefs, places]

    def weigh(self, beliefs: Indices, ahead: Floats, targets: Indices, group: int) -> Floats:
        part = self.groups.slice(group)
        rows = ahead[targets[:, None], self.follow[beliefs, part]]
        return np.asarray(self.emission[beliefs, part] * rows)

    def spread(self, beliefs: Indices) -> Floats:
        return np.asarray(np.arange(len(self.final)) == beliefs[:, None], dtype=np.float64)

    def stops(self, beliefs: Indices) -> Floats:
        return self.final[beliefs]

    def expect(self, beliefs: Indices) -> Floats:
        return self.emission[beliefs]

    def walk(
        self, states: Indices, ahead: Floats, values: Floats, targets: Indices, scales: Floats, rng: Any
    ) -> tuple[Indices, Indices]:
        groups = self.groups.of_places
        weights = self.emission[states] * values[targets[:, groups], self.follow[states]]
        scaled = np.column_stack([weights * scales[:, groups], self.final[states] * scales[:, -1]])
        places = draw(scaled, rng)
        places[places == len(groups)] = -1
        return places, self.follow[states, places]


@kernel
def draw_products(
    matrix: Floats,
    rows: Int64s,
    first: Int64s,
    last: Int64s,
    factors: Floats,
    of_factors: Int64s,
    aims: Floats,
) -> Indices:
    """Column j of `first` to `last`, by matrix[row, j] * factors[of_factors, j], for each row.

    Aims are uniform numbers below one. A column of weight zero is never drawn.
    """
    found = np.zeros(len(rows), np.intp)
    for i in range(len(rows)):
        row, factor, total = rows[i], of_factors[i], 0.0
        for j in range(first[i], last[i]):
            total += matrix[row, j] * factors[factor, j]
        aim, partial = aims[i] * total, 0.0
        for j in range(first[i], last[i]):
            weight = matrix[row, j] * factors[factor, j]
            if weight > 0.0:
                found[i] = j
                partial += weight
                if partial > aim:
                    break
    return found
