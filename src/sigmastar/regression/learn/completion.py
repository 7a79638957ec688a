"""Hankel matrices with missing entries: complete them, and read an automaton off what was completed.

    min_H  weight |H|_*  +  sum_i w_i loss(c_i . mean(H), y_i)  +  1/2 sum_e (H_e - mean of its orbit)^2

mean(H)[x] is the mean of H over the cuts of the string x, its orbit: a Hankel matrix has one value there, and
the last term pulls towards it (Balle and Mohri 2012 require it exactly; entries whose yield was not observed
are tied the same way where the matrix is small). With w_i = 1 / sum_x c_ix^2 / |orbit of x| every statement
moves the matrix as much as one entry, and a step of length 1 is safe for the squared loss.

    H ~ F B:   F(p a) = F(p) A_a  where p a is a row,     B(a s) = A_a B(s)  where a s is a column

    A_a = argmin sum_p |F(p) A - F(p a)|^2 + sum_s |A B(s) - B(a s)|^2
    initial = F(empty), final = B(empty)

The same operators as `recover` finds where H is exact, without slices: a completed matrix exists only as
factors, and the two sums need no more. The minimum solves one Sylvester equation per symbol.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg, sparse

from sigmastar.automata.data.strings import PrefixTrie
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.arrays import Floats, Int64s
from sigmastar.optimise.proximal import Thresholded
from sigmastar.regression.counts import HankelEntries
from sigmastar.regression.data import Observations

_RIDGE = 1e-10
"""Relative to the trace: what keeps directions that no row shows from blowing up."""


@dataclass(frozen=True, eq=False)
class HankelLoss:
    """The smooth part of the objective, as a function of the entries that strings reach."""

    entries: HankelEntries
    observations: Observations

    @property
    def shape(self) -> tuple[int, int]:
        return self.entries.shape

    @property
    def rows(self) -> Int64s:
        return self.entries.rows

    @property
    def columns(self) -> Int64s:
        return self.entries.columns

    @cached_property
    def sizes(self) -> Floats:
        return self.entries.sizes.astype(np.float64)

    @cached_property
    def weights(self) -> Floats:
        """Of the statements: what makes each of them as strong as one entry."""
        seen = self.observations
        squares: sparse.csr_array = seen.combinations.power(2)
        spread = squares @ (1.0 / self.sizes[: self.entries.n_strings])
        relative = seen.weights / seen.weights.mean()
        return relative / np.maximum(spread, 1e-300)  # type: ignore[no-any-return]

    @cached_property
    def curvature(self) -> float:
        """The larger of 1 (the ties) and the largest eigenvalue of the observed part."""
        scaled = self.weights * self.observations.curvatures
        root = 1.0 / np.sqrt(self.sizes[: self.entries.n_strings])
        vector, largest = np.ones(self.entries.n_strings), 1.0
        combinations = self.observations.combinations
        for _ in range(50):
            vector = root * (combinations.T @ (scaled * (combinations @ (root * vector))))
            largest = float(np.linalg.norm(vector))
            if largest == 0.0:
                break
            vector = vector / largest
        return max(1.0, 1.01 * largest)

    def value_and_gradient(self, values: Floats) -> tuple[float, Floats]:
        entries, seen = self.entries, self.observations
        means = np.bincount(entries.orbits, values, minlength=len(self.sizes)) / self.sizes
        apart = values - means[entries.orbits]
        costs, slopes = seen.costs(means[: entries.n_strings])
        pull = np.zeros(len(self.sizes))
        pull[: entries.n_strings] = seen.combinations.T @ (self.weights * slopes)
        pull /= self.sizes
        value = float(self.weights @ costs) + 0.5 * float(apart @ apart)
        return value, pull[entries.orbits] + apart

    def largest_weight(self) -> float:
        """Where the penalty is at least this, the best matrix is zero."""
        _, slopes = self.value_and_gradient(np.zeros(len(self.rows)))
        gradient = sparse.csr_array((slopes, (self.rows, self.columns)), shape=self.shape)
        vector = np.ones(self.shape[1]) / np.sqrt(self.shape[1])
        for _ in range(50):
            vector = gradient.T @ (gradient @ vector)
            vector /= max(float(np.linalg.norm(vector)), 1e-300)
        return float(np.linalg.norm(gradient @ vector))


def automaton_of_factors(
    entries: HankelEntries,
    triples: Thresholded,
    n_states: int,
    rng: np.random.Generator,
    ridge: float = _RIDGE,
) -> WeightedAutomaton:
    """The automaton of the leading triples; states that the matrix does not have begin small and random."""
    n = min(n_states, triples.rank)
    root = np.sqrt(triples.singular_values[:n])
    outside, inside = triples.left[:, :n] * root, triples.right[:, :n] * root
    n_symbols = len(entries.alphabet)
    rows, wanted_rows = _shift_sums(entries.prefixes, outside, n_symbols)
    columns, wanted_columns = _shift_sums(entries.suffixes, inside, n_symbols)
    transitions = np.zeros((n_symbols, n, n))
    for a in range(n_symbols):
        small = ridge * (np.trace(rows[a]) + np.trace(columns[a])) + 1e-300
        transitions[a] = linalg.solve_sylvester(
            rows[a] + small * np.eye(n), columns[a], wanted_rows[a] + wanted_columns[a].T
        )
    return _padded(WeightedAutomaton(entries.alphabet, outside[0], transitions, inside[0]), n_states, rng)


def _shift_sums(trie: PrefixTrie, factor: Floats, n_symbols: int) -> tuple[Floats, Floats]:
    """sum_p F(p)^T F(p) and sum_p F(p)^T F(p a) over the nodes that read each symbol."""
    n = factor.shape[1]
    grams, shifted = np.zeros((n_symbols, n, n)), np.zeros((n_symbols, n, n))
    for a in range(n_symbols):
        nodes = np.flatnonzero(trie.symbol == a)
        above = factor[trie.parent[nodes]]
        grams[a], shifted[a] = above.T @ above, above.T @ factor[nodes]
    return grams, shifted


def _padded(automaton: WeightedAutomaton, n_states: int, rng: np.random.Generator) -> WeightedAutomaton:
    """The same automaton, up to small random weights, with more states."""
    n, more = automaton.n_states, n_states - automaton.n_states
    if not more:
        return automaton
    size = 0.1
    initial = np.append(automaton.initial, size * rng.standard_normal(more))
    final = np.append(automaton.final, size * rng.standard_normal(more))
    transitions = size * rng.standard_normal((len(automaton.alphabet), n_states, n_states))
    transitions[:, :n, :n] = automaton.transitions
    return WeightedAutomaton(automaton.alphabet, initial, transitions, final)
