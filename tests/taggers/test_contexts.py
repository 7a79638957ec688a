"""Classes of gaps, blocks on them, and features of tokens."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy import sparse

from sigmastar.core.alphabet import Alphabet
from sigmastar.taggers.counts.contexts import TagContexts
from sigmastar.taggers.counts.features import TemplateFeatures, TokenViews, View, joined


def test_classes_refine_tags_by_words_then_by_tags_beyond() -> None:
    words, tags = np.array([0, 1, 0, 1, 2, 1], np.int32), np.array([0, 1, 0, 1, 0, 1], np.int32)
    offsets = np.array([0, 2, 4, 6])
    coarse = TagContexts.of(words, tags, offsets, least_word=99, least_class=99)
    assert coarse.shape == (3, 3)  # a start or an end, and the two tags
    fine = TagContexts.of(words, tags, offsets, least_word=2, least_class=99)
    assert fine.past[fine.token_gaps[0] + 1] == fine.past[fine.token_gaps[2] + 1]
    assert fine.past[fine.token_gaps[0] + 1] != fine.past[fine.token_gaps[4] + 1]  # a rare word
    assert int(fine.matrix.sum()) == len(words) + len(offsets) - 1


def test_blocks_are_counts() -> None:
    rng = np.random.default_rng(3)
    lengths = rng.integers(1, 5, 30)
    offsets = np.append(0, np.cumsum(lengths))
    words, tags = (rng.integers(0, 3, offsets[-1]).astype(np.int32) for _ in range(2))
    contexts = TagContexts.of(words, tags, offsets, 3, 3)
    blocks = contexts.blocks(tags, Alphabet(range(3)))
    stop, symbol = blocks.signature.operations
    slices = blocks.slices[symbol].toarray()
    wanted = np.zeros_like(slices)
    ends = np.zeros(contexts.shape[0])
    for s, (low, high) in enumerate(pairwise(offsets)):
        for i in range(low, high):
            wanted[tags[i], contexts.past[i + s], contexts.future[i + s + 1]] += 1
        ends[contexts.past[high + s]] += 1
    np.testing.assert_array_equal(slices, wanted)
    np.testing.assert_array_equal(np.asarray(blocks.slices[stop])[0], ends)
    assert blocks.roots["string"].sum() == 1.0


def views_of(codes: list[int], ends: list[int], size: int) -> TokenViews:
    view = View.of(np.array(codes, dtype=np.int64), size, np.array(ends))
    return TokenViews(view, view, view, (view,))


def test_templates_do_not_hang_on_other_sentences() -> None:
    few, more = views_of([2, 1, 0], [0, 3], 9), views_of([2, 1, 0, 8, 7], [0, 3, 5], 9)
    for column, wider in zip(few.templates(), more.templates(), strict=True):
        assert column.tolist() == wider[:3].tolist()


def test_templates_tell_what_they_see_apart() -> None:
    codes = np.stack(np.meshgrid(*[[0, 1, 2]] * 5, indexing="ij"), axis=-1).reshape(-1, 5)
    columns = views_of(codes.ravel().tolist(), list(range(0, codes.size + 1, 5)), 3).templates()
    for column in columns:
        assert len(np.unique(column[2::5])) in (3, 9, 27)  # of one, two, three tokens in the middle


def test_templates_stay_inside_sentences() -> None:
    views = views_of([5, 6, 7], [0, 2, 3], 8)
    word, before, after, *_ = views.templates()
    assert word.tolist() == [7, 8, 9]
    assert before.tolist() == [0, 7, 0]
    assert after.tolist() == [8, 0, 0]


def test_features_are_numbers_met_often() -> None:
    columns = [np.array([3, 3, 4]), np.array([1, 2, 2])]
    features = TemplateFeatures.of(columns, least=2)
    assert features.codes(columns).tolist() == [[0, -1], [0, 1], [-1, 1]]
    far = [column + (1 << 40) for column in columns]  # beyond the tables
    assert TemplateFeatures.of(far, least=2).codes(far).tolist() == features.codes(columns).tolist()
    assert features.codes([np.array([2, 90]), np.array([0, 5])]).tolist() == [[-1, -1], [-1, -1]]
    looks = sparse.csr_array(np.array([[1.0, 1.0], [0.0, 1.0]]))
    rows = np.array([0, 1, 1], np.int32)
    starts, flat = joined(features.codes(columns), rows, looks.indptr, looks.indices + 2)
    assert [flat[a:b].tolist() for a, b in pairwise(starts)] == [
        [0, -1, 2, 3],
        [0, 1, 3],
        [-1, 1, 3],
    ]
