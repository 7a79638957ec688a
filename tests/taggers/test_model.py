"""Taggers: products of members, decoding, files."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from forged.forging import forged, with_array
from sigmastar.core.errors import ModelFileError
from sigmastar.core.model_reading import load_model, save_model
from sigmastar.core.resources import limited_threads
from sigmastar.taggers.data.generators import make_tagged
from sigmastar.taggers.data.sentences import TaggedSentences
from sigmastar.taggers.estimator import EMTagger, NgramTagger, SpectralTagger, TaggerEstimator
from sigmastar.taggers.model.lattice import GuidedLattice
from sigmastar.taggers.model.tagger import Tagger, by_marginals, product


@pytest.fixture(scope="module")
def sentences() -> TaggedSentences:
    return make_tagged(np.random.default_rng(2), 400)


@pytest.fixture(scope="module")
def tagger(sentences: TaggedSentences) -> Tagger:
    return SpectralTagger(n_states=4, n_members=2).fit(sentences).model_


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


def test_nbest_are_the_most_probable_of_all_taggings(tagger: Tagger) -> None:
    """By trying all; the probabilities of different taggings differ, however improbable they are."""
    words = ["kalue", "suti", "mino"]
    taggings = [list(tags) for tags in itertools.product(tagger.tags, repeat=3)]
    logs = tagger.log_probability(TaggedSentences.of([words] * len(taggings), taggings))
    order = np.argsort(-logs)[:8]
    ranked = tagger.predict_nbest(TaggedSentences.of([words]), 8)[0]
    assert [tags for tags, _ in ranked] == [taggings[k] for k in order]
    np.testing.assert_allclose([share for _, share in ranked], np.exp(logs[order]), rtol=1e-6)
    assert len({share for _, share in ranked}) == 8


def test_all_at_once_is_each_alone(tagger: Tagger, sentences: TaggedSentences) -> None:
    some = sentences.select(np.arange(5))
    shares, tags, best = tagger.predict_all(some, 3)
    np.testing.assert_array_equal(shares, tagger.predict_proba(some))
    assert tags == tagger.predict(some)
    assert best == tagger.predict_nbest(some, 3)


def test_nbest_of_a_word_alone_and_of_few_taggings(tagger: Tagger) -> None:
    alone = TaggedSentences.of([["kalue"]])
    ranked = tagger.predict_nbest(alone, 100)[0]
    table = tagger.predict_proba(alone)[0]
    assert len(ranked) == (table > 0).sum()
    np.testing.assert_allclose([share for _, share in ranked], np.sort(table[table > 0])[::-1], rtol=1e-6)


def test_largest_marginals(tagger: Tagger, sentences: TaggedSentences) -> None:
    found = tagger.marginals(sentences)
    np.testing.assert_array_equal(by_marginals(found), found.dense(len(tagger.tags)).argmax(axis=1))


def test_threads_do_not_change_anything(tagger: Tagger, sentences: TaggedSentences) -> None:
    tables = []
    for n_threads in (1, 3):
        with limited_threads(n_threads):
            tables.append(tagger.predict_proba(sentences))
    np.testing.assert_array_equal(*tables)


def test_no_sentences_and_empty_ones(tagger: Tagger) -> None:
    assert tagger.predict(TaggedSentences.of([])) == []
    assert tagger.predict(TaggedSentences.of([[], ["kalue"], []])) == tagger.predict(
        TaggedSentences.of([["kalue"]])
    )
    assert tagger.log_probability(TaggedSentences.of([[]], [[]])).tolist() == [0.0]


def test_unknown_tags_have_no_probability(tagger: Tagger) -> None:
    assert np.isneginf(tagger.log_probability(TaggedSentences.of([["kalue"]], [["NONSENSE"]]))[0])


LEARNERS: dict[str, TaggerEstimator] = {
    "refined": SpectralTagger(n_states=3, max_iter=2, n_members=1),
    "spectral": SpectralTagger("spectral", n_states=3),
    "chain": SpectralTagger("chain", max_iter=2),
    "hankel-margin": SpectralTagger("hankel-margin", n_states=3, max_iter=3),
    "em": EMTagger(n_states=3, max_iter=2),
    "bigram": NgramTagger(2),
    "trigram": NgramTagger(3),
}


@pytest.mark.parametrize("method", LEARNERS)
def test_files(method: str, sentences: TaggedSentences, tmp_path: Path) -> None:
    learned = LEARNERS[method].fit(sentences).model_
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
    save_model(replace(tagger, weights=(1.0,)), tmp_path / "m")
    with pytest.raises(ModelFileError, match="do not fit"):
        load_model(tmp_path / "m")


def test_an_exact_tagger_is_exact_after_a_file(tagger: Tagger, tmp_path: Path) -> None:
    members = (replace(tagger.members[0], least=0.0), *tagger.members[1:])
    save_model(replace(tagger, members=members, least=0.0), tmp_path / "m")
    again = load_model(tmp_path / "m")
    assert again.least == 0.0
    assert again.members[0].least == 0.0
    assert again.members[1].least == tagger.members[1].least


def _all(value: int) -> Callable[[np.ndarray], np.ndarray]:
    return lambda array: np.full_like(array, value)


def _last(value: int) -> Callable[[np.ndarray], np.ndarray]:
    return lambda array: np.append(array[:-1], np.array([value], array.dtype))


CHANGES = {
    "far": _all(10**6),
    "below": _all(-1),
    "last far": _last(10**6),
    "last below": _last(-1),
    "short": lambda array: array[: len(array) // 2],
    "empty": lambda array: array[:0],
}
INDICES = {
    "refined": (
        "lexicon.indices",
        "lexicon.indptr",
        "lexicon.class_of",
        "0.states",
        "1.looks",
        "1.look_starts",
    ),
    "chain": ("0.looks", "0.look_starts", "0.key_counts"),
    "hankel-margin": ("0.prefix_counts", "0.suffix_counts"),
}
PLACES = [(method, name) for method, names in INDICES.items() for name in names]


@pytest.fixture(scope="module")
def stored(sentences: TaggedSentences, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("stored")
    for method in (*INDICES, "spectral"):
        save_model(LEARNERS[method].fit(sentences).model_, folder / method)
    return {method: folder / method for method in (*INDICES, "spectral")}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize(
    ("method", "name"), [(method, name) for method in INDICES for name in INDICES[method]]
)
def test_forged_indices_are_refused(
    stored: dict[str, Path], method: str, name: str, change: str, tmp_path: Path
) -> None:
    with pytest.raises(ModelFileError, match="does not hold a model of its family"):
        load_model(forged(stored[method], tmp_path / "m", with_array(name, CHANGES[change])))


@pytest.mark.parametrize("change", ["short", "empty"])
@pytest.mark.parametrize(
    ("method", "name"),
    [
        ("refined", "lexicon.data"),
        ("refined", "lexicon.weights"),
        ("refined", "lexicon.guessed"),
        ("refined", "0.initial"),
        ("refined", "0.transitions"),
        ("refined", "0.final"),
        ("refined", "0.word_ratios"),
        ("refined", "0.class_keys"),
        ("chain", "0.weights"),
        ("chain", "0.arrows"),
        ("chain", "0.left"),
        ("chain", "0.classes"),
        ("chain", "0.keys"),
        ("hankel-margin", "0.left"),
        ("hankel-margin", "0.right"),
        ("hankel-margin", "0.prefix_keys"),
        ("spectral", "0.operators"),
        ("spectral", "0.pairs"),
        ("spectral", "0.shares"),
        ("spectral", "0.final"),
    ],
)
def test_arrays_must_fit_each_other(
    stored: dict[str, Path], method: str, name: str, change: str, tmp_path: Path
) -> None:
    with pytest.raises(ModelFileError, match="does not hold a model of its family"):
        load_model(forged(stored[method], tmp_path / "m", with_array(name, CHANGES[change])))


def test_names_must_be_strings(tagger: Tagger) -> None:
    arrays, header = tagger.to_parts()
    for name in ("tags", "words", "features", "classes"):
        wrong = {**header["lexicon"], name: [3, *header["lexicon"][name][1:]]}
        with pytest.raises(ValueError, match="must be a list of strings"):
            Tagger.from_parts(arrays, {**header, "lexicon": wrong})


def test_files_with_the_former_name_of_the_chain_are_read(sentences: TaggedSentences) -> None:
    learned = LEARNERS["chain"].fit(sentences).model_
    arrays, header = learned.to_parts()
    former = {**header, "members": [{**header["members"][0], "kind": "max-margin"}]}
    assert Tagger.from_parts(arrays, former).predict(sentences) == learned.predict(sentences)
