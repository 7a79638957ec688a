"""Names of other libraries lead to ours, and every one of ours that is named exists."""

from __future__ import annotations

import inspect
import pickle
import re
from typing import Any

import numpy as np
import pytest
import sklearn.exceptions

import sigmastar
from sigmastar import (
    EMAutomaton,
    GaussianHMM,
    HankelClassifier,
    NgramAutomaton,
    NotFittedError,
    Pipeline,
    SpectralAutomaton,
    SpectralDependencyGrammar,
    SpectralTagger,
    SpectralTreebankGrammar,
)
from sigmastar.cli.group import commands, learners
from sigmastar.core import habits
from sigmastar.core.errors import InputError
from sigmastar.core.estimator import refuse_lookalikes
from sigmastar.core.family import families, load

CLASSES: list[Any] = [load(place) for family in families().values() for place in family.estimators.values()]


@pytest.mark.parametrize(
    ("kind", "given", "meant"),
    [
        (EMAutomaton, "n_components", "n_states"),
        (EMAutomaton, "n_iter", "max_iter"),
        (GaussianHMM, "covariance_type", "covariance"),
        (GaussianHMM, "n_mix", "n_components"),
        (SpectralAutomaton, "rank", "n_states"),
        (SpectralTagger, "max_iterations", "max_iter"),
    ],
)
def test_parameters_of_other_libraries_are_understood(kind: Any, given: str, meant: str) -> None:
    message = f"{kind.__name__} has no parameter '{given}'; here it is '{meant}'"
    with pytest.raises(TypeError, match=message):
        kind(**{given: 3})
    with pytest.raises(ValueError, match=message):
        kind().set_params(**{given: 3})


@pytest.mark.parametrize(
    ("kind", "method", "meant"),
    [
        (SpectralAutomaton, "em", "'em' is EMAutomaton()"),
        (SpectralAutomaton, "ngram", "'ngram' is NgramAutomaton()"),
        (SpectralDependencyGrammar, "em", "'em' is EMDependencyGrammar()"),
        (SpectralDependencyGrammar, "det", "'det' is DeterministicDependencyGrammar(first=False)"),
        (SpectralTreebankGrammar, "em", "'em' is EMTreebankGrammar()"),
        (SpectralTagger, "em", "'em' is EMTagger()"),
    ],
)
def test_methods_of_the_command_line_lead_to_the_classes_that_have_them(
    kind: Any, method: str, meant: str
) -> None:
    data: dict[Any, Any] = {SpectralAutomaton: ["ab"] * 9, SpectralTreebankGrammar: ["(S (N a) (V b))"] * 9}
    given = (data[kind],) if kind in data else ([[("a", "X"), ("b", "Y")]] * 9, [[2, 0]] * 9)
    if kind is SpectralTagger:
        given = ([["a", "b"]] * 9, [["X", "Y"]] * 9)
    with pytest.raises(ValueError, match=re.escape(meant)):
        kind(method).fit(*given)


def test_parameters_that_nobody_has_are_listed_with_those_that_there_are() -> None:
    with pytest.raises(TypeError, match=r"no parameter 'colour'; it has n_states, loss, .*n_jobs"):
        HankelClassifier(colour="red")  # type: ignore[call-arg]


def test_slips_are_asked_about_and_other_names_are_not_taken_for_one() -> None:
    with pytest.raises(TypeError, match="no parameter 'max_itr'; did you mean 'max_iter'"):
        EMAutomaton(max_itr=3)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"no parameter 'warm_start'; it has method, .*random_state"):
        SpectralAutomaton(warm_start=True)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("kind", "asked", "meant"),
    [
        (SpectralTagger, "tag", r"predict\(\[words\]\)\[0\]"),
        (SpectralTagger, "state_features_", r"model_\.state_features\(\)"),
        (Pipeline, "tokenize", r"model_\.tokenizer\.words\(text\)"),
        (NgramAutomaton, "perplexity", r"numpy\.exp"),
        (EMAutomaton, "n_iter_", r"monitor_\.iter"),
        (GaussianHMM, "n_iter_", r"monitor_\.iter"),
    ],
)
def test_attributes_of_other_libraries_are_understood(kind: Any, asked: str, meant: str) -> None:
    fitted = kind()
    fitted.model_ = object()
    with pytest.raises(
        AttributeError, match=f"this {kind.__name__} has no attribute '{asked}'; here it is {meant}"
    ):
        getattr(fitted, asked)


