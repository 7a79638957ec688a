"""Between rules of any length and the algebraic form of a weighted grammar.

A rule with more than two parts is cut in two from the left, words in rules of two parts become states, and
unary rules U are summed out: with (I - U)^-1 = I + U + U U + ..,

    words = (I - U)^-1 words0,     A = (I - U)^-1 A0

so the value of every string stays the same, and a PCFG stays one (Chomsky normal form without lists of
rules). The way back names states N0, N1, ..; `S -> Ni` carries the initial weights.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Floats
from sigmastar.grammars.model.grammar import WeightedGrammar
from sigmastar.pcfg.data.rules import Grammar, Part, Rule, Word


@dataclass
class _Tables:
    """States met so far, and the rules between them."""

    states: dict[tuple[Part, ...] | str, int]
    words: Alphabet
    unary: list[tuple[int, int, float]] = field(default_factory=list)
    binary: list[tuple[int, int, int, float]] = field(default_factory=list)
    lexical: list[tuple[int, int, float]] = field(default_factory=list)

    def add(self, rule: Rule, weight: float) -> None:
        left, right = self.states[rule.left], rule.right
        if len(right) > 1:
            self.binary.append((left, self.state(right[:1]), self.state(right[1:]), weight))
        elif isinstance(right[0], Word):
            self.lexical.append((self.words.codes[right[0].text], left, weight))
        else:
            self.unary.append((left, self.states[right[0]], weight))

    def state(self, parts: tuple[Part, ...]) -> int:
        """The state of a non-terminal, a word or the rest of a rule; the last two derive in one way."""
        if len(parts) == 1 and not isinstance(parts[0], Word):
            return self.states[parts[0]]
        if parts in self.states:
            return self.states[parts]
        number = self.states[parts] = len(self.states)
        if len(parts) == 1:
            assert isinstance(parts[0], Word)
            self.lexical.append((self.words.codes[parts[0].text], number, 1.0))
        else:
            self.binary.append((number, self.state(parts[:1]), self.state(parts[1:]), 1.0))
        return number


def of_rules(grammar: Grammar, weights: Floats | None = None) -> WeightedGrammar:
    """A grammar by rules, with weights in their order (without any: uniform for each left side).

    Parameters
    ----------
    grammar
        Rules of any length.
    weights
        One per rule; None: uniform for each left side.

    Returns
    -------
    WeightedGrammar
        With the same value for every string.
    """
    values = _uniform(grammar) if weights is None else np.asarray(weights, dtype=float)
    if values.shape != (len(grammar.rules),):
        raise ValueError(f"{len(grammar.rules)} rules, but {values.shape} weights")
    tables = _Tables(dict(grammar.codes.items()), grammar.words)
    for rule, weight in zip(grammar.rules, values.tolist(), strict=True):
        tables.add(rule, weight)
    n = len(tables.states)
    unary, words, composition = np.zeros((n, n)), np.zeros((len(grammar.words), n)), np.zeros((n, n, n))
    for left, right, weight in tables.unary:
        unary[left, right] += weight
    for word, left, weight in tables.lexical:
        words[word, left] += weight
    for left, first, second, weight in tables.binary:
        composition[left, first, second] += weight
    closure = np.linalg.inv(np.eye(n) - unary)
    return WeightedGrammar(
        grammar.words,
        np.eye(n)[grammar.codes[grammar.start]],
        words @ closure.T,
        np.tensordot(closure, composition, axes=(1, 0)),
    )


def to_rules(grammar: WeightedGrammar, least: float = 0.0) -> tuple[Grammar, Floats]:
    """The classic form: rules and weights.

    Parameters
    ----------
    grammar
        A grammar that gives some string a weight.
    least
        Rules with weights of this size or less are left out.

    Returns
    -------
    tuple
        The rules, and an array of their weights.

    Examples
    --------
    >>> grammar = WeightedGrammar(Alphabet("a"), np.ones(1), np.array([[0.7]]), np.array([[[0.3]]]))
    >>> [str(rule) for rule in to_rules(grammar)[0].rules]
    ['S -> N0', 'N0 -> N0 N0', 'N0 -> "a"']
    """
    names = [f"N{state}" for state in range(grammar.n_states)]
    starts = [(Rule("S", (names[i],)), w) for i, w in enumerate(grammar.initial) if abs(w) > least]
    pairs = np.argwhere(np.abs(grammar.composition) > least).tolist()
    binary = [(Rule(names[i], (names[j], names[k])), grammar.composition[i, j, k]) for i, j, k in pairs]
    places = np.argwhere(np.abs(grammar.words) > least).tolist()
    lexical = [
        (Rule(names[i], (Word(str(grammar.alphabet.symbols[a])),)), grammar.words[a, i]) for a, i in places
    ]
    weights = dict(_productive([*starts, *binary, *lexical]))
    if not any(rule.left == "S" for rule in weights):
        raise ValueError("the grammar gives no string any weight; there are no rules to write")
    classic = Grammar.of(weights, "S")
    return classic, np.array([weights[rule] for rule in classic.rules])


def _productive(rules: list[tuple[Rule, float]]) -> list[tuple[Rule, float]]:
    """Rules all of whose non-terminals have rules in turn."""
    while True:
        lefts = {rule.left for rule, _ in rules}
        kept = [(rule, w) for rule, w in rules if all(isinstance(p, Word) or p in lefts for p in rule.right)]
        if len(kept) == len(rules):
            return kept
        rules = kept


def _uniform(grammar: Grammar) -> Floats:
    counts = np.diff(grammar.offsets)
    return np.repeat(1.0 / counts, counts)
