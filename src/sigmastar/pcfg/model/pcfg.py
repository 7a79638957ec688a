"""Probabilistic context-free grammars: rules of any length, a distribution for each left side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sigmastar.automata.data.strings import Strings, as_strings
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Array, Floats, Int32s
from sigmastar.core.errors import InputError
from sigmastar.core.notebook import Shown
from sigmastar.core.resources import require_memory
from sigmastar.core.stored_parts import Parts, floats
from sigmastar.pcfg.data.events import Derivations, EventSystem
from sigmastar.pcfg.data.rule_trie import ChartRules, RuleTrie
from sigmastar.pcfg.data.rules import Grammar, Rule, Word, rule_of
from sigmastar.pcfg.data.sentences import as_trees
from sigmastar.pcfg.data.unary_loops import with_weights
from sigmastar.pcfg.kernels.chart import add_chart_counts, best_events, inside_chart, log_insides, log_total
from sigmastar.pcfg.kernels.parse_forest import forest_events
from sigmastar.pcfg.model.probabilistic_grammar import (
    ProbabilisticGrammar,
    log_probability_of,
    sample_strings,
)
from sigmastar.trees.data.tree import Tree


def _stored_rules(value: Any) -> str:
    """Of each rule the left side, and the right one: non-terminals, and words as lists of one."""

    def is_rule(rule: Any) -> bool:
        return (
            type(rule) is list
            and len(rule) == 2
            and type(rule[0]) is str
            and type(rule[1]) is list
            and all(type(part) is str or (type(part) is list and len(part) == 1) for part in rule[1])
        )

    return "" if type(value) is list and all(map(is_rule, value)) else "a list of rules"


_BYTES_PER_CELL = 804  # at least: bounds, and the first room for what spans begin


@dataclass(frozen=True, eq=False)
class ProbabilisticCFG(Shown):
    """A grammar and the probabilities of its rules.

    Parameters
    ----------
    grammar : Grammar
        The rules.
    parameters : Floats
        The probability of each rule, in their order; those of one left side sum to 1.

    Examples
    --------
    >>> from sigmastar.pcfg.data.rules import as_grammar
    >>> model = ProbabilisticCFG(as_grammar(["S -> a S", "S -> b"]), np.array([0.25, 0.75]))
    >>> np.exp(model.log_probability(Strings.of([["a", "b"]]))).round(4).tolist()
    [0.1875]
    """

    grammar: Grammar
    parameters: Floats

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", self.events.require_distributions(self.parameters))

    @classmethod
    def of_weights(cls, grammar: Grammar, weights: Floats | None = None) -> ProbabilisticCFG:
        """Weights divided by their sum for each left side; uniform without weights."""
        counts = np.ones(len(grammar.rules)) if weights is None else np.asarray(weights, dtype=float)
        return cls(grammar, _events(grammar).normalized(counts))

    @cached_property
    def events(self) -> EventSystem:
        return _events(self.grammar)

    @property
    def alphabet(self) -> Alphabet:
        return self.grammar.words

    @cached_property
    def _trie(self) -> ChartRules:
        """What depends on the rules alone."""
        return RuleTrie(self.grammar).chart

    @cached_property
    def chart_rules(self) -> ChartRules:
        """The rules as charts read them, with the sums of loops of unary rules."""
        return self._trie._replace(unary=with_weights(self._trie.unary, self.parameters, best=False))

    def with_parameters(self, parameters: Floats) -> ProbabilisticCFG:
        model = replace(self, parameters=parameters)
        for name in ("events", "_trie"):  # what depends on the grammar alone is kept
            if name in self.__dict__:
                model.__dict__[name] = self.__dict__[name]
        return model

    def log_probability(self, strings: Strings) -> Floats:
        """Natural log-probability of each string; -inf where it has none."""
        coded, rules = strings.recoded(self.alphabet, allow_unknown=True), self.chart_rules
        logs, _, left_out = forest_events(
            coded.codes, coded.offsets, np.zeros(len(coded)), rules, self.parameters
        )
        if left_out.any():
            rest = coded.select(np.flatnonzero(left_out))
            self._require_room(rest)
            logs[left_out] = log_insides(rest.codes, rest.offsets, rules, self.parameters, False)
        return logs

    def expected_counts(self, strings: Strings, weights: Floats | None = None) -> tuple[Floats, Floats]:
        """Log-probability of each string, and the expected uses of rules in all, given the strings."""
        coded, rules = strings.recoded(self.alphabet, allow_unknown=True), self.chart_rules
        multiplicities = np.ones(len(coded)) if weights is None else np.asarray(weights, dtype=float)
        logs, counts, left_out = forest_events(
            coded.codes, coded.offsets, multiplicities, rules, self.parameters
        )
        if left_out.any():  # long strings, or values beyond the range of floats
            rest = coded.select(np.flatnonzero(left_out))
            self._require_room(rest)
            parts = zip(rest.offsets[:-1], rest.offsets[1:], multiplicities[left_out], strict=True)
            logs[left_out] = [
                self._add_by_chart(rest.codes[begin:end], weight, counts) for begin, end, weight in parts
            ]
        return logs, counts

    def _add_by_chart(self, codes: Int32s, weight: float, counts: Floats) -> float:
        """Add the expected rules of one string to `counts`; its log-probability."""
        chart = inside_chart(codes, self.chart_rules, self.parameters, False)
        total = log_total(chart, len(codes), self.chart_rules.start)
        if weight > 0 and total > -np.inf:
            add_chart_counts(codes, self.chart_rules, self.parameters, chart, weight, counts)
        return total

    def best_derivations(self, strings: Strings) -> Derivations:
        """The most probable derivation of each string, empty where it has none."""
        coded = strings.recoded(self.alphabet, allow_unknown=True)
        rules = self._trie._replace(unary=with_weights(self._trie.unary, self.parameters, best=True))
        self._require_room(coded)
        rows = []
        for begin, end in zip(coded.offsets[:-1].tolist(), coded.offsets[1:].tolist(), strict=True):
            codes = coded.codes[begin:end]
            chart = inside_chart(codes, rules, self.parameters, True)
            rows.append(best_events(codes, rules, self.parameters, chart).tolist())
        return Derivations.of(rows)

    def _require_room(self, strings: Strings) -> None:
        """Charts have a cell per span: refuse strings whose charts are larger than the memory."""
        n = int(strings.lengths.max(initial=0))
        n_bytes = n * (n + 1) // 2 * (12 * len(self._trie.first) + _BYTES_PER_CELL)
        require_memory(
            n_bytes, f"the chart of a string of {n:,} words", "leave longer strings out, or cut them"
        )

    def best_trees(self, strings: Strings) -> list[Tree | None]:
        """The tree of the most probable derivation of each string, None where it has none."""
        derivations = self.best_derivations(strings)
        return [self.trees([row.tolist()])[0] if len(row) else None for row in derivations]

    def strings(self, derivations: Derivations) -> Strings:
        """The words of each derivation."""
        return Strings.of([list(tree.words()) for tree in self.trees(derivations)], alphabet=self.alphabet)

    def derivations(self, trees: Iterable[Tree]) -> Derivations:
        """Trees as sequences of rules; a rule that the grammar lacks is an error with the tree's number."""
        rows = []
        for number, tree in enumerate(trees, 1):
            rules = [rule_of(node) for node in tree.nodes()]
            if tree.label != self.grammar.start:
                rules.insert(0, self._rule_above(tree.label, number))
            rows.append([self._number(rule, number) for rule in rules])
        return Derivations.of(rows)

    def _rule_above(self, root: str, tree: int) -> Rule:
        """The rule by which the start symbol becomes the root of a tree."""
        rule = Rule(self.grammar.start, (root,))
        if rule not in self.grammar.numbers:
            raise InputError(f"tree {tree} begins with {root!r}, the grammar with {self.grammar.start!r}")
        return rule

    def _number(self, rule: Rule, tree: int) -> int:
        if rule not in self.grammar.numbers:
            raise InputError(
                f"tree {tree}: the rule {rule} is not in the grammar; add it or leave the tree out"
            )
        return self.grammar.numbers[rule]

    def trees(self, derivations: Iterable[Sequence[int]] | Derivations) -> list[Tree]:
        """Sequences of rules as trees."""
        return [_tree(self.grammar, list(map(int, row))) for row in derivations]

    def sample(self, n_strings: int, rng: np.random.Generator, max_length: int = 10_000) -> Strings:
        """Draw strings; one longer than `max_length` is cut there."""
        return sample_strings(self, n_strings, rng, max_length)

    PARTS: ClassVar[Parts] = Parts(
        header={"start": str, "rules": _stored_rules},
        sizes={"rules": "rules"},
        arrays={"parameters": floats("rules", least=0.0, most=1.0 + 1e-6)},
    )

    def to_parts(self) -> tuple[dict[str, Array], dict[str, Any]]:
        rules = [
            [rule.left, [[p.text] if isinstance(p, Word) else p for p in rule.right]]
            for rule in self.grammar.rules
        ]
        return {"parameters": self.parameters}, {"start": self.grammar.start, "rules": rules}

    @classmethod
    def from_parts(cls, arrays: dict[str, Array], header: dict[str, Any]) -> ProbabilisticCFG:
        cls.PARTS.check(arrays, header)
        rules = (
            Rule(left, tuple(part if isinstance(part, str) else Word(part[0]) for part in right))
            for left, right in header["rules"]
        )
        return cls(Grammar.of(rules, header["start"]), arrays["parameters"])


