"""Strings that a basis covers."""

from __future__ import annotations

import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.grammars.counts.basis_coverage import covered_strings


def test_a_small_basis_covers_short_strings() -> None:
    strings = Strings.of(["a", "ab", "abb", "bbab"])
    counts = np.array([5.0, 4.0, 1.0, 1.0])
    # the bare hole is the most frequent outside; a, b, ab the most frequent insides
    assert covered_strings(strings, counts, 1, 2).tolist() == [0, 1]
    assert covered_strings(strings, counts, 1, 3).tolist() == [0, 1, 2]
    assert covered_strings(strings, counts, 1000, 1000).tolist() == [0, 1, 2, 3]


def test_more_basis_covers_more() -> None:
    rng = np.random.default_rng(0)
    rows = ["".join(rng.choice(list("abc"), size=n)) for n in rng.integers(1, 8, size=80)]
    strings = Strings.of(sorted(set(rows)))
    sizes = [len(covered_strings(strings, np.ones(len(strings)), n, n)) for n in (2, 10, 50, 500)]
    assert sizes == sorted(sizes)
    assert sizes[-1] == len(strings)
