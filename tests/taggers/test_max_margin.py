"""Max-margin taggers of Hankel blocks: scores, the hinge and marginals against every tagging, one by one."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from tests.oracles_tagging import hankel_score, marginals_of

from sigmastar import SpectralTagger, TaggedSentences
from sigmastar.taggers import make_tagged
from sigmastar.taggers.learn.lexicon import TaggedCorpus
from sigmastar.taggers.learn.max_margin import HingeLoss, learn_hankel
from sigmastar.taggers.model.max_margin import GapLattice, HankelTags


@pytest.fixture(scope="module")
def corpus() -> TaggedCorpus:
    return TaggedCorpus.of(make_tagged(np.random.default_rng(0), 300))


@pytest.fixture(scope="module")
def few(corpus: TaggedCorpus) -> TaggedSentences:
    """Short sentences, of one word too."""
    lengths = corpus.sentences.lengths
    one = corpus.sentences.select(np.flatnonzero(lengths <= 5)[:6])
    words = [row[: 1 + number] for number, row in enumerate(one.cut(one.words))]
    tags = [row[: 1 + number] for number, row in enumerate(one.cut(one.tags or []))]
    return TaggedSentences.of(words, tags)


@pytest.fixture(scope="module")
def model(corpus: TaggedCorpus) -> HankelTags:
    """Learned bistrings with factors by chance."""
    rng, found = np.random.default_rng(1), learn_hankel(corpus, np.random.default_rng(0), 3, 1)
    sides = (rng.normal(0, 0.3, (len(side), 3)) for side in (found.left, found.right))
    return HankelTags(found.prefixes, found.suffixes, *sides)


class Slow:
    """The scores of all taggings of one sentence, from the definition."""

    def __init__(self, model: HankelTags, corpus: TaggedCorpus, sentences: TaggedSentences, s: int) -> None:
        gaps = GapLattice.of(corpus.lexicon, sentences)
        lattice, n = gaps.plain, corpus.lexicon.n_tags
        places = range(int(lattice.offsets[s]), int(lattice.offsets[s + 1]))
        types = [int(lattice.types[i]) for i in places]
        self.candidates = [lattice.tags[lattice.starts[x] : lattice.starts[x + 1]].tolist() for x in types]
        chances = corpus.lexicon.distributions(sentences.types)
        padded = [-1, -1, *types, -1, -1]

        def seen(place: int, tags: tuple[int, ...]) -> tuple[int, int, int]:
            inside = 0 <= place - 2 < len(types)
            tag = tags[place - 2] if inside else n
            return int(gaps.words[padded[place]]), int(gaps.classes[padded[place]]), tag

        def features(side: int, place: int, tags: tuple[int, ...]) -> list[int]:
            near, far = (place + 1, place) if side == 0 else (place + 2, place + 3)
            one, two = ([np.array([v]) for v in seen(at, tags)] for at in (near, far))
            known = (model.prefixes, model.suffixes)[side]
            codes = known.codes(gaps._templates(tuple(one), tuple(two)))[0]
            return [int(code) for code in codes if code >= 0]

        self.values = {
            tags: hankel_score(tags, [chances[x] for x in types], features, model.left, model.right)
            for tags in product(*self.candidates)
        }


@pytest.fixture(scope="module")
def slows(model: HankelTags, corpus: TaggedCorpus, few: TaggedSentences) -> list[Slow]:
    """Both tests ask for all taggings of the same sentences."""
    return [Slow(model, corpus, few, s) for s in range(len(few))]


def test_the_best_tagging_and_marginals_are_those_of_all_taggings(
    model: HankelTags, corpus: TaggedCorpus, few: TaggedSentences, slows: list[Slow]
) -> None:
    best = few.cut(model.best(corpus.lexicon, few).tolist())
    found = model.marginals(corpus.lexicon, few, GapLattice.of(corpus.lexicon, few).plain)
    lattice = found.lattice
    for s, slow in enumerate(slows):
        assert tuple(best[s]) == max(slow.values, key=slow.values.__getitem__)
        whole = {tags: np.exp(value) for tags, value in slow.values.items()}
        assert found.logs[s] == pytest.approx(np.log(sum(whole.values())))
        ones, twos = marginals_of(whole, slow.candidates)
        for k, i in enumerate(range(int(lattice.offsets[s]), int(lattice.offsets[s + 1]))):
            here = found.unigrams[lattice.token_starts[i] : lattice.token_starts[i + 1]]
            assert here == pytest.approx(ones[k])
            pairs = found.bigrams[lattice.block_starts[i] : lattice.block_starts[i + 1]]
            assert pairs == pytest.approx(np.ravel(twos[k - 1]) if k else [])


def test_the_hinge_is_the_worst_tagging_less_the_gold_one_and_slopes_are_slopes(
    model: HankelTags, corpus: TaggedCorpus, few: TaggedSentences, slows: list[Slow]
) -> None:
    gaps = GapLattice.of(corpus.lexicon, few, with_gold=True)
    codes = few.tag_codes(corpus.lexicon.tags)
    shape = (len(model.left), len(model.right))
    loss = HingeLoss.of(gaps, gaps.bistrings(model.prefixes, model.suffixes), gaps.gold(codes), shape)
    value, by_left, by_right = loss.factored(model.left, model.right)
    total = 0.0
    for slow, gold in zip(slows, few.cut(codes.tolist()), strict=True):
        assert tuple(gold) in slow.values
        wrong = {y: v + sum(a != b for a, b in zip(y, gold, strict=True)) for y, v in slow.values.items()}
        total += max(wrong.values()) - slow.values[tuple(gold)]
    assert value == pytest.approx(total / few.n_words)
    rng = np.random.default_rng(2)
    left, right = rng.standard_normal(model.left.shape), rng.standard_normal(model.right.shape)
    step = 1e-7  # far from kinks, by chance
    ahead = loss.factored(model.left + step * left, model.right + step * right)[0]
    behind = loss.factored(model.left - step * left, model.right - step * right)[0]
    slope = np.vdot(by_left, left) + np.vdot(by_right, right)
    assert (ahead - behind) / (2 * step) == pytest.approx(slope, rel=1e-4)


def test_a_block_learns_what_the_lexicon_cannot(corpus: TaggedCorpus) -> None:
    fresh = make_tagged(np.random.default_rng(0), 500).select(np.arange(300, 500))
    tagger = SpectralTagger("hankel-margin", n_states=4, max_iter=25).fit(corpus.sentences)
    lattice = corpus.lexicon.lattice(fresh)
    alone = [corpus.lexicon.tags[code] for code in lattice.likeliest[lattice.types].tolist()]
    share = np.mean([a == b for a, b in zip(alone, fresh.tags or [], strict=True)])
    assert tagger.score(fresh) > share + 0.02
    assert tagger.model_.decoding == "viterbi"
    assert tagger.model_.members[0].left.shape[1] <= 4  # type: ignore[attr-defined]
