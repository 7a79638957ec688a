"""Brute-force twins of what is done with weighted grammars: derivation trees one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from sigmastar.core.alphabet import Alphabet
from sigmastar.grammars.model.grammar import WeightedGrammar

Bracket = int | tuple["Bracket", "Bracket"]


def random_grammar(n_states: int, n_symbols: int, rng: np.random.Generator) -> WeightedGrammar:
    """Signed weights."""
    return WeightedGrammar(
        Alphabet("abcdef"[:n_symbols]),
        rng.standard_normal(n_states),
        rng.standard_normal((n_symbols, n_states)),
        rng.standard_normal((n_states, n_states, n_states)) / n_states,
    )


def random_pcfg(
    n_states: int, n_symbols: int, rng: np.random.Generator, stop: float = 0.6
) -> WeightedGrammar:
    """A proper grammar whose states rewrite to words with probability `stop`."""
    words = rng.dirichlet(np.ones(n_symbols), n_states).T * stop
    pairs = rng.dirichlet(np.ones(n_states**2), n_states).reshape(n_states, n_states, n_states)
    return WeightedGrammar(
        Alphabet("abcdef"[:n_symbols]), rng.dirichlet(np.ones(n_states)), words, pairs * (1 - stop)
    )


def bracketings(begin: int, end: int) -> Iterator[Bracket]:
    """All binary trees over the positions begin .. end - 1."""
    if end - begin == 1:
        yield begin
    for k in range(begin + 1, end):
        yield from product(bracketings(begin, k), bracketings(k, end))


def tree_vector(grammar: WeightedGrammar, tree: Bracket, codes: Sequence[int]) -> np.ndarray:
    if isinstance(tree, int):
        return grammar.words[codes[tree]]
    left, right = (tree_vector(grammar, part, codes) for part in tree)
    return np.einsum("ijk,j,k->i", grammar.composition, left, right)


def spans_of_tree(tree: Bracket) -> tuple[set[tuple[int, int]], int, int]:
    if isinstance(tree, int):
        return {(tree, tree + 1)}, tree, tree + 1
    (left, begin, _), (right, _, end) = (spans_of_tree(part) for part in tree)
    return left | right | {(begin, end)}, begin, end


def slow_value(grammar: WeightedGrammar, codes: Sequence[int]) -> float:
    return sum(float(grammar.initial @ tree_vector(grammar, t, codes)) for t in bracketings(0, len(codes)))


def slow_cut(grammar: WeightedGrammar, codes: Sequence[int], begin: int, end: int) -> float:
    """The weight of all trees with a constituent at begin:end."""
    trees = (t for t in bracketings(0, len(codes)) if (begin, end) in spans_of_tree(t)[0])
    return sum(float(grammar.initial @ tree_vector(grammar, tree, codes)) for tree in trees)
