"""Expected counts of a probabilistic automaton's moves on a corpus: the E-step, on strings cut in two.

    front      a_v  = a_u A_y / z_v,          z_v makes it sum to one, v the child of u by y
    back       c_v  = A_y c_u / z_v           the same on the trie of the reversed endings, from `final`
    meeting    p    = a . c                   where the halves of a string meet
    front      b_v  = (sum of c / p over strings cut at v + sum over children w by y of A_y b_w) / z_v
    back       alike, with a in place of c and the transposed operators
    counts     E_y  = A_y o sum over edges u -> v by y of a_u^T b_v, of both tries

b_v gathers all strings that pass through v at once, so the pass is exact and its cost grows with the number
of distinct beginnings and endings; z_v a_v . b_v is the number of strings through v. Works in float32 and
float64. Nodes are taken in tiles of one symbol, so that what is gathered for a product stays in the cache. Of
the way out a_u is kept for each node v, in the order of the nodes: the way back reads it as it lies.

Strings are cut in two: a trie of the front halves, and one of the back halves read from their ends.

Equal beginnings share their forward vectors, equal endings their backward vectors; where front and back of a
string meet, both are known. Real corpora have about a third fewer nodes in the two tries than in one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sigmastar.automata.data.strings import PrefixTrie, Strings, sum_to_root
from sigmastar.core.arrays import Array, Floats, Int32s, Int64s
from sigmastar.core.jit import add_products, fast_kernel, kernel, multiply, part, vector_width


class Half(NamedTuple):
    """A trie, and the nodes in it where halves of strings end, in order."""

    parent: Int32s
    symbol: Int32s
    level_starts: Int64s
    tips: Int32s

    def through(self, tip: Int32s, counts: Floats) -> Floats:
        """How many strings pass through or end at each node, given the tip and the number of each."""
        through = np.zeros(len(self.parent))
        through[self.tips] = np.bincount(tip, counts, len(self.tips))
        sum_to_root(self.parent, through)
        return through


@dataclass(frozen=True, eq=False)
class CutStrings:
    """Both tries, and the distinct strings as pairs of tips."""

    front: Half
    back: Half
    fronts: Int32s  # of each distinct string, which tip of the front trie it has
    backs: Int32s
    string_pair: Int64s  # which of the distinct strings each string is

    @classmethod
    def of(cls, strings: Strings) -> CutStrings:
        cuts = strings.offsets[:-1] + (strings.lengths + 1) // 2
        tries = [PrefixTrie.of(half) for half in _halves(strings, cuts)]
        width = tries[1].n_nodes
        keys = tries[0].string_node.astype(np.int64) * width + tries[1].string_node
        pairs, string_pair = np.unique(keys, return_inverse=True)
        nodes = np.divmod(pairs, width)
        front, fronts = _half(tries[0], nodes[0])
        back, backs = _half(tries[1], nodes[1])
        return cls(front, back, fronts, backs, string_pair)

    @property
    def n_nodes(self) -> int:
        return len(self.front.parent) + len(self.back.parent)

    def counts(self, weights: Floats | None = None) -> Floats:
        """How many strings (or how much weight) are each of the distinct ones."""
        return np.bincount(self.string_pair, weights, len(self.fronts)).astype(np.float64)


def _half(trie: PrefixTrie, nodes: Int64s) -> tuple[Half, Int32s]:
    """With the distinct ones among some nodes as tips, and which tip each of the nodes is."""
    tips, tip = np.unique(nodes, return_inverse=True)
    return Half(trie.parent, trie.symbol, trie.level_starts, tips.astype(np.int32)), tip.astype(np.int32)


def _halves(strings: Strings, cuts: Int64s) -> tuple[Strings, Strings]:
    """What stands before the cuts, and what stands after them, reversed."""
    begins, ends = strings.offsets[:-1], strings.offsets[1:]
    is_front = np.zeros(strings.n_symbols + 1, np.int8)
    np.add.at(is_front, begins, 1)
    np.add.at(is_front, cuts, -1)
    front = np.cumsum(is_front[:-1], dtype=np.int8) > 0
    sizes = np.zeros((2, len(strings) + 1), np.int64)
    np.cumsum(cuts - begins, out=sizes[0, 1:])
    np.cumsum((ends - cuts)[::-1], out=sizes[1, 1:])
    reversed_backs = Strings(strings.alphabet, strings.codes[~front][::-1], sizes[1])
    order = np.arange(len(strings))[::-1]
    return Strings(strings.alphabet, strings.codes[front], sizes[0]), reversed_backs.select(order)


_TILE = 256


class Expectations(NamedTuple):
    """Expected counts of (start in i), (i, symbol, j) and (stop in i), and what the likelihood is made of."""

    starts: Array
    moves: Array
    stops: Array
    front_scales: Array  # the normalizers of both tries
    back_scales: Array
    meetings: Array  # p of each distinct string


class _Way(NamedTuple):
    """What is kept of the way out along a trie."""

    scales: Array
    inverses: Array  # of the scales; of nothing it is 0
    tips: Array  # the vectors where halves of strings end


def expected_counts(
    cut: CutStrings, counts: Array, weights: tuple[Array, Array, Array], room: Array | None = None
) -> Expectations:
    """The E-step, each distinct string as often as it is counted.

    `room`, of shape (nodes or more, `vector_width` of the states), is overwritten: fresh memory would cost as
    much as the work.
    """
    n_states = len(weights[0])
    width = vector_width(n_states, weights[0].itemsize)
    initial, transitions, final = (_widened(array, width) for array in weights)
    transposed = np.ascontiguousarray(transitions.transpose(0, 2, 1))
    room = np.empty((cut.n_nodes, len(initial)), initial.dtype) if room is None else room
    n_front = len(cut.front.parent)
    rooms = room[:n_front], room[n_front : cut.n_nodes]
    front = _way_out(cut.front, initial, transitions, rooms[0])
    back = _way_out(cut.back, final, transposed, rooms[1])
    meetings, front_tips, back_tips = _meet(cut.fronts, cut.backs, counts, front.tips, back.tips)
    moves, starts = _way_back(cut.front, front, front_tips, transposed, rooms[0])
    mirrored, stops = _way_back(cut.back, back, back_tips, transitions, rooms[1])
    moves += mirrored.transpose(0, 2, 1)
    moves *= transitions
    return Expectations(
        (initial * starts)[:n_states],
        moves[:, :n_states, :n_states],
        (final * stops)[:n_states],
        front.scales,
        back.scales,
        meetings,
    )


def _widened(array: Array, width: int) -> Array:
    """With states that nothing leads to."""
    missing = width - array.shape[-1]
    axes = [(0, missing)] * min(array.ndim, 2)
    return np.pad(array, [(0, 0)] * (array.ndim - len(axes)) + axes) if missing else array


@kernel
def _tile_end(symbol: Int32s, first: int, level_end: int) -> int:
    """Where the nodes that share the symbol of `first` end, a tile at most."""
    end = first + 1
    limit = min(level_end, first + _TILE)
    while end < limit and symbol[end] == symbol[first]:
        end += 1
    return end


@part
def _gather(above: Array, before: int, inverses: Array, parents: Int32s, gathered: Array) -> None:
    """The vectors of some parents, which are numbered from `before` on, made to sum to one."""
    n_states = above.shape[1]
    for row in range(len(parents)):
        at, factor = parents[row] - before, inverses[parents[row]]
        for state in range(n_states):
            gathered[row, state] = factor * above[at, state]


@part
def _scatter(lifted: Array, inverses: Array, parents: Int32s, before: int, above: Array) -> None:
    """Add each vector, over the normalizer of its parent, to that of the parent."""
    n_states = above.shape[1]
    for row in range(len(parents)):
        at, factor = parents[row] - before, inverses[parents[row]]
        for state in range(n_states):
            above[at, state] += factor * lifted[row, state]


@fast_kernel
def _sum(vectors: Array, scales: Array, inverses: Array) -> None:
    """What vectors sum to, and the inverses."""
    n_states = vectors.shape[1]
    for node in range(len(vectors)):
        total = vectors[node, 0] * 0
        for state in range(n_states):
            total += vectors[node, state]
        scales[node] = total
        inverses[node] = 1 / total if total > 0 else total


@kernel
def _widest(level_starts: Int64s) -> int:
    widest = 0
    for level in range(len(level_starts) - 1):
        widest = max(widest, level_starts[level + 1] - level_starts[level])
    return widest


@part
def _next_level(
    edges: tuple[Int32s, Int32s, Int64s],
    level: int,
    transitions: Array,
    above: Array,
    rows: Array,
    vectors: Array,
    sums: tuple[Array, Array],
) -> None:
    """The vectors of a level, each times its normalizer; `rows` receives the parent's for each node."""
    (parent, symbol, level_starts), (scales, inverses) = edges, sums
    before, begin, close = level_starts[level - 1], level_starts[level], level_starts[level + 1]
    first = begin
    while first < close:
        end = _tile_end(symbol, first, close)
        here = slice(first - begin, end - begin)
        _gather(above, before, inverses, parent[first:end], rows[here])
        if symbol[first] >= 0:
            multiply(rows[here], transitions[symbol[first]], vectors[here])
        else:
            vectors[here] = 0
        _sum(vectors[here], scales[first:end], inverses[first:end])
        first = end


