"""The best tree, under scores of arcs and under automata, against all projective trees, one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import projective_trees, tree_weight
from sigmastar.dependency.kernels.eisner import best_tree, best_trees, viterbi_sentences, viterbi_tree
from sigmastar.dependency.kernels.inside_outside import Automata


def deterministic(rng: np.random.Generator, n_symbols: int, n_states: int) -> Automata:
    """One initial state, and one target for each state and symbol."""
    n_sorts = 2 * n_symbols + 1
    sizes = rng.integers(1, n_states + 1, n_sorts).astype(np.int32)
    initial, final = np.zeros((n_sorts, n_states)), rng.random((n_sorts, n_states))
    operators = np.zeros((n_sorts, n_symbols, n_states, n_states))
    for sort, size in enumerate(sizes.tolist()):
        initial[sort, rng.integers(size)] = rng.random()
        for symbol in range(n_symbols):
            for state in range(size):
                operators[sort, symbol, state, rng.integers(size)] = rng.random()
    return Automata(sizes, initial, final, operators)


def logs(automata: Automata) -> Automata:
    with np.errstate(divide="ignore"):
        return Automata(automata.n_states, *(np.log(array) for array in automata[1:]))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 5), st.booleans())
def test_best_tree_is_the_best_of_all(seed: int, n: int, single_root: bool) -> None:
    scores = np.random.default_rng(seed).standard_normal((n + 1, n + 1))
    columns = np.arange(1, n + 1)
    best = max(scores[list(heads), columns].sum() for heads in projective_trees(n, single_root))
    found = best_tree(scores, single_root)
    assert tuple(found.tolist()) in set(projective_trees(n, single_root))
    assert scores[found, columns].sum() == pytest.approx(best)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 5), st.integers(1, 3), st.booleans())
def test_the_most_probable_of_all_trees(seed: int, n: int, n_states: int, single_root: bool) -> None:
    rng = np.random.default_rng(seed)
    automata = deterministic(rng, 3, n_states)
    codes = np.append(3, rng.integers(0, 3, n)).astype(np.int32)
    weights = rng.random((n + 1, n + 1))
    best = max(tree_weight(heads, codes, automata, weights) for heads in projective_trees(n, single_root))
    found, log = viterbi_tree(codes, logs(automata), np.log(weights), single_root)
    assert tuple(found.tolist()) in set(projective_trees(n, single_root))
    assert np.exp(log) == pytest.approx(best)
    assert tree_weight(found.tolist(), codes, automata, weights) == pytest.approx(best)


def test_long_sentences_and_sentences_without_trees() -> None:
    rng = np.random.default_rng(0)
    automata = deterministic(rng, 3, 2)
    codes, offsets = rng.integers(0, 3, 201).astype(np.int32), np.array([0, 1, 201])
    arcs = (np.diff(offsets) + 1) ** 2
    at = np.append(0, np.cumsum(arcs))
    heads, found = viterbi_sentences(codes, offsets, logs(automata), np.zeros(at[-1]), at, True)
    assert np.isfinite(found).all()
    assert (heads[1:] == 0).sum() == 1
    nothing = logs(automata._replace(operators=0.0 * automata.operators))
    heads, found = viterbi_sentences(codes, offsets, nothing, np.zeros(at[-1]), at, True)
    assert (heads == -1).all()
    assert np.isneginf(found).all()


@pytest.mark.parametrize("single_root", [True, False])
def test_sentences_without_words(single_root: bool) -> None:
    """Without a guard heads were written beside the table, which `make test-bounds` sees."""
    offsets, usable = np.array([0, 0, 1, 1]), np.ones(3, dtype=bool)
    assert best_trees(np.zeros(6), offsets, usable, single_root).tolist() == [0]
    automata, codes, at = (
        logs(deterministic(np.random.default_rng(0), 3, 2)),
        np.zeros(1, np.int32),
        [0, 1, 5, 6],
    )
    heads, found = viterbi_sentences(codes, offsets, automata, np.zeros(6), np.array(at), single_root)
    assert heads.tolist() == [0]
    assert np.isfinite(found).all()
