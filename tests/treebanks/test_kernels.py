"""Charts, expectations and decoding of latent grammars against brute force."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles_treebank import (
    Binary,
    Scores,
    all_labellings,
    derivations,
    expected_counts,
    inside,
    marginals,
    random_grammar,
    spans,
)
from sigmastar.treebanks.data.binarized import BinaryNodes
from sigmastar.treebanks.kernels.best_trees import best_derivations, best_labellings, cut_trees
from sigmastar.treebanks.kernels.decoding import ChainItems, Chains, best_rules, decode
from sigmastar.treebanks.kernels.latent_chart import LeafVectors, counted_posteriors, latent_posteriors
from sigmastar.treebanks.kernels.plain_chart import (
    Allowed,
    EdgeChart,
    LeafItems,
    PlainItems,
    plain_inside,
    plain_posteriors,
    probable_edges,
    pruned,
)
from sigmastar.treebanks.model.coarse_to_fine import EVERYTHING, CoarseGrammar
from sigmastar.treebanks.model.latent_grammar import (
    LatentGrammar,
    RuleCounts,
    conditional,
    rule_states,
    smoothed,
)
from sigmastar.treebanks.model.whole_trees import RootVectors, RuleTensors, expectations

N_LEAVES, N_PHRASES = 3, 3
seeds = st.integers(0, 100_000)


def random_leaves(rng: np.random.Generator, grammar: LatentGrammar, n_words: int) -> Scores:
    return {
        (i, a): rng.uniform(0.1, 3.0, int(grammar.n_states[a]))
        for i in range(n_words)
        for a in range(N_LEAVES)
        if rng.random() < 0.8 or a == 0
    }


def leaf_arrays(leaves: Scores, n_words: int) -> tuple[np.ndarray, ...]:
    keys = sorted(leaves)
    begin = np.searchsorted([i for i, _ in keys], np.arange(n_words + 1)).astype(np.int64)
    vectors = [leaves[key] for key in keys]
    at = np.concatenate([[0], np.cumsum([len(v) for v in vectors])]).astype(np.int64)
    return begin, np.array([a for _, a in keys], dtype=np.int32), at, np.concatenate(vectors)


def cell_spans(n: int) -> list[tuple[int, int]]:
    return [(i, i + w) for w in range(1, n + 1) for i in range(n - w + 1)]


def by_span(
    starts: np.ndarray, items: np.ndarray, values: np.ndarray, n: int
) -> dict[tuple[int, int, int], float]:
    return {
        (int(items[at]), *cell_spans(n)[c]): float(values[at])
        for c in range(len(starts) - 1)
        for at in range(starts[c], starts[c + 1])
    }


def plain_chart(grammar: LatentGrammar, leaves: Scores, n: int) -> PlainItems:
    begin, symbols, _, vectors = leaf_arrays(leaves, n)
    prior, keys = np.ones(grammar.n_symbols), np.full(grammar.n_symbols, -1, dtype=np.int32)
    rules = CoarseGrammar(grammar).rules
    return plain_inside(LeafItems(begin, symbols, vectors), rules, prior, 0.0, Allowed(keys, EVERYTHING))


def posteriors_of(chart: PlainItems, grammar: LatentGrammar, n: int) -> tuple[np.ndarray, float]:
    return plain_posteriors(n, chart, CoarseGrammar(grammar).rules, grammar.roots, 0.0)


def all_edges(chart: PlainItems, posteriors: np.ndarray, grammar: LatentGrammar, n: int) -> EdgeChart:
    rules = CoarseGrammar(grammar).rules
    return probable_edges(n, chart, posteriors, rules, grammar.n_symbols, (1e-300, 0.0))


@given(seeds, st.integers(1, 5))
@settings(max_examples=40, deadline=None)
def test_the_plain_chart_sums_over_all_trees(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    grammar = random_grammar(rng, N_LEAVES, N_PHRASES, 12, 1)
    leaves = random_leaves(rng, grammar, n)
    total, expected = marginals(grammar, n, leaves)
    chart = plain_chart(grammar, leaves, n)
    posteriors, log2 = posteriors_of(chart, grammar, n)
    if total == 0.0:
        assert np.isneginf(log2)
        return
    np.testing.assert_allclose(2.0**log2, total)
    found = by_span(chart[0], chart[1], posteriors, n)
    for span, value in found.items():
        np.testing.assert_allclose(value, expected.get(span, 0.0) / total, atol=1e-12)
    assert {span for span, value in expected.items() if value > 0} <= set(found)


def abs_total(grammar: LatentGrammar, n: int, leaves: Scores) -> float:
    """The sum over all trees of the sizes of their terms."""
    sizes = LatentGrammar(
        grammar.rules, grammar.n_states, np.abs(grammar.tensors), np.abs(grammar.roots), grammar.frequencies
    )
    return marginals(sizes, n, leaves)[0]


@given(seeds, st.integers(2, 5), st.booleans())
@settings(max_examples=40, deadline=None)
def test_the_fine_chart_sums_over_all_trees_and_states(seed: int, n: int, signed: bool) -> None:
    rng = np.random.default_rng(seed)
    grammar = random_grammar(rng, N_LEAVES, N_PHRASES, 12, 3, signed)
    leaves = random_leaves(rng, grammar, n)
    plain = LatentGrammar(
        grammar.rules,
        np.ones(grammar.n_symbols, dtype=np.int64),
        np.ones(len(grammar.rules)),
        np.ones(grammar.n_symbols),
        np.ones(grammar.n_symbols),
    )
    chart = plain_chart(plain, {key: np.ones(1) for key in leaves}, n)
    posteriors, log2 = posteriors_of(chart, plain, n)
    if np.isneginf(log2):
        return
    graph = all_edges(chart, posteriors, plain, n)
    starts, items, edges = graph
    begin, symbols, at, vectors = leaf_arrays(leaves, n)
    tensors = grammar.arrays._replace(values=grammar.tensors)
    fine, uses, log2 = latent_posteriors(graph, LeafVectors(begin, symbols, at, vectors), tensors)
    total, expected = marginals(grammar, n, leaves)
    if abs(total) <= 1e-9 * abs_total(grammar, n, leaves):  # signs cancel: what is left is rounding
        return
    assert np.isnan(log2) == (total < 0)
    if total < 0:
        return
    np.testing.assert_allclose(2.0**log2, total, rtol=1e-8)
    for span, value in by_span(starts, items, fine, n).items():
        np.testing.assert_allclose(value, expected.get(span, 0.0) / total, atol=1e-6)
    into = np.bincount(edges[:, 0], uses, len(items))  # every use of an item above leaves is by one edge
    above = np.arange(len(items)) >= starts[n]
    np.testing.assert_allclose(into[above], fine[above], atol=1e-6)


@given(seeds, st.integers(2, 5), st.sampled_from([0.0, 3.0]))
@settings(max_examples=40, deadline=None)
def test_the_chart_by_counts_is_that_of_the_tensors_made_of_them(seed: int, n: int, strength: float) -> None:
    rng = np.random.default_rng(seed)
    drawn = random_grammar(rng, N_LEAVES, N_PHRASES, 12, 4)
    counts = np.where(rng.random(len(drawn.tensors)) < 0.4, rng.integers(1, 50, len(drawn.tensors)), 0)
    states = rule_states(drawn.rules, drawn.n_states)
    kept = RuleCounts.of(counts.astype(np.float64), states.offsets, strength, 2.0)
    grammar = LatentGrammar.of_counts(states, kept, drawn.roots, drawn.frequencies)
    leaves = random_leaves(rng, grammar, n)
    ones = np.ones(grammar.n_symbols)
    plain = LatentGrammar(grammar.rules, ones.astype(np.int64), np.ones(len(grammar.rules)), ones, ones)
    chart = plain_chart(plain, {key: np.ones(1) for key in leaves}, n)
    posteriors, log2 = posteriors_of(chart, plain, n)
    if np.isneginf(log2):
        return
    graph = all_edges(chart, posteriors, plain, n)
    vectors = LeafVectors(*leaf_arrays(leaves, n))
    dense = grammar.arrays._replace(values=grammar.tensors.astype(np.float64))
    slow = latent_posteriors(graph, vectors, dense)
    assert grammar.counted is not None
    fast = counted_posteriors(graph, vectors, grammar.counted)
    assert np.isnan(slow[2]) == np.isnan(fast[2])
    for found, expected in zip(fast, slow, strict=True):
        np.testing.assert_allclose(found, expected, atol=2e-6, rtol=1e-6)


@given(seeds, st.integers(2, 5))
@settings(max_examples=40, deadline=None)
def test_the_tree_of_probable_rules_is_the_best_of_all_trees(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    grammar = random_grammar(rng, N_LEAVES, N_PHRASES, 12, 1)
    leaves = random_leaves(rng, grammar, n)
    chart, base = plain_chart(grammar, leaves, n), np.arange(grammar.n_symbols, dtype=np.int32)
    posteriors, log2 = posteriors_of(chart, grammar, n)
    if np.isneginf(log2):
        return
    graph = all_edges(chart, posteriors, grammar, n)
    starts, items, edges = graph
    uses = rng.uniform(0.01, 1.0, len(edges))
    weights = rng.uniform(0.01, 1.0, len(items))
    _, score = best_rules(n, graph, weights, uses, base)
    ranked = cut_trees(*best_derivations(n, graph, weights, uses, base, 6))
    values = by_span(starts, items, weights, n)
    places = dict(enumerate(by_span(starts, items, np.arange(len(items)), n)))
    worth = {tuple(places[k] for k in row[:3]): u for row, u in zip(edges.tolist(), uses, strict=True)}

    def product(tree: Binary) -> float:
        if len(tree) == 2:
            return values[spans(tree)[0]]
        key = spans(tree)[0], spans(tree[1])[0], spans(tree[2])[0]
        return worth[key] * product(tree[1]) * product(tree[2])

    trees = [t for a in range(grammar.n_symbols) for t in derivations(grammar, a, 0, n, leaves)]
    good = [t for t in trees if all(span in values for span in spans(t))]
    worths = sorted((values[spans(t)[0]] * product(t) for t in good), reverse=True)
    np.testing.assert_allclose(np.exp(score), worths[0])
    np.testing.assert_allclose(np.exp([value for _, value in ranked]), worths[:6])
    by_spans = {frozenset(spans(t)): values[spans(t)[0]] * product(t) for t in good}
    for found, value in ranked:
        assert np.isclose(by_spans[frozenset((c, i, j) for i, j, c in found)], np.exp(value))


def test_pruning_keeps_edges_between_what_is_kept() -> None:
    starts = np.array([0, 2, 3, 4])
    items = np.array([0, 1, 0, 3], dtype=np.int32)
    edges = np.array([[3, 0, 2, 5], [3, 1, 2, 6]], dtype=np.int32)
    found = pruned(EdgeChart(starts, items, edges), np.array([0.9, 0.01, 1.0, 1.0]), 0.1)
    assert found[0].tolist() == [0, 1, 2, 3]
    assert found[1].tolist() == [0, 0, 3]
    assert found[2].tolist() == [[2, 0, 1, 5]]


def flat(tree: Binary, grammar: LatentGrammar, leaves: Scores) -> tuple[np.ndarray, ...]:
    """Nodes children first, as the kernels take them."""
    symbol, left, right, rule, vectors = [], [], [], [], []
    table = grammar.rules.tolist()

    def walk(node: Binary) -> int:
        below = [walk(child) for child in node[1:]] if len(node) == 3 else []
        symbol.append(node[0])
        left.append(below[0] if below else -1)
        right.append(below[1] if below else -1)
        rule.append(table.index([node[0], node[1][0], node[2][0]]) if below else -1)
        vectors.append(np.zeros(grammar.n_states[node[0]]) if below else leaves[node[1], node[0]])
        return len(symbol) - 1

    walk(tree)
    at = np.concatenate([[0], np.cumsum([len(v) for v in vectors])]).astype(np.int64)
    ints = [np.array(column, dtype=np.int32) for column in (symbol, left, right, rule)]
    return (*ints, at, np.concatenate(vectors))


@given(seeds, st.integers(1, 4))
@settings(max_examples=40, deadline=None)
def test_expectations_sum_over_states(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    grammar = random_grammar(rng, N_LEAVES, N_PHRASES, 20, 3)
    leaves = random_leaves(rng, grammar, n)
    trees = [t for a in range(grammar.n_symbols) for t in derivations(grammar, a, 0, n, leaves)]
    if not trees:
        return
    tree = trees[int(rng.integers(len(trees)))]
    *columns, vectors = flat(tree, grammar, leaves)
    nodes, tensors = BinaryNodes(*columns), RuleTensors(grammar.tensors, grammar.offsets)
    at, tops_at = nodes.at, RootVectors(grammar.roots, grammar.state_at)
    counts, roots, posteriors, log = expectations(
        np.array([0, len(at) - 1]), nodes, tensors, tops_at, vectors
    )
    total, rules, tops = expected_counts(grammar, tree, leaves)
    np.testing.assert_allclose(np.exp(log), total)
    np.testing.assert_allclose(float(grammar.root(tree[0]) @ inside(grammar, tree, leaves)), total)
    expected = np.zeros(len(grammar.tensors))
    for (number, y, z, x), weight in rules.items():
        shape = grammar.tensor(number).shape
        expected[grammar.offsets[number] + np.ravel_multi_index((y, z, x), shape)] += weight / total
    np.testing.assert_allclose(counts, expected, atol=1e-12)
    mine = roots[grammar.state_at[tree[0]] : grammar.state_at[tree[0] + 1]]
    np.testing.assert_allclose(mine, [tops[x] / total for x in range(len(mine))], atol=1e-12)
    np.testing.assert_allclose(np.add.reduceat(posteriors, at[:-1]), 1.0)


def test_states_too_improbable_for_single_precision_count_for_nothing() -> None:
    """A leaf of three states, where inside and outside meet in one state at 1e-30 each."""
    ends, single = np.array([0, 1]), np.zeros(1, dtype=np.float32)
    none, states = np.array([-1], dtype=np.int32), np.array([0, 3])
    vectors, roots = np.array([0.0, 1e-30, 1.0], dtype=np.float32), np.array([1.0, 1e-30, 0.0])
    nodes = BinaryNodes(none + 1, none, none, none, states)
    counts, tops, posteriors, log = expectations(
        ends, nodes, RuleTensors(single, ends), RootVectors(roots, states), vectors
    )
    np.testing.assert_allclose(log, np.log(1e-60), rtol=1e-6)
    np.testing.assert_allclose(tops, [0.0, 1.0, 0.0], atol=1e-6)
    np.testing.assert_array_equal(posteriors, 0.0)
    np.testing.assert_array_equal(counts, 0.0)


@given(seeds)
@settings(max_examples=20, deadline=None)
def test_smoothing_keeps_the_total_of_every_rule_and_conditionals_sum_to_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    grammar = random_grammar(rng, N_LEAVES, N_PHRASES, 10, 3)
    counts = rng.exponential(1.0, len(grammar.tensors)) * (rng.random(len(grammar.tensors)) < 0.5)
    shares = np.concatenate([rng.dirichlet(np.ones(k)) for k in grammar.n_states.tolist()])
    mixed = smoothed(grammar.rule_states, counts, shares, 3.0, 2.0)
    before = np.add.reduceat(counts, grammar.offsets[:-1])
    np.testing.assert_allclose(np.add.reduceat(mixed, grammar.offsets[:-1]), before)
    tensors, totals = conditional(grammar.rule_states, mixed)
    sums = np.zeros(len(totals))
    for rule, (a, _, _) in enumerate(grammar.rules.tolist()):
        low, high = grammar.offsets[rule : rule + 2]
        sums[grammar.state_at[a] : grammar.state_at[a + 1]] += (
            tensors[low:high].reshape(-1, grammar.n_states[a]).sum(axis=0)
        )
    np.testing.assert_allclose(sums[totals > 0], 1.0)


LABELLED = [("A",), ("A", "A"), ("B", "A"), ("T",), ("A", "T"), ("B", "U")]


def random_chart(seed: int, n: int) -> tuple[ChainItems, Chains, dict]:
    """Chains with values over all spans, as the kernels take them and by span."""
    rng, chains = np.random.default_rng(seed), LABELLED
    table: dict[tuple[str, int], int] = {}
    names = [
        table.setdefault((label, chain[:k].count(label)), len(table))
        for chain in chains
        for k, label in enumerate(chain)
    ]
    chain_starts = np.concatenate([[0], np.cumsum([len(chain) for chain in chains])])
    starts, labels, values, known = [0], [], [], {}
    for span in cell_spans(n):
        among = range(3, 6) if span[1] - span[0] == 1 else range(3)
        picked = [
            c
            for c in among
            if rng.random() < 0.7 or (c == among[0] and span in ((0, n), (span[0], span[0] + 1)))
        ]
        mu = rng.dirichlet(np.ones(len(picked) + 1))[: len(picked)] if picked else np.zeros(0)
        known[span] = [(chains[c], float(v)) for c, v in zip(picked, mu, strict=True)]
        labels += picked
        values += mu.tolist()
        starts.append(len(labels))
    items = ChainItems(np.array(starts), np.array(labels, dtype=np.int32), np.array(values))
    return items, Chains(chain_starts, np.array(names, dtype=np.int32), len(table)), known


@given(seeds, st.integers(1, 5))
@settings(max_examples=60, deadline=None)
def test_decoding_finds_the_best_bracketing(seed: int, n: int) -> None:
    items, chains, known = random_chart(seed, n)
    spans, score = decode(n, items, chains, 0.4)
    np.testing.assert_allclose(score[0], max(all_labellings(n, known, 0.4).values()), atol=1e-9)
    assert spans[0].tolist()[:2] == [0, n]
    assert sorted(i for i, j, _ in spans.tolist() if j - i == 1) == list(range(n))


@given(seeds, st.integers(1, 4), st.sampled_from([1, 2, 5, 12]))
@settings(max_examples=60, deadline=None)
def test_the_best_labellings_are_the_best_of_all_trees(seed: int, n: int, n_best: int) -> None:
    items, chains, known = random_chart(seed, n)
    every = all_labellings(n, known, 0.4)
    found = cut_trees(*best_labellings(n, items, chains, 0.4, n_best))
    trees = [frozenset((i, j, LABELLED[chain]) for i, j, chain in spans) for spans, _ in found]
    assert len(set(trees)) == len(trees) == min(n_best, len(every))
    expected = sorted(every.values(), reverse=True)[:n_best]
    np.testing.assert_allclose([score for _, score in found], expected, atol=1e-9)
    np.testing.assert_allclose([every[tree] for tree in trees], expected, atol=1e-9)
    np.testing.assert_allclose(decode(n, items, chains, 0.4)[1][0], found[0][1], atol=1e-9)


def test_long_sentences_do_not_underflow() -> None:
    rules = np.array([[1, 0, 0], [1, 0, 1]], dtype=np.int32)
    one = np.ones(2, dtype=np.int64)
    grammar = LatentGrammar(rules, one, np.array([1e-9, 1e-9]), np.array([0.0, 1.0]), np.ones(2))
    n = 250
    leaves = {(i, 0): np.array([1e-6]) for i in range(n)}
    chart = plain_chart(grammar, leaves, n)
    posteriors, log2 = posteriors_of(chart, grammar, n)
    np.testing.assert_allclose(log2, (n * np.log(1e-6) + (n - 1) * np.log(1e-9)) / np.log(2))
    np.testing.assert_allclose(posteriors.sum(), 2 * n - 1)