@kernel
def _way_out(half: Half, start: Array, transitions: Array, rows: Array) -> _Way:
    """From the root of a trie to its tips; `rows` receives the normalized vector of each node's parent."""
    kind, n_states = start.dtype, len(start)
    parent, symbol, level_starts, tips = half
    scales, inverses = np.ones(len(parent), kind), np.ones(len(parent), kind)
    shape = (_widest(level_starts), n_states)
    here, above, found, n_found = (
        np.empty(shape, kind),
        np.empty(shape, kind),
        np.empty((len(tips), n_states), kind),
        0,
    )
    for state in range(n_states):
        here[0, state] = start[state]
    for level in range(len(level_starts) - 1):
        begin, end = level_starts[level], level_starts[level + 1]
        if level:
            here, above = above, here
            _next_level(
                (parent, symbol, level_starts),
                level,
                transitions,
                above,
                rows[begin:end],
                here,
                (scales, inverses),
            )
        while n_found < len(tips) and tips[n_found] < end:
            node = tips[n_found]
            for state in range(n_states):
                found[n_found, state] = inverses[node] * here[node - begin, state]
            n_found += 1
    return _Way(scales, inverses, found)


@fast_kernel
def _meet(
    fronts: Int32s, backs: Int32s, counts: Array, front: Array, back: Array
) -> tuple[Array, Array, Array]:
    """What the halves of each string come to, and what each tip gets from the other side.

    A string without probability gives nothing.
    """
    n_states, meetings = front.shape[1], np.empty(len(fronts), front.dtype)
    to_front, to_back = np.zeros_like(front), np.zeros_like(back)
    for pair in range(len(fronts)):
        one, other, total = fronts[pair], backs[pair], front[0, 0] * 0
        for state in range(n_states):
            total += front[one, state] * back[other, state]
        meetings[pair] = total
        share = counts[pair] / total if total > 0 else total
        for state in range(n_states):
            to_front[one, state] += share * back[other, state]
            to_back[other, state] += share * front[one, state]
    return meetings, to_front, to_back


