"""Taggers: products of members, decoding, files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sigmastar.core.errors import ModelFileError
from sigmastar.core.model_files import load_model, save_model
from sigmastar.taggers.data.generators import make_tagged
from sigmastar.taggers.data.sentences import TaggedSentences
from sigmastar.taggers.learn.methods import METHODS, TaggerSettings, learn_tagger, reweighted
from sigmastar.taggers.model.lattice import GuidedLattice
from sigmastar.taggers.model.tagger import Tagger, by_marginals, by_sequence, product


@pytest.fixture(scope="module")
def sentences() -> TaggedSentences:
    return make_tagged(np.random.default_rng(2), 400)


@pytest.fixture(scope="module")
def tagger(sentences: TaggedSentences) -> Tagger:
    return learn_tagger(sentences, "refined", TaggerSettings(n_states=4, n_members=2))


def test_marginals_are_distributions(tagger: Tagger, sentences: TaggedSentences) -> None:
    table = tagger.predict_proba(sentences)
    np.testing.assert_allclose(table.sum(axis=1), 1.0, atol=1e-9)
    assert table.min() >= 0


def test_one_member_alone_is_its_own_product(tagger: Tagger, sentences: TaggedSentences) -> None:
    lattice = tagger.lexicon.lattice(sentences)
    own = replace(tagger.members[0], least=0.0).marginals(tagger.lexicon, sentences, lattice)
    multiplied = product([own], [1.0])
    np.testing.assert_allclose(multiplied.unigrams, own.unigrams, atol=1e-8)
    np.testing.assert_allclose(multiplied.bigrams, own.bigrams, atol=1e-8)


def test_a_guide_that_leaves_all_changes_nothing(tagger: Tagger, sentences: TaggedSentences) -> None:
    exact, hardly = replace(tagger, least=0.0), replace(tagger, least=1e-150)
    np.testing.assert_allclose(hardly.predict_proba(sentences), exact.predict_proba(sentences), atol=1e-12)


def test_a_guide_leaves_out_what_hardly_counts(tagger: Tagger, sentences: TaggedSentences) -> None:
    tagger = replace(tagger, weights=(0.05, 0.05, 1.0))  # mostly the features
    exact = replace(tagger, least=0.0)
    np.testing.assert_allclose(tagger.predict_proba(sentences), exact.predict_proba(sentences), atol=0.05)
    guide = tagger.members[-1].marginals(tagger.lexicon, sentences, tagger.lexicon.lattice(sentences))
    narrow = GuidedLattice.of(guide, tagger.least ** (1 / tagger.weights[-1])).narrow
    assert 1.0 <= narrow.n_candidates.mean() < guide.lattice.n_candidates.mean()


def test_two_halves_of_a_member_are_the_member(tagger: Tagger, sentences: TaggedSentences) -> None:
    lattice = tagger.lexicon.lattice(sentences)
    own = replace(tagger.members[0], least=0.0).marginals(tagger.lexicon, sentences, lattice)
    np.testing.assert_allclose(product([own, own], [0.5, 0.5]).unigrams, own.unigrams, atol=1e-8)


def test_probabilities_of_all_taggings_sum_to_one(tagger: Tagger) -> None:
    words = ["kalue", "suti", "mino"]
    tags = tagger.tags
    taggings = [[a, b, c] for a in tags for b in tags for c in tags]
    logs = tagger.log_probability(TaggedSentences.of([words] * len(taggings), taggings))
    assert np.exp(logs).sum() == pytest.approx(1.0, abs=1e-9)


def test_nbest_begins_with_the_best(tagger: Tagger, sentences: TaggedSentences) -> None:
    few = sentences.select(np.arange(20))
    ranked = tagger.predict_nbest(few, 3)
    best = few.cut(list(np.array(tagger.tags)[by_sequence(tagger.marginals(few))[0][0]]))
    for rows, first in zip(ranked, best, strict=True):
        assert rows[0][0] == first
        values = [value for _, value in rows]
        assert values == sorted(values, reverse=True)
        assert len({tuple(names) for names, _ in rows}) == len(rows)


def test_largest_marginals(tagger: Tagger, sentences: TaggedSentences) -> None:
    found = tagger.marginals(sentences)
    np.testing.assert_array_equal(by_marginals(found), found.dense(len(tagger.tags)).argmax(axis=1))


def test_threads_do_not_change_anything(tagger: Tagger, sentences: TaggedSentences) -> None:
    np.testing.assert_array_equal(tagger.predict_proba(sentences, 1), tagger.predict_proba(sentences, 3))


def test_no_sentences_and_empty_ones(tagger: Tagger) -> None:
    assert tagger.predict(TaggedSentences.of([])) == []
    assert tagger.predict(TaggedSentences.of([[], ["kalue"], []])) == tagger.predict(
        TaggedSentences.of([["kalue"]])
    )
    assert tagger.log_probability(TaggedSentences.of([[]], [[]])).tolist() == [0.0]


def test_unknown_tags_have_no_probability(tagger: Tagger) -> None:
    assert np.isneginf(tagger.log_probability(TaggedSentences.of([["kalue"]], [["NONSENSE"]]))[0])


@pytest.mark.parametrize("method", METHODS)
def test_files(method: str, sentences: TaggedSentences, tmp_path: Path) -> None:
    learned = learn_tagger(sentences, method, TaggerSettings(n_states=3, n_iterations=2))
    save_model(learned, tmp_path / "m")
    again = load_model(tmp_path / "m", "tagger")
    np.testing.assert_allclose(
        again.predict_proba(sentences), learned.predict_proba(sentences), atol=1e-4
    )  # most arrays are kept in single precision
    save_model(again, tmp_path / "n")
    assert (tmp_path / "n").read_bytes() == (tmp_path / "m").read_bytes()
    with pytest.raises(ModelFileError, match="not 'pcfg'"):
        load_model(tmp_path / "m", "pcfg")


def test_members_and_weights_must_fit(tagger: Tagger, tmp_path: Path) -> None:
    save_model(reweighted(tagger, (1.0,)), tmp_path / "m")
    with pytest.raises(ModelFileError, match="do not fit"):
        load_model(tmp_path / "m")
