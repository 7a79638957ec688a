"""Every way of learning a tagger."""

from __future__ import annotations

from itertools import product as sequences

import numpy as np
import pytest
from scipy import optimize, sparse

from oracles_tagging import whole_sentence_weights
from sigmastar.core.errors import InputError
from sigmastar.taggers.counts import InputWeights
from sigmastar.taggers.data.generators import make_tagged
from sigmastar.taggers.data.sentences import TaggedSentences
from sigmastar.taggers.estimator import EMTagger, NgramTagger, SpectralTagger, TaggerEstimator
from sigmastar.taggers.learn.clusters import TokenSpace
from sigmastar.taggers.learn.lexicon import TaggedCorpus, fit_softmax, learn_lexicon
from sigmastar.taggers.learn.methods import bigram_model, trigram_model
from sigmastar.taggers.learn.operators import RAW, Taming, learn_operators, recover_operators
from sigmastar.taggers.learn.refinement import (
    Shrinkage,
    climb,
    estimate,
    expectations,
    over_relaxed,
    random_start,
    softened,
    spectral_start,
)

LEARNERS: dict[str, TaggerEstimator] = {
    "refined": SpectralTagger(max_iter=5),
    "spectral": SpectralTagger("spectral"),
    "chain": SpectralTagger("chain", max_iter=5),
    "em": EMTagger(max_iter=5),
    "bigram": NgramTagger(2),
    "trigram": NgramTagger(3),
}


@pytest.fixture(scope="module")
def split() -> tuple[TaggedSentences, TaggedSentences]:
    whole = make_tagged(np.random.default_rng(1), 2300)
    return whole.select(np.arange(2000)), whole.select(np.arange(2000, 2300))


@pytest.fixture(scope="module")
def corpus(split: tuple[TaggedSentences, TaggedSentences]) -> TaggedCorpus:
    return TaggedCorpus.of(split[0])


def accuracy(found: list[str], gold: TaggedSentences) -> float:
    return float(np.mean([a == b for a, b in zip(found, gold.tags or [], strict=True)]))


def test_methods_use_the_context(split: tuple[TaggedSentences, TaggedSentences]) -> None:
    train, fresh = split
    lexicon = learn_lexicon(train)
    alone = accuracy([lexicon.tags[c] for c in lexicon.distributions(fresh.words).argmax(axis=1)], fresh)
    found = {name: learner.fit(train).score(fresh) for name, learner in LEARNERS.items()}
    assert min(found.values()) > alone + 0.01, (alone, found)
    assert found["refined"] > max(found["bigram"], found["trigram"]) + 0.01, found
    assert found["spectral"] > found["bigram"], found


def test_refined_moves_are_distributions(corpus: TaggedCorpus) -> None:
    model = estimate(corpus, spectral_start(corpus, 4, np.random.default_rng(0)))
    np.testing.assert_allclose(model.transitions.sum(axis=1) + model.final, 1.0, atol=1e-12)
    assert model.initial.sum() == pytest.approx(1.0, abs=1e-3)
    trigram = trigram_model(corpus)
    reached = trigram.transitions.any(axis=1)
    np.testing.assert_allclose((trigram.transitions.sum(axis=1) + trigram.final)[reached], 1.0, atol=1e-9)


def test_em_without_shrinkage_never_loses_likelihood(corpus: TaggedCorpus) -> None:
    nothing = Shrinkage(1e-9, 1e-9, 1e-9, 1e-9, 1e-9)
    start = estimate(corpus, random_start(corpus, 3, np.random.default_rng(0)), nothing)
    logs = climb(corpus, start, 8, shrinkage=nothing).log_likelihoods
    # r(x, z) = p(z | x, t) / p(z | t): the likelihood of tags and words up to a constant
    assert (np.diff(logs) > -1e-9 * abs(logs[0])).all(), logs
    assert logs[-1] > logs[0]


def test_expected_counts_add_up(corpus: TaggedCorpus) -> None:
    counts, _ = expectations(corpus, bigram_model(corpus))
    n_words, n_sentences = corpus.sentences.n_words, len(corpus.sentences)
    assert counts.memberships.sum() == pytest.approx(n_words)
    assert counts.moves.sum() == pytest.approx(n_words + n_sentences)


def test_exact_recovery_of_operators() -> None:
    """Two-word sentences, a word a tag: classes are whole pasts and futures, so f is the frequency."""
    rng = np.random.default_rng(0)
    tags = ("A", "B", "C")
    rows = [y for n in (1, 2) for y in sequences(tags, repeat=n) for _ in range(int(rng.integers(20, 60)))]
    corpus = TaggedCorpus(
        lexicon := learn_lexicon(TaggedSentences.of(rows, rows)), TaggedSentences.of(rows, rows)
    )
    found = recover_operators(corpus, corpus.tags.astype(np.int64), 3, 10).automaton
    for y in {tuple(row) for row in rows}:
        value = found.initial
        for tag in y:
            value = value @ found.transitions[lexicon.tags.index(tag)]
        assert value @ found.final == pytest.approx(rows.count(y) / len(rows), abs=1e-9)


