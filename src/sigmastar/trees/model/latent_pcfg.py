"""Latent-variable PCFGs as Cohen et al. (2012, section 4) define them, in the tensor form of their theorem 1.

    p(tree, h) = pi(a1, h1) prod q(r_i | h_i) prod_left s(h_i | h_parent, r) prod_right t(h_i | h_parent, r)

and p(tree) is the sum over hidden states. With

    A_(a -> b c)[h, h2, h3] = q(r | h) s(h2 | h, r) t(h3 | h, r)      beta_(a -> x)[h] = q(a -> x | h)

it is a weighted tree automaton over productions, whose states belong to the non-terminal of their node. What
the spectral method finds has such tensors too, in another basis: they are signed, and no q, s and t can be
told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sigmastar.core.alphabet import Alphabet, OperatorModel
from sigmastar.core.arrays import Array, Floats
from sigmastar.core.notebook import Shown
from sigmastar.core.stored_parts import Parts, floats, texts, tuples_of_texts
from sigmastar.trees.data.productions import TOP, production_trees
from sigmastar.trees.data.ranked import RankedAlphabet, RankedTrees
from sigmastar.trees.data.tree import Tree
from sigmastar.trees.kernels import Outcomes
from sigmastar.trees.model.automaton import TreeAutomaton, built, drawn_nodes

Rule = tuple[str, str, str]

_ROUNDS = 20_000


@dataclass(frozen=True, eq=False)
class LatentPCFG(Shown):
    """Operators of productions; those of symbols with fewer states than others are filled up with zeros.

    Parameters
    ----------
    rules : tuple of (str, str, str)
        The binary rules a -> b c.
    lexical : tuple of (str, str)
        Pairs (pre-terminal, word). A non-terminal has rules of one kind only.
    roots : tuple of str
        The symbols that trees may have at the top.
    top : array, roots x states
        pi, or c^1 of the paper.
    leaf : array, lexical x states
        beta.
    binary : array, rules x states of the parent x of the left child x of the right child
        A.
    """

    rules: tuple[Rule, ...]
    lexical: tuple[tuple[str, str], ...]
    roots: tuple[str, ...]
    top: Floats
    leaf: Floats
    binary: Floats

    def __post_init__(self) -> None:
        m, known = self.top.shape[-1], set(self.symbols)
        shapes = {
            "top": (len(self.roots), m),
            "leaf": (len(self.lexical), m),
            "binary": (len(self.rules), m, m, m),
        }
        for name, shape in shapes.items():
            array = np.ascontiguousarray(getattr(self, name), dtype=np.float64)
            if array.shape != shape or not np.isfinite(array).all():
                raise ValueError(f"{name} of shape {array.shape} must hold finite numbers of shape {shape}")
            object.__setattr__(self, name, array)
        for symbol in {*self.roots, *(child for rule in self.rules for child in rule[1:])} - known:
            raise ValueError(f"the symbol {symbol!r} has no rule and no word")

    @classmethod
    def of_probabilities(
        cls,
        rules: tuple[Rule, ...],
        lexical: tuple[tuple[str, str], ...],
        roots: tuple[str, ...],
        pi: Floats,
        rule_weights: Floats,
        word_weights: Floats,
        left: Floats,
        right: Floats,
    ) -> LatentPCFG:
        """From the parameters of the definition.

        Parameters
        ----------
        rules, lexical, roots
            As of the class.
        pi : array, roots x states
            pi(a, h).
        rule_weights, word_weights : arrays, rules x states and lexical x states
            q(a -> b c | h) and q(a -> x | h).
        left, right : arrays, rules x states of the child x states of the parent
            s(h2 | h, r) and t(h3 | h, r).

        Returns
        -------
        LatentPCFG
            A proper one: weights of no sign that sum to one.
        """
        m, n = pi.shape[-1], len(rules)
        names = ("pi", "rule_weights", "word_weights", "left", "right")
        arrays = (pi, rule_weights, word_weights, left, right)
        shapes = ((len(roots), m), (n, m), (len(lexical), m), (n, m, m), (n, m, m))
        for name, array, shape in zip(names, arrays, shapes, strict=True):
            if array.shape != shape or not (np.isfinite(array).all() and (array >= 0).all()):
                raise ValueError(f"{name} of shape {array.shape} must hold probabilities of shape {shape}")
        binary = np.einsum("rh,rih,rjh->rhij", rule_weights, left, right)
        found = cls(rules, lexical, roots, pi, word_weights, binary)
        sums = [pi.sum(), *left.sum(axis=1).ravel(), *right.sum(axis=1).ravel(), *found.outgoing.ravel()]
        if np.abs(np.array(sums) - 1.0).max() > 1e-9:
            raise ValueError("pi, q, s and t must be distributions: some do not sum to one")
        return found

    @classmethod
    def of_operators(cls, model: OperatorModel) -> LatentPCFG:
        """From operators whose sorts are non-terminals, as `learn.learn_latent_pcfg` recovers them."""
        n = max(model.n_states(sort) for sort in model.signature.sorts)
        rules, lexical, leaf, binary = list[Rule](), list[tuple[str, str]](), list[Floats](), list[Floats]()
        for operation, array in model.operators.items():
            if operation.arity:
                rules.append((str(operation.result), *map(str, operation.arguments)))  # type: ignore[arg-type]
                binary.append(_padded(array[0], (n, n, n)))
            else:
                lexical += [(str(operation.result), str(word)) for word in operation.alphabet]
                leaf += [_padded(row, (n,)) for row in array]
        top = [_padded(root, (n,)) for root in model.roots.values()]
        return cls(
            tuple(rules),
            tuple(lexical),
            tuple(map(str, model.roots)),
            np.reshape(top, (-1, n)),
            np.reshape(leaf, (-1, n)),
            np.reshape(binary, (-1, n, n, n)),
        )

    @property
    def n_states(self) -> int:
        """The states of the symbol that has most of them."""
        return int(self.top.shape[1])

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """The non-terminals that can be rewritten."""
        return tuple(dict.fromkeys([*(rule[0] for rule in self.rules), *(tag for tag, _ in self.lexical)]))

    @cached_property
    def outgoing(self) -> Floats:
        """[symbol, state]: the sum of all weights; ones for a proper grammar."""
        return self._by_symbol(self.binary.sum(axis=(2, 3)), self.leaf)

    @cached_property
    def automaton(self) -> TreeAutomaton:
        """An automaton over productions, whose first state is the top's; for trees that fit together."""
        alphabet = RankedAlphabet(
            Alphabet(self.lexical), Alphabet((TOP, root) for root in self.roots), Alphabet(self.rules)
        )
        top, first = np.zeros((len(self.roots), self.n_states, self.n_states)), np.zeros(self.n_states)
        top[:, 0, :], first[0] = self.top, 1.0
        return TreeAutomaton(alphabet, first, self.leaf, top, self.binary)

    def value(self, trees: Sequence[Tree] | RankedTrees) -> Floats:
        """p of each tree, which may be below zero where operators were learned."""
        return self.automaton.value(_as_productions(trees))

    def log_probability(self, trees: Sequence[Tree] | RankedTrees) -> Floats:
        """log p of each tree; -inf where it is not positive."""
        return self.automaton.log_probability(_as_productions(trees))

    @cached_property
    def inside_sums(self) -> Floats:
        """[symbol, state]: the sum of the inside vectors of all trees below a symbol."""
        number = {symbol: k for k, symbol in enumerate(self.symbols)}
        left, right = ([number[rule[side]] for rule in self.rules] for side in (1, 2))
        v = np.zeros((len(self.symbols), self.n_states))
        for _ in range(_ROUNDS):
            after = self._by_symbol(np.einsum("rhij,ri,rj->rh", self.binary, v[left], v[right]), self.leaf)
            if not np.isfinite(after).all() or np.abs(after).max(initial=0.0) > 1e12:
                break
            if np.abs(after - v).max(initial=0.0) <= 1e-13 * max(1.0, np.abs(after).max(initial=0.0)):
                return after
            v = after
        raise ValueError("the weight of all trees is infinite; learn from more trees, or use fewer states")

    def total_mass(self) -> float:
        """The sum of p over all trees: one for a proper grammar."""
        v = dict(zip(self.symbols, self.inside_sums, strict=True))
        return float(sum(row @ v[root] for root, row in zip(self.roots, self.top, strict=True)))

    def sample(self, n_trees: int, rng: np.random.Generator, max_words: int = 200) -> list[Tree]:
        """Draw trees; one of more than `max_words` words is drawn again.

        Parameters
        ----------
        n_trees
            How many.
        rng
            The source of chance.
        max_words
            Of a tree, at most.

        Returns
        -------
        list of Tree
            Where p has negative values, probabilities below zero count as zero.
        """
        names = [*((TOP, root) for root in self.roots), *self.rules, *self.lexical]
        ranks = [1] * len(self.roots) + [2] * len(self.rules) + [0] * len(self.lexical)
        order = sorted(range(len(names)), key=lambda k: self._sorts[names[k][0]])
        outcomes = self._outcomes(names, ranks, order)

        def build(outcome: int, below: list[Any]) -> Any:
            name = names[order[outcome]]
            return below[0] if name[0] == TOP and len(below) == 1 else Tree(name[0], tuple(below or name[1:]))

        drawn = drawn_nodes(self.automaton.operators, outcomes, n_trees, rng, 2 * max_words)
        return [built(nodes, outcomes.rank.tolist(), build) for nodes in drawn]

    @cached_property
    def _sorts(self) -> dict[str, int]:
        return {TOP: 0, **{symbol: k for k, symbol in enumerate(self.symbols, 1)}}

    def _outcomes(self, names: list[tuple[str, ...]], ranks: list[int], order: list[int]) -> Outcomes:
        sums = np.vstack([np.zeros(self.n_states), self.inside_sums])
        below = np.array([[self._sorts.get(child, -1) for child in (*name[1:], "")[:2]] for name in names])
        top, v = self.automaton.unary, sums[below]
        of_rules = v[len(top) :][: len(self.rules)]
        weights = np.concatenate(
            [
                np.einsum("rhi,ri->rh", top, v[: len(top), 0]),
                np.einsum("rhij,ri,rj->rh", self.binary, of_rules[:, 0], of_rules[:, 1]),
                self.leaf,
            ]
        )
        sorts = np.array([self._sorts[names[k][0]] for k in order])
        symbol = [*range(len(self.roots)), *range(len(self.rules)), *range(len(self.lexical))]
        return Outcomes(
            np.searchsorted(sorts, np.arange(len(self._sorts) + 1)),
            np.array(ranks)[order],
            np.array(symbol)[order],
            below[order],
            weights[order],
            sums,
        )

    def _by_symbol(self, of_rules: Floats, of_words: Floats) -> Floats:
        number = {symbol: k for k, symbol in enumerate(self.symbols)}
        sums = np.zeros((len(self.symbols), self.n_states))
        np.add.at(sums, [number[rule[0]] for rule in self.rules], of_rules)
        np.add.at(sums, [number[tag] for tag, _ in self.lexical], of_words)
        return sums

    PARTS: ClassVar[Parts] = Parts(
        header={"rules": tuples_of_texts(3), "lexical": tuples_of_texts(2), "roots": texts},
        sizes={"rules": "rules", "lexical": "lexical", "roots": "roots"},
        arrays={
            "top": floats("roots", "states").or_none(),
            "leaf": floats("lexical", "states").or_none(),
            "binary": floats("rules", "states", "states", "states").or_none(),
            "pi": floats("roots", "states", least=0.0).or_none(),  # older files hold the probabilities
            "rule_weights": floats("rules", "states", least=0.0).or_none(),
            "word_weights": floats("lexical", "states", least=0.0).or_none(),
            "left": floats("rules", "states", "states", least=0.0).or_none(),
            "right": floats("rules", "states", "states", least=0.0).or_none(),
        },
    )

    def to_parts(self) -> tuple[dict[str, Array], dict[str, Any]]:
        arrays = {name: getattr(self, name) for name in ("top", "leaf", "binary")}
        return arrays, {"rules": self.rules, "lexical": self.lexical, "roots": self.roots}

    @classmethod
    def from_parts(cls, arrays: dict[str, Array], header: dict[str, Any]) -> LatentPCFG:
        cls.PARTS.check(arrays, header)
        names = header["rules"], header["lexical"], header["roots"]
        if "pi" in arrays:
            found = [arrays[name] for name in ("pi", "rule_weights", "word_weights", "left", "right")]
            return cls.of_probabilities(*names, *found)
        return cls(*names, arrays["top"], arrays["leaf"], arrays["binary"])


def _padded(array: Floats, shape: tuple[int, ...]) -> Floats:
    found = np.zeros(shape)
    found[tuple(slice(size) for size in array.shape)] = array
    return found


def _as_productions(trees: Sequence[Tree] | RankedTrees) -> RankedTrees:
    return trees if isinstance(trees, RankedTrees) else production_trees(trees)
