"""Weighted tree automata over ranked alphabets of rank 0, 1 and 2.

    f(t) = alpha . inside(t)      (Balle, Quattoni and Carreras 2014, "Weighted Finite Tree Automata")

With v the sum of the inside vectors of all trees and w that of the outside vectors of all contexts,

    v = sum_a beta_a + sum_s A_s v + sum_s A_s (v, v)            the least fixed point
    w = alpha + w M,    M = sum_s A_s + sum_s A_s (., v) + sum_s A_s (v, .)

so the weight of all trees is alpha . v, and w . inside(t) is the expected number of places at which t
hangs in a tree. That function has the same operators: `of_subtrees` turns its root into alpha.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sigmastar.automata.model.automaton import ScaledRows, SignedLog
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.operator_model import OperatorModel
from sigmastar.trees.data.ranked import RankedAlphabet, RankedTrees
from sigmastar.trees.data.tree import Tree
from sigmastar.trees.kernels.vectors import inside_vectors, outside_vectors

Array = NDArray[np.float64]

_ROUNDS = 100_000


@dataclass(frozen=True, eq=False)
class TreeAutomaton:
    """A function on trees by its operators; weights may have any sign."""

    alphabet: RankedAlphabet
    root: Array  # n
    leaf: Array  # symbols x n
    unary: Array  # symbols x n (result) x n
    binary: Array  # symbols x n (result) x n (left) x n (right)

    def __post_init__(self) -> None:
        n, sizes = len(self.root), [len(rank) for rank in self.alphabet.ranks]
        for name, shape in (
            ("root", (n,)),
            ("leaf", (sizes[0], n)),
            ("unary", (sizes[1], n, n)),
            ("binary", (sizes[2], n, n, n)),
        ):
            array = np.ascontiguousarray(getattr(self, name), dtype=np.float64)
            if array.shape != shape or not np.isfinite(array).all():
                raise ValueError(f"{name} of shape {array.shape} must hold finite numbers of shape {shape}")
            object.__setattr__(self, name, array)

    @property
    def n_states(self) -> int:
        return len(self.root)

    @classmethod
    def of_operators(cls, model: OperatorModel) -> TreeAutomaton:
        """From an operator model on a signature of trees; ranks that it leaves out are empty."""
        n = model.n_states("tree")
        found = {op.name: (op.alphabet, model.operators[op]) for op in model.signature.operations}
        ranks = [
            found.get(name, (Alphabet(()), np.zeros((0, *[n] * order))))
            for order, name in enumerate(("leaf", "unary", "binary"), 1)
        ]
        alphabet = RankedAlphabet(*(symbols for symbols, _ in ranks))
        return cls(alphabet, model.roots["tree"], *(array for _, array in ranks))

    def to_operators(self) -> OperatorModel:
        signature = self.alphabet.signature
        arrays = {"leaf": self.leaf, "unary": self.unary, "binary": self.binary}
        operators = {op: arrays[str(op.name)] for op in signature.operations}
        return OperatorModel(signature, {"tree": self.root}, operators)

    def to_parts(self) -> tuple[dict[str, Array], dict[str, Any]]:
        arrays = {"root": self.root, "leaf": self.leaf, "unary": self.unary, "binary": self.binary}
        leaves, unary, binary = self.alphabet.ranks
        return arrays, {"leaves": leaves, "unary": unary, "binary": binary}

    @classmethod
    def from_parts(cls, arrays: dict[str, Array], header: dict[str, Any]) -> TreeAutomaton:
        alphabet = RankedAlphabet(header["leaves"], header["unary"], header["binary"])
        return cls(alphabet, arrays["root"], arrays["leaf"], arrays["unary"], arrays["binary"])

    def coded(self, trees: RankedTrees | Sequence[Tree | str]) -> RankedTrees:
        """Trees over the alphabet of this automaton; what it does not know has operator zero."""
        ranked = trees if isinstance(trees, RankedTrees) else RankedTrees.of(trees)
        return ranked.recoded(self.alphabet, allow_unknown=True)

    def inside(self, trees: RankedTrees | Sequence[Tree | str]) -> ScaledRows:
        """The inside vector of every node."""
        coded = self.coded(trees)
        return ScaledRows(
            *inside_vectors(
                coded.rank, coded.symbol, coded.left, coded.right, self.leaf, self.unary, self.binary
            )
        )

    def outside(self, trees: RankedTrees | Sequence[Tree | str]) -> ScaledRows:
        """The outside vector of every node: its product with the inside vector is f of the whole tree."""
        coded = self.coded(trees)
        below = self.inside(coded)
        return ScaledRows(
            *outside_vectors(
                coded.rank,
                coded.symbol,
                coded.left,
                coded.right,
                coded.roots,
                self.root,
                self.unary,
                self.binary,
                below.mantissas,
                below.exponents,
            )
        )

    def log_value(self, trees: RankedTrees | Sequence[Tree | str]) -> SignedLog:
        """Sign and logarithm of f on each tree; finite wherever f is not zero, at any size."""
        coded = self.coded(trees)
        below = self.inside(coded)
        mantissa = below.mantissas[coded.roots] @ self.root
        with np.errstate(divide="ignore"):
            return SignedLog(
                np.sign(mantissa), np.log(np.abs(mantissa)) + below.exponents[coded.roots] * np.log(2.0)
            )

    def value(self, trees: RankedTrees | Sequence[Tree | str]) -> Array:
        sign, log = self.log_value(trees)
        return sign * np.exp(log)

    def log_probability(self, trees: RankedTrees | Sequence[Tree | str]) -> Array:
        """log f where f > 0, else -inf."""
        sign, log = self.log_value(trees)
        return np.where(sign > 0, log, -np.inf)

    def change_basis(self, basis: Array) -> TreeAutomaton:
        """The same function with states `Q^-1 v` in place of `v`, for an invertible `basis` Q."""
        return TreeAutomaton.of_operators(self.to_operators().change_basis({"tree": basis}))

    @cached_property
    def inside_sum(self) -> Array:
        """v: the sum of the inside vectors of all trees."""
        leaves, chains, pairs = self.leaf.sum(axis=0), self.unary.sum(axis=0), self.binary.sum(axis=0)
        v = np.zeros(self.n_states)
        for _ in range(_ROUNDS):
            after = leaves + chains @ v + (pairs @ v) @ v
            if not np.isfinite(after).all() or np.abs(after).max(initial=0.0) > 1e12:
                break
            if np.abs(after - v).max(initial=0.0) <= 1e-14 * max(1.0, np.abs(after).max(initial=0.0)):
                return np.asarray(after)
            v = after
        raise ValueError("the weight of all trees is infinite; scale the operators down, or use fewer states")

    @cached_property
    def step_sum(self) -> Array:
        """M: the sum of all ways to go from a context one node further in."""
        pairs, v = self.binary.sum(axis=0), self.inside_sum
        return np.asarray(self.unary.sum(axis=0) + pairs @ v + np.einsum("ijk,j->ik", pairs, v))

    def total_mass(self) -> float:
        """The sum of f over all trees."""
        return float(self.root @ self.inside_sum)

    def subtree_function(self) -> TreeAutomaton:
        """How often a tree is expected to hang somewhere in a tree drawn from f."""
        turned = np.linalg.solve((np.eye(self.n_states) - self.step_sum).T, self.root)
        return replace(self, root=turned.astype(np.float64))

    def of_subtrees(self) -> TreeAutomaton:
        """The inverse: from the function of expected occurrences to that of whole trees."""
        return replace(self, root=self.root @ (np.eye(self.n_states) - self.step_sum))

    def is_stochastic(self, tolerance: float = 1e-9) -> bool:
        """Whether trees can be drawn from the top: weights >= 0, out of every state one in sum."""
        arrays = (self.root, self.leaf, self.unary, self.binary)
        lowest = min(float(array.min(initial=0.0)) for array in arrays)
        outgoing = self.leaf.sum(axis=0) + self.unary.sum(axis=(0, 2)) + self.binary.sum(axis=(0, 2, 3))
        sums = np.append(outgoing, self.root.sum())
        return bool(lowest >= 0.0 and np.abs(sums - 1.0).max() <= tolerance)

    def sample(self, n_trees: int, rng: np.random.Generator, max_nodes: int = 10_000) -> list[Tree | str]:
        """Draw trees of a stochastic automaton; one that grows beyond `max_nodes` is drawn again."""
        if not self.is_stochastic():
            raise ValueError("trees can be drawn from stochastic automata only, see is_stochastic")
        draw = _Draw(self, rng, max_nodes)
        return [draw.tree() for _ in range(n_trees)]


class _Draw:
    """Trees from the top down."""

    def __init__(self, automaton: TreeAutomaton, rng: np.random.Generator, max_nodes: int) -> None:
        n = automaton.n_states
        self.automaton, self.rng, self.max_nodes, self.n = automaton, rng, max_nodes, n
        rows = [automaton.leaf.T, automaton.unary.transpose(1, 0, 2), automaton.binary.transpose(1, 0, 2, 3)]
        flat = np.concatenate([row.reshape(n, -1) for row in rows], axis=1)
        self.cumulative = np.cumsum(flat / flat.sum(axis=1, keepdims=True), axis=1)
        self.sizes = np.cumsum([row[0].size for row in rows])

    def tree(self) -> Tree | str:
        while True:
            nodes = self._nodes()
            if nodes is not None:
                return _built(nodes)

    def _nodes(self) -> list[tuple[str, int]] | None:
        """Names and ranks from the top, rightmost first; None where there are too many."""
        root = self.automaton.root
        waiting = [int(np.searchsorted(np.cumsum(root) / root.sum(), self.rng.random(), side="right"))]
        nodes = list[tuple[str, int]]()
        while waiting:
            if len(nodes) >= self.max_nodes:
                return None
            name, below = self._step(waiting.pop())
            nodes.append((name, len(below)))
            waiting.extend(below)
        return nodes

    def _step(self, state: int) -> tuple[str, list[int]]:
        table, n = self.cumulative[state], self.n
        outcome = min(int(np.searchsorted(table, self.rng.random(), side="right")), len(table) - 1)
        rank = int(np.searchsorted(self.sizes, outcome, side="right"))
        place = outcome - (int(self.sizes[rank - 1]) if rank else 0)
        code, rest = divmod(place, n**rank)
        below = [rest // n, rest % n] if rank == 2 else [rest] * rank
        return str(self.automaton.alphabet.ranks[rank].symbols[code]), below


def _built(nodes: list[tuple[str, int]]) -> Tree | str:
    done: list[Tree | str] = []
    for name, rank in reversed(nodes):
        below = done[len(done) - rank :]
        del done[len(done) - rank :]
        done.append(Tree(name, tuple(below)) if rank else name)
    return done[0]
