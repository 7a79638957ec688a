"""Expected counts of a probabilistic automaton's moves on a corpus: the E-step, on strings cut in two.

    front      a_v  = a_u A_y / z_v,          z_v makes it sum to one, v the child of u by y
    back       c_v  = A_y c_u / z_v           the same on the trie of the reversed endings, from `final`
    meeting    p    = a . c                   where the halves of a string meet
    front      b_v  = (sum of c / p over strings cut at v + sum over children w by y of A_y b_w) / z_v
    back       alike, with a in place of c and the transposed operators
    counts     E_y  = A_y o sum over edges u -> v by y of a_u^T b_v, of both tries

b_v gathers all strings that pass through v at once, so the pass is exact and its cost grows with the number
of distinct beginnings and endings; z_v a_v . b_v is the number of strings through v. Works in float32 and
float64. Nodes are taken in tiles of one symbol.

Strings are cut in two: a trie of the front halves, and one of the back halves read from their ends.

Equal beginnings share their forward vectors, equal endings their backward vectors; where front and back of a
string meet, both are known. Real corpora have about a third fewer nodes in the two tries than in one.

Where pairs of symbols are few and often met, tries go two symbols at a step, which is half the work:

    A_xy = A_x A_y,    M_xy = sum over edges by xy of a_u^T b_v
    E_x  = A_x o (M_x + sum over y of M_xy A_y^T + sum over y of A_y^T M_yx)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sigmastar.automata.data.strings import PrefixTrie, Strings, sum_to_root
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Array, Floats, Int32s, Int64s
from sigmastar.core.jit import add_product_of_rows, fast_kernel, kernel, part, product, product_of_rows


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
class Pairs:
    """Pairs of symbols that stand side by side in a corpus, as symbols of their own behind the others."""

    first: Int32s
    second: Int32s
    codes: Int32s  # of each pair, by its two symbols

    @classmethod
    def of(cls, strings: Strings, n_states: int) -> Pairs | None:
        """The most frequent ones; None where none is met so often that its operator pays."""
        n_symbols, codes = len(strings.alphabet), strings.codes
        if n_symbols**2 > strings.n_symbols or codes.min(initial=0) < 0:
            return None
        keys = n_symbols * codes[:-1].astype(np.int64) + codes[1:]
        met = np.bincount(keys, minlength=n_symbols**2)
        often = np.sort(np.argsort(-met, kind="stable")[:_MOST_PAIRS])
        often = often[met[often] >= _LEAST_MET * n_states]
        first, second = np.divmod(often.astype(np.int32), np.int32(n_symbols))
        table = np.full(met.shape, -1, np.int32)
        table[often] = n_symbols + np.arange(len(often))
        return cls(first, second, table.reshape(n_symbols, n_symbols)) if len(often) else None

    def read(self, strings: Strings, codes: Int32s) -> Strings:
        """Strings with pairs as one symbol, from left to right, where the table has a code for them."""
        steps, offsets = _read_pairs(strings.codes, strings.offsets, codes)
        return Strings(Alphabet(range(len(codes) + len(self.first))), steps, offsets)

    def operators(self, transitions: Array) -> Array:
        """Those of the symbols, and behind them those of the pairs."""
        return np.concatenate([transitions, transitions[self.first] @ transitions[self.second]])

    def parted(self, products: Floats, transitions: Floats) -> Floats:
        """The sums of a^T b of the symbols, given those of symbols and pairs."""
        n_symbols = len(transitions)
        parted, of_pairs = products[:n_symbols].copy(), products[n_symbols:]
        np.add.at(parted, self.first, of_pairs @ transitions[self.second].transpose(0, 2, 1))
        np.add.at(parted, self.second, transitions[self.first].transpose(0, 2, 1) @ of_pairs)
        return parted


@dataclass(frozen=True, eq=False)
class CutStrings:
    """Both tries, and the distinct strings as pairs of tips."""

    front: Half
    back: Half
    fronts: Int32s  # of each distinct string, which tip of the front trie it has
    backs: Int32s
    string_pair: Int64s  # which of the distinct strings each string is

    @classmethod
    def of(cls, strings: Strings, pairs: Pairs | None = None) -> CutStrings:
        """With `pairs`, edges read these in one."""
        halves = _halves(strings, strings.offsets[:-1] + (strings.lengths + 1) // 2)
        if pairs is not None:
            turned = np.ascontiguousarray(pairs.codes.T)
            halves = pairs.read(halves[0], pairs.codes), pairs.read(halves[1], turned)
        tries = [PrefixTrie.of(half) for half in halves]
        width = tries[1].n_nodes
        keys = tries[0].string_node.astype(np.int64) * width + tries[1].string_node
        distinct, string_pair = np.unique(keys, return_inverse=True)
        nodes = np.divmod(distinct, width)
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
_MOST_PAIRS = 64  # more take their operators out of the cache and leave few nodes to a tile
_LEAST_MET = 8  # times per state: the operator of a pair costs as much as several nodes per state


class Expectations(NamedTuple):
    """Expected counts of (start in i) and (stop in i), sums of a^T b, and what the likelihood is made of.

    The sums times the operators are the expected counts of (i, symbol, j). Sums and scales lie in the room.
    """

    starts: Array
    products: Array
    stops: Array
    front_scales: Array  # the normalizers of both tries
    back_scales: Array
    meetings: Array  # p of each distinct string


class Room(NamedTuple):
    """What the ways along a trie write. Used again and again: fresh memory would cost as much as the work."""

    vectors: Array  # of the nodes, on the way out
    scales: Array
    inverses: Array  # of the scales; of nothing it is 0
    given: Array  # what comes to the tips from the other trie
    levels: Array  # the vectors of two levels, on the way back
    products: Array  # sums of a^T b, one per operator

    @classmethod
    def of(cls, halves: Sequence[Half], n_operators: int, n_states: int, dtype: type) -> Room:
        """Large enough for each of some tries."""
        nodes, tips = max(len(half.parent) for half in halves), max(len(half.tips) for half in halves)
        widest = max(int(np.diff(half.level_starts).max()) for half in halves)
        shapes = [(nodes, n_states), (nodes,), (nodes,), (tips, n_states)]
        shapes += [(2, widest, n_states), (n_operators, n_states, n_states)]
        return cls(*(np.empty(shape, dtype) for shape in shapes))


def rooms_for(cuts: Sequence[CutStrings], n_operators: int, n_states: int, dtype: type) -> tuple[Room, Room]:
    """Rooms that `expected_counts` may be given with each of some cut strings."""
    halves = [cut.front for cut in cuts], [cut.back for cut in cuts]
    front, back = (Room.of(half, n_operators, n_states, dtype) for half in halves)
    return front, back


def expected_counts(
    cut: CutStrings,
    counts: Array,
    weights: tuple[Array, Array, Array],
    rooms: tuple[Room, Room] | None = None,
) -> Expectations:
    """The E-step, each distinct string as often as it is counted. Rooms, where given, are overwritten."""
    initial, transitions, final = weights
    transposed = np.ascontiguousarray(transitions.transpose(0, 2, 1))
    rooms = rooms or rooms_for([cut], len(transitions), len(initial), initial.dtype.type)
    ways = (cut.front, initial, transitions, transposed), (cut.back, final, transposed, transitions)
    for (half, start, operators, _), room in zip(ways, rooms, strict=True):
        _way_out(half, start, operators, room)
    tips = cut.front.tips, cut.back.tips
    meetings = _meet((cut.fronts, cut.backs), tips, counts, rooms)
    starts, stops = (
        start * _way_back(half, operators, room)
        for (half, start, _, operators), room in zip(ways, rooms, strict=True)
    )
    products = rooms[0].products
    products += rooms[1].products.transpose(0, 2, 1)
    front, back = (room.scales[: len(way[0].parent)] for way, room in zip(ways, rooms, strict=True))
    return Expectations(starts, products, stops, front, back, meetings)


@kernel
def _read_pairs(codes: Int32s, offsets: Int64s, pairs: Int32s) -> tuple[Int32s, Int64s]:
    """Codes and offsets of strings in which pairs that have a code are one symbol."""
    steps, begins, n_steps = np.empty(len(codes), np.int32), np.zeros(len(offsets), np.int64), 0
    for string in range(len(offsets) - 1):
        at, end = offsets[string], offsets[string + 1]
        while at < end:
            pair = pairs[codes[at], codes[at + 1]] if at + 1 < end else np.int32(-1)
            steps[n_steps] = pair if pair >= 0 else codes[at]
            n_steps, at = n_steps + 1, at + (2 if pair >= 0 else 1)
        begins[string + 1] = n_steps
    return steps[:n_steps].copy(), begins


@kernel
def _tile_end(symbol: Int32s, first: int, level_end: int) -> int:
    """Where the nodes that share the symbol of `first` end, a tile at most."""
    end = first + 1
    limit = min(level_end, first + _TILE)
    while end < limit and symbol[end] == symbol[first]:
        end += 1
    return end


@part
def _scatter(lifted: Array, inverses: Array, parents: Int32s, before: int, above: Array) -> None:
    """Add each vector, over the normalizer of its parent, to that of the parent."""
    n_states = above.shape[1]
    for row in range(len(parents)):
        at, factor = parents[row] - before, inverses[parents[row]]
        for state in range(n_states):
            above[at, state] += factor * lifted[row, state]


@fast_kernel
def _normalize(vectors: Array, scales: Array, inverses: Array) -> None:
    """Make vectors sum to one; what they summed to, and the inverses."""
    n_states = vectors.shape[1]
    for node in range(len(vectors)):
        total = vectors[node, 0] * 0
        for state in range(n_states):
            total += vectors[node, state]
        inverse = 1 / total if total > 0 else total
        for state in range(n_states):
            vectors[node, state] *= inverse
        scales[node], inverses[node] = total, inverse


@part
def _fill(edges: tuple[Int32s, Int32s, Int64s], transitions: Array, vectors: Array, sums: Any) -> None:
    """The vectors of all nodes but the root, level by level."""
    (parent, symbol, level_starts), (scales, inverses) = edges, sums
    for level in range(1, len(level_starts) - 1):
        first, close = level_starts[level], level_starts[level + 1]
        while first < close:
            end = _tile_end(symbol, first, close)
            if symbol[first] >= 0:
                operator = transitions[symbol[first]]
                product_of_rows(vectors, parent[first:end], operator, vectors[first:end])
            else:
                vectors[first:end] = 0
            _normalize(vectors[first:end], scales[first:end], inverses[first:end])
            first = end


@kernel
def _way_out(half: Half, start: Array, transitions: Array, room: Room) -> None:
    """From the root of a trie to its tips: vectors, scales and their inverses."""
    room.scales[0], room.inverses[0] = 1, 1
    for state in range(len(start)):
        room.vectors[0, state] = start[state]
    edges = half.parent, half.symbol, half.level_starts
    _fill(edges, transitions, room.vectors, (room.scales, room.inverses))


@fast_kernel
def _meet(meeting: tuple[Int32s, Int32s], tips: tuple[Int32s, Int32s], counts: Array, rooms: Any) -> Array:
    """What the halves of each string come to; each tip is given what comes from the other side.

    A string without probability gives nothing.
    """
    (fronts, backs), (front, back) = meeting, rooms
    n_states, meetings = front.vectors.shape[1], np.empty(len(fronts), front.vectors.dtype)
    front.given[:], back.given[:] = 0, 0
    for pair in range(len(fronts)):
        one, other, total = fronts[pair], backs[pair], front.vectors[0, 0] * 0
        here, there = tips[0][one], tips[1][other]
        for state in range(n_states):
            total += front.vectors[here, state] * back.vectors[there, state]
        meetings[pair] = total
        share = counts[pair] / total if total > 0 else total
        for state in range(n_states):
            front.given[one, state] += share * back.vectors[there, state]
            back.given[other, state] += share * front.vectors[here, state]
    return meetings


@kernel
def _way_back(half: Half, transposed: Array, room: Room) -> Array:
    """From the tips of a trie to its root: sums of a_u^T b_v for each symbol, and b of the root."""
    kind, n_states = room.given.dtype, room.given.shape[1]
    parent, symbol, level_starts, tips = half
    n_given = len(tips)
    room.products[:] = 0
    here, below = room.levels[0], room.levels[1]
    lifted = np.empty((_TILE, n_states), kind)
    for level in range(len(level_starts) - 2, -1, -1):
        begin, close = level_starts[level], level_starts[level + 1]
        here[: close - begin] = 0
        while n_given > 0 and tips[n_given - 1] >= begin:
            n_given -= 1
            node = tips[n_given]
            for state in range(n_states):
                here[node - begin, state] = room.inverses[node] * room.given[n_given, state]
        first, end = close, close
        after = level_starts[min(level + 2, len(level_starts) - 1)]
        while first < after:
            end, code = _tile_end(symbol, first, after), symbol[first]
            tile = below[first - close : end - close]
            add_product_of_rows(room.vectors, parent[first:end], tile, room.products[code])
            product(tile, transposed[code], lifted[: end - first])
            _scatter(lifted, room.inverses, parent[first:end], begin, here)
            first = end
        here, below = below, here
    root: Array = below[0].copy()
    return root


@kernel
def forward_pass(
    parent: Int32s, symbol: Int32s, level_starts: Int64s, initial: Array, transitions: Array
) -> tuple[Array, Array]:
    """Normalized forward vectors of all nodes of a trie, and their normalizers."""
    kind, n_nodes = initial.dtype, len(parent)
    vectors, scales = np.empty((n_nodes, len(initial)), kind), np.ones(n_nodes, kind)
    for state in range(len(initial)):
        vectors[0, state] = initial[state]
    _fill((parent, symbol, level_starts), transitions, vectors, (scales, np.ones(n_nodes, kind)))
    return vectors, scales
