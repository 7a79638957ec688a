"""What is learned by counting: deterministic head automata (DET, DET+F), and the weights of distances.

    DET     one state
    DET+F   two: before the first modifier, and after it
    P(a, state' | state) = (count + back_off * P(a | kind of state, direction)) / (total + back_off)

States are given for every gap of every sequence (gap t lies before modifier t + 1). The back-off looks
at the modifiers of all heads in that direction, so that every modifier has some probability.

Head automata do not depend on distances, which carry much of what tags do not (Eisner and Smith 2010). A
counted factor stands beside them,

    weight(h, e) = (P(bin | arc from h to e) / P(bin | h and e in one sentence)) ^ 1/2

by the symbols of h and e and the direction. A bin is a distance with the strongest barrier on the way:
symbols are barriers where fewer arcs lead over them than distances alone would let. As a ratio the factor
holds nothing of what automata count already. Both probabilities are shrunk towards what head and modifier
give each for itself, P(bin | h) P(bin | e) / P(bin). The root halves what automata and distances count twice;
it, the shrinkage and the classes of barriers were chosen on development sets.
"""

from __future__ import annotations

import numpy as np

from sigmastar.core.arrays import Floats, Int32s, Int64s
from sigmastar.core.shrinkage import normalized, towards
from sigmastar.dependency.data.sequences import Gaps, WeightedSequences
from sigmastar.dependency.data.treebank import DependencyTreebank
from sigmastar.dependency.model.arcs import Distances, count_crossings, count_distances
from sigmastar.dependency.model.head_automata import HeadAutomata

BACK_OFF = 1.0
_ADDED = 1e-3  # to every count of the back-off itself
POWER = 0.5
SHRINKAGE = 40.0
_COARSE_SHRINKAGE = 5.0
BARRIERS = np.array([0.8, 0.4, 0.1])  # shares of arcs that lead over a symbol, below which classes begin
_CROSSINGS = 5.0  # that shares are shrunk by


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


def learn_distances(
    treebank: DependencyTreebank, codes: Int32s, n_symbols: int, power: float = POWER
) -> Distances:
    """Weights [sort, symbol, bin] from trees; `codes` are the symbols of their words."""
    heads, offsets = treebank.head, treebank.sentence_offsets
    barriers = find_barriers(heads, offsets, codes, n_symbols)
    arcs, pairs = count_distances(codes, heads, offsets, barriers)
    return Distances((shrunk_bins(arcs) / shrunk_bins(pairs)) ** power, barriers)


def find_barriers(heads: Int32s, offsets: Int64s, codes: Int32s, n_symbols: int) -> Int64s:
    """Classes of symbols, by the share of arcs that lead over them of those that distances would let."""
    places = np.arange(len(codes)) - np.repeat(offsets[:-1], np.diff(offsets)) + 1
    far, lengths = np.abs(places - heads), np.diff(offsets)
    longest = int(lengths.max(initial=1))
    arcs = np.bincount(far, minlength=longest + 1).astype(np.float64)
    n_longer = np.cumsum(np.bincount(lengths, minlength=longest + 1)[::-1])[::-1]  # of so many words or more
    further = np.cumsum(n_longer[::-1])[::-1]
    pairs = 2.0 * np.append(further[1:], 0.0) + n_longer  # two words, either of them the head; root and word
    found, expected = np.zeros(n_symbols), np.zeros(n_symbols)
    seen = count_crossings(codes, heads, offsets, arcs / np.maximum(pairs, 1.0))
    found[: len(seen[0])], expected[: len(seen[1])] = seen
    shares = (found + _CROSSINGS) / (expected + _CROSSINGS)
    return np.asarray((shares[:, None] < BARRIERS).sum(axis=1), dtype=np.int64)


def shrunk_bins(counts: Floats, strength: float = SHRINKAGE) -> Floats:
    """P(bin | sort, symbol) from counts of all three."""
    sides = directions(len(counts))
    by_direction, by_modifier = np.zeros((3, counts.shape[2])), np.zeros((3, *counts.shape[1:]))
    by_sort = counts.sum(axis=1)
    np.add.at(by_direction, sides, by_sort)
    np.add.at(by_modifier, sides, counts)
    coarse = towards(by_direction, normalized(by_direction.sum(axis=0) + 0.1), _COARSE_SHRINKAGE)
    heads = towards(by_sort, coarse[sides], strength)
    modifiers = towards(by_modifier, coarse[:, None], strength)
    both = heads[:, None] * modifiers[sides] / coarse[sides][:, None]
    return towards(counts, normalized(both), strength)
