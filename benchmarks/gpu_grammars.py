"""Rows of `benchmarks.gpu`: latent grammars, states of trees, and control."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np


def timed(work: Callable[[], Any], torch: Any, n_runs: int = 5) -> float:
    """Median seconds after two runs that compile and warm up."""
    found = []
    wait = torch.cuda.synchronize if torch.cuda.is_available() else torch.cpu.synchronize
    for _ in range(n_runs + 2):
        wait()
        begin = time.perf_counter()
        work()
        wait()
        found.append(time.perf_counter() - begin)
    return float(np.median(found[2:]))


def sparse_rules(rng: np.random.Generator) -> tuple[Any, int, int]:
    """2,500 rules over 142 symbols of words and 105 of phrases.

    So many rules of each kind are among the 2,500 most frequent of the WSJ sample, made binary from the head;
    a few parents have most of them.
    """
    n_words, n_symbols, found = 142, 247, set[tuple[int, int, int]]()
    for is_left, is_right, n in ((0, 0, 351), (1, 0, 1028), (0, 1, 306), (1, 1, 815)):
        size = len(found) + n
        while len(found) < size:
            parent, left, right = rng.random(3)
            children = (
                int(side**2 * n_words) if is_word else n_words + int(side**2 * 105)
                for side, is_word in ((left, is_left), (right, is_right))
            )
            found.add((n_words + int(parent**2 * 105), *children))
    return np.array(sorted(found), dtype=np.int32), n_words, n_symbols


def latent_grammar(torch: Any, precision: str, n_sentences: int = 1024, length: int = 40) -> dict[str, Any]:
    from sigmastar.treebanks.gpu.chart import Chart
    from sigmastar.treebanks.gpu.fused import FusedChart
    from sigmastar.treebanks.gpu.grammar import RuleFactors, TorchGrammar

    rng, m = np.random.default_rng(0), 16
    rules, n_words, n_symbols = sparse_rules(rng)
    sides = [rng.dirichlet(np.full(m, 0.3), (len(rules), m)) for _ in range(3)]
    sides[2] *= 0.1
    given = RuleFactors(rules, *sides), rng.random((n_symbols, m)), rng.random((500, n_words, m))
    grammar = TorchGrammar(*given, device="cuda", precision=precision)
    codes = rng.integers(0, 500, n_sentences * length).astype(np.int32)
    offsets = np.arange(n_sentences + 1) * length
    some, three = np.arange(n_sentences), (codes[: 3 * length], offsets[:4])
    fresh = lambda: grammar.chart_of(codes, offsets, some)  # noqa: E731

    def both() -> None:
        chart = fresh()
        chart.inside()
        chart.outside()

    tried = {}
    for tile, warps in ((32, 2), (64, 2), (64, 4), (128, 4), (128, 8)):
        FusedChart.tile, FusedChart.shape = tile, {"num_warps": warps}
        tried[tile, warps] = timed(both, torch, 1)
    FusedChart.tile, warps = min(tried, key=tried.__getitem__)
    FusedChart.shape = {"num_warps": warps}
    row = {
        "what": "latent grammar", "states": m, "components": m, "rules": len(rules), "length": length,
        "precision": precision, "sentences": n_sentences,
        "inside, sentences/s": n_sentences / timed(lambda: fresh().inside(), torch, 3),
        "inside-outside": n_sentences / timed(both, torch, 3),
        "tiles and warps": {f"{t} {w}": n_sentences / s for (t, w), s in tried.items()},
        "milliseconds": parts_of(fresh, torch),
    }  # fmt: skip
    logs, found = grammar.posteriors(*three)
    wide = TorchGrammar(*given, device="cuda")
    expected_logs, expected = wide.posteriors(*three)
    pairs = [(a, b) for x, y in zip(found, expected, strict=True) for a, b in zip(x, y, strict=True)]
    row["largest difference of posteriors"] = max(float(np.abs(a - b).max()) for a, b in pairs)
    row["of log Z"] = float(np.abs(logs - expected_logs).max())
    grammar.chart = Chart
    few = np.arange(n_sentences // 8)
    plain = timed(lambda: grammar.chart_of(codes, offsets, few).inside(), torch, 1)
    return row | {"plain inside, sentences/s": len(few) / plain}


def parts_of(fresh: Callable[[], Any], torch: Any) -> dict[str, float]:
    """What each kernel takes of one pass, and the whole."""
    chart, times = fresh(), list[tuple[str, Any, Any]]()
    launch = chart._launch

    def watched(kernel: str, *arguments: Any, **more: Any) -> None:
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        launch(kernel, *arguments, **more)
        end.record()
        times.append((f"{stage} {kernel}", begin, end))

    chart._launch, stage = watched, "inside"
    chart.inside()
    stage = "outside"
    chart.outside()
    torch.cuda.synchronize()
    found = dict[str, float]()
    for name, begin, end in times:
        found[name] = found.get(name, 0.0) + begin.elapsed_time(end)
    return found


def tree_states(torch: Any, n_trees: int = 3914, m: int = 24) -> dict[str, Any]:
    """The expectations of one round of EM on a treebank of the size of the WSJ sample."""
    from sigmastar.treebanks.gpu.trees import TorchTrees

    rng, n_rules = np.random.default_rng(0), 3000
    trees = random_trees(rng, n_rules, n_trees)
    there = TorchTrees(trees, np.zeros((n_rules, 3), dtype=np.int32), np.array([m]), device="cuda")
    tensors = rng.random(n_rules * m**3, dtype=np.float32) / m**2
    vectors, roots = rng.random(len(trees.rule) * m, dtype=np.float32), rng.random(m)
    seconds = timed(lambda: there.expect(tensors, roots, vectors), torch, 3)
    return {
        "what": "states of trees",
        "states": m,
        "trees": n_trees,
        "nodes": len(trees.rule),
        "seconds": seconds,
    }


def random_trees(rng: np.random.Generator, n_rules: int, n_trees: int, n_words: int = 24) -> Any:
    """Trees that lean to one side or the other, as those of a treebank do, with rules at random."""
    from sigmastar.treebanks.gpu.layout import TreeArrays

    starts, nodes = [0], list[tuple[int, int, int, int]]()

    def grow(n: int) -> int:
        left = right = rule = -1
        if n > 1:
            kind = rng.random()
            cut = 1 if kind < 0.5 else n - 1 if kind < 0.7 else int(rng.integers(1, n))
            left, right, rule = grow(cut), grow(n - cut), int(n_rules * rng.random() ** 3)
        nodes.append((0, left, right, rule))
        return len(nodes) - 1

    for n in rng.integers(1, 2 * n_words, n_trees).tolist():
        grow(n)
        starts.append(len(nodes))
    return TreeArrays(np.array(starts), *np.array(nodes, dtype=np.int32).T)


def treebank_round(torch: Any, quick: bool = False) -> dict[str, Any]:
    """One whole round of EM of `EMTreebankGrammar`, both halves: on the device, and by compiled kernels.

    Of the WSJ sample, where `SIGMASTAR_DATA` names the folder that has it, else of as many trees at random.
    """
    without_compiler()
    from sigmastar.core.resources import limited_threads
    from sigmastar.treebanks.counts import choose_heads
    from sigmastar.treebanks.data.binarized import Binarization, binarize
    from sigmastar.treebanks.data.phrases import phrases
    from sigmastar.treebanks.learn import clusters_and_em as em
    from sigmastar.treebanks.learn.em_starts import random_statistics

    trees, what = some_trees(quick)
    flat, rng = phrases(trees), np.random.default_rng(0)
    bank = binarize(flat, Binarization("head"), choose_heads(flat).heads(flat))
    most, sizes = 4 if quick else 24, np.bincount(bank.symbol, minlength=len(bank.symbols))
    n_states, lexical, shrinkage = np.clip(sizes // 30, 1, most), em.count_lexicon(bank), em.Shrinkage()
    start = random_statistics(bank, n_states, rng)
    first = em.maximized(bank, lexical, n_states, start, shrinkage)
    there = em.rounds_there(bank, lexical, n_states, shrinkage, "auto")
    begun = there.begin(first.grammar.single, first.grammar.roots, *(em._row_vectors(lexical, first.lexicon)))
    seconds = timed(lambda: there.maximize(there.expect(begun)[0]), torch, 3)
    row = {
        "what": "a round of EM of trees", "trees": what, "states": most, "nodes": len(bank.symbol),
        "rules": len(bank.rules), "seconds": seconds,
        "of which counts": timed(lambda: there.expect(begun), torch, 3),
    }  # fmt: skip
    if find_spec("numba") is None:
        return row

    def here() -> None:
        fresh = em.maximized(bank, lexical, n_states, start, shrinkage)  # its tensors are made when asked for
        begin = time.perf_counter()
        em.maximized(bank, lexical, n_states, em.expected(bank, lexical, fresh)[0], shrinkage)
        passed.append(time.perf_counter() - begin)

    passed = list[float]()
    with limited_threads(2):
        for _ in range(3):
            here()
    compiled = float(np.median(passed[1:]))
    return row | {"compiled, seconds": compiled, "times": compiled / seconds}


def some_trees(quick: bool) -> tuple[list[Any], str]:
    """The WSJ sample, or trees at random of about its size; a few where it is to be quick."""
    from sigmastar.trees.data.brackets import read_brackets
    from sigmastar.trees.data.tree import Tree

    sample = Path(os.environ.get("SIGMASTAR_DATA", "")) / "ptb_sample" / "wsj-train.mrg"
    if sample.exists():
        return read_brackets(str(sample))[: 300 if quick else None], "WSJ sample"
    rng = np.random.default_rng(0)

    def grow(n: int) -> Any:
        if n == 1:
            word = min(int(rng.zipf(1.3)), 8000)
            return Tree(f"T{word % 45}", (f"w{word}",))
        cuts = np.sort(rng.choice(n - 1, min(n - 1, int(rng.integers(1, 4))), replace=False)) + 1
        sizes = np.diff(np.concatenate([[0], cuts, [n]])).tolist()
        return Tree(f"P{int(26 * rng.random() ** 2)}", tuple(map(grow, sizes)))

    lengths = rng.integers(2, 48, 300 if quick else 3914).tolist()
    return [grow(n) for n in lengths], "at random"


def control(torch: Any, n: int = 4096, n_symbols: int = 10_000, n_prefixes: int = 64) -> dict[str, Any]:
    """One step of `benchmarks.control`: a symbol of each prefix is read, and all next symbols are weighed."""
    without_compiler()
    from sigmastar.control.constraints import avoids, contains
    from sigmastar.control.decoder import ConstrainedDecoder
    from sigmastar.core.alphabet import Alphabet

    rng = np.random.default_rng(0)
    shape = SimpleNamespace(alphabet=Alphabet(range(n_symbols)), initial=np.full(n, 1 / n))
    for name, n_columns in (("transition", n), ("emission", n_symbols)):
        weights = rng.random((n, n_columns)) ** 8
        setattr(shape, name, weights / weights.sum(axis=1, keepdims=True))
    shape.stop = np.full(n, 0.02)
    rule = contains([1, 2, 3], [4, 5, 6, 7]) & avoids([8, 9, 10])
    row: dict[str, Any] = {"what": "control", "states": n, "symbols": n_symbols, "prefixes": n_prefixes}
    strings, codes = (
        rng.integers(0, n_symbols, (n_prefixes, 3)).tolist(),
        rng.integers(0, n_symbols, n_prefixes),
    )
    for precision in ("float64", "float32"):
        begin = time.perf_counter()
        decoder = ConstrainedDecoder(shape, rule, 24, device="cuda", precision=precision)
        row[f"{precision}: seconds to build"] = time.perf_counter() - begin
        read = decoder.read(strings)
        step = timed(lambda d=decoder, r=read: d.log_weights(d.advance(r, codes)), torch)
        row[f"{precision}: milliseconds per step"] = 1e3 * step
        there = timed(lambda d=decoder, r=read: d.log_weights_there(d.advance(r, codes)), torch)
        row[f"{precision}: left on the device"] = 1e3 * there
    return row | {"rule states": decoder.dfa.n_states}


def without_compiler() -> None:
    """Let kernels run as plain Python where Numba is missing: here they prepare constraints alone."""
    if find_spec("numba") is None:
        plain: Any = ModuleType("sigmastar.core.jit")
        for name in ("kernel", "fast_kernel", "part", "lowest_bit"):
            setattr(plain, name, lambda function: function)
        sys.modules["sigmastar.core.jit"] = plain
