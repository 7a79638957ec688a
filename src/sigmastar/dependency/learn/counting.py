"""Head automata by counting moves between given states: DET, DET+F, and any other deterministic ones.

    DET     one state
    DET+F   two: before the first modifier, and after it
    P(a, state' | state) = (count + back_off * P(a | kind of state, direction)) / (total + back_off)

States are given for every gap of every sequence (gap t lies before modifier t + 1). The back-off looks
at the modifiers of all heads in that direction, so that every modifier has some probability.
"""

from __future__ import annotations

import numpy as np

from sigmastar.core.arrays import Floats, Int64s
from sigmastar.core.shrinkage import normalized, towards
from sigmastar.dependency.data.sequences import Gaps, WeightedSequences
from sigmastar.dependency.model.head_automata import HeadAutomata

BACK_OFF = 1.0
_ADDED = 1e-3  # to every count of the back-off itself


def learn_deterministic(sequences: WeightedSequences, first: bool = False) -> HeadAutomata:
    """DET, or with `first` DET+F."""
    gaps = Gaps(sequences)
    states = np.minimum(gaps.place, 1) if first else np.zeros_like(gaps.place)
    return count_moves(gaps, states, np.full(sequences.n_sorts, 2 if first else 1), BACK_OFF)


def count_moves(
    gaps: Gaps, states: Int64s, n_states: Int64s, back_off: float, kinds: Int64s | None = None
) -> HeadAutomata:
    """Probabilistic automata from a state for every gap; `kinds` are what states share across heads."""
    n_sorts, n_symbols = gaps.sequences.n_sorts, len(gaps.sequences.alphabet)
    m = int(n_states.max())
    kinds = np.minimum(gaps.place, 1) if kinds is None else kinds
    shared = _shared(gaps, kinds, n_symbols)
    counts = np.zeros((n_sorts, m, n_symbols + 1))
    np.add.at(counts, (gaps.sort, states, gaps.after), gaps.weight)
    kind_of_state = np.zeros((n_sorts, m), dtype=np.int64)
    kind_of_state[gaps.sort, states] = kinds
    probabilities = towards(counts, shared[directions(n_sorts)[:, None], kind_of_state], back_off)
    initial = np.zeros((n_sorts, m))
    starts = gaps.place == 0
    np.add.at(initial, (gaps.sort[starts], states[starts]), gaps.weight[starts])
    moves = probabilities[:, :, :n_symbols].transpose(0, 2, 1)[..., None] * _targets(gaps, states, m)
    return HeadAutomata(
        gaps.sequences.alphabet,
        n_states.astype(np.int32),
        normalized(initial, otherwise=np.eye(m)[0]),
        moves,
        probabilities[:, :, -1],
    )


def directions(n_sorts: int) -> Int64s:
    """Of every sort: left, right, and the root for itself."""
    sorts = np.arange(n_sorts)
    return np.where(sorts == n_sorts - 1, 2, sorts % 2)


def _shared(gaps: Gaps, kinds: Int64s, n_symbols: int) -> Floats:
    counts = np.full((3, int(kinds.max(initial=0)) + 1, n_symbols + 1), _ADDED)
    sides = directions(gaps.sequences.n_sorts)[gaps.sort]
    np.add.at(counts, (sides, kinds, gaps.after), gaps.weight)
    return normalized(counts)


def _targets(gaps: Gaps, states: Int64s, m: int) -> Floats:
    """P(next state | sort, symbol, state): as counted, else as for the symbol, else as for the sort."""
    n_sorts, n_symbols = gaps.sequences.n_sorts, len(gaps.sequences.alphabet)
    moving = np.flatnonzero(gaps.after < n_symbols)
    index = (gaps.sort[moving], gaps.after[moving], states[moving], states[moving + 1])
    counts = np.zeros((n_sorts, n_symbols, m, m))
    np.add.at(counts, index, gaps.weight[moving])
    by_sort = normalized(counts.sum(axis=(1, 2), keepdims=True), otherwise=np.eye(m)[min(1, m - 1)])
    by_symbol = normalized(counts.sum(axis=2, keepdims=True), otherwise=by_sort)
    return normalized(counts, otherwise=by_symbol)
