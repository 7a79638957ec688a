"""What words look like, and what templates see of tokens."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy import sparse

from sigmastar.taggers.data.feature_templates import (
    TemplateFeatures,
    TokenViews,
    View,
    joined,
    word_classes,
    word_features,
    word_shape,
)


def test_shapes_know_any_script() -> None:
    assert word_shape("Ωμέγα-3") == "Xx-9"
    assert word_shape("東京") == "o"
    assert word_shape("iPhone4S") == "xXx9X"
    assert "-жду" in set(word_features("Между"))
    assert word_classes("Dogs")[-1] == ""
    assert len(set(word_classes("Dogs"))) > 2


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
