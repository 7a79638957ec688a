"""Families that count on engines: pieces merged in the one tree, the same model wherever they are counted."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from cli.calls import fail, succeed
from sigmastar import (
    EMGrammar,
    EMTagger,
    EMTreebankGrammar,
    ERMGrammar,
    SpectralDependencyGrammar,
    SpectralGrammar,
    SpectralTagger,
    SpectralTreebankGrammar,
    WordVectors,
    open_corpus,
)
from sigmastar.bilexical.data import text as texts
from sigmastar.core import engines, integer_counts, toy_english
from sigmastar.core.model_reading import load_model, model_bytes
from sigmastar.grammars.counts import bracketings
from sigmastar.taggers.learn import refinement
from sigmastar.treebanks.model import whole_trees
from sigmastar.trees import Tree


def binary(node: toy_english.Node) -> Tree:
    """The words, cut where phrases are."""
    return Tree("X", (node.word,)) if node.word else Tree("X", tuple(map(binary, node.children)))


NODES = toy_english.sentences(80)
TREES = [node.bracketed() for node in NODES]
WORDS, TAGS = [node.words for node in NODES], [node.tags for node in NODES]
CASES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "vectors": (WordVectors(n_dimensions=3), (WORDS,)),
    "tagger": (SpectralTagger(method="spectral", n_states=3), (WORDS, TAGS)),
    "conditional tagger": (SpectralTagger(method="spectral", n_states=3, conditional=True), (WORDS, TAGS)),
    "refined tagger": (SpectralTagger(n_states=3, max_iter=2, features=False), (WORDS, TAGS)),
    "EM tagger": (EMTagger(n_states=3, max_iter=2), (WORDS, TAGS)),
    "dependency": (
        SpectralDependencyGrammar(n_states=2, method="spectral", arcs="none"),
        (TAGS, [node.heads() for node in NODES]),
    ),
    "treebank": (EMTreebankGrammar(2, max_iter=2), (" ".join(TREES),)),
    "clusters": (SpectralTreebankGrammar(method="spectral+em", n_states=2, max_iter=1), (" ".join(TREES),)),
    "moments": (SpectralTreebankGrammar(method="spectral", n_states=2), (" ".join(TREES),)),
    "grammar": (SpectralGrammar(n_states=4), ([binary(node) for node in NODES[:30]],)),
}


class Elsewhere(engines.Here):
    """Whatever goes to a worker or comes back is pickled; the numbers of pieces are noted."""

    sizes: list[int]

    def run(self, task: Any, items: Sequence[Any], merge: Any, progress: Any = None) -> Any:
        self.sizes.append(len(items))
        branch = _sent(engines.Branch(task, merge))
        parts = [_sent(branch([_sent(item)])) for item in items]
        return super().run(parts.__getitem__, range(len(parts)), branch.merge)


def _sent(thing: Any) -> Any:
    return pickle.loads(pickle.dumps(thing))


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> Elsewhere:
    """Small pieces, and the engine of whoever asks for workers."""
    for module, name, size in (
        (integer_counts, "_PIECE", 100),
        (bracketings, "_PIECE", 60),
        (whole_trees, "_PIECE", 300),
        (refinement, "_PIECE", 100),
        (texts, "_SENTENCES", 25),
    ):
        monkeypatch.setattr(module, name, size)
    found = Elsewhere()
    found.sizes = []
    monkeypatch.setattr(engines, "engine_of", lambda workers, client: found)
    return found


@pytest.mark.parametrize("name", CASES)
def test_workers_change_no_bit(name: str, elsewhere: Elsewhere) -> None:
    estimator, data = CASES[name]
    expected = model_bytes(estimator.set_params(workers=None).fit(*data).model_)
    assert not elsewhere.sizes
    found = model_bytes(estimator.set_params(workers=2).fit(*data).model_)
    assert max(elsewhere.sizes) > 2
    assert found == expected


def test_text_is_counted_by_processes(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / str(number)).write_text("\n".join(" ".join(words) for words in WORDS[number::3]))
    files = [tmp_path / str(number) for number in range(3)]
    succeed("vectors", *files, "--workers", "2", "-o", tmp_path / "v.sigma", "-q")
    expected = WordVectors().fit(files).model_
    assert model_bytes(load_model(tmp_path / "v.sigma")) == model_bytes(expected)


def test_commands_on_text_take_a_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = tmp_path / "text"
    text.write_text("".join(" ".join(words) + "\n" for words in [["The", "end"], *WORDS]))
    succeed("corpus", "build", text, "-o", tmp_path / "corpus", "-q")
    monkeypatch.setattr(texts, "_GAPS", 60)  # so that there are several parts
    for words in (
        ("vectors", "--on-error", "skip"),
        ("vectors", "--workers", "2", "--keep-case"),
        ("learn", "grammar", "--states", "2", "--iterations", "2", "--on-error", "skip"),
        ("learn", "pcfg", "--states", "2", "--iterations", "2"),
    ):
        found = list[bytes]()
        for data in (text, tmp_path / "corpus"):
            succeed(*words, data, "-o", tmp_path / "model.sigma", "-q")
            found.append(model_bytes(load_model(tmp_path / "model.sigma")))
        assert found[0] == found[1]
    corpus = open_corpus(tmp_path / "corpus")
    assert model_bytes(WordVectors().fit(corpus).model_) == model_bytes(WordVectors().fit([text]).model_)
    assert EMGrammar(2, max_iter=1).fit(corpus).model_.alphabet == corpus.alphabet
    assert ERMGrammar(n_states=2, max_iter=1).fit(corpus).score(corpus) < 0.0


def test_methods_that_do_not_count_refuse_workers(tmp_path: Path) -> None:
    (tmp_path / "trees").write_text("\n".join(TREES))
    words = ["--method", "pcfg", "--workers", "2", "-o", tmp_path / "m"]
    told = fail("learn", "treebank", tmp_path / "trees", *words, status=2)
    assert "--workers is for --method best or spectral or cluster or em or spectral+em, not pcfg" in told