def test_exact_recovery_of_conditional_operators() -> None:
    """Of all sentences of one or two words, unevenly frequent: f is q(x) P(y | x), whatever P(x) is."""
    rng = np.random.default_rng(1)
    words, tags = ("u", "v"), ("A", "B")
    rows, labels = [], []
    for n in (1, 2):
        for x in sequences(words, repeat=n):
            often = int(rng.integers(1, 5))
            for y in sequences(tags, repeat=n):
                times = often * int(rng.integers(20, 60))
                rows, labels = rows + [x] * times, labels + [y] * times
    corpus = TaggedCorpus(
        lexicon := learn_lexicon(TaggedSentences.of(rows, labels)), TaggedSentences.of(rows, labels)
    )
    codes = lexicon.codes(corpus.sentences.types)[corpus.sentences.type_codes]
    weights = InputWeights(*whole_sentence_weights(codes, corpus.sentences.offsets))
    symbols = codes.astype(np.int64) * 2 + corpus.tags
    found = recover_operators(corpus, symbols, 4, 30, weights).automaton
    shares = np.append(np.bincount(codes), len(rows)) / (len(codes) + len(rows))
    operators = found.transitions / shares[:2].repeat(2)[:, None, None]  # A_x^y of f(x, y) = P(y | x)
    for x, y in set(zip(rows, labels, strict=True)):
        value = found.initial / shares[2]
        for word, tag in zip(x, y, strict=True):
            value = value @ operators[lexicon.words.index(word) * 2 + lexicon.tags.index(tag)]
        both = sum((a, b) == (x, y) for a, b in zip(rows, labels, strict=True))
        assert value @ found.final == pytest.approx(both / rows.count(x), abs=1e-9)


def test_conditional_operators_do_not_hang_on_the_inputs(
    split: tuple[TaggedSentences, TaggedSentences],
) -> None:
    """They tag, without sentences that have no normalizer; other methods refuse the option."""
    train, fresh = split
    assert SpectralTagger("spectral", conditional=True).fit(train).score(fresh) > 0.7
    with pytest.raises(ValueError, match="conditional=True is for method='spectral'"):
        SpectralTagger(conditional=True).fit(train)


def test_over_relaxed_iterations_go_further(corpus: TaggedCorpus) -> None:
    logs: dict[float, float] = {}
    counts = softened(corpus, spectral_start(corpus, 4, np.random.default_rng(0)), 0.35)
    for pace in (1.0, 1.7):
        model = climb(corpus, estimate(corpus, counts), 6, over_relaxed(pace)).latest
        np.testing.assert_allclose(model.transitions.sum(axis=1) + model.final, 1.0, atol=1e-12)
        logs[pace] = expectations(corpus, model)[1]
    assert logs[1.7] > logs[1.0]


def test_softened_counts_keep_pairs_of_tags_and_words(corpus: TaggedCorpus) -> None:
    start = spectral_start(corpus, 4, np.random.default_rng(0))
    soft = softened(corpus, start, 0.35)
    starts = start.states
    for old, new in ((start.moves, soft.moves), (start.moves.T, soft.moves.T)):
        np.testing.assert_allclose(
            np.add.reduceat(np.add.reduceat(old, starts, 0), starts, 1),
            np.add.reduceat(np.add.reduceat(new, starts, 0), starts, 1),
        )
    np.testing.assert_allclose(soft.memberships.sum(axis=1), start.memberships.sum(axis=1))
    assert soft.memberships.max(axis=1).sum() < start.memberships.max(axis=1).sum()


def test_the_nearest_centre_by_tables_is_the_nearest_by_points(corpus: TaggedCorpus) -> None:
    space, tokens = TokenSpace.of(corpus), np.arange(0, len(corpus.tags), 7)
    points = space.points(tokens)
    centres = points[np.random.default_rng(0).choice(len(points), 5, replace=False)]
    far = ((points[:, None] - centres) ** 2).sum(axis=2)
    near = space.nearest(tokens, centres)
    np.testing.assert_allclose(far[np.arange(len(near)), near], far.min(axis=1), atol=1e-9)


def test_softmax_passes_come_near_the_optimum() -> None:
    rng = np.random.default_rng(2)
    dense = rng.random((40, 6)) < 0.4
    counts = rng.integers(0, 4, (40, 3)).astype(float)

    def cost(flat: np.ndarray) -> float:
        weights = flat.reshape(7, 3)
        scores = dense @ weights[:-1] + weights[-1]
        logs = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
        return float(-(counts * logs).sum() + 0.5 * (flat**2).sum())

    best = optimize.minimize(cost, np.zeros(21)).fun
    found = fit_softmax(sparse.csr_array(dense.astype(float)), counts, 1.0, 400)
    assert cost(found.ravel()) < best + 0.01 * (cost(np.zeros(21)) - best)


def test_taming_leaves_fewer_sentences_without_a_normalizer(
    corpus: TaggedCorpus, split: tuple[TaggedSentences, TaggedSentences]
) -> None:
    fresh = split[1]
    lattice = corpus.lexicon.lattice(fresh)
    bad = [
        int(
            np.isnan(
                learn_operators(corpus, 40, taming=taming, least_pair=10)
                .raw_marginals(corpus.lexicon, fresh, lattice)
                .logs
            ).sum()
        )
        for taming in (RAW, Taming())
    ]
    assert bad[1] < bad[0] or bad == [0, 0]
    assert bad[1] <= 0.02 * len(fresh)


def test_same_seed_same_tagger(split: tuple[TaggedSentences, TaggedSentences]) -> None:
    few = split[0].select(np.arange(200))
    a, b = (SpectralTagger(random_state=5).fit(few).model_ for _ in range(2))
    np.testing.assert_array_equal(a.predict_proba(split[1]), b.predict_proba(split[1]))


def test_tiny_and_bad_data() -> None:
    one = TaggedSentences.of([["a"]], [["X"]])
    for learner in LEARNERS.values():
        assert learner.fit(one).predict([["b", "a"], []]) == [["X", "X"], []]
    with pytest.raises(InputError, match="no tags"):
        SpectralTagger().fit([["a"]])
