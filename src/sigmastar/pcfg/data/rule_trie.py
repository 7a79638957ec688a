"""The rules of a grammar as a trie of right sides, for chart parsing with rules of any length.

A node of the trie is a sequence of symbols that right sides begin with, shared by all left sides:

    first[B]      the node of the sequence B, where longer right sides begin with B
    goto[u, B]    the node of u followed by B
    completions   rules A -> u, by the node of their whole right side

Rules with one symbol on the right stand apart: unary ones (`pcfg.data.unary_loops`), in an order in which
every non-terminal is finished before it is rewritten, and lexical ones by word. Chart symbols are the
non-terminals, then the words that stand in longer right sides.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sigmastar.core.arrays import Flags, Int32s
from sigmastar.pcfg.data.rules import Grammar, Part, Word
from sigmastar.pcfg.data.unary_loops import UnaryRules, arranged, columns

_CLOSABLE = 1500  # symbols whose left corners are worked out: it takes cubic time


class ChartRules(NamedTuple):
    """What the chart kernels read; `*_start` are offsets into the arrays that follow them."""

    start: int
    n_nonterminals: int
    first: Int32s
    goto: Int32s
    edge_start: Int32s
    edge_symbol: Int32s
    edge_source: Int32s
    edge_target: Int32s  # goto[source, symbol]
    complete_start: Int32s
    complete_left: Int32s
    complete_event: Int32s
    unary: UnaryRules
    lexical_start: Int32s
    lexical_left: Int32s
    lexical_event: Int32s
    word_symbol: Int32s  # the chart symbol of a word, or -1
    node_parent: Int32s  # the node without its last symbol, or -1
    node_symbol: Int32s  # the last symbol
    n_lexical_unary: int  # unary rules, at the head of the list, whose child is always a single word
    left_corner: Flags  # [B, C]: whether something that C derives can begin a B


@dataclass(frozen=True, eq=False)
class RuleTrie:
    """A grammar made ready for the chart."""

    grammar: Grammar

    @cached_property
    def symbols(self) -> dict[Part, int]:
        """The codes of chart symbols."""
        table: dict[Part, int] = {}
        for symbol in self.grammar.nonterminals:
            table[symbol] = len(table)
        for rule in self.grammar.rules:
            for part in rule.right if len(rule.right) > 1 else ():
                table.setdefault(part, len(table))
        return table

    @cached_property
    def chart(self) -> ChartRules:
        grammar, symbols = self.grammar, self.symbols
        nodes = _nodes(
            [tuple(symbols[p] for p in rule.right) for rule in grammar.rules if len(rule.right) > 1]
        )
        long, unary, lexical = self._sorted_rules(nodes)
        words = grammar.words
        mixed = [symbols.get(Word(str(word)), -1) for word in words]
        goto = _goto(nodes, len(symbols))
        return ChartRules(
            grammar.codes[grammar.start],
            len(grammar.nonterminals),
            np.array([nodes.get((code,), -1) for code in range(len(symbols))], np.int32),
            goto,
            *_edges(goto),
            *_by_first(long, len(nodes)),
            arranged(unary, len(grammar.nonterminals), self._is_preterminal),
            *_by_first(lexical, len(words)),
            np.array(mixed, np.int32),
            np.array([nodes.get(prefix[:-1], -1) for prefix in nodes], np.int32),
            np.array([prefix[-1] for prefix in nodes], np.int32),
            sum(self._is_preterminal[child] for _, child, _ in unary),
            self._left_corners(),
        )

    @cached_property
    def _is_preterminal(self) -> list[bool]:
        """Of each non-terminal, whether all of its rules are lexical."""
        grammar = self.grammar
        lexical = [len(rule.right) == 1 and isinstance(rule.right[0], Word) for rule in grammar.rules]
        return [all(lexical[b:e]) for b, e in zip(grammar.offsets[:-1], grammar.offsets[1:], strict=True)]

    def _left_corners(self) -> Flags:
        """The reflexive and transitive closure of "a right side of B begins with C"."""
        n_symbols = len(self.symbols)
        if n_symbols > _CLOSABLE:
            return np.ones((n_symbols, n_symbols), np.bool_)
        reached = np.eye(n_symbols, dtype=np.float32)
        for rule in self.grammar.rules:
            if rule.right[0] in self.symbols:
                reached[self.grammar.codes[rule.left], self.symbols[rule.right[0]]] = 1
        for _ in range(max(1, n_symbols.bit_length())):
            reached = np.minimum(reached @ reached, 1.0)
        return reached > 0

    def _sorted_rules(self, nodes: dict[tuple[int, ...], int]) -> tuple[_Triples, _Triples, _Triples]:
        """Long rules by (node, left, event), unary (left, child, event), lexical (word, left, event)."""
        grammar, symbols = self.grammar, self.symbols
        long, unary, lexical = _Triples(), _Triples(), _Triples()
        for event, rule in enumerate(grammar.rules):
            left, part = grammar.codes[rule.left], rule.right[0]
            if len(rule.right) > 1:
                long.append((nodes[tuple(symbols[p] for p in rule.right)], left, event))
            elif isinstance(part, Word):
                lexical.append((grammar.words.codes[part.text], left, event))
            else:
                unary.append((left, symbols[part], event))
        return long, unary, lexical


class _Triples(list[tuple[int, int, int]]):
    """Rows of three numbers."""


def _nodes(right_sides: list[tuple[int, ...]]) -> dict[tuple[int, ...], int]:
    """All sequences that right sides begin with, shorter ones first."""
    prefixes = {side[:length] for side in right_sides for length in range(1, len(side) + 1)}
    return {prefix: node for node, prefix in enumerate(sorted(prefixes, key=lambda p: (len(p), p)))}


def _goto(nodes: dict[tuple[int, ...], int], n_symbols: int) -> Int32s:
    table = np.full((len(nodes), n_symbols), -1, np.int32)
    for prefix, node in nodes.items():
        if len(prefix) > 1:
            table[nodes[prefix[:-1]], prefix[-1]] = node
    return table


def _edges(goto: Int32s) -> tuple[Int32s, Int32s, Int32s, Int32s]:
    node, symbol = np.nonzero(goto >= 0)
    start = np.searchsorted(node, np.arange(len(goto) + 1))
    return start.astype(np.int32), symbol.astype(np.int32), node.astype(np.int32), goto[node, symbol]


def _by_first(rows: _Triples, n_keys: int) -> tuple[Int32s, Int32s, Int32s]:
    """The last two columns sorted by the first, which becomes offsets."""
    first, second, third = columns(sorted(rows))
    return np.searchsorted(first, np.arange(n_keys + 1)).astype(np.int32), second, third