def _events(grammar: Grammar) -> EventSystem:
    children = [
        [grammar.codes[part] for part in rule.right if not isinstance(part, Word)] for rule in grammar.rules
    ]
    return EventSystem.of(np.diff(grammar.offsets).tolist(), children, grammar.codes[grammar.start])


def _tree(grammar: Grammar, events: list[int]) -> Tree:
    """Rules from the last to the first: the trees of a rule's non-terminals are on top of the stack."""
    done: list[Tree] = []
    for event in reversed(events):
        rule = grammar.rules[event]
        children = [part.text if isinstance(part, Word) else done.pop() for part in rule.right]
        done.append(Tree(rule.left, tuple(children)))
    return done[0]


def score_data(model: ProbabilisticGrammar, data: Any) -> Floats:
    """Log-probabilities of trees or strings; a tree with rules that the grammar lacks has none."""
    trees = as_trees(data)
    if trees is None or not isinstance(model, ProbabilisticCFG):
        return model.log_probability(as_strings(data, alphabet=model.alphabet, unknown="zero"))
    return np.array([_tree_score(model, tree) for tree in trees])


def _tree_score(model: ProbabilisticCFG, tree: Tree) -> float:
    try:
        return float(log_probability_of(model, model.derivations([tree]))[0])
    except InputError:
        return -np.inf
