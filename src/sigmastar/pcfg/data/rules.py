"""Context-free grammars: rules of any length, grouped by their left side, and their form as text.

The rules of one left side compete with each other: they are the events of one multinomial, the k-th
of which holds the rules `offsets[k] : offsets[k + 1]`.

As text a grammar is one rule per line, `S -> NP VP 0.8`, with or without weights. A symbol that is the left
side of some rule is a non-terminal, all others are words; a word in quotation marks is always a word, as in
`, -> ","`. The last field is a weight if it is a number and not the only field: a word that is a number must
be in quotation marks if it comes last. Lines that begin with `#` are comments, unless `->` follows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, TextIO

import numpy as np

from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Floats, Int64s
from sigmastar.core.errors import InputError
from sigmastar.core.text_files import TextPath, display_name, open_text
from sigmastar.trees.data.tree import Tree

TOP = "TOP"  # the start symbol above trees with different roots
_FIELDS = re.compile(r'"(?:[^"\\]|\\.)*"(?=\s|$)|\S+')


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
        """All rules that trees use, those of the first tree's root first.

        The rules of a left side are in the order of the alphabet, not of the trees: the order of sticks in
        the binary normal form must not depend on the sample, or else truncation starves what comes last.
        Trees with different roots get one more symbol, TOP, above them, unless a start symbol is given.
        """
        rules, roots = dict[Rule, None](), dict[str, None]()
        for tree in trees:
            roots[tree.label] = None
            rules.update(dict.fromkeys(rule_of(node) for node in tree.nodes()))
        if start is None and len(roots) > 1:
            top = TOP
            while any(rule.left == top for rule in rules):
                top += "'"
            rules = {**{Rule(top, (root,)): None for root in roots}, **rules}
        lefts = {left: place for place, left in enumerate(dict.fromkeys(rule.left for rule in rules))}
        return cls.of(sorted(rules, key=lambda rule: (lefts[rule.left], str(rule))), start)

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
    def offsets(self) -> Int64s:
        lefts = np.array([self.codes[rule.left] for rule in self.rules])
        if (np.diff(lefts) < 0).any():
            raise InputError("the rules of a left side must stand together; make the grammar by Grammar.of")
        return np.searchsorted(lefts, np.arange(len(self.nonterminals) + 1))


def grouped(rules: Sequence[Rule]) -> list[Rule]:
    """Rules of one left side next to each other, otherwise in the order given."""
    lefts = {left: place for place, left in enumerate(dict.fromkeys(rule.left for rule in rules))}
    return sorted(rules, key=lambda rule: lefts[rule.left])


def rule_of(node: Tree) -> Rule:
    """The rule at the top of a tree."""
    parts = (Word(child) if isinstance(child, str) else child.label for child in node.children)
    return Rule(node.label, tuple(parts))


@dataclass(frozen=True, eq=False)
class WeightedRules:
    """A grammar, and the weights of its rules, in their order, where the file gives them."""

    grammar: Grammar
    weights: Floats | None


@dataclass(frozen=True)
class _Line:
    number: int
    left: str
    right: tuple[str, ...]
    weight: float | None


def read_rules(path: TextPath, start: str | None = None, signed: bool = False) -> WeightedRules:
    """Read a grammar.

    Parameters
    ----------
    path, start, signed
        The file, one rule per line; the others as of `parse_rules`.

    Returns
    -------
    WeightedRules
        The rules and their weights.
    """
    return parse_rules(open_text(path), start, display_name(path), signed)


def parse_rules(
    lines: Iterable[str], start: str | None = None, file: str | None = None, signed: bool = False
) -> WeightedRules:
    """A grammar from lines of text.

    Parameters
    ----------
    lines
        One rule per line.
    start
        The start symbol; None: the left side of the first rule.
    file, signed
        The name of the file, for messages; whether weights below zero are allowed.

    Returns
    -------
    WeightedRules
        The rules and their weights.

    Examples
    --------
    >>> parse_rules(["S -> a S 0.25", "S -> b 0.75"]).weights.tolist()
    [0.25, 0.75]
    """
    found = [
        _parsed(line, number, file, signed) for number, line in enumerate(lines, 1) if not _is_empty(line)
    ]
    if not found:
        raise InputError("holds no rules; write one per line, as in S -> NP VP 0.8", file=file)
    rules = _named(found)
    _require_fitting(found, rules, file)
    weights = {rule: line.weight for rule, line in zip(rules, found, strict=True)}
    try:
        grammar = Grammar.of(rules, start)
    except InputError as problem:
        raise InputError(problem.problem, file=file) from None
    values = [weights[rule] for rule in grouped(rules)]
    return WeightedRules(grammar, None if found[0].weight is None else np.array(values, dtype=float))


def as_grammar(
    rules: Grammar | str | Iterable[str] | None, start: str | None = None, trees: Iterable[Tree] = ()
) -> Grammar:
    """A grammar, or its text; without either the rules of trees."""
    if rules is None:
        return Grammar.of_trees(trees, start)
    if isinstance(rules, Grammar):
        return rules
    return parse_rules(rules.splitlines() if isinstance(rules, str) else rules, start).grammar


def _is_empty(line: str) -> bool:
    fields = line.split(None, 2)
    return not fields or (fields[0].startswith("#") and fields[1:2] != ["->"])


def _parsed(line: str, number: int, file: str | None, signed: bool) -> _Line:
    fields = _FIELDS.findall(line)
    if len(fields) < 3 or fields[1] != "->":
        raise InputError(f"{line.strip()!r} is not a rule; write S -> NP VP 0.8", file=file, line=number)
    left, right = fields[0], fields[2:]
    weight = _number(right[-1]) if len(right) > 1 else None
    if weight is not None:
        right = right[:-1]
        if not (math.isfinite(weight) and (signed or weight >= 0)):
            raise InputError(f"the weight {weight} must be a number from 0 on", file=file, line=number)
    return _Line(number, left, tuple(right), weight)


def _number(field: str) -> float | None:
    try:
        return float(field)
    except ValueError:
        return None


def _named(found: Sequence[_Line]) -> list[Rule]:
    lefts = {line.left for line in found}
    return [Rule(line.left, tuple(_part(field, lefts) for field in line.right)) for line in found]


def _part(field: str, lefts: set[str]) -> Part:
    if len(field) > 1 and field[0] == field[-1] == '"':
        return Word(re.sub(r"\\(.)", r"\1", field[1:-1]))
    return field if field in lefts else Word(field)


def _require_fitting(found: Sequence[_Line], rules: Sequence[Rule], file: str | None) -> None:
    """Weights on all lines or on none, and no rule twice."""
    seen: dict[Rule, int] = {}
    for line, rule in zip(found, rules, strict=True):
        if (line.weight is None) != (found[0].weight is None):
            raise InputError(
                "some rules have weights and some have none; give them to all or none "
                '(a word that is a number needs quotation marks: "7")',
                file=file,
                line=line.number,
            )
        if rule in seen:
            raise InputError(f"the rule {rule} stands in line {seen[rule]} too", file=file, line=line.number)
        seen[rule] = line.number


def write_rules(grammar: Grammar, stream: TextIO, weights: Floats | None = None) -> None:
    """Write one rule per line, in the form that `read_rules` reads back; weights are exact.

    Parameters
    ----------
    grammar, weights
        The rules, and their weights where there are any.
    stream
        Where to write.
    """
    for number, rule in enumerate(grammar.rules):
        right = " ".join(_written(part, grammar) for part in rule.right)
        stream.write(f"{rule.left} -> {right}{'' if weights is None else f' {float(weights[number])!r}'}\n")


def _written(part: Part, grammar: Grammar) -> str:
    if not isinstance(part, Word):
        return part
    text = part.text
    plain = text not in grammar.codes and text.split() == [text] and '"' not in text and _number(text) is None
    if plain and text != "->":
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
