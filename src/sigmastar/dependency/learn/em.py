"""Head automata by expectation-maximization, each sort for itself, on its distinct sequences.

    E-step   expected counts of (start in i), (i, a, j), (stop in i)
    M-step   P(a, j | i) = (count + back_off * P(a | direction) P(j | a)) / (total + back_off)

Starts: at random as in section 5.1 of Luque et al. (2012); or states from two views, the second idea: the
pasts and the futures of gaps are correlated, pasts become points, k-means makes states of them, moves
between states are counted and shrunk, and EM climbs from there.

Expected counts of moves on sequences of modifiers are taken for all sorts at once:

forward   a_0 = initial,  a_t = a_(t-1) A_x(t) / z_t      backward  b_T = final,  b_(t-1) = A_x(t) b_t / z_t
counts    (start i) a_0 b_0,  (i, x, j) a_(t-1),i A_x,ij b_t,j / z_t,  (stop i) a_T b_T,  over a_T . final
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.clusters import k_means
from sigmastar.core.em import Climb, Problem, Stopping, by_relative
from sigmastar.core.jit import kernel, part
from sigmastar.core.progress import Progress, silent, stage
from sigmastar.core.resources import one_blas_thread
from sigmastar.core.shrinkage import normalized, towards
from sigmastar.core.views import correlate
from sigmastar.dependency.counts import Indicators, Views, count_pairs, rich_views
from sigmastar.dependency.data.sequences import Gaps, WeightedSequences
from sigmastar.dependency.kernels.inside_outside import Automata
from sigmastar.dependency.learn.counting import count_moves, learn_deterministic
from sigmastar.dependency.learn.spectral import state_limits
from sigmastar.dependency.model.head_automata import HeadAutomata


class Moves(NamedTuple):
    """Expected counts, in the shapes of the automata."""

    starts: Floats  # sorts x states
    moves: Floats  # sorts x symbols x states x states
    stops: Floats  # sorts x states


class _Room(NamedTuple):
    forward: Floats  # places x states
    backward: Floats
    scales: Floats  # places


@part
def _forward(codes: Int32s, sort: int, automata: Automata, room: _Room) -> tuple[float, float]:
    """Fill the forward vectors; the logarithm of their scales, and the weight of ending."""
    forward, m, log = room.forward, automata.n_states[sort], 0.0
    for j in range(m):
        forward[0, j] = automata.initial[sort, j]
    for t in range(1, len(codes) + 1):
        operator, total = automata.operators[sort, codes[t - 1]], 0.0
        for j in range(m):
            value = 0.0
            for i in range(m):
                value += forward[t - 1, i] * operator[i, j]
            forward[t, j] = value
            total += value
        room.scales[t] = total if total > 0.0 else 1.0
        log += np.log(total)
        for j in range(m):
            forward[t, j] /= room.scales[t]
    ending = 0.0
    for j in range(m):
        ending += forward[len(codes), j] * automata.final[sort, j]
    return log, ending


@part
def _backward(codes: Int32s, share: float, sort: int, automata: Automata, room: _Room, found: Moves) -> None:
    """Fill the backward vectors, and add the expected counts of one sequence."""
    forward, backward, m, length = room.forward, room.backward, automata.n_states[sort], len(codes)
    for j in range(m):
        backward[length, j] = share * automata.final[sort, j]
        found.stops[sort, j] += forward[length, j] * backward[length, j]
    for t in range(length, 0, -1):
        code = codes[t - 1]
        operator, into = automata.operators[sort, code], found.moves[sort, code]
        for i in range(m):
            value = 0.0
            for j in range(m):
                piece = operator[i, j] * backward[t, j] / room.scales[t]
                into[i, j] += forward[t - 1, i] * piece
                value += piece
            backward[t - 1, i] = value
    for j in range(m):
        found.starts[sort, j] += automata.initial[sort, j] * backward[0, j]


@kernel
def expected_moves(
    codes: Int32s, offsets: Int64s, counts: Floats, sorts: Int64s, automata: Automata
) -> tuple[Floats, Moves]:
    """The log-likelihood of every sort, and the expected counts.

    Sequences of no probability count for nothing, and leave -inf in the likelihood of their sort.
    """
    logs = np.zeros(len(automata.n_states))
    found = Moves(
        np.zeros_like(automata.initial), np.zeros_like(automata.operators), np.zeros_like(automata.final)
    )
    longest = 0
    for q in range(len(counts)):
        longest = max(longest, offsets[q + 1] - offsets[q])
    width = automata.initial.shape[1]
    room = _Room(np.zeros((longest + 1, width)), np.zeros((longest + 1, width)), np.ones(longest + 1))
    for q in range(len(counts)):
        sequence = codes[offsets[q] : offsets[q + 1]]
        log, ending = _forward(sequence, sorts[q], automata, room)
        logs[sorts[q]] += counts[q] * (log + np.log(ending))
        if ending > 0.0:
            _backward(sequence, counts[q] / ending, sorts[q], automata, room, found)
    return logs, found


Start = Callable[[WeightedSequences, "int | Int64s", np.random.Generator], HeadAutomata]
HeadClimb = Climb[HeadAutomata, Moves]

BACK_OFF = 1.0
TOLERANCE = 1e-5
COUNTS_PER_STATE = 20.0  # fewer than recovered automata need: probabilities are smoothed
_TINY = 1e-6
_LEAST_LOG = -50.0  # of a sequence to which signed automata give nothing
_OF_TARGETS = 1e-3  # what the targets of all symbols add to those of one


def learn_heads_em(
    sequences: WeightedSequences,
    n_states: int | Int64s,
    rng: np.random.Generator,
    *,
    start: Start | None = None,
    max_iter: int = 50,
    n_seeds: int = 1,
    progress: Progress = silent,
) -> HeadAutomata:
    """Of `n_seeds` climbs the most likely automaton of each sort.

    A climb stops where an iteration gains less than the tolerance. Sorts do not depend on each other, so that
    the best of each make a whole that is more likely than any climb.
    """
    found = []
    for number in range(n_seeds):
        first = (start or random_start)(sequences, n_states, rng)
        going = stage(progress, number / n_seeds, (number + 1) / n_seeds)
        found.append(climb(sequences, first, max_iter, progress=going).latest)
    return found[0] if n_seeds == 1 else most_likely(found, sequences)


def most_likely(candidates: Sequence[HeadAutomata], sequences: WeightedSequences) -> HeadAutomata:
    """For each sort the automaton that its sequences are most probable with; of equals the first."""
    best = np.argmax([sort_likelihoods(automata, sequences) for automata in candidates], axis=0)
    chosen = []
    for sort, number in enumerate(best.tolist()):
        own = candidates[number]
        n = own.n_states[sort]
        chosen.append((own.initial[sort, :n], own.operators[sort, :, :n, :n], own.final[sort, :n]))
    return HeadAutomata.of_automata(sequences.alphabet, chosen)


def sort_likelihoods(automata: HeadAutomata, sequences: WeightedSequences) -> Floats:
    """The log-likelihood of the sequences of every sort."""
    logs = np.maximum(automata.log_probability(sequences), _LEAST_LOG)
    sorts, n_sorts = sequences.sort_of_sequence, sequences.n_sorts
    return np.bincount(sorts, sequences.counts * logs, minlength=n_sorts).astype(np.float64)


def climb(
    sequences: WeightedSequences,
    automata: HeadAutomata,
    max_iter: int,
    back_off: float = BACK_OFF,
    tolerance: float = TOLERANCE,
    progress: Progress = silent,
) -> HeadClimb:
    """Iterations from given automata, all sorts side by side."""
    backed = learn_deterministic(sequences, first=False)
    backing = (backed.operators[:, :, 0, 0], backed.final[:, 0])
    strings, sorts = sequences.strings, sequences.sort_of_sequence
    alphabet, n_states = automata.alphabet, automata.n_states

    def expect(model: HeadAutomata) -> tuple[Moves, float]:
        logs, found = expected_moves(strings.codes, strings.offsets, sequences.counts, sorts, model.arrays)
        return found, float(logs.sum())

    def maximize(found: Moves) -> HeadAutomata:
        return HeadAutomata(alphabet, n_states, *_maximized(found, n_states, backing, back_off))

    problem = Problem(expect, maximize, n_items=float(sequences.counts.sum()), name="EM of head automata")
    stopping = Stopping(by_relative(tolerance), every=1, patience=1)
    return Climb.begin(problem, automata).run(max_iter, stopping, progress=progress)


def _maximized(
    found: Moves, n_states: Int32s, backing: tuple[Floats, Floats], back_off: float
) -> tuple[Floats, Floats, Floats]:
    """Initial, move and final probabilities from expected counts (of moves: sort, symbol, from, to)."""
    starts, moves, stops = found
    used = np.arange(starts.shape[1]) < n_states[:, None]
    totals = moves.sum(axis=(1, 3)) + stops
    by_symbol = moves.sum(axis=2)
    targets = by_symbol + _OF_TARGETS * (by_symbol.sum(axis=1, keepdims=True) + _TINY * used[:, None])
    symbols, stop = backing
    coarse = symbols[:, :, None] * normalized(targets)
    probabilities = towards(moves, coarse[:, :, None, :], back_off, totals=totals[:, None, :, None])
    final = towards(stops, stop[:, None], back_off, totals=totals)
    return (
        normalized(np.where(used, starts + _TINY, 0.0)),
        probabilities * used[:, None, :, None],
        np.where(used, final, 0.0),
    )


def random_start(
    sequences: WeightedSequences, n_states: int | Int64s, rng: np.random.Generator
) -> HeadAutomata:
    """As a hidden Markov model: random transitions times emissions drawn around the counted ones."""
    limits = state_limits(Gaps(sequences), n_states, COUNTS_PER_STATE)
    backed = learn_deterministic(sequences, first=False)
    automata = []
    for sort, n in enumerate(limits.values()):
        emissions = np.append(backed.operators[sort, :, 0, 0], backed.final[sort, 0])
        drawn = normalized(emissions * rng.gamma(1.0, size=(n, len(emissions))))
        moves = rng.dirichlet(np.ones(n), size=n)
        operators = drawn[:, :-1].T[:, :, None] * moves
        automata.append((rng.dirichlet(np.ones(n)), operators, drawn[:, -1]))
    return HeadAutomata.of_automata(sequences.alphabet, automata)


def known_start(
    last: HeadAutomata, sequences: WeightedSequences, n_states: int | Int64s, rng: np.random.Generator
) -> HeadAutomata:
    """The automata of an earlier climb; what its symbols were not is added, as a random start has it."""
    if last.alphabet == sequences.alphabet:
        return last
    fresh = random_start(sequences, n_states, rng)
    places = {name: number for number, name in enumerate(last.alphabet)}
    known = np.array([places.get(name, -1) for name in sequences.alphabet])
    sorts = [*(-1 if place < 0 else 2 * place + side for place in known for side in (0, 1)), 2 * len(places)]
    backed = learn_deterministic(sequences, first=False)
    automata = []
    for sort, old in enumerate(sorts):
        own, at = (fresh, sort) if old < 0 else (last, old)
        n = own.n_states[at]
        initial, moves, final = own.initial[at, :n], own.operators[at, :, :n, :n], own.final[at, :n]
        if old >= 0:
            new = backed.operators[sort, :, :, :] * np.broadcast_to(initial, (n, n))
            moves = np.where((known < 0)[:, None, None], new, moves[known])
            mass = moves.sum(axis=(0, 2)) + final
            moves, final = moves / mass[:, None], final / mass
        automata.append((initial, moves, final))
    return HeadAutomata.of_automata(sequences.alphabet, automata)


def clustered_start(
    sequences: WeightedSequences,
    n_states: int | Int64s,
    rng: np.random.Generator,
    views: Views = rich_views,
) -> HeadAutomata:
    """States are clusters of pasts, by the futures that follow them; moves between them are counted."""
    gaps = Gaps(sequences)
    limits = list(state_limits(gaps, n_states, COUNTS_PER_STATE).values())
    points = past_points(gaps, limits, views)
    states = np.zeros(len(gaps.sort), dtype=np.int64)
    sizes = np.ones(sequences.n_sorts, dtype=np.int64)
    ends = np.searchsorted(gaps.sort, np.arange(sequences.n_sorts + 1))
    for sort, n in enumerate(limits):
        part = slice(ends[sort], ends[sort + 1])
        if n > 1 and ends[sort] < ends[sort + 1]:
            weights = gaps.weight[part]
            found = k_means(points[part], n, rng, weights=weights, first=int(np.argmax(weights)))
            states[part], sizes[sort] = found.labels, found.n_clusters
    return count_moves(gaps, states, sizes, BACK_OFF, np.zeros_like(states))


def past_points(gaps: Gaps, n_dimensions: list[int], views: Views = rich_views) -> Floats:
    """Where the past of every gap lies, by its correlations with the futures of its sort."""
    pasts, futures = (Indicators.of(gaps, view) for view in views(gaps))
    table = np.zeros((len(pasts.counts), max(n_dimensions)))
    with one_blas_thread():  # many small decompositions
        for sort, counts in enumerate(count_pairs(gaps, pasts, futures)):
            if counts.any():
                totals = pasts.counts_of(sort), futures.counts_of(sort)
                places = correlate(counts, n_dimensions[sort], totals=totals, total=1.0).left(1.0)
                table[pasts.starts[sort] : pasts.starts[sort + 1], : places.shape[1]] = places
    return pasts.sums(gaps, table)
