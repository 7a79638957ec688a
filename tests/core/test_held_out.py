"""Splits: nothing on both sides, nothing lost, and None where nothing can be held out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sigmastar.core.held_out import folds, n_held, split, tails

seeds, sizes = st.integers(0, 10**6), st.integers(0, 60)


@given(seeds, st.integers(2, 60), st.floats(0.01, 1.0))
def test_a_split_loses_nothing(seed: int, n: int, share: float) -> None:
    found = split(n, np.random.default_rng(seed), share)
    assert found is not None
    assert len(found.kept)
    assert len(found.held)
    assert sorted([*found.kept.tolist(), *found.held.tolist()]) == list(range(n))
    assert found.kept.tolist() == sorted(found.kept.tolist())


def test_nothing_to_spare(rng: np.random.Generator) -> None:
    assert split(1, rng) is None
    assert split(0, rng) is None
    assert split(100, rng, share=0.0) is None
    assert split(9, rng, least=10) is None
    assert tails(np.array([0, 3, 5])) is None
    assert folds(1, rng, 3) == []


def test_enough_is_enough(rng: np.random.Generator) -> None:
    assert n_held(1_000_000) == 5_000
    assert n_held(20, 0.1, None) == 2


@given(st.lists(st.integers(0, 40), min_size=1, max_size=5), st.floats(0.05, 0.5))
def test_tails_are_the_last_part_of_each(lengths: list[int], share: float) -> None:
    offsets = np.append(0, np.cumsum(lengths))
    found = tails(offsets, share)
    wanted = [int(share * n + 1e-9) for n in lengths]
    if sum(wanted) == 0:
        assert found is None
        return
    assert found is not None
    assert found.lengths.tolist() == wanted
    held = [
        at >= high - n for low, high, n in zip(offsets[:-1], offsets[1:], wanted, strict=True)
        for at in range(low, high)
    ]  # fmt: skip
    assert found.is_held.tolist() == held
    assert found.lengths.sum() + found.kept_offsets[-1] == offsets[-1]


def test_one_long_string_is_cut_by_position() -> None:
    found = tails(np.array([0, 200]))
    assert found is not None
    assert found.cuts.tolist() == [180]


@given(seeds, st.integers(2, 40), st.integers(2, 6))
def test_folds_hold_everything_once(seed: int, n: int, n_folds: int) -> None:
    found = folds(n, np.random.default_rng(seed), n_folds)
    assert len(found) == min(n, n_folds)
    held = np.concatenate([fold.held for fold in found])
    assert sorted(held.tolist()) == list(range(n))
    assert max(len(fold.held) for fold in found) - min(len(fold.held) for fold in found) <= 1


@given(seeds, st.integers(2, 8))
def test_folds_by_group(seed: int, n_groups: int) -> None:
    rng = np.random.default_rng(seed)
    groups = np.append(np.arange(n_groups), rng.integers(0, n_groups, 20))
    for fold in folds(len(groups), rng, 3, 0.2, groups):
        assert not set(groups[fold.kept].tolist()) & set(groups[fold.held].tolist())
        assert len(fold.held)
        assert len(fold.kept)


def test_seed_decides() -> None:
    one, two = (split(50, np.random.default_rng(3)) for _ in range(2))
    assert one is not None
    assert two is not None
    assert one.held.tolist() == two.held.tolist() != pytest.approx(list(range(5)))
