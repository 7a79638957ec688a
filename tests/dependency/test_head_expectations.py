"""Expected counts of modifier sequences against the sum over all paths of states."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sigmastar.dependency.kernels.inside_outside import Automata
from sigmastar.dependency.learn.em import expected_moves


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.lists(st.integers(0, 3), min_size=1, max_size=4))
def test_counts_of_all_paths(seed: int, lengths: list[int]) -> None:
    rng = np.random.default_rng(seed)
    n_states = np.array([2, 1], dtype=np.int32)
    initial, final, operators = rng.random((2, 2)), rng.random((2, 2)), rng.random((2, 3, 2, 2))
    initial[1, 1] = final[1, 1] = 0.0
    operators[1, :, 1, :] = operators[1, :, :, 1] = 0.0
    codes = rng.integers(0, 3, sum(lengths)).astype(np.int32)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    sorts, counts = rng.integers(0, 2, len(lengths)), rng.random(len(lengths)) + 0.5
    expected = np.zeros(2), np.zeros_like(initial), np.zeros_like(operators), np.zeros_like(final)
    for q, sort in enumerate(sorts.tolist()):
        word = codes[offsets[q] : offsets[q + 1]].tolist()
        weights = {}
        for path in product(range(n_states[sort]), repeat=len(word) + 1):
            weight = initial[sort, path[0]] * final[sort, path[-1]]
            for t, code in enumerate(word):
                weight *= operators[sort, code, path[t], path[t + 1]]
            weights[path] = weight
        total = sum(weights.values())
        expected[0][sort] += counts[q] * np.log(total)
        for path, weight in weights.items():
            share = counts[q] * weight / total
            expected[1][sort, path[0]] += share
            expected[3][sort, path[-1]] += share
            for t, code in enumerate(word):
                expected[2][sort, code, path[t], path[t + 1]] += share
    automata = Automata(n_states, initial, final, operators)
    logs, found = expected_moves(codes, offsets, counts, sorts, automata)
    for ours, theirs in zip((logs, *found), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
