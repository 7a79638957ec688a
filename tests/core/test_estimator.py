"""Columns of Arrow are lists for families that take lists, and warnings name the line of the user."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from sigmastar import (
    DeterministicDependencyGrammar,
    Pipeline,
    SpectralTagger,
    SpectralTransducer,
    SpectralTreebankGrammar,
)
from sigmastar.core.estimator import rows_of

WORDS, TAGS = [["the", "dog"], ["a", "cat"]] * 10, [["D", "N"]] * 20
INPUTS, OUTPUTS = ["ab", "ba"] * 10, ["AB", "BA"] * 10
LISTS = [["a", "b"], ["b", "a"]] * 10, [["A", "B"], ["B", "A"]] * 10
TREES = ["(S (D the) (N dog))", "(S (D a) (N cat))"] * 10
TOKENS = [[("The", "DET", "DT"), ("dog", "NOUN", "NN"), ("barks", "VERB", "VBZ")]] * 10


@pytest.fixture(scope="module")
def column() -> Any:
    reason = "pyarrow is not installed: columns of Arrow are not tried"
    return pytest.importorskip("pyarrow", reason=reason).array


def test_a_column_is_its_rows(column: Any) -> None:
    assert rows_of(column(["ab", None])) == ["ab", None]
    assert rows_of(column([["a"], []])) == [["a"], []]
    assert rows_of("ab") == "ab"


@pytest.mark.parametrize(
    ("estimator", "data", "asked"),
    [
        (SpectralTagger("chain"), (WORDS, TAGS), WORDS[:2]),
        (SpectralTransducer("ngram"), (INPUTS, OUTPUTS), INPUTS[:2]),
        (SpectralTransducer("ngram"), LISTS, LISTS[0][:2]),
        (DeterministicDependencyGrammar(), (TAGS, [[2, 0]] * 20), TAGS[:2]),
        (SpectralTreebankGrammar("spectral", n_states=1), (TREES,), [["the", "cat"]]),
    ],
    ids=["tagger", "transducer", "transducer of lists", "dependency", "treebank"],
)
def test_learning_and_predicting_from_columns(column: Any, estimator: Any, data: Any, asked: Any) -> None:
    from_lists = estimator.fit(*data).predict(asked)
    assert estimator.fit(*map(column, data)).predict(column(asked)) == from_lists
    assert estimator.score(*map(column, data)) == estimator.score(*data)


def test_texts_of_a_pipeline_from_a_column(column: Any) -> None:
    pipeline = Pipeline(folds=1).fit(TOKENS, [[2, 3, 0]] * 10)
    assert pipeline.predict(column(["The dog barks"])).form == ["The", "dog", "barks"]


def test_warnings_name_the_line_that_called() -> None:
    transducer = SpectralTransducer("ngram").fit(INPUTS, OUTPUTS)
    for call in (transducer.predict, transducer.predict_nbest):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call(["xa"])
        assert [warning.filename for warning in caught] == [__file__]