def test_what_the_tables_name_exists() -> None:
    parameters = {name for cls in CLASSES for name in cls.parameter_defaults()}
    assert {name for meant in habits.PARAMETERS.values() for name in meant} <= parameters
    for entries in habits.ATTRIBUTES.values():
        for has, written in entries:
            owners = [cls for cls in CLASSES if habits.has_name(cls, has)]
            assert owners, has
            assert written
    known = {**commands(), **learners()}
    assert all(meant.split()[0] in known for meant in habits.COMMANDS.values())
    assert not set(habits.COMMANDS) & set(commands())


def test_scikit_learn_catches_what_is_not_fitted() -> None:
    with pytest.raises(sklearn.exceptions.NotFittedError, match="call fit with your data first") as caught:
        SpectralAutomaton().predict_next(["a"])
    assert isinstance(caught.value, NotFittedError)
    again = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(again, NotFittedError)
    assert str(again) == str(caught.value)


class _Column:
    column_names = ("id", "text")


class _Frame:
    """What is seen of a table of pandas, which is iterated by the names of its columns."""

    columns = ("ab",)
    iloc = None

    def __iter__(self) -> Any:
        return iter(self.columns)


class _ArrowTable:
    """What is seen of a table of Arrow, whose `columns` are the data."""

    column_names = ("id", "tokens")
    columns = (np.arange(3), np.arange(3))

    def __dataframe__(self) -> None: ...


def test_tables_of_arrow_and_splits_of_data_sets_are_refused_with_their_names() -> None:
    with pytest.raises(InputError, match=r"pass one column of it, as in fit\(X\['tokens'\]\)"):
        refuse_lookalikes(_ArrowTable())
    with pytest.raises(InputError, match=r"pass a list, as in fit\(X\['train'\]\['text'\]\)"):
        refuse_lookalikes({"train": _Column(), "test": _Column()})


def _methods_of_data() -> list[Any]:
    names = [(cls, name) for cls in CLASSES for name in dir(cls) if not name.startswith("_")]
    found = [(cls, name) for cls, name in names if inspect.isfunction(getattr(cls, name))]
    return [
        pytest.param(cls, name, id=f"{cls.__name__}.{name}")
        for cls, name in found
        if list(inspect.signature(getattr(cls, name)).parameters)[1:2] == ["X"]
    ]


@pytest.mark.parametrize(("kind", "name"), _methods_of_data())
def test_no_method_takes_the_keys_of_a_mapping_for_data(kind: Any, name: str) -> None:
    method = getattr(kind(), name)
    more = [None for p in list(inspect.signature(method).parameters.values())[1:] if p.default is p.empty]
    with pytest.raises(InputError, match=rf"X is a mapping; pass a list, as in {name}\(list\(X.values"):
        method({"a": 1}, *more)


def test_a_column_name_has_no_score() -> None:
    learned = SpectralAutomaton().fit(["ab", "ba"] * 50)
    with pytest.raises(InputError, match=r"pass one column of it, as in score_samples\(X\['ab'\]\)"):
        learned.score_samples(_Frame())


def test_a_fitted_estimator_of_any_family_of_strings_is_drawn() -> None:
    learned = SpectralAutomaton(method="spectral", repair="none").fit(["ab", "abab", "", "ab"] * 20)
    assert "Spectrum" in [view.title for view in sigmastar.draw(learned).views]
