"""Tallies of keys against a dictionary, and their sums and differences."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sigmastar.core import integer_counts as tallies
from sigmastar.core.integer_counts import add, pruned, subtract, tally, tally_pairs

N_MAJOR, N_MINOR = 5, 130  # more than two words of bits
PAIRS = st.lists(st.tuples(st.integers(0, N_MAJOR - 1), st.integers(0, N_MINOR - 1), st.integers(1, 9)))


def tallied(pairs: list, weighted: bool, limit: int = 1 << 20) -> tuple[np.ndarray, np.ndarray]:
    major, minor, counts = (np.array([pair[k] for pair in pairs], dtype=np.int32) for k in range(3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tallies, "MOST_MAJORS", limit)
        return tally_pairs(major, minor, N_MAJOR, N_MINOR, counts if weighted else None)


def as_counter(found: tuple[np.ndarray, np.ndarray]) -> Counter:
    keys, counts = found
    assert (np.diff(keys) > 0).all()
    return Counter(dict(zip(keys.tolist(), counts.tolist(), strict=True)))


def expected(pairs: list, weighted: bool) -> Counter:
    total: Counter = Counter()
    for major, minor, count in pairs:
        total[major * N_MINOR + minor] += count if weighted else 1
    return total


@given(PAIRS, st.booleans(), st.sampled_from([0, 1 << 20]))
def test_pairs_are_counted_as_by_a_dictionary(pairs, weighted, limit):
    found = tallied(pairs, weighted, limit)
    assert as_counter(found) == expected(pairs, weighted)
    assert found[0].dtype == found[1].dtype == np.int32


@given(PAIRS, PAIRS, st.sampled_from([-1, 1 << 16]))
def test_tallies_add_up_and_subtract(first, second, few):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tallies, "_MANY", few)  # -1: always in one walk
        whole = add(tallied(first, True), tallied(second, True))
    assert as_counter(whole) == expected(first + second, True)
    left = subtract(whole, tallied(second, True))
    assert left[0] is whole[0]
    assert +as_counter(left) == expected(first, True)


def test_keys_and_counts_that_do_not_fit_are_wide():
    keys, _ = tally_pairs(np.array([1 << 15], np.int32), np.array([3], np.int32), 1 << 16, 1 << 16)
    assert keys.tolist() == [(1 << 31) + 3]
    assert keys.dtype == np.int64
    one = np.zeros(1, np.int32), np.array([1 << 30], np.int32)
    assert add(one, one)[1].tolist() == [1 << 31]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9))))
def test_tallies_add_the_counts_of_equal_keys(pairs):
    keys, counts = (np.array([pair[k] for pair in pairs], dtype=np.int64) for k in (0, 1))
    expected: dict = {}
    for key, count in pairs:
        expected[key] = expected.get(key, 0) + count
    found, totals = tally(keys, counts)
    assert dict(zip(found.tolist(), totals.tolist(), strict=True)) == expected
    assert found.tolist() == sorted(expected)
    assert tally(keys)[1].tolist() == [keys.tolist().count(key) for key in sorted(expected)]


@given(
    st.lists(st.sampled_from([1, 1, 1, 2, 3, 4094, 4095, 4096, 4097, 1 << 40]), max_size=40),
    st.integers(0, 45),
)
def test_the_rarest_keys_are_dropped_all_of_one_count_together(counts, most):
    keys = np.arange(0, 3 * len(counts), 3, dtype=np.int32)
    (kept, theirs), (n_dropped, lost) = pruned((keys, np.array(counts, np.int64)), most)
    above = [count for count in sorted(set(counts)) if sum(one >= count for one in counts) <= most]
    stay = [at for at, count in enumerate(counts) if above and count >= above[0]]
    assert kept.tolist() == [3 * at for at in stay]
    assert theirs.tolist() == [counts[at] for at in stay]
    assert (n_dropped, lost) == (len(counts) - len(stay), sum(counts) - sum(theirs.tolist()))
    assert (kept.dtype, theirs.dtype) == (keys.dtype, np.int64)
