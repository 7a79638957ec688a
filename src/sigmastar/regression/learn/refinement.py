"""The automaton itself against what was observed: L-BFGS on its weights, over the prefix tree.

    min over (initial, A, final)   mean cost of the statements  +  ridge / 2 |weights|^2

Not convex: it polishes what completion and extraction found. Every step is one pass forward and one back
over the distinct prefixes, the nodes v of the tree:

    forward(root) = initial,        forward(v) = forward(parent) A_symbol(v),       f(v) = forward(v) . final
    behind(v)     = g(v) final + sum over children w of A_symbol(w) behind(w),      g = d loss / d f

    d loss / d final = sum_v g(v) forward(v)      d loss / d initial = behind(root)
    d loss / d A_a   = sum over nodes v that read a of forward(parent(v)) behind(v)^T

Nodes of a level that read the same symbol are neighbours, so each sum is a few matrix products. Values are
plain numbers, without a carried scale: they are compared with numbers that were observed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import optimize

from sigmastar.automata.data.strings import PrefixTrie
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.jit import kernel
from sigmastar.regression.data import Observations

TOO_LARGE = 1e100
"""What a cost beyond all numbers counts as, so that a line search turns back."""


@dataclass(frozen=True, eq=False)
class Refined:
    """The automaton where the search ended, its mean cost and the number of steps."""

    automaton: WeightedAutomaton
    cost: float
    n_iterations: int


@dataclass(frozen=True, eq=False)
class TrieObjective:
    """Mean cost and gradient as functions of one flat vector of weights."""

    observations: Observations
    trie: PrefixTrie
    n_states: int
    ridge: float

    @classmethod
    def of(cls, observations: Observations, n_states: int, ridge: float = 0.0) -> TrieObjective:
        return cls(observations, PrefixTrie.of(observations.strings), n_states, ridge)

    def split(self, flat: Floats) -> tuple[Floats, Floats, Floats]:
        n = self.n_states
        return flat[:n], flat[n:-n].reshape(-1, n, n), flat[-n:]

    def automaton(self, flat: Floats) -> WeightedAutomaton:
        return WeightedAutomaton(self.observations.strings.alphabet, *self.split(flat))

    def __call__(self, flat: Floats) -> tuple[float, Floats]:
        initial, transitions, final = self.split(flat)
        trie, seen = self.trie, self.observations
        with np.errstate(over="ignore", invalid="ignore"):
            vectors = trie_forward(trie.parent, trie.symbol, trie.level_starts, initial, transitions)
            cost, slopes = seen.mean_cost((vectors @ final)[trie.string_node])
            at_nodes = trie.end_counts(slopes)
            parts = trie_backward(
                trie.parent, trie.symbol, trie.level_starts, transitions, final, vectors, at_nodes
            )
            gradient = np.concatenate([part.ravel() for part in parts]) + self.ridge * flat
        cost += 0.5 * self.ridge * float(flat @ flat)
        if not (np.isfinite(cost) and np.isfinite(gradient).all()):
            return TOO_LARGE, np.zeros_like(flat)
        return cost, gradient


def refine(
    automaton: WeightedAutomaton,
    observations: Observations,
    n_iterations: int = 500,
    ridge: float = 0.0,
) -> Refined:
    """Follow the gradient from an automaton until it is flat or the steps are spent."""
    objective = TrieObjective.of(observations, automaton.n_states, ridge)
    parts = (automaton.initial, automaton.transitions.ravel(), automaton.final)
    options = {"maxiter": n_iterations, "maxfun": 2 * n_iterations, "maxcor": 30, "ftol": 0.0, "gtol": 1e-14}
    found = optimize.minimize(  # type: ignore[call-overload]
        objective, np.concatenate(parts), jac=True, method="L-BFGS-B", options=options
    )
    return Refined(objective.automaton(found.x), float(found.fun), int(found.nit))


@dataclass(frozen=True, eq=False)
class Refinement:
    """A refinement that can race: it is run further from where it stands, and judged by its cost."""

    observations: Observations
    ridge: float
    refined: Refined

    @classmethod
    def of(cls, automaton: WeightedAutomaton, observations: Observations, ridge: float) -> Refinement:
        """A refinement that has not begun."""
        return cls(observations, ridge, Refined(automaton, np.inf, 0))

    @property
    def score(self) -> float:
        return -self.refined.cost

    def run(self, n_iterations: int, /) -> Refinement:
        found = refine(self.refined.automaton, self.observations, n_iterations, self.ridge)
        return replace(self, refined=found)


@kernel
def trie_forward(
    parent: Int32s, symbol: Int32s, level_starts: Int64s, initial: Floats, transitions: Floats
) -> Floats:
    """The forward vector of every node."""
    n_states = len(initial)
    vectors = np.empty((len(parent), n_states))
    for k in range(n_states):
        vectors[0, k] = initial[k]
    for level in range(1, len(level_starts) - 1):
        run, end = level_starts[level], level_starts[level + 1]
        while run < end:
            stop = run + 1
            while stop < end and symbol[stop] == symbol[run]:
                stop += 1
            gathered = np.empty((stop - run, n_states))
            for node in range(run, stop):
                for k in range(n_states):
                    gathered[node - run, k] = vectors[parent[node], k]
            np.dot(gathered, transitions[symbol[run]], vectors[run:stop])
            run = stop
    return vectors


@kernel
def trie_backward(
    parent: Int32s,
    symbol: Int32s,
    level_starts: Int64s,
    transitions: Floats,
    final: Floats,
    vectors: Floats,
    slopes: Floats,
) -> tuple[Floats, Floats, Floats]:
    """The gradients in initial, transitions and final, given d loss / d f at every node."""
    n_nodes, n_states = vectors.shape
    by_transitions = np.zeros(transitions.shape)
    behind = np.empty((n_nodes, n_states))
    for node in range(n_nodes):
        for k in range(n_states):
            behind[node, k] = slopes[node] * final[k]
    for level in range(len(level_starts) - 2, 0, -1):
        run, end = level_starts[level], level_starts[level + 1]
        while run < end:
            stop = run + 1
            while stop < end and symbol[stop] == symbol[run]:
                stop += 1
            here = np.ascontiguousarray(behind[run:stop])
            gathered = np.empty((stop - run, n_states))
            for node in range(run, stop):
                for k in range(n_states):
                    gathered[node - run, k] = vectors[parent[node], k]
            products = np.dot(np.ascontiguousarray(gathered.T), here)
            for i in range(n_states):
                for j in range(n_states):
                    by_transitions[symbol[run], i, j] += products[i, j]
            passed = np.dot(here, np.ascontiguousarray(transitions[symbol[run]].T))
            for node in range(run, stop):
                for k in range(n_states):
                    behind[parent[node], k] += passed[node - run, k]
            run = stop
    return behind[0].copy(), by_transitions, np.dot(np.ascontiguousarray(vectors.T), slopes)
