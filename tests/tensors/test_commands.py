"""Models on a device predict and score as compiled kernels do, where those prune nothing; by commands too."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli.calls import fail, figures, succeed

torch = pytest.importorskip("torch", reason="PyTorch is not installed: make test-torch installs it")
pytest.importorskip("numba", reason="the compiled kernels need numba")

from sigmastar import SpectralTreebankGrammar  # noqa: E402
from sigmastar.treebanks.model.coarse_to_fine import NO_PRUNING  # noqa: E402


def trees(n: int = 400) -> str:
    """Trees of a small grammar, drawn."""
    rng = np.random.default_rng(0)
    nouns, verbs = ["dog", "cat", "hat", "park", "dogs"], ["saw", "ran", "liked", "sat"]

    def phrase(depth: int) -> str:
        noun = f"(N {nouns[rng.integers(5)]})"
        plain = f"(NP (D {'the' if rng.random() < 0.5 else 'a'}) {noun})"
        if depth and rng.random() < 0.4:
            return f"(NP {plain} (PP (P {'in' if rng.random() < 0.6 else 'with'}) {phrase(depth - 1)}))"
        return plain if rng.random() < 0.8 else f"(NP {noun})"

    def sentence() -> str:
        verb = f"(V {verbs[rng.integers(4)]})"
        inner = f"(VP {verb} {phrase(2)})" if rng.random() < 0.7 else f"(VP {verb})"
        if rng.random() < 0.3:
            inner = f"(VP {inner} (PP (P with) {phrase(1)}))"
        return f"(S {phrase(1)} {inner})" if rng.random() < 0.9 else f"(X {phrase(2)})"

    return "\n".join(sentence() for _ in range(n)) + "\n"


SENTENCES = [
    (tuple(text.split()), None)
    for text in (
        "the dog saw a cat in the park with a hat",
        "dogs ran",
        "a zebra liked the cat with dogs in the hat",
        "the",
        "cat in a park with the dog in a hat with the cat",
    )
]


@cache
def grammar(method: str) -> Any:
    shape = {"method": method, "n_states": 5, **({"max_iter": 2} if "em" in method else {})}
    return SpectralTreebankGrammar(**shape).fit(trees()).model_


@pytest.mark.parametrize("decoding", ["labels", "rules"])
@pytest.mark.parametrize("method", ["spectral+em", "spectral", "best"])
def test_trees_and_marginals_are_those_of_compiled_charts(method: str, decoding: str) -> None:
    parser = replace(grammar(method), pruning=NO_PRUNING, decoding=decoding)
    there = parser.on("auto", "float64")
    leaves = [parser.forest.leaves(*sentence) for sentence in SENTENCES]
    limit = 1e-9 if parser.members[0].grammar.counts is not None else 1e-5  # those are of single precision
    for one, found in zip(leaves, there.marginals(leaves), strict=True):
        assert len(found) == len(parser.members)
        for member, ours in zip(parser.members, found, strict=True):
            theirs = member.marginals(one, NO_PRUNING)
            assert ours.log_total == pytest.approx(theirs.log_total, abs=limit)
            assert _table(ours) == pytest.approx(_table(theirs), abs=limit)
    ours, theirs = there.parse(SENTENCES), parser.parse(SENTENCES)
    for mine, compiled in zip(ours, theirs, strict=True):
        assert (str(mine.tree), mine.how) == (str(compiled.tree), compiled.how)
        assert mine.log_probability == pytest.approx(compiled.log_probability, abs=limit)
    logs = [parser.log_probability(*sentence) for sentence in SENTENCES]
    assert there.log_probability(SENTENCES) == pytest.approx(logs, abs=1e-5)  # of hardly anything pruned


def _table(found: Any) -> dict[tuple[int, int], float]:
    cells = np.repeat(np.arange(len(found.graph.starts) - 1), np.diff(found.graph.starts))
    pairs = zip(cells.tolist(), found.graph.items.tolist(), strict=True)
    kept = zip(pairs, found.posteriors.tolist(), strict=True)
    return {pair: value for pair, value in kept if abs(value) > 1e-7}


def test_treebank_commands_work_on_a_device(tmp_path: Path) -> None:
    data, model, text = tmp_path / "trees.mrg", tmp_path / "model.sigma", tmp_path / "text.txt"
    data.write_text(trees(60))
    text.write_text("\n".join(" ".join(words) for words, _ in SENTENCES) + "\n")
    succeed("learn", "treebank", data, "--method", "pcfg", "-q", "-o", model)
    ours, theirs = (succeed("predict", model, text, "-q", "--device", name) for name in ("auto", "cpu"))
    assert ours == theirs
    logs = [succeed("score", model, text, "-q", "--device", name).split() for name in ("auto", "cpu")]
    assert [*map(float, logs[0])] == pytest.approx([*map(float, logs[1])], abs=1e-6)
    f1 = [figures("evaluate", model, data, "-q", "--device", name)["f1"] for name in ("auto", "cpu")]
    assert f1[0] == f1[1]
    assert "trees, which the processor scores" in fail("score", model, data, "--device", "auto")
    if not torch.cuda.is_available():
        assert "there is no GPU" in fail("predict", model, text, "--device", "cuda")
