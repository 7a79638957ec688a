"""How many states: held-out likelihood decides, the singular spectrum against its noise stands beside it.

A block is seen with sampling noise, H^ = H + E, and a singular value of H^ below the largest of E is no
evidence. Two estimates of that largest value:

    table of T counts, scaled by the roots of row and column sums:   (sqrt(rows) + sqrt(columns)) / sqrt(T)
    any block, from two halves of the data:                          s_1((H^_1 - H^_2) / 2)

The first is the edge of the spectrum of a matrix of independent entries of variance 1 / T (Marchenko
and Pastur, 1967) and needs disjoint classes. The second holds for any statistic: half the difference
of two halves has the variance of their mean, and none of its signal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from scipy import sparse

from sigmastar.core.arrays import Floats
from sigmastar.core.factors import Factors
from sigmastar.core.notebook import Shown
from sigmastar.core.progress import Measure, Point, Spectrum, report
from sigmastar.core.resources import Mapper
from sigmastar.core.sparse_svd import Matrix, iterative_svd

Value = TypeVar("Value", float, float | Floats)
Score = Callable[[int], float | Floats]
"""The held-out log-likelihood of a model with so many states: one number, or one for each structure."""


@dataclass(frozen=True, eq=False)
class RankEvidence(Shown):
    """The number of states that was chosen, and what the choice rests on."""

    singular_values: Floats
    noise_level: float | None
    candidates: tuple[int, ...]
    scores: tuple[float, ...]  # mean held-out score of each candidate
    chosen: int
    reason: str

    @property
    def above_noise(self) -> int | None:
        """How many of the singular values known stand above the noise level."""
        return None if self.noise_level is None else count_above(self.singular_values, self.noise_level)

    def judged(self, is_held: bool) -> RankEvidence:
        """With a reason that is true where strings were too few to hold any out."""
        if is_held or "best held-out" not in self.reason:
            return self
        return replace(self, reason="best log-likelihood; the strings are too few to hold any out")

    def __str__(self) -> str:
        lines = [f"{self.chosen} states: {self.reason}"]
        if self.noise_level is not None:
            above = f"{self.above_noise} of {len(self.singular_values)} singular values"
            lines.append(f"{above} stand above the noise level {self.noise_level:.3g}")
        lines.append("states  singular value  held-out score")
        for n_states, score in zip(self.candidates, self.scores, strict=True):
            mark = " <" if n_states == self.chosen else ""
            lines.append(f"{n_states:6d}  {self.singular_values[n_states - 1]:14.6g}  {score:14.6f}{mark}")
        return "\n".join(lines)


def noise_level(n_outsides: int, n_insides: int, n_counts: float) -> float:
    """The largest singular value of chance alone in a scaled table of `n_counts` counts."""
    if n_counts <= 0:
        raise ValueError("a noise level needs at least one count")
    return float((np.sqrt(n_outsides) + np.sqrt(n_insides)) / np.sqrt(n_counts))


def split_half_noise(first: Matrix, second: Matrix) -> float:
    """The largest singular value of the noise in (first + second) / 2, blocks of two halves of the data."""
    difference = sparse.csr_array(first - second) * 0.5
    if min(difference.shape) <= 200:
        return float(np.linalg.norm(difference.toarray(), 2))
    return float(iterative_svd(difference, 1)[1][0]) if difference.count_nonzero() else 0.0


def count_above(singular_values: Floats, level: float) -> int:
    return int((singular_values > level).sum())


def candidate_ranks(limit: int, most: int = 100) -> tuple[int, ...]:
    """A ladder 1, 2, 3, 4, 6, 8, 11, 16, .. up to `limit` and `most`: half an octave per step."""
    top = min(limit, most)
    if top < 1:
        raise ValueError(f"there are no numbers of states to try between 1 and {top}")
    steps = np.round(2 ** (np.arange(2 * np.log2(top) + 1) / 2)).astype(int)
    return tuple(sorted({*(int(n) for n in steps if n <= top), *range(1, min(top, 4) + 1), top}))


def choose_rank(
    spectrum: Factors | Floats,
    score: Score,
    candidates: Sequence[int] | None = None,
    noise_level: float | None = None,
) -> RankEvidence:
    """Score every candidate number of states on held-out data and choose the best.

    Held-out likelihood already charges for states that fit noise; of equals, the smaller number wins.
    Where no candidate gives all held-out structures positive mass, the noise level decides.
    """
    values = spectrum.singular_values if isinstance(spectrum, Factors) else np.asarray(spectrum)
    tried = tuple(sorted(candidates or candidate_ranks(len(values))))
    if tried[0] < 1 or tried[-1] > len(values):
        raise ValueError(f"candidates {tried} do not lie between 1 and the {len(values)} singular values")
    scores = [_as_row(value) for value in map(_reported(score), tried)]
    means = tuple(float(row.mean()) for row in scores)
    if np.isneginf(means).all():
        position, reason = _by_noise(tried, values, noise_level)
    else:
        position, reason = int(np.argmax(means)), f"the best held-out score of {len(tried)} candidates"
    report(Spectrum(values, noise_level, tried[position]))
    return RankEvidence(values, noise_level, tried, means, tried[position], reason)


def _reported(score: Callable[[int], Value]) -> Callable[[int], Value]:
    curve = object()

    def scored(n_states: int) -> Value:
        found = score(n_states)
        report(Point(Measure.SIZE, n_states, float(np.mean(found)), curve))
        return found

    return scored


def _as_row(score: float | Floats) -> Floats:
    """Scores as a vector; NaN counts as no likelihood at all."""
    row = np.atleast_1d(np.asarray(score, dtype=np.float64))
    return np.where(np.isnan(row), -np.inf, row)


def _by_noise(tried: tuple[int, ...], values: Floats, level: float | None) -> tuple[int, str]:
    """The most states that stand above the noise, where scores do not tell candidates apart."""
    blind = "no candidate gives all held-out data positive mass"
    if level is None:
        return 0, f"{blind}, and no noise level is known: the fewest states tried"
    fitting = [k for k, n_states in enumerate(tried) if n_states <= count_above(values, level)]
    return (fitting[-1] if fitting else 0), f"{blind}: as many as stand above the noise"


def climb_ladder(
    ladder: Sequence[int], expected: int, score: Callable[[int], float], run: Mapper = map
) -> int:
    """The rung from where neither direction leads higher.

    Parameters
    ----------
    ladder
        Candidates in rising order.
    expected
        The one that is probably best; the rungs around it are scored first.
    score
        Larger is better. Rungs may be scored repeatedly: keep their scores where they are costly.
    run
        How the first rungs are scored.

    Returns
    -------
    int
        The candidate where the search ended.

    Examples
    --------
    >>> climb_ladder([2, 3, 5, 7, 10], 4, lambda rank: -abs(rank - 9))
    10
    """
    nearest = min(int(np.searchsorted(ladder, expected)), len(ladder) - 1)
    around = range(max(nearest - 1, 0), min(nearest + 2, len(ladder)))
    scored = _reported(score)
    scores = list(run(lambda rung: scored(ladder[rung]), around))
    at = around[int(np.argmax(scores))]
    for step in (1, -1):
        while 0 <= at + step < len(ladder) and scored(ladder[at + step]) > score(ladder[at]):
            at += step
    return ladder[at]
