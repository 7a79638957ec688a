"""Grammars as text: a rule a line, `S -> NP VP 0.8`, with or without weights.

A symbol that is the left side of some rule is a non-terminal, all others are words; a word in quotation
marks is always a word, as in `, -> ","`. The last field is a weight if it is a number and not the only
field: a word that is a number must be in quotation marks if it comes last. Lines that begin with `#` are
comments, unless `->` follows.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from sigmastar.core.errors import InputError
from sigmastar.core.text_files import TextPath, display_name, open_text
from sigmastar.pcfg.data.grammar import Grammar, Part, Rule, Word, grouped

Array = NDArray[np.float64]
_FIELDS = re.compile(r'"(?:[^"\\]|\\.)*"(?=\s|$)|\S+')


@dataclass(frozen=True, eq=False)
class WeightedRules:
    """A grammar, and the weights of its rules, in their order, where the file gives them."""

    grammar: Grammar
    weights: Array | None


@dataclass(frozen=True)
class _Line:
    number: int
    left: str
    right: tuple[str, ...]
    weight: float | None


def read_rules(path: TextPath, start: str | None = None, signed: bool = False) -> WeightedRules:
    """Read a grammar; the left side of its first rule is the start symbol unless another is named.

    Weights below zero, which learned grammars may have, are refused unless `signed`.
    """
    return parse_rules(open_text(path), start, display_name(path), signed)


def parse_rules(
    lines: Iterable[str], start: str | None = None, file: str | None = None, signed: bool = False
) -> WeightedRules:
    """A grammar from lines of text.

    >>> parse_rules(["S -> a S 0.25", "S -> b 0.75"]).weights.tolist()
    [0.25, 0.75]
    """
    found = [
        _parsed(line, number, file, signed) for number, line in enumerate(lines, 1) if not _is_empty(line)
    ]
    if not found:
        raise InputError("holds no rules; write one a line, as in S -> NP VP 0.8", file=file)
    rules = _named(found)
    _require_fitting(found, rules, file)
    weights = {rule: line.weight for rule, line in zip(rules, found, strict=True)}
    try:
        grammar = Grammar.of(rules, start)
    except InputError as problem:
        raise InputError(problem.problem, file=file, line=_guilty(problem.problem, found)) from None
    values = [weights[rule] for rule in grouped(rules)]
    return WeightedRules(grammar, None if found[0].weight is None else np.array(values, dtype=float))


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


def _guilty(problem: str, found: Sequence[_Line]) -> int | None:
    """The line of the first rule on a cycle that a message names."""
    cycle = re.match(r"unary rules go in a cycle, (\S+) -> (\S+?)[:\s]", problem)
    if not cycle:
        return None
    places = (line.number for line in found if (line.left, *line.right) == cycle.groups())
    return next(places, None)


def write_rules(grammar: Grammar, stream: TextIO, weights: Array | None = None) -> None:
    """A rule a line, in the form that `read_rules` reads back; weights are written exactly."""
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
