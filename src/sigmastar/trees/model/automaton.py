"""Weighted tree automata over ranked alphabets.

    f(t) = alpha . inside(t)      (Balle, Quattoni and Carreras 2014, "Weighted Finite Tree Automata")

With v the sum of the inside vectors of all trees and w that of the outside vectors of all contexts,

    v = sum over s of A_s (v, .., v)                                          the least fixed point
    w = alpha + w M,    M = sum over s and the children i of s of A_s (v, .., ., .., v), open at i

so the weight of all trees is alpha . v, and w . inside(t) is the expected number of places at which t
hangs in a tree. That function has the same operators: `of_subtrees` turns its root into alpha.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sigmastar.automata.model.automaton import ScaledRows, SignedLog
from sigmastar.core.alphabet import RANKS, Alphabet, OperatorModel, rank_name
from sigmastar.core.arrays import Floats
from sigmastar.core.notebook import Shown
from sigmastar.core.stored_parts import Parts, check_header, floats, lists
from sigmastar.trees.data.ranked import RankedAlphabet, RankedTrees
from sigmastar.trees.data.tree import Tree
from sigmastar.trees.kernels import Operators, Outcomes, draw_nodes, inside_vectors, outside_vectors

_ROUNDS = 100_000
_NODES = 32  # that random numbers are drawn for at first
_ATTEMPTS = 100_000  # to draw a tree that is small enough


@dataclass(frozen=True, eq=False)
class TreeAutomaton(Shown):
    """A function on trees by its operators; weights may have any sign."""

    alphabet: RankedAlphabet
    root: Floats  # n
    leaf: Floats  # symbols x n
    unary: Floats  # symbols x n (result) x n
    binary: Floats  # symbols x n (result) x n (left) x n (right)
    higher: tuple[Floats, ...] = ()  # from rank 3 on, alike

    def __post_init__(self) -> None:
        n, n_ranks = len(self.root), len(self.alphabet.ranks)
        if len(self.higher) != n_ranks - 3:
            raise ValueError(f"{len(self.higher)} arrays for ranks from 3 on, where {n_ranks - 3} are due")
        root = _checked("root", self.root, (n,))
        arrays = [
            _checked(rank_name(rank), array, (len(symbols), *[n] * (rank + 1)))
            for rank, (symbols, array) in enumerate(zip(self.alphabet.ranks, self.by_rank, strict=True))
        ]
        for name, value in zip(
            ("root", *RANKS, "higher"), (root, *arrays[:3], tuple(arrays[3:])), strict=True
        ):
            object.__setattr__(self, name, value)

    @classmethod
    def of_ranks(cls, alphabet: RankedAlphabet, root: Floats, arrays: Sequence[Floats]) -> TreeAutomaton:
        """From the operators of rank 0, 1, 2, ..."""
        return cls(alphabet, root, arrays[0], arrays[1], arrays[2], tuple(arrays[3:]))

    @property
    def by_rank(self) -> tuple[Floats, ...]:
        """The operators of every rank."""
        return self.leaf, self.unary, self.binary, *self.higher

    @property
    def n_states(self) -> int:
        return len(self.root)

    @cached_property
    def operators(self) -> Operators:
        """All weights, as kernels take them."""
        sizes = [array.size for array in self.by_rank]
        values = np.concatenate([array.ravel() for array in self.by_rank])
        return Operators(self.root, values, np.concatenate([[0], np.cumsum(sizes)]))

    @classmethod
    def of_operators(cls, model: OperatorModel) -> TreeAutomaton:
        """From an operator model on a signature of trees; ranks that it leaves out are empty."""
        n = model.n_states("tree")
        found = {op.arity: (op.alphabet, model.operators[op]) for op in model.signature.operations}
        ranks = [
            found.get(rank, (Alphabet(()), np.zeros((0, *[n] * (rank + 1)))))
            for rank in range(max(3, max(found) + 1))
        ]
        alphabet = RankedAlphabet.of([symbols for symbols, _ in ranks])
        return cls.of_ranks(alphabet, model.roots["tree"], [array for _, array in ranks])

    def to_operators(self) -> OperatorModel:
        signature = self.alphabet.signature
        operators = {op: self.by_rank[op.arity] for op in signature.operations}
        return OperatorModel(signature, {"tree": self.root}, operators)

    PARTS: ClassVar[Parts] = Parts(
        header={"leaves": Alphabet, "unary": Alphabet, "binary": Alphabet, "higher?": lists},
        inner=("rank ",),
        sizes={"leaves": "leaves", "unary": "unary", "binary": "binary"},
        arrays={
            "root": floats("states"),
            "leaf": floats("leaves", "states"),
            "unary": floats("unary", "states", "states"),
            "binary": floats("binary", "states", "states", "states"),
        },
    )

    def to_parts(self) -> tuple[dict[str, Floats], dict[str, Any]]:
        arrays = {"root": self.root} | {rank_name(k): array for k, array in enumerate(self.by_rank)}
        leaves, unary, binary, *higher = self.alphabet.ranks
        header: dict[str, Any] = {"leaves": leaves, "unary": unary, "binary": binary}
        return arrays, {**header, "higher": higher} if higher else header

    @classmethod
    def from_parts(cls, arrays: dict[str, Floats], header: dict[str, Any]) -> TreeAutomaton:
        sizes, higher = cls.PARTS.check(arrays, header), header.get("higher", [])
        for rank, symbols in enumerate(higher, 3):
            check_header({"higher": symbols}, {"higher": Alphabet})
            own = Parts(arrays={rank_name(rank): floats("symbols", *["states"] * (rank + 1))})
            array = {rank_name(rank): arrays[rank_name(rank)]}
            own.check(array, {}, symbols=len(symbols), states=sizes["states"])
        alphabet = RankedAlphabet(header["leaves"], header["unary"], header["binary"], tuple(higher))
        names = [rank_name(rank) for rank in range(len(alphabet.ranks))]
        return cls.of_ranks(alphabet, arrays["root"], [arrays[name] for name in names])

    def coded(self, trees: RankedTrees | Sequence[Tree | str]) -> RankedTrees:
        """Trees over the alphabet of this automaton; other symbols have operator zero."""
        ranked = trees if isinstance(trees, RankedTrees) else RankedTrees.of(trees)
        return ranked.recoded(self.alphabet, allow_unknown=True)

    def inside(self, trees: RankedTrees | Sequence[Tree | str]) -> ScaledRows:
        """The inside vector of every node."""
        return ScaledRows(*inside_vectors(self.coded(trees).nodes, self.operators))

    def outside(self, trees: RankedTrees | Sequence[Tree | str]) -> ScaledRows:
        """The outside vector of every node: its product with the inside vector is f of the whole tree."""
        coded = self.coded(trees)
        below = self.inside(coded)
        arrays = coded.roots, below.mantissas, below.exponents
        return ScaledRows(*outside_vectors(coded.nodes, self.operators, *arrays))

    def log_value(self, trees: RankedTrees | Sequence[Tree | str]) -> SignedLog:
        """Sign and logarithm of f on each tree; finite wherever f is not zero, at any size."""
        coded = self.coded(trees)
        below = self.inside(coded)
        mantissa = below.mantissas[coded.roots] @ self.root
        with np.errstate(divide="ignore"):
            return SignedLog(
                np.sign(mantissa), np.log(np.abs(mantissa)) + below.exponents[coded.roots] * np.log(2.0)
            )

    def value(self, trees: RankedTrees | Sequence[Tree | str]) -> Floats:
        sign, log = self.log_value(trees)
        return sign * np.exp(log)

    def log_probability(self, trees: RankedTrees | Sequence[Tree | str]) -> Floats:
        """log f where f > 0, else -inf."""
        sign, log = self.log_value(trees)
        return np.where(sign > 0, log, -np.inf)

    def change_basis(self, basis: Floats) -> TreeAutomaton:
        """The same function with states `Q^-1 v` in place of `v`, for an invertible `basis` Q."""
        return TreeAutomaton.of_operators(self.to_operators().change_basis({"tree": basis}))

    @cached_property
    def inside_sum(self) -> Floats:
        """v: the sum of the inside vectors of all trees."""
        v, sums = np.zeros(self.n_states), [array.sum(axis=0) for array in self.by_rank]
        for _ in range(_ROUNDS):
            after = np.asarray(sum(_applied(array, v) for array in sums))
            if not np.isfinite(after).all() or np.abs(after).max(initial=0.0) > 1e12:
                break
            if np.abs(after - v).max(initial=0.0) <= 1e-14 * max(1.0, np.abs(after).max(initial=0.0)):
                return np.asarray(after)
            v = after
        raise ValueError("the weight of all trees is infinite; scale the operators down, or use fewer states")

    @cached_property
    def step_sum(self) -> Floats:
        """M: the sum of all ways to go from a context one node further in."""
        found, v = np.zeros((self.n_states, self.n_states)), self.inside_sum
        for rank, array in enumerate(self.by_rank):
            total = array.sum(axis=0)
            for position in range(1, rank + 1):
                found += _applied(np.moveaxis(total, position, 1), v, n_open=2)
        return found

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
        """Whether states are hidden choices: weights >= 0, out of every state one in sum."""
        lowest = min(float(array.min(initial=0.0)) for array in (self.root, *self.by_rank))
        outgoing = sum(array.sum(axis=(0, *range(2, array.ndim))) for array in self.by_rank)
        sums = np.append(outgoing, self.root.sum())
        return bool(lowest >= 0.0 and np.abs(sums - 1.0).max() <= tolerance)

    def sample(self, n_trees: int, rng: np.random.Generator, max_nodes: int = 10_000) -> list[Tree | str]:
        """Draw trees; one that grows beyond `max_nodes` is drawn again.

        Parameters
        ----------
        n_trees
            How many.
        rng
            The source of chance.
        max_nodes
            Of a tree, at most.

        Returns
        -------
        list of Tree or str
            Lone words are text. Where f has negative values, probabilities below zero count as zero.
        """
        v, sizes = self.inside_sum, [len(symbols) for symbols in self.alphabet.ranks]
        outcomes = Outcomes(
            np.array([0, sum(sizes)]),
            np.repeat(np.arange(len(sizes)), sizes),
            np.concatenate([np.arange(size) for size in sizes]),
            np.zeros((sum(sizes), len(sizes) - 1), np.int64),
            np.concatenate([_applied(array, v, n_open=2) for array in self.by_rank]),
            v[None],
        )
        names = [str(symbol) for symbols in self.alphabet.ranks for symbol in symbols]
        ranks = outcomes.rank.tolist()

        def build(outcome: int, below: list[Tree | str]) -> Tree | str:
            return Tree(names[outcome], tuple(below)) if below else names[outcome]

        drawn = drawn_nodes(self.operators, outcomes, n_trees, rng, max_nodes)
        return [built(nodes, ranks, build) for nodes in drawn]


def _checked(name: str, array: Floats, shape: tuple[int, ...]) -> Floats:
    found = np.ascontiguousarray(array, dtype=np.float64)
    if found.shape != shape or not np.isfinite(found).all():
        raise ValueError(f"{name} of shape {found.shape} must hold finite numbers of shape {shape}")
    return found


def _applied(array: Floats, vector: Floats, n_open: int = 1) -> Floats:
    """Contract all axes but the first ones with one vector."""
    while array.ndim > n_open:
        array = array @ vector
    return array


def drawn_nodes(
    operators: Operators, outcomes: Outcomes, n_trees: int, rng: np.random.Generator, max_nodes: int
) -> Iterator[list[int]]:
    """The outcomes of the nodes of trees, in preorder; trees that are too large are drawn again."""
    room = np.zeros(int(np.diff(outcomes.starts).max()))
    for _ in range(n_trees):
        for _ in range(_ATTEMPTS):
            uniforms, is_done = rng.random(_NODES), False
            while not is_done:
                nodes, is_done = draw_nodes(uniforms, operators, outcomes, max_nodes, room)
                uniforms = uniforms if is_done else np.append(uniforms, rng.random(len(uniforms)))
            if len(nodes):
                break
        else:
            raise ValueError(f"trees of at most {max_nodes} nodes hardly ever come; allow larger ones")
        yield nodes.tolist()


def built(nodes: list[int], ranks: list[int], build: Callable[[int, list[Any]], Any]) -> Any:
    """Put together what was drawn in preorder, from the last node to the first."""
    done: list[Any] = []
    for outcome in reversed(nodes):
        below = [done.pop() for _ in range(ranks[outcome])]
        done.append(build(outcome, below))
    return done[0]
