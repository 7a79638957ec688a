"""Head automata by expectation-maximisation, each sort for itself, on its distinct sequences.

    E-step   expected counts of (start in i), (i, a, j), (stop in i)
    M-step   P(a, j | i) = (count + back_off * P(a | direction) P(j | a)) / (total + back_off)

Starts: at random as in section 5.1 of Luque et al. (2012), or from the spectrum: the pasts of gaps lie in
the space of the left singular vectors of the sort's block; k-means makes states of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from sigmastar.core.signature import Sort
from sigmastar.dependency.counts import Indicators, Views, count_heads, rich_views
from sigmastar.dependency.data.gaps import Array, Gaps, Integers
from sigmastar.dependency.data.sequences import WeightedSequences, head_sorts
from sigmastar.dependency.kernels.head_expectations import expected_moves
from sigmastar.dependency.learn.counting import count_moves, learn_deterministic
from sigmastar.dependency.learn.spectral import factorize_heads, state_limits
from sigmastar.dependency.model.head_automata import HeadAutomata

Start = Callable[[WeightedSequences, "int | Integers", np.random.Generator], HeadAutomata]

BACK_OFF = 1.0
COUNTS_A_STATE = 20.0  # fewer than recovered automata need: probabilities are smoothed
_TINY = 1e-6


@dataclass(frozen=True, eq=False)
class HeadsEMFit:
    """Learnt automata and the log-likelihood of all sequences before each iteration."""

    automata: HeadAutomata
    log_likelihoods: list[float]


def learn_heads_em(
    sequences: WeightedSequences,
    n_states: int | Integers,
    rng: np.random.Generator,
    *,
    start: Start | None = None,
    n_iterations: int = 50,
    n_seeds: int = 1,
    back_off: float = BACK_OFF,
    tolerance: float = 1e-5,
) -> HeadsEMFit:
    """The most likely of `n_seeds` ascents; each stops where an iteration gains less than the tolerance."""
    fits = [
        climb(sequences, (start or random_start)(sequences, n_states, rng), n_iterations, back_off, tolerance)
        for _ in range(n_seeds)
    ]
    return max(fits, key=lambda fit: fit.log_likelihoods[-1])


def climb(
    sequences: WeightedSequences,
    automata: HeadAutomata,
    n_iterations: int,
    back_off: float = BACK_OFF,
    tolerance: float = 1e-5,
) -> HeadsEMFit:
    """Iterations from given automata, all sorts side by side."""
    backed = learn_deterministic(sequences, first=False)
    backing = (backed.operators[:, :, 0, 0], backed.final[:, 0])
    strings, sorts = sequences.strings, sequences.sort_of_sequence
    logs: list[float] = []
    for _ in range(n_iterations):
        likelihoods, *expected = expected_moves(
            strings.codes,
            strings.offsets,
            sequences.counts,
            sorts,
            automata.n_states,
            automata.initial,
            automata.operators,
            automata.final,
        )
        logs.append(float(likelihoods.sum()))
        if len(logs) > 1 and logs[-1] - logs[-2] < tolerance * abs(logs[-2]):
            break
        automata = _maximized(automata, expected[0], expected[1], expected[2], backing, back_off)
    return HeadsEMFit(automata, logs)


def _maximized(
    automata: HeadAutomata,
    starts: Array,
    moves: Array,
    stops: Array,
    backing: tuple[Array, Array],
    back_off: float,
) -> HeadAutomata:
    """Smoothed conditional probabilities from expected counts (of moves: sort, symbol, from, to)."""
    used = np.arange(starts.shape[1]) < automata.n_states[:, None]
    initial = np.where(used, starts + _TINY, 0.0)
    totals = moves.sum(axis=(1, 3)) + stops + back_off
    by_symbol = moves.sum(axis=2)
    targets = by_symbol + 1e-3 * (by_symbol.sum(axis=1, keepdims=True) + _TINY * used[:, None])
    targets /= targets.sum(axis=2, keepdims=True)
    symbols, stop = backing
    moves += (back_off * symbols[:, :, None] * targets)[:, :, None, :]
    moves /= totals[:, None, :, None]
    moves *= used[:, None, :, None]
    final = np.where(used, (stops + back_off * stop[:, None]) / totals, 0.0)
    return HeadAutomata(
        automata.alphabet, automata.n_states, initial / initial.sum(axis=1, keepdims=True), moves, final
    )


def random_start(
    sequences: WeightedSequences, n_states: int | Integers, rng: np.random.Generator
) -> HeadAutomata:
    """As a hidden Markov model: random transitions times emissions drawn around the counted ones."""
    limits = state_limits(Gaps(sequences), n_states, COUNTS_A_STATE)
    backed = learn_deterministic(sequences, first=False)
    automata = []
    for sort, n in enumerate(limits.values()):
        emissions = np.append(backed.operators[sort, :, 0, 0], backed.final[sort, 0])
        drawn = emissions * rng.gamma(1.0, size=(n, len(emissions)))
        drawn /= drawn.sum(axis=1, keepdims=True)
        moves = rng.dirichlet(np.ones(n), size=n)
        operators = drawn[:, :-1].T[:, :, None] * moves
        automata.append((rng.dirichlet(np.ones(n)), operators, drawn[:, -1]))
    return HeadAutomata.of_automata(sequences.alphabet, automata)


def spectral_start(
    sequences: WeightedSequences,
    n_states: int | Integers,
    rng: np.random.Generator,
    views: Views = rich_views,
) -> HeadAutomata:
    """States are clusters of pasts in the space of the singular vectors."""
    gaps = Gaps(sequences)
    limits = state_limits(gaps, n_states, COUNTS_A_STATE)
    points = past_vectors(gaps, limits, views)
    states = np.zeros(len(gaps.sort), dtype=np.int64)
    sizes = np.ones(sequences.n_sorts, dtype=np.int64)
    ends = np.searchsorted(gaps.sort, np.arange(sequences.n_sorts + 1))
    for sort, n in enumerate(limits.values()):
        part = slice(ends[sort], ends[sort + 1])
        if n > 1 and ends[sort] < ends[sort + 1]:
            states[part] = clustered(points[part], gaps.weight[part], n, rng)
            sizes[sort] = states[part].max() + 1
    return count_moves(gaps, states, sizes, BACK_OFF, np.zeros_like(states))


def past_vectors(gaps: Gaps, limits: dict[Sort, int], views: Views = rich_views) -> Array:
    """What the past of every gap says of its future: a vector in the space of the sort's singular vectors."""
    blocks = count_heads(gaps, views)
    factors = factorize_heads(blocks, limits)
    pasts = Indicators.of(gaps, views(gaps)[0], 150, 2.0)
    table = np.zeros((len(pasts.scales) + 1, max(limits.values())))
    for sort, name in enumerate(head_sorts(gaps.sequences.alphabet)):
        if name in factors:
            outside = factors[name].outside * pasts.of_sort(sort)[:, None]
            table[pasts.starts[sort] : pasts.starts[sort + 1], : outside.shape[1]] = outside
    rows = np.where(pasts.numbers >= 0, pasts.starts[gaps.sort][:, None] + pasts.numbers, len(table) - 1)
    return table[rows].sum(axis=1)  # type: ignore[no-any-return]


def clustered(points: Array, weights: Array, n: int, rng: np.random.Generator, n_rounds: int = 8) -> Integers:
    """Weighted k-means with seeds far apart; clusters are numbered without gaps."""
    centres = points[[int(np.argmax(weights))]]
    distances = ((points - centres[0]) ** 2).sum(axis=1)
    for _ in range(n - 1):
        chances = weights * distances
        if chances.sum() <= 1e-12 * weights.sum():
            break
        centres = np.vstack([centres, points[rng.choice(len(points), p=chances / chances.sum())]])
        distances = np.minimum(distances, ((points - centres[-1]) ** 2).sum(axis=1))
    for _ in range(n_rounds):
        nearest = np.argmin((centres**2).sum(axis=1) - 2.0 * points @ centres.T, axis=1)
        masses = np.bincount(nearest, weights, minlength=len(centres))
        members = sparse.csr_array((weights, (nearest, np.arange(len(points)))), (len(centres), len(points)))
        sums = members @ points
        centres = np.where(masses[:, None] > 0, sums / np.maximum(masses, 1e-300)[:, None], centres)
    return np.unique(nearest, return_inverse=True)[1]