@kernel
def _way_back(half: Half, way: _Way, given: Array, transposed: Array, rows: Array) -> tuple[Array, Array]:
    """From the tips of a trie to its root: sums of a_u^T b_v for each symbol, and b of the root."""
    kind, n_states = given.dtype, given.shape[1]
    parent, symbol, level_starts, tips = half
    shape, n_given = (_widest(level_starts), n_states), len(tips)
    here, below = np.empty(shape, kind), np.empty(shape, kind)
    counts, lifted = np.zeros_like(transposed), np.empty((_TILE, n_states), kind)
    for level in range(len(level_starts) - 2, -1, -1):
        begin, close = level_starts[level], level_starts[level + 1]
        here[: close - begin] = 0
        while n_given > 0 and tips[n_given - 1] >= begin:
            n_given -= 1
            node = tips[n_given]
            for state in range(n_states):
                here[node - begin, state] = way.inverses[node] * given[n_given, state]
        first, end = close, close
        after = level_starts[min(level + 2, len(level_starts) - 1)]
        while first < after:
            end, code = _tile_end(symbol, first, after), symbol[first]
            tile = below[first - close : end - close]
            add_products(rows[first:end], tile, counts[code])
            multiply(tile, transposed[code], lifted[: end - first])
            _scatter(lifted, way.inverses, parent[first:end], begin, here)
            first = end
        here, below = below, here
    return counts, below[0].copy()


@kernel
def forward_pass(
    parent: Int32s, symbol: Int32s, level_starts: Int64s, initial: Array, transitions: Array
) -> tuple[Array, Array]:
    """Normalized forward vectors of all nodes of a trie, and their normalizers."""
    kind, n_states = initial.dtype, len(initial)
    vectors, rows = np.empty((len(parent), n_states), kind), np.empty((_widest(level_starts), n_states), kind)
    scales, inverses = np.ones(len(parent), kind), np.ones(len(parent), kind)
    for state in range(n_states):
        vectors[0, state] = initial[state]
    for level in range(1, len(level_starts) - 1):
        above = vectors[level_starts[level - 1] : level_starts[level]]
        here = vectors[level_starts[level] : level_starts[level + 1]]
        edges, sums = (parent, symbol, level_starts), (scales, inverses)
        _next_level(edges, level, transitions, above, rows, here, sums)
    for node in range(len(parent)):
        for state in range(n_states):
            vectors[node, state] *= inverses[node]
    return vectors, scales
