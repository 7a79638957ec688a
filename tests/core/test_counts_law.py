"""Laws of counts: what is counted in pieces adds up exactly. Families register in `COUNTERS`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from oracles_grammar import random_pcfg
from sigmastar.automata.counts.bases import PREFIX, STRING, SUBSTRING, Statistic, most_frequent
from sigmastar.automata.counts.on_basis import StringCounts, count_strings
from sigmastar.automata.data.strings import Strings
from sigmastar.core.recover import Blocks, SparseTensor
from sigmastar.grammars.counts.bracketings import BracketCounts, count_brackets, frequent_spans
from sigmastar.grammars.data.bracketings import Bracketings
from sigmastar.trees.counts import TreeCounts, count_trees, frequent_trees
from sigmastar.trees.data.ranked import RankedTrees
from sigmastar.trees.model.generators import make_tree_automaton


@dataclass(frozen=True)
class Counter:
    """How a family draws a corpus (an array of structures can be selected from it) and counts it."""

    name: str
    draw: Callable[[np.random.Generator], Any]
    count: Callable[[Any, Any], Any]  # (part, whole): the whole decides on the basis
    blocks: Callable[[Any], Blocks]


def _random_strings(symbols: list[Any], rng: np.random.Generator) -> Strings:
    lengths = rng.integers(0, 9, size=60)
    rows = [[symbols[k] for k in rng.integers(0, len(symbols), size=length)] for length in lengths]
    return Strings.of(rows)


def _strings(name: str, symbols: list[Any], statistic: Statistic) -> Counter:
    def count(part: Strings, whole: Strings) -> StringCounts:
        return count_strings(part, most_frequent(whole, 20, 20, statistic), statistic)

    return Counter(name, lambda rng: _random_strings(symbols, rng), count, StringCounts.blocks)


def _brackets() -> Counter:
    def draw(rng: np.random.Generator) -> Bracketings:
        return random_pcfg(2, 2, rng, stop=0.7).sample_brackets(60, rng)

    def count(part: Bracketings, whole: Bracketings) -> BracketCounts:
        return count_brackets(part, frequent_spans(whole, 0.5))

    return Counter("brackets", draw, count, BracketCounts.blocks)


COUNTERS = [
    _brackets(),
    _strings("strings", ["a", "b"], STRING),
    _strings("strings-prefix", ["a", "b"], PREFIX),
    _strings("strings-substring", ["a", "b"], SUBSTRING),
    _strings("pairs", [("a", "x"), ("a", "y"), ("b", "x")], SUBSTRING),
]


def _trees() -> Counter:
    def draw(rng: np.random.Generator) -> RankedTrees:
        drawn = make_tree_automaton(2, rng).sample(80, rng)
        return RankedTrees.of(drawn)

    def count(part: RankedTrees, whole: RankedTrees) -> TreeCounts:
        return count_trees(part, frequent_trees(whole, 30, 30, 2))

    return Counter("trees", draw, count, TreeCounts.blocks)


COUNTERS.append(_trees())

every_counter = pytest.mark.parametrize("counter", COUNTERS, ids=lambda counter: counter.name)


def arrays(blocks: Blocks) -> list[np.ndarray]:
    parts = [*blocks.matrices.values(), *blocks.slices.values(), *blocks.roots.values()]
    return [part if isinstance(part, np.ndarray) else part.toarray() for part in parts]


@every_counter
@pytest.mark.parametrize("n_shards", [2, 7])
def test_shards_add_up_exactly(counter: Counter, n_shards: int, rng: np.random.Generator) -> None:
    whole = counter.draw(rng)
    shards = np.array_split(rng.permutation(len(whole)), n_shards)
    counts = [counter.count(whole.select(shard), whole) for shard in shards]
    total = counts[0]
    for other in counts[1:]:
        total = total + other
    backwards = counts[-1]
    for other in counts[-2::-1]:
        backwards = backwards + other
    expected = arrays(counter.blocks(counter.count(whole, whole)))
    assert any(array.any() for array in expected)
    for found in (total, backwards):
        for one, other in zip(arrays(counter.blocks(found)), expected, strict=True):
            np.testing.assert_array_equal(one, other)


@every_counter
def test_slices_of_counts_are_sorted(counter: Counter, rng: np.random.Generator) -> None:
    whole = counter.draw(rng)
    for tensor in counter.blocks(counter.count(whole, whole)).slices.values():
        if isinstance(tensor, SparseTensor):
            assert (np.diff(np.ravel_multi_index(tensor.coordinates, tensor.shape)) > 0).all()
