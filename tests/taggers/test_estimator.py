"""The contract of taggers in the manner of scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest

from sigmastar import EMTagger, NgramTagger, SpectralTagger, TaggedSentences
from sigmastar.core.errors import InputError, NotFittedError
from sigmastar.taggers.data.generators import make_tagged

WHOLE = make_tagged(np.random.default_rng(4), 260)
X, Y = WHOLE.cut(WHOLE.words), WHOLE.cut(WHOLE.tags or [])
MAKERS = {
    "refined": lambda **more: SpectralTagger(n_states=3, n_members=1, **more),
    "spectral": lambda **more: SpectralTagger("spectral", n_states=12, **more),
    "chain": lambda **more: SpectralTagger("chain", max_iter=2, **more),
    "hankel-margin": lambda **more: SpectralTagger("hankel-margin", n_states=4, max_iter=20, **more),
    "trigram": lambda **more: NgramTagger(3, **more),
    "em": lambda **more: EMTagger(n_states=3, max_iter=4, **more),
}


@pytest.mark.parametrize("name", MAKERS)
def test_contract(name: str) -> None:
    tagger = MAKERS[name]()
    with pytest.raises(NotFittedError):
        tagger.predict(X)
    assert tagger.fit(X[:200], Y[:200]) is tagger
    found = tagger.predict(X[200:])
    assert [len(row) for row in found] == [len(row) for row in X[200:]]
    right = np.mean([a == b for f, y in zip(found, Y[200:], strict=True) for a, b in zip(f, y, strict=True)])
    assert tagger.score(X[200:], Y[200:]) == pytest.approx(right)
    tables = tagger.predict_proba(X[200:])
    assert all(t.shape == (len(x), len(tagger.classes_)) for t, x in zip(tables, X[200:], strict=True))
    np.testing.assert_allclose(np.vstack(tables).sum(axis=1), 1.0, atol=1e-6)
    assert (tagger.score_samples(X[200:], Y[200:]) <= 1e-6).all()
    best = tagger.predict_nbest(X[200:202], 2)
    assert len(best) == 2
    assert 1 <= len(best[0]) <= 2


def test_parameters_and_clone() -> None:
    sklearn = pytest.importorskip("sklearn.base")
    tagger = SpectralTagger(n_states=3, features=False)
    assert repr(tagger) == "SpectralTagger(n_states=3, features=False)"
    assert sklearn.clone(tagger).get_params() == tagger.get_params()


def test_same_seed_same_tags() -> None:
    a, b = (MAKERS["refined"](random_state=7).fit(X, Y).predict_proba(X[:3]) for _ in range(2))
    for first, second in zip(a, b, strict=True):
        np.testing.assert_array_equal(first, second)


def test_pairs_of_word_and_tag_need_no_y() -> None:
    pairs = [list(zip(*row, strict=True)) for row in zip(X, Y, strict=True)]
    tagger, other = MAKERS["em"]().fit(pairs), MAKERS["em"]().fit(X, Y)
    np.testing.assert_array_equal(tagger.score_samples(pairs), other.score_samples(X, Y))
    assert tagger.score(pairs) == other.score(X, Y)
    triples = [[(word, "seen", tag) for word, tag in row] for row in pairs]
    seen = [[(word, "seen") for word, _ in row] for row in pairs]
    assert MAKERS["em"]().fit(triples).predict(seen[:5]) == MAKERS["em"]().fit(seen, Y).predict(seen[:5])


def test_scikit_learn_sees_several_outputs_of_several_classes() -> None:
    tags = pytest.importorskip("sklearn.utils").get_tags(SpectralTagger())
    assert tags.target_tags.multi_output
    assert tags.classifier_tags.multi_class


def test_tagged_sentences_are_taken_as_they_are() -> None:
    tagger = MAKERS["em"]().fit(WHOLE)
    assert tagger.score(WHOLE) == tagger.score(X, Y)
    assert tagger.predict(TaggedSentences.of([])) == []


@pytest.mark.parametrize(
    ("tagger", "problem"),
    [
        (SpectralTagger("magic"), "method='magic'"),
        (SpectralTagger(n_states=0), "n_states=0"),
        (SpectralTagger("bigram"), "NgramTagger"),
        (NgramTagger(4), "order=4 must be 2"),
        (EMTagger(max_iter=-1), "max_iter=-1"),
        (SpectralTagger(decoding="x"), "decoding='x'"),
    ],
)
def test_bad_parameters(tagger: SpectralTagger | EMTagger | NgramTagger, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        tagger.fit(X, Y)


def test_bad_input() -> None:
    tagger = SpectralTagger("chain", max_iter=1).fit(X[:50], Y[:50])
    with pytest.raises(InputError, match="2 sentences, but tags of 1"):
        tagger.fit(X[:2], Y[:1])
    with pytest.raises(InputError, match="no tags"):
        tagger.fit(X[:2])
    with pytest.raises(InputError, match="true tags"):
        tagger.score(X)
    with pytest.raises(InputError, match="needs the tags"):
        tagger.score_samples(X)


@pytest.mark.parametrize("name", MAKERS)
def test_words_may_come_with_what_is_observed(name: str) -> None:
    given = [[(word, tag[0]) for word, tag in zip(*row, strict=True)] for row in zip(X, Y, strict=True)]
    tagger = MAKERS[name]().fit(given[:200], Y[:200])
    assert tagger.score(given[200:], Y[200:]) > 0.9  # three of five tags are told by their first letter
    with pytest.raises(InputError, match="1 observed columns beside the words; these sentences have 0"):
        tagger.predict(X[200:])


@pytest.mark.parametrize(
    ("method", "where"),
    [
        ("bigram", r"NgramTagger\(2\)"),
        ("em", r"EMTagger\(\)"),
        ("max-margin", "called 'chain' now"),
        ("x", "EMTagger and"),
    ],
)
def test_methods_that_are_elsewhere_are_named(method: str, where: str) -> None:
    with pytest.raises(ValueError, match=f"method='{method}' must be one of .*{where}"):
        SpectralTagger(method).fit(X[:20], Y[:20])


def test_a_warm_start_goes_on_where_the_last_fit_ended() -> None:
    """Twice three rounds are six; more sentences begin from the states of fewer; other tags are refused."""
    warm = EMTagger(n_states=3, max_iter=3, n_members=2, warm_start=True).fit(X[:200], Y[:200])
    short = warm.predict_proba(X[200:])
    twice, whole = warm.fit(X[:200], Y[:200]), EMTagger(n_states=3, max_iter=6, n_members=2)
    whole.fit(X[:200], Y[:200])
    for a, b, c in zip(twice.predict_proba(X), whole.predict_proba(X), short, strict=False):
        np.testing.assert_array_equal(a, b)
        assert a.shape != c.shape or (a != c).any()
    words, tags = [*X, ["zyx", *X[0][1:]]], [*Y, Y[0]]
    known = EMTagger(n_states=3, max_iter=30).fit(X, Y).set_params(warm_start=True, max_iter=1)
    once = known.fit(words, tags).score_samples(words, tags).sum()
    assert once > EMTagger(n_states=3, max_iter=1).fit(words, tags).score_samples(words, tags).sum()
    with pytest.raises(InputError, match="needs the tags of the last fit: new differ; fit without it"):
        known.fit(words, [*tags[:-1], ["new", *tags[-1][1:]]])
