"""Projectivity, lifting, and the sequences of modifiers, against definitions."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import projective_trees
from sigmastar.core.alphabet import Alphabet
from sigmastar.dependency.data.projectivity import lift, projective_sentences
from sigmastar.dependency.data.sequences import (
    SYMBOLS,
    Gaps,
    ModifierSequences,
    WeightedSequences,
    head_sorts,
)
from sigmastar.dependency.data.treebank import DependencyTreebank, words_without_root


def random_heads(rng: np.random.Generator, n: int) -> np.ndarray:
    """Heads of any tree over n words: each word hangs on an earlier one of a random order."""
    order = rng.permutation(n)
    heads = np.zeros(n, dtype=np.int32)
    for k in range(1, n):
        heads[order[k]] = order[rng.integers(k)] + 1
    return heads


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 5))
def test_projective_is_what_the_definition_says(seed: int, n: int) -> None:
    heads = random_heads(np.random.default_rng(seed), n)
    offsets = np.array([0, n])
    assert projective_sentences(heads, offsets)[0] == (tuple(heads.tolist()) in set(projective_trees(n)))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.lists(st.integers(1, 12), min_size=1, max_size=4))
def test_lifted_trees_are_projective_trees(seed: int, lengths: list[int]) -> None:
    rng = np.random.default_rng(seed)
    heads = np.concatenate([random_heads(rng, n) for n in lengths])
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    lifted = lift(heads, offsets)
    assert projective_sentences(lifted, offsets).all()
    assert len(words_without_root(lifted, offsets)) == 0
    kept = np.repeat(projective_sentences(heads, offsets), lengths)
    assert (lifted == heads)[kept].all()


def test_cycles_are_found() -> None:
    offsets = np.array([0, 3, 5])
    assert words_without_root(np.array([2, 1, 1, 0, 1], dtype=np.int32), offsets).tolist() == [0, 1, 2]


def test_sequences_go_outwards() -> None:
    alphabet, codes = Alphabet("DNV"), np.array([0, 1, 2, 0, 1], dtype=np.int32)
    heads = np.array([2, 3, 0, 5, 3], dtype=np.int32)  # D N V D N
    sequences = ModifierSequences.of(heads, np.array([0, 5]), codes, 3)
    named = Counter()
    for q in range(len(sequences)):
        words = sequences.words[sequences.offsets[q] : sequences.offsets[q + 1]]
        named[head_sorts(alphabet)[sequences.sorts[q]], tuple(words.tolist())] += 1
    assert named[("V", "left"), (1,)] == 1
    assert named[("V", "right"), (4,)] == 1
    assert named[("N", "left"), (0,)] == 1
    assert named[("N", "left"), (3,)] == 1
    assert named[("*", "right"), (2,)] == 1
    assert sum(named.values()) == 11


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 30))
def test_equal_sequences_are_counted_once(seed: int, n_sentences: int) -> None:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 6, n_sentences)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    heads = lift(np.concatenate([random_heads(rng, n) for n in lengths]), offsets)
    codes = rng.integers(0, 2, offsets[-1]).astype(np.int32)
    sequences = ModifierSequences.of(heads, offsets, codes, 2)
    distinct = WeightedSequences.of(sequences, codes, Alphabet("ab"))
    counted = Counter(
        (int(sort), tuple(codes[sequences.words[low:high]].tolist()))
        for sort, low, high in zip(
            sequences.sorts, sequences.offsets[:-1], sequences.offsets[1:], strict=True
        )
    )
    found = {
        (sort, tuple(Alphabet("ab").encode(string))): count
        for sort in range(distinct.n_sorts)
        for string, count in zip(*distinct.of_sort(sort), strict=True)
    }
    assert found == counted
    assert len(found) == len(distinct.counts)
    gaps = Gaps(distinct)
    assert (gaps.place + gaps.remaining == distinct.strings.lengths[gaps.sequence]).all()
    assert gaps.weight[gaps.place == 0].sum() == len(sequences)


def test_symbols() -> None:
    treebank = DependencyTreebank.of([["a", "b"]], [["X", "Y"]], [[0, 1]], xpos=[["x", "Y"]])
    assert SYMBOLS["upos+xpos"](treebank) == ["X+x", "Y"]
    assert SYMBOLS["xpos"](treebank) == ["x", "Y"]
