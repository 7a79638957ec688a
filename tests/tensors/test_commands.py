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

from sigmastar import (  # noqa: E402
    DeterministicDependencyGrammar,
    EMAutomaton,
    SpectralDependencyGrammar,
    SpectralTreebankGrammar,
    Strings,
)
from sigmastar.dependency.data.treebank import as_treebank  # noqa: E402
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
    assert there.log_probabilities(SENTENCES) == pytest.approx(logs, abs=1e-5)  # of hardly anything pruned


def _table(found: Any) -> dict[tuple[int, int], float]:
    cells = np.repeat(np.arange(len(found.graph.starts) - 1), np.diff(found.graph.starts))
    pairs = zip(cells.tolist(), found.graph.items.tolist(), strict=True)
    kept = zip(pairs, found.posteriors.tolist(), strict=True)
    return {pair: value for pair, value in kept if abs(value) > 1e-7}


def test_treebank_commands_work_on_a_device(tmp_path: Path) -> None:
    data, model, text = tmp_path / "trees.mrg", tmp_path / "model.sigma", tmp_path / "text.txt"
    data.write_text(trees(60))
    text.write_text("\n".join(" ".join(words) for words, _ in SENTENCES) + "\n")
    # With states: rules alone give a phrase that may belong to two places the same probability at both.
    succeed("learn", "treebank", data, "--method", "cluster", "--states", 4, "-q", "-o", model)
    ours, theirs = (succeed("predict", model, text, "-q", "--device", name) for name in ("auto", "cpu"))
    assert ours == theirs
    logs = [succeed("score", model, text, "-q", "--device", name).split() for name in ("auto", "cpu")]
    assert [*map(float, logs[0])] == pytest.approx([*map(float, logs[1])], abs=1e-6)
    f1 = [figures("evaluate", model, data, "-q", "--device", name)["f1"] for name in ("auto", "cpu")]
    assert f1[0] == f1[1]
    assert "trees, which the processor scores" in fail("score", model, data, "--device", "auto")
    if not torch.cuda.is_available():
        assert "there is no GPU" in fail("predict", model, text, "--device", "cuda")


LIMIT = 1e-6 if torch.cuda.is_available() else 1e-9  # head automata work in float32 on a GPU
TAGS = [["D", "N", "V"], ["N", "V", "D", "N"], ["D", "N", "V", "N", "P", "D", "N"], ["N", "V"]] * 6
HEADS = [[2, 3, 0], [2, 0, 4, 2], [2, 3, 0, 3, 4, 7, 5], [2, 0]] * 6
FRESH = [["N"], ["D", "N", "V", "D", "N", "P", "D", "N"], ["V", "V", "P"], ["D", "N", "P", "N", "V", "N"]]


@pytest.mark.parametrize("distances", [False, True])
@pytest.mark.parametrize("method", ["spectral+em", "spectral"])
def test_arcs_and_heads_are_those_of_compiled_kernels(method: str, distances: bool) -> None:
    shape = {"n_states": 3, "arcs": "none", "distances": distances}
    here = SpectralDependencyGrammar(method, **shape).fit(TAGS, HEADS)  # type: ignore[arg-type]
    here.model_ = here.model_.with_parts(prior=replace(here.model_.prior, pruning=0.0))
    there = SpectralDependencyGrammar(method, **shape, device="auto")  # type: ignore[arg-type]
    there.model_ = here.model_
    assert there.predict(FRESH) == here.predict(FRESH)
    for ours, theirs in zip(there.marginals(FRESH), here.marginals(FRESH), strict=True):
        assert np.abs(ours - theirs).max() < LIMIT
    assert there.score_samples(FRESH) == pytest.approx(here.score_samples(FRESH), abs=10 * LIMIT)
    wide = here.model_.on("auto", "float64").parse(as_treebank(FRESH), marginals=True).marginals
    assert wide is not None
    for ours, theirs in zip(wide, here.marginals(FRESH), strict=True):
        assert np.abs(ours[:, 1:] - theirs).max() < 1e-9


