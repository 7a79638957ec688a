"""Charts of latent grammars on tensors give what a plain sum and the compiled kernels give."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: make test-torch installs it")

from sigmastar.treebanks.gpu.dense import RuleTensors, filled_tensors  # noqa: E402
from sigmastar.treebanks.gpu.grammar import RuleFactors, TorchGrammar, exact_factors  # noqa: E402

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
N_LEAVES, N_SYMBOLS, N_WORDS = 3, 6, 5


def grammar(rng: np.random.Generator, m: int, rank: int) -> tuple[Any, Any, Any]:
    """Half of all rules, of little weight each, so that long sentences leave the range of float32."""
    every = np.array([(a, b, c) for a in range(3, 6) for b in range(6) for c in range(6)], dtype=np.int32)
    rules = every[np.sort(rng.choice(len(every), 60, replace=False))]
    shapes = [(len(rules), m, rank)] * 3
    left, right, parent = (rng.uniform(0, 0.1, shape) for shape in shapes)
    roots, emissions = rng.random((N_SYMBOLS, m)), rng.random((N_WORDS, N_LEAVES, m))
    return RuleFactors(rules, left, right, parent), roots, emissions


def tensors(factors: RuleFactors) -> Any:
    return np.einsum("ryk,rzk,rxk->ryzx", factors.left, factors.right, factors.parent)


@cache
def by_sums(words: tuple[int, ...]) -> tuple[float, Any, Any]:
    """log Z and posteriors, as derivatives of log Z by a factor of every item."""
    factors, roots, emissions = grammar(np.random.default_rng(0), 2, 3)
    n, dense = len(words), torch.as_tensor(tensors(factors))
    weights = torch.ones((n, n + 1, N_SYMBOLS), dtype=torch.float64, requires_grad=True)
    cells = {}
    for i, word in enumerate(words):
        rows = torch.zeros((N_SYMBOLS, 2), dtype=torch.float64)
        rows[:N_LEAVES] = torch.as_tensor(emissions[word])
        cells[i, i + 1] = rows * weights[i, i + 1][:, None]
    for width in range(2, n + 1):
        for i in range(n - width + 1):
            found = torch.zeros((N_SYMBOLS, 2), dtype=torch.float64)
            a, b, c = torch.as_tensor(factors.rules.T.astype(np.int64))
            for k in range(i + 1, i + width):
                left, right = cells[i, k][b], cells[k, i + width][c]
                found = found.index_add(0, a, torch.einsum("ryzx,ry,rz->rx", dense, left, right))
            cells[i, i + width] = found * weights[i, i + width][:, None]
    log = (torch.as_tensor(roots) * cells[0, n]).sum().log()
    log.backward()
    spans = [(i, i + width) for width in range(1, n + 1) for i in range(n - width + 1)]
    table = np.stack([weights.grad[span].numpy() for span in spans])
    return log.item(), table[:n, :N_LEAVES], table[n:, N_LEAVES:]


@pytest.mark.parametrize(("precision", "limit"), [("float64", 1e-10), ("float32", 1e-4), ("bfloat16", 0.05)])
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("whole", [False, True], ids=["products", "whole tensors"])
def test_posteriors_are_sums_over_trees(whole: bool, device: str, precision: str, limit: float) -> None:
    rng = np.random.default_rng(0)
    arrays = grammar(rng, 2, 3)
    if whole:
        arrays = (RuleTensors(arrays[0].rules, tensors(arrays[0])), *arrays[1:])
        if precision == "bfloat16":
            with pytest.raises(ValueError, match="float32 or float64"):
                TorchGrammar(*arrays, device=device, precision=precision)
            return
    lengths = [4, 1, 5, 2, 4, 3, 1]
    codes = rng.integers(0, N_WORDS, sum(lengths)).astype(np.int32)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    there = TorchGrammar(*arrays, device=device, precision=precision)
    there.batches = lambda lengths: [np.array([2, 0, 4, 5]), np.array([3, 1]), np.array([6])]
    logs, found = there.posteriors(codes, offsets)
    for number, (low, high) in enumerate(pairwise(offsets)):
        log, words, phrases = by_sums(tuple(codes[low:high].tolist()))
        assert logs[number] == pytest.approx(log, abs=limit * 3)
        assert np.abs(found[number].words - words).max() < limit
        assert found[number].phrases.shape == phrases.shape
        assert np.abs(found[number].phrases - phrases).max(initial=0.0) < limit


def whole_chart(rules: Any, n: int) -> Any:
    """All items and edges of a sentence."""
    from sigmastar.treebanks.kernels.plain_chart import EdgeChart

    spans = [(i, i + width) for width in range(1, n + 1) for i in range(n - width + 1)]
    items = [(i, j, s) for i, j in spans for s in range(N_SYMBOLS) if (s < N_LEAVES) == (j == i + 1)]
    number = {item: at for at, item in enumerate(items)}
    starts = np.searchsorted([spans.index((i, j)) for i, j, _ in items], np.arange(len(spans) + 1))
    edges = [
        (number[i, j, a], number[i, k, b], number[k, j, c], rule)
        for i, j in spans
        for k in range(i + 1, j)
        for rule, (a, b, c) in enumerate(rules.tolist())
        if (i, k, b) in number and (k, j, c) in number
    ]
    symbols = np.array([s for _, _, s in items], dtype=np.int32)
    return EdgeChart(starts.astype(np.int64), symbols, np.array(edges, dtype=np.int32))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("signed", [False, True])
def test_the_compiled_kernels_give_the_same(signed: bool, device: str) -> None:
    pytest.importorskip("numba", reason="the compiled kernels need numba")
    from sigmastar.treebanks.kernels.latent_chart import LeafVectors, Tensors, latent_posteriors

    rng, n = np.random.default_rng(1), 9
    rules = grammar(rng, 1, 1)[0].rules
    n_states = np.array([2, 1, 3, 3, 1, 2])
    offsets = np.concatenate([[0], np.cumsum(n_states[rules].prod(axis=1))])
    values, at = rng.uniform(0, 1e-4, int(offsets[-1])), np.concatenate([[0], np.cumsum(n_states)])
    roots, scores = rng.random(int(at[-1])), rng.random((n, 6))
    leaves = LeafVectors(
        np.arange(n + 1) * 3,
        np.tile(np.arange(3, dtype=np.int32), n),
        np.concatenate([[0], np.cumsum(np.tile(n_states[:3], n))]),
        scores.ravel(),
    )
    if signed:
        values[::5] *= -0.3
    graph = whole_chart(rules, n)
    expected, uses, log2_total = latent_posteriors(
        graph, leaves, Tensors(n_states, values, offsets, roots, at)
    )
    factors, m = exact_factors(rules, n_states, values, offsets)
    filled, emissions = np.zeros((N_SYMBOLS, m)), np.zeros((n, N_LEAVES, m))
    for symbol, (low, high) in enumerate(pairwise(at)):
        filled[symbol, : high - low] = roots[low:high]
        if symbol < N_LEAVES:
            emissions[:, symbol, : high - low] = scores[:, low:high]
    whole = RuleTensors(rules, filled_tensors(values, n_states[rules[:, [1, 2, 0]]], m))
    given = np.arange(n, dtype=np.int32), np.array([0, n])
    for form in (whole,) if signed else (factors, whole):
        there = TorchGrammar(form, filled, emissions, device=device)
        (log,), (found,) = there.posteriors(*given)
        assert log == pytest.approx(log2_total * np.log(2), abs=1e-9)
        assert np.abs(np.concatenate([found.words.ravel(), found.phrases.ravel()]) - expected).max() < 1e-9
        assert there.log_totals(*given) == pytest.approx([log])
    (named,) = there.uses(*given, 1e-4)[2]
    spans = [(i, i + width) for width in range(1, n + 1) for i in range(n - width + 1)]
    span = [spans[cell] for cell in np.repeat(np.arange(len(spans)), np.diff(graph.starts))]
    theirs = {
        (span[above][0], span[left][1], span[above][1], rule): use
        for (above, left, _, rule), use in zip(graph.edges.tolist(), uses.tolist(), strict=True)
        if use > 1e-4
    }
    ours = {
        (begin, begin + split, begin + width, rule): use
        for (begin, split, width, rule), use in zip(named.places.tolist(), named.values, strict=True)
    }
    assert ours == pytest.approx(theirs, abs=1e-9)
    assert (np.diff(named.places[:, 2]) >= 0).all()


def test_long_sentences_stay_in_range_and_impossible_ones_are_told() -> None:
    rng = np.random.default_rng(2)
    arrays = grammar(rng, 2, 3)
    arrays[2][4] = 0.0  # a word that nothing emits
    codes = rng.integers(0, 4, 71).astype(np.int32)
    codes[65] = 4
    offsets = np.array([0, 60, 71])
    wide, narrow = (TorchGrammar(*arrays, precision=p) for p in ("float64", "float32"))
    logs, (found, none) = narrow.posteriors(codes, offsets)
    assert logs[0] < -200
    assert logs[0] == pytest.approx(wide.log_totals(codes, offsets)[0], rel=1e-5)
    assert logs[1] == -np.inf
    assert not none.phrases.any()
    assert found.words.sum(axis=1) == pytest.approx(np.ones(60), abs=1e-4)


def test_batches_are_nearly_of_one_length() -> None:
    rng = np.random.default_rng(3)
    there = TorchGrammar(*grammar(rng, 2, 3))
    lengths = rng.integers(0, 60, 500)
    batches = list(there.batches(lengths))
    assert sorted(np.concatenate(batches).tolist()) == np.flatnonzero(lengths).tolist()
    for rows in batches:
        assert (lengths[rows].astype(float) ** 3).mean() >= 0.85 * lengths[rows[0]] ** 3


@pytest.mark.skipif("cuda" not in DEVICES, reason="the kernels in Triton need a GPU")
@pytest.mark.parametrize(("precision", "limit"), [("float32", 1e-4), ("bfloat16", 0.05)])
def test_the_kernels_in_triton_give_the_same(precision: str, limit: float) -> None:
    from sigmastar.treebanks.gpu.chart import Chart

    rng = np.random.default_rng(4)
    fused, plain = (TorchGrammar(*grammar(rng, 16, 16), device="cuda", precision=precision) for _ in range(2))
    plain.rules, plain.emissions, plain.chart = fused.rules, fused.emissions, Chart
    lengths = np.array([23, 22, 1, 2, 3, 21])
    codes = rng.integers(0, N_WORDS, lengths.sum()).astype(np.int32)
    found, expected = (g.posteriors(codes, np.concatenate([[0], np.cumsum(lengths)])) for g in (fused, plain))
    assert np.abs(found[0] - expected[0]).max() < limit * 10
    for ours, theirs in zip(found[1], expected[1], strict=True):
        assert np.abs(ours.words - theirs.words).max() < limit
        assert np.abs(ours.phrases - theirs.phrases).max(initial=0.0) < limit


TREES = "(S (NP (D the) (N dog)) (VP (V saw) (NP (NP (D a) (N cat)) (PP (P in) (NP (D a) (N hat))))))" * 9 + (
    "(S (NP (N dogs)) (VP (V ran)))(X (N cat))" * 9
)


def a_bank() -> tuple[Any, Any, Any]:
    """A small treebank made binary, its words, and numbers of states at random."""
    pytest.importorskip("numba", reason="the compiled kernels need numba")
    from sigmastar.treebanks.counts import choose_heads
    from sigmastar.treebanks.data.binarized import Binarization, binarize
    from sigmastar.treebanks.data.phrases import phrases
    from sigmastar.treebanks.learn.clusters_and_em import count_lexicon
    from sigmastar.trees.data.brackets import as_trees

    flat = phrases(as_trees(TREES))
    bank = binarize(flat, Binarization(), choose_heads(flat).heads(flat))
    n_states = np.random.default_rng(0).integers(1, 4, len(bank.symbols))
    return bank, count_lexicon(bank), n_states


@pytest.mark.parametrize("device", DEVICES)
def test_states_of_trees_are_as_the_compiled_kernels_have_them(device: str) -> None:
    bank, lexical, n_states = a_bank()
    from sigmastar.treebanks.gpu.layout import TreeArrays
    from sigmastar.treebanks.gpu.trees import TorchTrees
    from sigmastar.treebanks.learn.clusters_and_em import Shrinkage, rounds_there
    from sigmastar.treebanks.model.latent_grammar import rule_states
    from sigmastar.treebanks.model.whole_trees import RootVectors, RuleTensors, expectations

    rng = np.random.default_rng(0)
    states, nodes = rule_states(bank.rules, n_states), bank.nodes(n_states)
    tensors, roots = rng.random(int(states.offsets[-1])), rng.random(int(states.state_at[-1]))
    vectors = rng.random(int(nodes.at[-1]))
    vectors[: n_states[bank.symbol[0]]] = 0.0  # the first tree is impossible
    trees = TreeArrays(bank.starts, *nodes[:4])
    wide, narrow = (
        TorchTrees(trees, bank.rules, n_states, device=device, precision=precision)
        for precision in ("float64", "float32")  # EM takes the latter
    )
    found, single = (there.expect(tensors, roots, vectors) for there in (wide, narrow))
    expected = expectations(
        bank.starts, nodes, RuleTensors(tensors, states.offsets), RootVectors(roots, states.state_at), vectors
    )
    for ours, theirs in zip(found, expected, strict=True):
        assert np.abs(ours - theirs).max() < 1e-9
    assert found.counts.sum() == pytest.approx((bank.rule[bank.starts[1] :] >= 0).sum())
    for ours, theirs in zip(single, expected, strict=True):
        assert np.abs(ours - theirs).max() < 1e-3
    with pytest.raises(ValueError, match="device is one of"):
        rounds_there(bank, lexical, n_states, Shrinkage(), "tpu")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="the kernels in Triton need a GPU")
@pytest.mark.parametrize(
    ("n_states", "precision", "limit"), [(5, "float64", 1e-12), (24, "float32", 1e-5), (40, "float32", 1e-5)]
)
def test_one_kernel_per_height_equals_the_plain_way(n_states: int, precision: str, limit: float) -> None:
    from sigmastar.treebanks.gpu import trees as ways
    from sigmastar.treebanks.gpu.layout import TreeArrays

    rng, n_rules, nodes, starts = np.random.default_rng(5), 9, list[tuple[int, int, int, int]](), [0]

    def grow(n: int) -> int:
        cut = int(rng.integers(1, n)) if n > 1 else 0
        children = (grow(cut), grow(n - cut), int(rng.integers(n_rules))) if n > 1 else (-1, -1, -1)
        nodes.append((0, *children))
        return len(nodes) - 1

    for n in (1, 2, 9, 17, 30):
        grow(n)
        starts.append(len(nodes))
    trees = TreeArrays(np.array(starts), *np.array(nodes, dtype=np.int32).T)
    rules, sizes = np.zeros((n_rules, 3), dtype=np.int32), np.array([n_states])
    there = ways.TorchTrees(trees, rules, sizes, device="cuda", precision=precision)
    assert there.way is ways._NodePass
    tensors = rng.random(n_rules * n_states**3) / n_states**2
    arrays = tensors, rng.random(n_states), rng.random(len(nodes) * n_states)
    found = there.expect(*arrays)
    there.way = ways._Pass
    for ours, theirs in zip(found, there.expect(*arrays), strict=True):
        assert np.abs(ours - theirs).max() < limit * max(1.0, float(np.abs(theirs).max()))


@pytest.mark.parametrize("device", DEVICES)
def test_the_second_half_of_a_round_is_as_the_compiled_kernels_have_it(device: str) -> None:
    bank, lexical, n_states = a_bank()
    from sigmastar.treebanks.learn.clusters_and_em import (
        Shrinkage,
        Statistics,
        maximized,
        rounds_there,
    )
    from sigmastar.treebanks.learn.em_starts import random_statistics
    from sigmastar.treebanks.model.latent_grammar import RuleCounts, conditional, rule_states, smoothed

    given, shrinkage = random_statistics(bank, n_states, np.random.default_rng(1), 0.9), Shrinkage()
    there = rounds_there(bank, lexical, n_states, shrinkage, device, "float64")
    first = maximized(bank, lexical, n_states, given, shrinkage)
    vectors, at = first.lexicon.vectors(*lexical.rows)
    begun = there.begin(first.grammar.tensors, first.grammar.roots, vectors, np.diff(at))
    found, total = there.expect(begun)
    assert np.isfinite(total)
    found.counts[::2, 0, 0, 0] *= 1e-4  # which is not kept
    flat = there.flat(found)
    fit = there.maximize(found)
    expected = maximized(bank, lexical, n_states, Statistics(*flat[:3]), shrinkage)
    states = rule_states(bank.rules, n_states)
    kept = RuleCounts.of(flat.counts, states.offsets, shrinkage.strength, shrinkage.backing)
    counts = np.zeros(int(states.offsets[-1]))
    counts[np.repeat(states.offsets[:-1], np.diff(kept.starts)) + kept.cells] = kept.values
    frequencies = expected.grammar.frequencies
    sums = np.add.reduceat(frequencies, states.state_at[:-1])
    shares = frequencies / np.repeat(sums, n_states)
    tensors = conditional(states, smoothed(states, counts, shares, shrinkage.strength, shrinkage.backing))[0]
    assert 0 < len(kept.cells) < len(counts)
    ours = fit.tensors.cpu().view(-1)[there.trees.tensor_filled.cpu()].numpy()
    assert np.abs(ours - tensors).max() < 1e-9
    assert np.abs(ours - expected.grammar.tensors).max() < 1e-6  # which are of single precision
    filled = there.trees.root_filled.cpu()
    assert np.abs(fit.roots.cpu().view(-1)[filled].numpy() - expected.grammar.roots).max() < 1e-9
    assert np.abs(fit.frequencies.cpu().view(-1)[filled].numpy() - frequencies).max() < 1e-9
    theirs, at = expected.lexicon.vectors(*lexical.rows)
    within = np.arange(there.trees.m) < np.diff(at)[:, None]
    assert np.abs(fit.scores.cpu().numpy()[within] - theirs).max() < 1e-9 * theirs.max()
    assert not fit.scores.cpu().numpy()[~within].any()


def test_rounds_on_a_device_lead_where_compiled_ones_lead() -> None:
    pytest.importorskip("numba", reason="the compiled kernels need numba")
    from sigmastar import EMTreebankGrammar

    here, there = (
        EMTreebankGrammar(2, max_iter=6, device=device).fit(TREES * 8) for device in ("cpu", "auto")
    )
    (ours,), (theirs,) = there.model_.members, here.model_.members
    assert ours.grammar.n_states.max() == 2
    assert np.abs(ours.grammar.tensors - theirs.grammar.tensors).max() < 0.01  # files round counts
    values = ours.passes[-1].lexicon.values, theirs.passes[-1].lexicon.values
    assert np.abs(values[0] - values[1]).max() < 1e-2 * values[1].max()


def test_what_does_not_fit_is_done_in_smaller_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device that runs out of memory, played on a processor: the same counts, or one clear line."""
    bank, lexical, n_states = a_bank()
    from sigmastar.core.torch_device import smaller_on_failure
    from sigmastar.treebanks.gpu.trees import TorchTrees
    from sigmastar.treebanks.learn.clusters_and_em import Shrinkage, rounds_there
    from sigmastar.treebanks.learn.em_starts import random_statistics

    given = random_statistics(bank, n_states, np.random.default_rng(0))
    there = rounds_there(bank, lexical, n_states, Shrinkage(), "cpu", "float64")
    scores = np.ones(int(n_states[lexical.rows[1]].sum()))
    fit = there.begin(given.rules, given.roots, scores, n_states[lexical.rows[1]])
    expected, pieces, sizes = there.expect(fit)[0], TorchTrees.pieces, list[int]()

    def narrow(trees: Any, nodes: Any) -> Any:
        sizes.append(trees.share)
        if trees.share > 8:
            raise torch.OutOfMemoryError
        yield from pieces(trees, nodes)

    monkeypatch.setattr(TorchTrees, "pieces", narrow)
    found = there.expect(fit)[0]
    assert sizes[:4] == [64, 32, 16, 8]
    for ours, theirs in zip(found[:3], expected[:3], strict=True):
        assert (ours - theirs).abs().max() < 1e-12

    def never(size: int) -> None:
        raise torch.OutOfMemoryError

    with pytest.raises(MemoryError, match="use fewer states, or device='cpu'"):
        smaller_on_failure(never, 5)


def test_rules_are_counted_together_without_much_padding() -> None:
    from sigmastar.treebanks.gpu.layout import groups

    rule = np.minimum(np.random.default_rng(0).zipf(1.3, 20_000), 900).astype(np.int32) - 1
    groups = list(groups(rule))
    assert sorted(np.concatenate([nodes[nodes >= 0] for _, nodes in groups])) == list(range(len(rule)))
    assert all((nodes >= 0).mean() >= 0.85 for _, nodes in groups)
    assert all((rule[nodes] == rules[:, None])[nodes >= 0].all() for rules, nodes in groups)
    assert len(groups) < 60
