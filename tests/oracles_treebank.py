"""Brute-force twins of the treebank kernels: plain Python over explicit trees, states and derivations."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from sigmastar.treebanks.model.latent_grammar import LatentGrammar
from sigmastar.trees.data.tree import Tree

Binary = tuple[int, "Binary", "Binary"] | tuple[int, int]  # (symbol, left, right) or (symbol, position)
Scores = dict[tuple[int, int], np.ndarray]  # (position, symbol) -> vector over states


def random_grammar(
    rng: np.random.Generator,
    n_leaves: int,
    n_phrases: int,
    n_rules: int,
    most_states: int,
    signed: bool = False,
) -> LatentGrammar:
    """A grammar with random rules: leaf symbols come first, rules are sorted by children."""
    n = n_leaves + n_phrases
    triples = {
        (int(rng.integers(n)), int(rng.integers(n)), n_leaves + int(rng.integers(n_phrases)))
        for _ in range(n_rules)
    }
    rules = np.array([(a, b, c) for b, c, a in sorted(triples)], dtype=np.int32)
    n_states = rng.integers(1, most_states + 1, n)
    size = int(n_states[rules].prod(axis=1).sum())
    low = -1.0 if signed else 0.0
    return LatentGrammar(
        rules,
        n_states.astype(np.int64),
        rng.uniform(low, 1.0, size) * 0.3,
        rng.uniform(low, 1.0, int(n_states.sum())),
        rng.uniform(0.1, 1.0, int(n_states.sum())),
    )


def derivations(grammar: LatentGrammar, symbol: int, low: int, high: int, leaves: Scores) -> Iterator[Binary]:
    """Every binary tree of a symbol over words low .. high - 1."""
    if high - low == 1 and (low, symbol) in leaves:
        yield symbol, low
    for a, b, c in grammar.rules.tolist():
        if a == symbol:
            for split in range(low + 1, high):
                lefts = list(derivations(grammar, b, low, split, leaves))
                rights = list(derivations(grammar, c, split, high, leaves)) if lefts else []
                for left, right in product(lefts, rights):
                    yield symbol, left, right


def inside(grammar: LatentGrammar, tree: Binary, leaves: Scores) -> np.ndarray:
    """The vector of a binary tree, figure 2 of the paper."""
    if len(tree) == 2:
        return leaves[tree[1], tree[0]]
    symbol, left, right = tree
    rule = grammar.rules.tolist().index([symbol, left[0], right[0]])
    vectors = inside(grammar, left, leaves), inside(grammar, right, leaves)
    return np.einsum("yzx,y,z->x", grammar.tensor(rule), *vectors)


def spans(tree: Binary) -> list[tuple[int, int, int]]:
    """(symbol, begin, end) of every node."""
    if len(tree) == 2:
        return [(tree[0], tree[1], tree[1] + 1)]
    left, right = spans(tree[1]), spans(tree[2])
    return [(tree[0], left[0][1], right[0][2]), *left, *right]


def marginals(
    grammar: LatentGrammar, n_words: int, leaves: Scores
) -> tuple[float, dict[tuple[int, int, int], float]]:
    """The total of all trees, and of those that hold each (symbol, begin, end)."""
    total, found = 0.0, {}
    for symbol in range(grammar.n_symbols):
        for tree in derivations(grammar, symbol, 0, n_words, leaves):
            value = float(grammar.root(symbol) @ inside(grammar, tree, leaves))
            total += value
            for span in set(spans(tree)):
                found[span] = found.get(span, 0.0) + value
    return total, found


def expected_counts(grammar: LatentGrammar, tree: Binary, leaves: Scores) -> tuple[float, dict, dict]:
    """P(tree), and expected uses of (rule, y, z, x) and of root states, by summing over all states."""
    nodes: list[Binary] = []

    def walk(node: Binary) -> int:
        at = len(nodes)
        nodes.append(node)
        if len(node) == 3:
            below.append((at, walk(node[1]), walk(node[2])))
        return at

    below: list[tuple[int, int, int]] = []
    walk(tree)
    total, rules, roots = 0.0, {}, {}
    table = grammar.rules.tolist()
    for states in product(*(range(int(grammar.n_states[node[0]])) for node in nodes)):
        weight = grammar.root(tree[0])[states[0]]
        uses = []
        for at, left, right in below:
            rule = table.index([nodes[at][0], nodes[left][0], nodes[right][0]])
            key = (rule, states[left], states[right], states[at])
            weight *= grammar.tensor(rule)[key[1:]]
            uses.append(key)
        for at, node in enumerate(nodes):
            if len(node) == 2:
                weight *= leaves[node[1], node[0]][states[at]]
        total += weight
        roots[states[0]] = roots.get(states[0], 0.0) + weight
        for key in uses:
            rules[key] = rules.get(key, 0.0) + weight
    return total, rules, roots


def random_tree(rng: np.random.Generator, n_words: int, depth: int = 0) -> Tree:
    """A tree with unary chains, repeated labels and phrases of up to four children."""
    if n_words == 1 and rng.random() < 0.6:
        return Tree(str(rng.choice(["D", "N", "V"])), (str(rng.choice(["a", "b", "Cc", "d1", "e-f"])),))
    if rng.random() < 0.25 and depth < 4:
        return Tree(str(rng.choice(["X", "Y"])), (random_tree(rng, n_words, depth + 1),))
    if n_words == 1:
        return Tree("N", (str(rng.choice(["a", "b", "g"])),))
    k = int(rng.integers(2, min(4, n_words) + 1))
    cuts = np.sort(rng.choice(np.arange(1, n_words), k - 1, replace=False)).tolist()
    sizes = np.diff([0, *cuts, n_words]).tolist()
    return Tree(str(rng.choice(["S", "X", "Y"])), tuple(random_tree(rng, size, 0) for size in sizes))


Spans = frozenset[tuple[int, int, tuple[str, ...]]]


def all_labellings(
    n_words: int, values: dict[tuple[int, int], list[tuple[tuple[str, ...], float]]], threshold: float
) -> dict[Spans, float]:
    """Every tree that `decode` may choose, as its spans with their chains, and its score, by trying all."""

    def cell(low: int, high: int) -> list[tuple[Spans, float]]:
        leaf, root = high - low == 1, high - low == n_words
        mass: dict[tuple[str, int], float] = {}
        tags: dict[str, float] = {}
        for chain, value in values.get((low, high), []):
            tags[chain[-1]] = tags.get(chain[-1], 0.0) + value
            for name in _names(chain, leaf):
                mass[name] = mass.get(name, 0.0) + value
        options: list[tuple[Spans, float]] = [] if leaf or root else [(frozenset(), 0.0)]
        for chain, value in values.get((low, high), []):
            if not leaf or tags[chain[-1]] == max(tags.values()):
                worth = 1e-9 * value + sum(mass[name] - threshold for name in _names(chain, leaf))
                options.append((frozenset({(low, high, chain)}), worth))
        return options

    def trees(low: int, high: int) -> dict[Spans, float]:
        below: dict[Spans, float] = {} if high - low > 1 else {frozenset(): 0.0}
        for k in range(low + 1, high):
            for left, worth in trees(low, k).items():
                below |= {left | right: worth + other for right, other in trees(k, high).items()}
        return {own | rest: a + b for own, a in cell(low, high) for rest, b in below.items()}

    return trees(0, n_words)


def _names(chain: tuple[str, ...], leaf: bool) -> list[tuple[str, int]]:
    named = [(label, chain[:at].count(label)) for at, label in enumerate(chain)]
    return named[:-1] if leaf else named


def span_trees(n: int, labels: list[int]) -> list[frozenset[tuple[int, int, int]]]:
    """Every tree over n words as its labelled spans (label, i, j): phrases have two or more children."""

    def rows(i: int, j: int) -> list[frozenset[tuple[int, int, int]]]:
        """Rows of two or more children from i to j."""
        found = []
        for k in range(i + 1, j):
            for child in children(i, k):
                found += [child | others for others in [*children(k, j), *rows(k, j)]]
        return found

    def children(i: int, j: int) -> list[frozenset[tuple[int, int, int]]]:
        """What may stand over i to j as one child; a word may go without a label."""
        below = [frozenset()] if j - i == 1 else rows(i, j)
        labelled = [inner | {(label, i, j)} for inner in below for label in labels]
        return labelled + ([frozenset()] if j - i == 1 else [])

    return children(0, n)