def test_long_sentences_and_arcs_without_weight_are_told_by_the_compiled_kernel() -> None:
    here = DeterministicDependencyGrammar().fit(TAGS, HEADS).model_
    here = here.with_parts(prior=replace(here.prior, pruning=0.0))
    bank = as_treebank([["P"], ["D", "N", "V", "N"] + ["P", "D", "N"] * 90])
    ours, theirs = here.on("auto").parse(bank), here.parse(bank)
    assert ours.heads.tolist() == theirs.heads.tolist()
    assert ours.log_weights == pytest.approx(theirs.log_weights, rel=LIMIT)
    wide = here.on("auto", "float64").parse(bank)
    assert wide.log_weights == pytest.approx(theirs.log_weights, rel=1e-9)
    with pytest.raises(ValueError, match="trained arcs decide"):
        SpectralDependencyGrammar(n_states=2, device="auto").fit(TAGS, HEADS).predict(FRESH)


def test_dependency_commands_work_on_a_device(tmp_path: Path) -> None:
    rows = [
        "".join(
            f"{k}\tw\t_\t{tag}\t{tag}\t_\t{head}\tx\t_\t_\n"
            for k, (tag, head) in enumerate(zip(*pair, strict=True), 1)
        )
        for pair in zip(TAGS, HEADS, strict=True)
    ]
    data, model = tmp_path / "trees.conllu", tmp_path / "model.sigma"
    data.write_text("\n".join(rows) + "\n")
    succeed("learn", "dependency", data, "--method", "det+f", "-q", "-o", model)
    ours, theirs = (succeed("predict", model, data, "-q", "--device", name) for name in ("auto", "cpu"))
    assert ours == theirs
    assert figures("evaluate", model, data, "-q", "--device", "auto")["uas"] == 1.0
    assert "the processor scores trees" in fail("score", model, data, "--device", "auto")


def test_automata_score_and_predict_on_a_device(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    strings = ["".join(rng.choice(list("abc"), rng.integers(0, 9))) for _ in range(60)]
    here = EMAutomaton(3, max_iter=4).fit(strings)
    there = EMAutomaton(3, max_iter=4, device="auto")
    there.model_, there.alphabet_ = here.model_, here.alphabet_
    assert there.score_samples(strings) == pytest.approx(here.score_samples(strings), abs=1e-9)
    model = here.model_.on("auto")
    prefixes = Strings.of([[], ["a", "b"], ["z"], ["c", "a", "z"]])
    assert (
        np.abs(
            model.next_distribution(prefixes)
            - here.model_.gap_distributions(prefixes)[prefixes.offsets[1:] + np.arange(4)]
        ).max()
        < 1e-9
    )
    assert model.log_probability(prefixes)[2] == -np.inf
    data, file = tmp_path / "strings.txt", tmp_path / "model.sigma"
    data.write_text("\n".join(" ".join(string) for string in strings if string) + "\n")
    succeed("learn", "automaton", data, "--method", "em", "--states", "2", "-q", "-o", file)
    for command in ("score", "predict"):
        ours, theirs = (succeed(command, file, data, "-q", "--device", name) for name in ("auto", "cpu"))
        assert len(ours.split()) == len(theirs.split())
        for mine, compiled in zip(ours.split(), theirs.split(), strict=True):
            assert mine == compiled or float(mine) == pytest.approx(float(compiled), rel=1e-5)
    succeed("learn", "automaton", data, "--method", "ngram", "-q", "-o", file)
    assert "works on the processor alone" in fail("score", file, data, "--device", "auto")


@pytest.mark.parametrize("stream", [False, True])
def test_states_of_words_score_and_predict_on_a_device(stream: bool) -> None:
    from sigmastar.words.model.emissions import Table
    from sigmastar.words.model.hmm import WordHmm

    rng, names = np.random.default_rng(0), ["the", "dog", "ran"]
    initial, moves = rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(4), 4)
    from sigmastar.core.alphabet import Alphabet

    model = WordHmm(Alphabet(names), initial, moves, Table(rng.dirichlet(np.ones(4), 4).T.copy()), stream)
    strings = Strings.of([["the", "dog"], [], ["ran"], ["the", "dog", "ran", "the"]])
    there = model.on("auto", "float64")
    assert there.log_probability(strings) == pytest.approx(model.log_probability(strings), abs=1e-9)
    assert np.abs(there.next_distribution(strings) - model.next_distribution(strings)).max() < 1e-9
    odd = Strings.of([["the"], ["a", "dog"]])
    assert there.log_probability(odd) == pytest.approx(model.log_probability(odd), abs=1e-9)
