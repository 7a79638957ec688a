"""Whole trees under a binarized grammar: their log-probability, and drawing them.

    P(tree) = sum over states of root * product of rules * product over words of score(a, z, w) P(w)

Figure 2 of Cohen et al. (2012). It is -inf where the tree has a rule or a label that the grammar does not
have, or where a signed grammar gives something that is not positive. Trees are drawn from the root down,
state by state; weights below zero count as zero.

States of given binary trees, and the expectations of EM:

    inside   f_p[x] = sum over y, z of T_r[y, z, x] f_l[y] f_r[z]          at a node with rule r: p -> l r
    outside  g_l[y] = sum over x, z of T_r[y, z, x] g_p[x] f_r[z]
    counts   C_r[y, z, x] += T_r[y, z, x] g_p[x] f_l[y] f_r[z] / P(tree)

Vectors are kept at sum one with the logarithm of the scale beside them, so that trees of any size fit. Nodes
come children before parents; the vector of a node begins at `at[node]`. Tensors are flat, that of
rule r beginning at `offsets[r]`, axes (left, right, parent).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from sigmastar.core.arrays import Floats, Int32s, Int64s, Reals
from sigmastar.core.engines import ranges, spread
from sigmastar.core.errors import InputError
from sigmastar.core.jit import fast_kernel, part
from sigmastar.treebanks.counts import choose_heads
from sigmastar.treebanks.data.binarized import PHRASE, BinaryNodes, BinaryPhrases, Symbols, binarize
from sigmastar.treebanks.data.phrases import Phrases
from sigmastar.treebanks.model.binarized_grammar import BinarizedGrammar
from sigmastar.trees.data.tree import Tree


class RuleTensors(NamedTuple):
    """Tensors of rules, flat, and where each begins."""

    values: Reals
    offsets: Int64s


class RootVectors(NamedTuple):
    """Vectors of roots, flat, and where that of each symbol begins."""

    values: Floats
    at: Int64s


class _Passes(NamedTuple):
    """What both passes over trees fill, and room for tables of the states of two symbols."""

    vectors: Reals
    scales: Floats
    outer: Reals
    counts: Reals
    room: Reals


@part
def _inside_node(tensors: Reals, low: int, left: Reals, right: Reals, result: Reals, sums: Reals) -> None:
    n = len(result)
    size = n * len(right)
    sums[:size] = 0.0
    for y in range(len(left)):
        weight, row = left[y], tensors[low : low + size]
        for k in range(size):
            sums[k] += weight * row[k]
        low += size
    result[:] = 0.0
    for z in range(len(right)):
        weight, row = right[z], sums[z * n : (z + 1) * n]
        for x in range(n):
            result[x] += weight * row[x]


@fast_kernel
def _normalized(vector: Reals) -> float:
    """Divide by the sum of sizes, and give it; signed vectors too."""
    total = 0.0
    for x in range(len(vector)):
        total += abs(vector[x])
    if total > 0.0:
        for x in range(len(vector)):
            vector[x] /= total
    return total


@fast_kernel
def tree_insides(
    low: int, high: int, nodes: BinaryNodes, tensors: RuleTensors, vectors: Reals, scales: Floats, sums: Reals
) -> float:
    """Fill the inside vectors of one tree, leaves are given; the sum of the logarithms of the scales.

    `sums` has room for a table of the states of two symbols.
    """
    logs, at = 0.0, nodes.at
    for node in range(low, high):
        result = vectors[at[node] : at[node + 1]]
        if nodes.rule[node] >= 0:
            west, east = nodes.left[node], nodes.right[node]
            f, g = vectors[at[west] : at[west + 1]], vectors[at[east] : at[east + 1]]
            _inside_node(tensors.values, tensors.offsets[nodes.rule[node]], f, g, result, sums)
        scales[node] = _normalized(result)
        if scales[node] == 0.0:
            return -np.inf
        logs += np.log(scales[node])
    return logs


@part
def _largest(at: Int64s) -> int:
    most = 1
    for node in range(len(at) - 1):
        most = max(most, at[node + 1] - at[node])
    return most


@fast_kernel
def expectations(
    starts: Int64s, nodes: BinaryNodes, tensors: RuleTensors, roots: RootVectors, vectors: Reals
) -> tuple[Reals, Floats, Floats, float]:
    """Expected counts of rules and roots, posteriors of all nodes, and the log-likelihood.

    `vectors` holds the scores of leaves. Trees of probability zero count for nothing. Tensors, vectors and
    counts may be of single precision, which halves what has to come from memory.
    """
    at, kind = nodes.at, tensors.values.dtype
    counts, root_counts = np.zeros(len(tensors.values), kind), np.zeros(len(roots.values))
    outer, scales = np.zeros(len(vectors), kind), np.zeros(len(nodes.symbol))
    posteriors, total = np.zeros(len(vectors)), 0.0
    room = np.zeros((3, _largest(at) ** 2), kind)
    passes = _Passes(vectors, scales, outer, counts, room)
    for tree in range(len(starts) - 1):
        low, top = starts[tree], starts[tree + 1] - 1
        logs = tree_insides(low, top + 1, nodes, tensors, vectors, scales, room[0])
        inner, base, value = vectors[at[top] : at[top + 1]], roots.at[nodes.symbol[top]], 0.0
        for x in range(len(inner)):
            outer[at[top] + x] = roots.values[base + x]
            value += roots.values[base + x] * inner[x]
        if not value > 0.0 or logs == -np.inf:
            continue
        total += logs + np.log(value)
        for x in range(len(inner)):
            root_counts[base + x] += roots.values[base + x] * inner[x] / value
        for node in range(top, low - 1, -1):
            _outside_node(node, nodes, tensors, passes)
            mine = slice(at[node], at[node + 1])
            _posterior(vectors[mine], outer[mine], posteriors[at[node] :])
    return counts, root_counts, posteriors, total


_PIECE = 1 << 18  # nodes of trees whose expectations are counted at a time
Expectations = tuple[Reals, Floats, Floats, float]


def expectations_in_pieces(
    starts: Int64s, nodes: BinaryNodes, tensors: RuleTensors, roots: RootVectors, vectors: Reals
) -> Expectations:
    """`expectations`, of some trees at a time, which other processes may share."""
    pieces = [_some_trees(starts, nodes, vectors, *piece) for piece in ranges(np.diff(starts), _PIECE)]
    return spread(partial(_piece_expectations, tensors, roots), pieces, _both)


def _some_trees(
    starts: Int64s, nodes: BinaryNodes, vectors: Reals, first: int, last: int
) -> tuple[Int64s, BinaryNodes, Reals]:
    low, high = int(starts[first]), int(starts[last])
    symbol, left, right, rule = (column[low:high] for column in nodes[:4])
    at, shift = nodes.at[low : high + 1], np.int32(low)
    part = BinaryNodes(symbol, left - shift, right - shift, rule, at - at[0])
    return starts[first : last + 1] - low, part, vectors[at[0] : at[-1]]


def _piece_expectations(
    tensors: RuleTensors, roots: RootVectors, piece: tuple[Int64s, BinaryNodes, Reals]
) -> Expectations:
    starts, nodes, vectors = piece
    return expectations(starts, nodes, tensors, roots, vectors)


def _both(first: Expectations, second: Expectations) -> Expectations:
    posteriors = np.concatenate([first[2], second[2]])
    return first[0] + second[0], first[1] + second[1], posteriors, first[3] + second[3]


@part
def _posterior(inner: Reals, outer: Reals, result: Floats) -> None:
    norm = 0.0
    for x in range(len(inner)):
        norm += inner[x] * outer[x]
    if norm > 0.0:  # single precision has no smaller numbers: then it is left out
        for x in range(len(inner)):
            result[x] = inner[x] * outer[x] / norm


@part
def _outside_node(node: int, nodes: BinaryNodes, tensors: RuleTensors, passes: _Passes) -> None:
    """Outside vectors of both children, and the counts of the rule."""
    at, (vectors, scales, outer, counts, room) = nodes.at, passes
    out = outer[at[node] : at[node + 1]]
    _normalized(out)
    if nodes.rule[node] < 0:
        return
    west, east, n = nodes.left[node], nodes.right[node], len(out)
    f, g = vectors[at[west] : at[west + 1]], vectors[at[east] : at[east + 1]]
    f_out, g_out = outer[at[west] : at[west + 1]], outer[at[east] : at[east + 1]]
    inner, value = vectors[at[node] : at[node + 1]], 0.0
    for x in range(n):
        value += inner[x] * out[x]
    if not value > 0.0:
        return
    size, low = n * len(g), tensors.offsets[nodes.rule[node]]
    sums, weights, shares = room[0, :size], room[1, :size], room[2, : len(f)]
    for y in range(len(f)):
        shares[y] = f[y] / (value * scales[node])
    for z in range(len(g)):
        weight, row = g[z], weights[z * n : (z + 1) * n]
        for x in range(n):
            row[x] = weight * out[x]
    sums[:] = 0.0
    for y in range(len(f)):
        here = slice(low, low + size)
        f_out[y] = _flows(tensors.values[here], weights, f[y], shares[y], counts[here], sums)
        low += size
    for z in range(len(g)):
        total = 0.0
        for x in range(n):
            total += sums[z * n + x] * out[x]
        g_out[z] = total


@part
def _flows(row: Reals, weights: Reals, inner: float, share: float, count: Reals, sums: Reals) -> float:
    """Over (z, x): add to the counts of one y and to T contracted with f; how much flows through that y."""
    total = inner - inner  # zero, in the precision of the vectors
    for k in range(len(row)):
        flow = row[k] * weights[k]
        total += flow
        count[k] += share * flow
        sums[k] += inner * row[k]
    return total


@fast_kernel
def hard_counts(nodes: BinaryNodes, state: Int64s, n_states: Int64s, offsets: Int64s) -> Floats:
    """Counts of rules where every node is in one known state."""
    counts = np.zeros(offsets[-1])
    for node in range(len(nodes.rule)):
        if nodes.rule[node] >= 0:
            west, east = nodes.left[node], nodes.right[node]
            n, m = n_states[nodes.symbol[east]], n_states[nodes.symbol[node]]
            counts[offsets[nodes.rule[node]] + (state[west] * n + state[east]) * m + state[node]] += 1.0
    return counts


_MOST_NODES, _MOST_DRAWS = 20_000, 100


def tree_log_probabilities(binarized: BinarizedGrammar, bank: Phrases) -> Floats:
    """log P of every tree."""
    heads = (binarized.heads or choose_heads(bank)).heads(bank)
    binary = binarize(bank, binarized.binarization, heads)
    symbol = _known_symbols(binarized, binary.symbols, bank.labels)[binary.symbol]
    rule = _known_rules(binarized, binary, symbol)
    good = (symbol >= 0) & ((binary.left < 0) | (rule >= 0))
    grammar = binarized.grammar
    at = np.concatenate([[0], np.cumsum(np.where(symbol >= 0, grammar.n_states[np.maximum(symbol, 0)], 1))])
    vectors, words = _leaves(binarized, binary, symbol, at)
    nodes = BinaryNodes(symbol, binary.left, binary.right, rule, at)
    tensors, totals = RuleTensors(grammar.tensors, grammar.offsets), np.full(len(binary), -np.inf)
    scales, room = np.zeros(len(symbol)), np.zeros(int(grammar.n_states.max(initial=1)) ** 2)
    for tree, (low, high) in enumerate(zip(binary.starts[:-1], binary.starts[1:], strict=True)):
        if good[low:high].all():
            logs = tree_insides(low, high, nodes, tensors, vectors, scales, room)
            value = float(grammar.root(int(symbol[high - 1])) @ vectors[at[high - 1] : at[high]])
            if value > 0 and np.isfinite(logs):
                totals[tree] = logs + np.log(value) + words[low:high].sum()
    return totals


def _known_symbols(
    binarized: BinarizedGrammar, symbols: Symbols, labels: tuple[tuple[str, ...], ...]
) -> Int32s:
    """The number of each symbol in the grammar, -1 for none."""
    known = {_meaning(binarized.symbols, binarized.labels, s): s for s in range(len(binarized.symbols))}
    found = [known.get(_meaning(symbols, labels, s), -1) for s in range(len(symbols))]
    return np.array(found, dtype=np.int32)


def _meaning(symbols: Symbols, labels: tuple[tuple[str, ...], ...], symbol: int) -> tuple[int, str]:
    return int(symbols.kind[symbol]), symbols.name(symbol, labels)


def _known_rules(binarized: BinarizedGrammar, binary: BinaryPhrases, symbol: Int32s) -> Int32s:
    n = len(binarized.symbols)
    rules = binarized.grammar.rules.astype(np.int64)
    keys = (rules[:, 1] * n + rules[:, 2]) * n + rules[:, 0]
    inner = np.flatnonzero(binary.left >= 0)
    parts = [symbol[nodes].astype(np.int64) for nodes in (binary.left[inner], binary.right[inner], inner)]
    wanted = (parts[0] * n + parts[1]) * n + parts[2]
    place = np.minimum(np.searchsorted(keys, wanted), max(len(keys) - 1, 0))
    fits = np.all([part >= 0 for part in parts], axis=0)
    if len(keys):
        fits &= keys[place] == wanted
    else:
        fits[:] = False
    rule = np.full(len(symbol), -1, dtype=np.int32)
    rule[inner] = np.where(fits, place, -1)
    return rule


def _leaves(
    binarized: BinarizedGrammar, binary: BinaryPhrases, symbol: Int32s, at: Int64s
) -> tuple[Floats, Floats]:
    """Vectors with those of leaves filled in, and log P(w) at leaves."""
    forest, lexicon = binarized.forest, binarized.passes[-1].lexicon
    texts = binary.phrases.words
    nodes = np.array([forest.node(text) for text in texts], dtype=np.int64)
    logs = np.array([forest.log_frequency(text) for text in texts])
    leaves = np.flatnonzero((binary.word >= 0) & (symbol >= 0))
    scores, begin = lexicon.vectors(nodes[binary.word[leaves]], symbol[leaves])
    vectors = np.zeros(int(at[-1]))
    sizes = np.diff(begin)
    vectors[np.arange(int(begin[-1])) + np.repeat(at[leaves] - begin[:-1], sizes)] = scores
    return vectors, np.where(binary.word >= 0, logs[binary.word], 0.0)


@dataclass(frozen=True, eq=False)
class TreeSampler:
    """Draws trees; what it needs of a symbol and state is worked out when first met."""

    binarized: BinarizedGrammar

    def sample(self, rng: np.random.Generator) -> Tree:
        """One tree; a draw that grows beyond all measure is given up and drawn anew."""
        for _ in range(_MOST_DRAWS):
            tree = self._drawn(rng)
            if tree is not None:
                return tree
        raise InputError("trees of this grammar grow without end; learn it again")

    def _drawn(self, rng: np.random.Generator) -> Tree | None:
        grammar = self.binarized.grammar
        state = _choice(grammar.roots, rng)
        symbol = int(np.searchsorted(grammar.state_at, state, side="right")) - 1
        waiting: list[tuple[int, int] | None] = [(symbol, state - int(grammar.state_at[symbol]))]
        opened: list[int] = []
        done: list[list[Tree | str]] = [[]]  # children of the phrases that are open
        budget = _MOST_NODES
        while waiting:
            node = waiting.pop()
            if node is None:
                children = done.pop()
                done[-1].append(self._labelled(opened.pop(), tuple(children)))
                continue
            budget -= 1
            if budget < 0:
                return None
            a, x = node
            if a < self.binarized.symbols.n_leaves:
                done[-1].append(self._labelled(a, (self._word(a, x, rng),)))
                continue
            if self.binarized.symbols.kind[a] == PHRASE:
                opened.append(a)
                done.append([])
                waiting.append(None)
            left, right = self._children(a, x, rng)
            waiting += [right, left]
        tree = done[0][0]
        return tree if isinstance(tree, Tree) else None

    def _labelled(self, symbol: int, children: tuple[Tree | str, ...]) -> Tree:
        chain = self.binarized.labels[int(self.binarized.symbols.label[symbol])]
        tree = Tree(chain[-1], children)
        for label in reversed(chain[:-1]):
            tree = Tree(label, (tree,))
        return tree

    def _children(self, a: int, x: int, rng: np.random.Generator) -> tuple[tuple[int, int], tuple[int, int]]:
        grammar = self.binarized.grammar
        rules = self._rules.get(a)
        if rules is None:
            raise InputError(f"no rule rewrites {self._labelled(a, ()).label}; learn the grammar again")
        tables = [np.maximum(grammar.tensor(rule)[:, :, x], 0.0, dtype=np.float64) for rule in rules]
        rule = _choice(np.array([table.sum() for table in tables]), rng)
        table = tables[rule]
        y, z = divmod(_choice(table.ravel(), rng), table.shape[1])
        _, b, c = grammar.rules[rules[rule]].tolist()
        return (b, y), (c, z)

    @cached_property
    def _rules(self) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for rule, a in enumerate(self.binarized.grammar.rules[:, 0].tolist()):
            found.setdefault(a, []).append(rule)
        return found

    def _word(self, a: int, z: int, rng: np.random.Generator) -> str:
        words, weights = self._words.get(a, ([], None))
        if weights is None:
            raise InputError(f"no word has the tag {self._labelled(a, ()).label}; learn the grammar again")
        return words[_choice(weights[:, z], rng)]

    @cached_property
    def _words(self) -> dict[int, tuple[list[str], Floats]]:
        """For every leaf symbol its words, and how often each has each state."""
        lexicon, forest = self.binarized.passes[-1].lexicon, self.binarized.forest
        texts = list(forest.words)
        node = np.repeat(np.arange(len(forest.above)), np.diff(forest.starts))
        found = {}
        for a in range(len(forest.tags)):
            pairs = np.flatnonzero((forest.symbols == a) & (node < len(texts)))
            rows = [lexicon.values[lexicon.offsets[p] : lexicon.offsets[p + 1]] for p in pairs.tolist()]
            if rows:
                found[a] = [texts[node[p]] for p in pairs.tolist()], np.stack(rows)
        return found


def _choice(weights: Reals, rng: np.random.Generator) -> int:
    """A place by weights of any scale; those below zero and those that are no numbers count as zero."""
    weights = np.clip(np.nan_to_num(weights.astype(np.float64)), 0.0, None)
    most = weights.max()
    if most <= 0:
        return int(rng.integers(len(weights)))
    running = np.cumsum(weights / most)
    place = int(np.searchsorted(running, rng.random() * running[-1], side="right"))
    return min(place, int(np.flatnonzero(weights)[-1]))  # the product may be rounded to the whole sum
