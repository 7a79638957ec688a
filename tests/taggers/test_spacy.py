"""Taggers and parsers as components of spaCy pipelines, where spaCy is installed."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import pytest

from sigmastar import DeterministicDependencyGrammar, NgramTagger, Pipeline, load

ROOT = Path(__file__).parents[2]
TREES = [
    ([("the", "DET", "_"), ("dog", "NOUN", "_"), ("runs", "VERB", "_"), (".", "PUNCT", "_")], [2, 3, 0, 3]),
    ([("cats", "NOUN", "_"), ("see", "VERB", "_"), ("dogs", "NOUN", "_"), (".", "PUNCT", "_")], [2, 0, 2, 2]),
]


def test_entry_points_name_the_factories() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for name, place in project["entry-points"]["spacy_factories"].items():
        module, function = place.split(":")
        tree = ast.parse((ROOT / "src" / Path(*module.split("."))).with_suffix(".py").read_text())
        (found,) = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == function)
        assert name in ast.unparse(found.decorator_list[0])


def test_a_blank_pipeline(tmp_path: Path) -> None:
    spacy = pytest.importorskip("spacy", reason="spaCy is not installed: pip install 'sigmastar[spacy]'")
    pytest.importorskip("sigmastar.taggers.estimator.spacy_components")
    NgramTagger().fit([[(word, tag) for word, tag, _ in words] for words, _ in TREES] * 5).save(
        tmp_path / "t"
    )
    DeterministicDependencyGrammar().fit(*zip(*TREES * 5, strict=True)).save(tmp_path / "d")
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("sigmastar_tagger", config={"model": str(tmp_path / "t")})
    nlp.add_pipe("sigmastar_parser", config={"model": str(tmp_path / "d")})
    docs = list(nlp.pipe(["the dog runs. cats see dogs.", "", "the dog runs."]))
    assert [[token.pos_ for token in doc] for doc in docs[1:]] == [[], ["DET", "NOUN", "VERB", "PUNCT"]]
    words = [[(token.text, token.pos_, "_") for token in sent] for doc in docs[:1] for sent in doc.sents]
    heads = load(tmp_path / "d").predict(words)
    found = [[0 if t.head.i == t.i else t.head.i - s.start + 1 for t in s] for s in docs[0].sents]
    assert found == [list(map(int, row)) for row in heads]
    assert [token.dep_ for token in docs[0] if token.head == token] == ["ROOT", "ROOT"]


def test_a_file_of_a_pipeline_serves_for_both_and_tags_are_asked_for(tmp_path: Path) -> None:
    spacy = pytest.importorskip("spacy", reason="spaCy is not installed: pip install 'sigmastar[spacy]'")
    pytest.importorskip("sigmastar.taggers.estimator.spacy_components")
    Pipeline().fit(*zip(*TREES * 5, strict=True)).save(path := tmp_path / "pipeline")
    nlp = spacy.blank("en")
    nlp.add_pipe("sigmastar_parser", config={"model": str(path)})
    with pytest.raises(ValueError, match="add sigmastar_tagger before it"):
        nlp("the dog runs.")
    nlp.add_pipe("sigmastar_tagger", config={"model": str(path)}, first=True)
    found = nlp("the dog runs.")
    assert [token.pos_ for token in found] == ["DET", "NOUN", "VERB", "PUNCT"]
    assert [token.head.text for token in found] == ["dog", "runs", "runs", "runs"]
