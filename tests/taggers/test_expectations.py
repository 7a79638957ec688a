"""Expected counts against sums over all state sequences."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sigmastar.taggers.kernels.expectations import refined_expectations


@given(seed=st.integers(0, 10**6), lengths=st.lists(st.integers(1, 4), min_size=1, max_size=3))
def test_refined_expectations(seed: int, lengths: list[int]) -> None:
    rng = np.random.default_rng(seed)
    states = np.array([0, 2, 3, 6])
    edge = 6
    moves, ratios = rng.random((7, 7)), rng.random((4, 3))
    tags, pairs = rng.integers(0, 3, sum(lengths)), rng.integers(0, 4, sum(lengths))
    offsets = np.append(0, np.cumsum(lengths)).astype(np.int64)
    expected, memberships = np.zeros((7, 7)), np.zeros((4, 3))
    log = refined_expectations(
        offsets, 0, len(lengths), tags.astype(np.int32), pairs.astype(np.int32), states, moves, ratios,
        expected, memberships,
    )  # fmt: skip
    want, belong, total = np.zeros((7, 7)), np.zeros((4, 3)), 0.0
    for low, high in pairwise(offsets):
        values = {}
        for path in product(*(range(states[t], states[t + 1]) for t in tags[low:high])):
            whole = [edge, *path, edge]
            value = np.prod([moves[a, b] for a, b in pairwise(whole)])
            value *= np.prod([ratios[pairs[low + k], z - states[tags[low + k]]] for k, z in enumerate(path)])
            values[path] = value
        mass = sum(values.values())
        total += np.log(mass)
        for path, value in values.items():
            whole = [edge, *path, edge]
            for a, b in pairwise(whole):
                want[a, b] += value / mass
            for k, z in enumerate(path):
                belong[pairs[low + k], z - states[tags[low + k]]] += value / mass
    np.testing.assert_allclose(expected, want, atol=1e-10)
    np.testing.assert_allclose(memberships, belong, atol=1e-10)
    assert log == pytest.approx(total, abs=1e-9)
