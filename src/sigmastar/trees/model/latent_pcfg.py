"""Latent-variable PCFGs as Cohen et al. (2012, section 4) define them.

    p(tree, h) = pi(a1, h1) prod q(r_i | h_i) prod_left s(h_i | h_parent, r) prod_right t(h_i | h_parent, r)

and p(tree) is the sum over hidden states. As an automaton over productions (theorem 1 with G = 1):

    A_(a -> b c)[h, h2, h3] = q(r | h) s(h2 | h, r) t(h3 | h, r)      beta_(a -> x)[h] = q(a -> x | h)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.alphabet import Alphabet
from sigmastar.trees.data.productions import TOP, production_trees
from sigmastar.trees.data.ranked import RankedAlphabet
from sigmastar.trees.data.tree import Tree
from sigmastar.trees.model.automaton import TreeAutomaton

Array = NDArray[np.float64]
Rule = tuple[str, str, str]


@dataclass(frozen=True, eq=False)
class LatentPCFG:
    """The parameters pi, q, s and t; every non-terminal has the same number of states.

    `lexical` are pairs (pre-terminal, word). A non-terminal has rules of one kind only.
    """

    rules: tuple[Rule, ...]
    lexical: tuple[tuple[str, str], ...]
    roots: tuple[str, ...]
    pi: Array  # roots x states
    rule_weights: Array  # q(a -> b c | h): rules x states
    word_weights: Array  # q(a -> x | h): lexical x states
    left: Array  # s(h2 | h, r): rules x h2 x h
    right: Array  # t(h3 | h, r): rules x h3 x h

    def __post_init__(self) -> None:
        m, n_rules = self.pi.shape[-1], len(self.rules)
        shapes = {
            "pi": (len(self.roots), m),
            "rule_weights": (n_rules, m),
            "word_weights": (len(self.lexical), m),
            "left": (n_rules, m, m),
            "right": (n_rules, m, m),
        }
        for name, shape in shapes.items():
            array = np.ascontiguousarray(getattr(self, name), dtype=np.float64)
            if array.shape != shape or not (np.isfinite(array).all() and (array >= 0).all()):
                raise ValueError(f"{name} of shape {array.shape} must hold probabilities of shape {shape}")
            object.__setattr__(self, name, array)
        sums = [self.pi.sum(), *self.left.sum(axis=1).ravel(), *self.right.sum(axis=1).ravel()]
        for symbol in self.symbols:
            sums += list(
                self._rows(self.rules, self.rule_weights, symbol).sum(axis=0)
                + self._rows(self.lexical, self.word_weights, symbol).sum(axis=0)
            )
        if np.abs(np.array(sums) - 1.0).max() > 1e-9:
            raise ValueError("pi, q, s and t must be distributions: some do not sum to one")

    @staticmethod
    def _rows(names: Sequence[tuple[str, ...]], weights: Array, symbol: str) -> Array:
        return weights[[k for k, name in enumerate(names) if name[0] == symbol]]

    @property
    def n_states(self) -> int:
        return int(self.pi.shape[1])

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """The non-terminals that can be rewritten."""
        return tuple(dict.fromkeys([*(rule[0] for rule in self.rules), *(tag for tag, _ in self.lexical)]))

    @cached_property
    def automaton(self) -> TreeAutomaton:
        """The tensor form: an automaton over productions, whose first state is the top's."""
        alphabet = RankedAlphabet(
            Alphabet(self.lexical), Alphabet((TOP, root) for root in self.roots), Alphabet(self.rules)
        )
        top, first = np.zeros((len(self.roots), self.n_states, self.n_states)), np.zeros(self.n_states)
        top[:, 0, :], first[0] = self.pi, 1.0
        binary = np.einsum("rh,rih,rjh->rhij", self.rule_weights, self.left, self.right)
        return TreeAutomaton(alphabet, first, self.word_weights, top, binary)

    def log_probability(self, trees: Sequence[Tree]) -> Array:
        """log p of each tree; -inf where it has none."""
        return self.automaton.log_probability(production_trees(trees))

    def sample(self, n_trees: int, rng: np.random.Generator, max_words: int = 200) -> list[Tree]:
        """Draw trees; one of more than `max_words` words is drawn again."""
        draw = _Draw(self, rng, max_words)
        return [draw.tree() for _ in range(n_trees)]

    def to_parts(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        arrays = {n: getattr(self, n) for n in ("pi", "rule_weights", "word_weights", "left", "right")}
        return arrays, {"rules": self.rules, "lexical": self.lexical, "roots": self.roots}

    @classmethod
    def from_parts(cls, arrays: dict[str, NDArray[Any]], header: dict[str, Any]) -> LatentPCFG:
        return cls(header["rules"], header["lexical"], header["roots"], **arrays)


class _Draw:
    """Trees from the top down, by the cumulative weights of all that a state of a symbol can become."""

    def __init__(self, grammar: LatentPCFG, rng: np.random.Generator, max_words: int) -> None:
        self.grammar, self.rng, self.max_words = grammar, rng, max_words
        self.top = np.cumsum(grammar.pi.ravel())
        names: tuple[tuple[str, ...], ...] = (*grammar.rules, *grammar.lexical)
        weights = np.vstack([grammar.rule_weights, grammar.word_weights])
        self.outcomes, self.tables = dict[str, list[int]](), dict[str, Array]()
        for symbol in grammar.symbols:
            self.outcomes[symbol] = [k for k, name in enumerate(names) if name[0] == symbol]
            self.tables[symbol] = np.cumsum(weights[self.outcomes[symbol]], axis=0).T.copy()
        self.left, self.right = (
            np.cumsum(x, axis=1).transpose(0, 2, 1).copy() for x in (grammar.left, grammar.right)
        )

    def tree(self) -> Tree:
        while True:
            drawn = self._nodes()
            if drawn is not None:
                return drawn

    def _pick(self, cumulative: Array) -> int:
        return min(int(np.searchsorted(cumulative, self.rng.random(), side="right")), len(cumulative) - 1)

    def _nodes(self) -> Tree | None:
        grammar, n_rules = self.grammar, len(self.grammar.rules)
        root, state = divmod(self._pick(self.top), grammar.n_states)
        waiting, order, n_words = [(grammar.roots[root], state)], list[int](), 0
        while waiting:
            symbol, state = waiting.pop()
            outcome = self.outcomes[symbol][self._pick(self.tables[symbol][state])]
            order.append(outcome)
            if outcome >= n_rules:
                n_words += 1
                continue
            if n_words + len(waiting) >= self.max_words:
                return None
            _, left, right = grammar.rules[outcome]
            waiting.append((left, self._pick(self.left[outcome, state])))
            waiting.append((right, self._pick(self.right[outcome, state])))
        return self._built(order)

    def _built(self, order: list[int]) -> Tree:
        done, n_rules = list[Tree](), len(self.grammar.rules)
        for outcome in reversed(order):
            if outcome >= n_rules:
                tag, word = self.grammar.lexical[outcome - n_rules]
                done.append(Tree(tag, (word,)))
            else:
                right, left = done.pop(), done.pop()
                done.append(Tree(self.grammar.rules[outcome][0], (left, right)))
        return done[0]
