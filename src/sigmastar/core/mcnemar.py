"""McNemar's test: do two classifiers differ, judged on the same items?

Only items that one of them gets right and the other wrong tell: under equality each is a fair coin.
The exact two-sided test on those is the sign test (`intervals.sign_test`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sigmastar.core.intervals import sign_test


@dataclass(frozen=True)
class McNemar:
    """How often only the first or only the second was right, and how likely that is by chance."""

    only_first: int
    only_second: int
    p_value: float


def mcnemar(first_right: ArrayLike, second_right: ArrayLike) -> McNemar:
    """Compare two classifiers by whether each item was answered rightly.

    >>> mcnemar([True] * 9 + [False], [False] * 9 + [True]).only_first
    9
    """
    first, second = np.asarray(first_right, dtype=bool), np.asarray(second_right, dtype=bool)
    if first.shape != second.shape or first.ndim != 1:
        raise ValueError(f"both need one answer an item: shapes {first.shape} and {second.shape}")
    only_first, only_second = int((first & ~second).sum()), int((second & ~first).sum())
    return McNemar(only_first, only_second, sign_test(only_first, only_second))
