"""Context-free grammars: rules of any length, grouped by their left side.

The rules of one left side compete with each other: they are the events of one multinomial, the k-th
of which holds the rules `offsets[k] : offsets[k + 1]`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.alphabet import Alphabet
from sigmastar.core.errors import InputError
from sigmastar.trees.data.tree import Tree


class Word(NamedTuple):
    """A terminal symbol, told apart from a non-terminal that is written alike."""

    text: str


Part = str | Word
"""A symbol on the right side of a rule: the name of a non-terminal, or a word."""


class Rule(NamedTuple):
    """left -> right."""

    left: str
    right: tuple[Part, ...]

    def __str__(self) -> str:
        parts = (f'"{part.text}"' if isinstance(part, Word) else part for part in self.right)
        return f"{self.left} -> {' '.join(parts)}"


@dataclass(frozen=True, eq=False)
class Grammar:
    """Rules, those of one left side next to each other, and the symbol that derivations start from."""

    start: str
    rules: tuple[Rule, ...]

    @classmethod
    def of(cls, rules: Iterable[Rule], start: str | None = None) -> Grammar:
        """Group rules by left side, in the order in which these appear first; the first is the start."""
        ordered = grouped(list(rules))
        if not ordered:
            raise InputError("a grammar needs at least one rule")
        return cls(ordered[0].left if start is None else start, tuple(ordered))

    @classmethod
    def of_trees(cls, trees: Iterable[Tree], start: str | None = None) -> Grammar:
        """All rules that trees use, those of the first tree's root first."""
        rules = dict.fromkeys(rule_of(node) for tree in trees for node in tree.nodes())
        return cls.of(rules, start)

    def __post_init__(self) -> None:
        if len(set(self.rules)) != len(self.rules):
            twice = next(rule for rule in self.rules if self.rules.count(rule) > 1)
            raise InputError(f"the rule {twice} is given twice; keep one of them")
        known = self.codes
        if self.start not in known:
            raise InputError(f"the start symbol {self.start!r} has no rules")
        for rule in self.rules:
            if not rule.right:
                raise InputError(f"the rule {rule} has an empty right side; only non-empty ones can be used")
            for part in rule.right:
                if not isinstance(part, Word) and part not in known:
                    raise InputError(f"the non-terminal {part!r} of {rule} has no rules")
        _ = self.bottom_up

    @cached_property
    def nonterminals(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(rule.left for rule in self.rules))

    @cached_property
    def codes(self) -> dict[str, int]:
        return {symbol: code for code, symbol in enumerate(self.nonterminals)}

    @cached_property
    def numbers(self) -> dict[Rule, int]:
        return {rule: number for number, rule in enumerate(self.rules)}

    @cached_property
    def words(self) -> Alphabet:
        """The terminals, sorted."""
        return Alphabet(
            sorted({part.text for rule in self.rules for part in rule.right if isinstance(part, Word)})
        )

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        lefts = np.array([self.codes[rule.left] for rule in self.rules])
        if (np.diff(lefts) < 0).any():
            raise InputError("the rules of a left side must stand together; make the grammar by Grammar.of")
        return np.searchsorted(lefts, np.arange(len(self.nonterminals) + 1))

    @cached_property
    def bottom_up(self) -> tuple[str, ...]:
        """Non-terminals, each after all that it rewrites to by unary rules."""
        below: dict[str, list[str]] = {symbol: [] for symbol in self.nonterminals}
        for rule in self.rules:
            if len(rule.right) == 1 and not isinstance(rule.right[0], Word):
                below[rule.left].append(rule.right[0])
        try:
            return tuple(TopologicalSorter(below).static_order())
        except CycleError as found:
            cycle = " -> ".join(reversed(found.args[1]))
            raise InputError(f"unary rules go in a cycle, {cycle}: remove one of them") from None


def grouped(rules: Sequence[Rule]) -> list[Rule]:
    """Rules of one left side next to each other, otherwise in the order given."""
    lefts = {left: place for place, left in enumerate(dict.fromkeys(rule.left for rule in rules))}
    return sorted(rules, key=lambda rule: lefts[rule.left])


def rule_of(node: Tree) -> Rule:
    """The rule at the top of a tree."""
    parts = (Word(child) if isinstance(child, str) else child.label for child in node.children)
    return Rule(node.label, tuple(parts))
