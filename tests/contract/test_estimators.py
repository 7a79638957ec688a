"""The contract of estimators, over all estimators of all families."""

from __future__ import annotations

import inspect
import pickle
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.utils.validation import check_is_fitted

import sigmastar
from sigmastar.core.errors import InputError, NotFittedError
from sigmastar.core.estimator import Estimator, as_generator
from sigmastar.core.family import families, load
from sigmastar.core.laws import Example
from sigmastar.core.model_reading import model_bytes

ESTIMATORS = [(name, estimator) for name, family in families().items() for estimator in family.estimators]
OF_DATA = ("score_samples", "align")
ASKED = (
    *("predict", "predict_proba", "predict_log_proba", "predict_next", "predict_proba_next"),
    *("predict_labels", "decode", "decision_function", "marginals"),
    *("brackets", "transform", *OF_DATA),
)
"""Methods whose only argument without a default is data; lists of the best hold ties, and are left out."""
NUMBER = re.compile(r"-?\d+\.\d*(?:e[-+]?\d+)?")
QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "BilexicalOperator": lambda X: [head for head, _ in X],
    "Pipeline": lambda X: [" ".join(word[0] for word in sentence) for sentence in X],
    "SpectralTransducer": lambda X: [pair[0] for pair in X],
}
"""Estimators whose questions are not what they learn from."""
SHARED = ("random_state", "n_jobs", "progress")


def name_of(pair: tuple[str, str]) -> str:
    return pair[1]


def draws(family: str, estimator: str) -> bool:
    """Whether structures can be drawn from what the estimator learns."""
    return hasattr(load(families()[family].estimators[estimator]), "sample")


@pytest.fixture(params=ESTIMATORS, ids=name_of, scope="module")
def example(request: pytest.FixtureRequest) -> Example:
    family, estimator = request.param
    found = load(str(families()[family].laws))().examples()
    assert set(found) == set(families()[family].estimators)
    assert type(found[estimator].estimator).__name__ == estimator
    return found[estimator]  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def fitted(example: Example) -> Estimator:
    return fit(example)


def fit(example: Example, **params: Any) -> Any:
    return clone(example.estimator).set_params(**params).fit(*_data(example))


def _data(example: Example) -> tuple[Any, ...]:
    return (example.X,) if example.y is None else (example.X, example.y)


def test_a_constructor_only_stores(example: Example) -> None:
    assert vars(example.estimator) == example.estimator.get_params()
    assert set(SHARED) <= set(example.estimator.get_params())


def test_fit_returns_its_own_type(example: Example) -> None:
    returned = inspect.signature(type(example.estimator).fit).return_annotation
    assert returned in ("Self", type(example.estimator).__name__)


def test_parameters_are_copied_and_checked(example: Example) -> None:
    copy = clone(example.estimator.set_params(random_state=5))
    assert copy.get_params() == example.estimator.get_params()
    example.estimator.set_params(random_state=0)
    with pytest.raises(ValueError, match="has no parameter 'colour'; it has"):
        copy.set_params(colour="red")


def test_before_fit_questions_are_refused(example: Example) -> None:
    fresh = clone(example.estimator)
    for ask in (lambda: fresh.score(*_data(example)), lambda: fresh.model_):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            ask()


def test_after_fit_there_is_a_model_and_a_score(example: Example, fitted: Any) -> None:
    check_is_fitted(fitted)
    assert np.isfinite(fitted.score(*_data(example)))
    assert len(model_bytes(fitted.model_)) > 0
    if hasattr(fitted, "score_samples"):
        assert len(fitted.score_samples(*_data(example))) == len(example.X)


@pytest.mark.parametrize("example", [pair for pair in ESTIMATORS if draws(*pair)], indirect=True, ids=name_of)
def test_samples_repeat(example: Example) -> None:
    fitted = fit(example)
    assert list(inspect.signature(fitted.sample).parameters)[:2] == ["n_samples", "random_state"]
    assert len(fitted.sample(3)) == 3
    assert repr(list(fitted.sample(3))) == repr(list(fitted.sample(3)))
    assert repr(list(fitted.sample(3, random_state=1))) == repr(list(fitted.sample(3, random_state=1)))


def test_the_same_seed_gives_the_same_model_on_any_number_of_threads(example: Example, fitted: Any) -> None:
    expected = model_bytes(fitted.model_)
    assert model_bytes(fit(example, n_jobs=1).model_) == expected
    assert model_bytes(fit(example, n_jobs=2).model_) == expected


def test_a_second_fit_replaces_the_first(example: Example, fitted: Any) -> None:
    again = fit(example).fit(*_data(example))
    assert set(vars(again)) == set(vars(fitted))
    assert model_bytes(again.model_) == model_bytes(fitted.model_)


def test_a_failed_fit_leaves_the_model(example: Example) -> None:
    estimator = fit(example)
    model = estimator.model_
    with pytest.raises(ValueError, match=r"\w"):
        estimator.fit(example.empty) if example.y is None else estimator.fit(example.empty, example.empty)
    assert estimator.model_ is model


def test_it_survives_pickling(example: Example, fitted: Any) -> None:
    again = pickle.loads(pickle.dumps(fitted))
    assert again.score(*_data(example)) == fitted.score(*_data(example))


def test_it_shows_itself_in_notebooks(example: Example, fitted: Any) -> None:
    bundle = fitted._repr_mimebundle_()
    assert "not fitted" in type(fitted)()._repr_html_()
    assert f"<b>{type(fitted).__name__}</b>, fitted" in bundle["text/html"]
    assert "<svg" in bundle["text/html"] or bundle["text/html"].count("<table") > 1
    assert bundle["text/plain"] == repr(fitted)


def test_a_file_gives_the_estimator_back(example: Example, fitted: Any, tmp_path: Path) -> None:
    fitted.save(tmp_path / "model.sigma")
    again = sigmastar.load(tmp_path / "model.sigma")
    assert type(again) is type(fitted)
    assert again.score(*_data(example)) == fitted.score(*_data(example))
    kept = {
        name: value for name, value in fitted.get_params().items() if isinstance(value, (int, float, str))
    }
    assert {name: again.get_params()[name] for name in kept} == kept
    if hasattr(fitted, "sample"):
        assert repr(again.sample(3, random_state=1)) == repr(fitted.sample(3, random_state=1))
    (now, numbers_now), (before, numbers) = _answers(again, example), _answers(fitted, example)
    assert now == before
    is_rounded = "TreebankGrammar" in type(fitted).__name__  # in files tensors have 16 bits, lexicons 24
    np.testing.assert_allclose(numbers_now, numbers, rtol=0.01 if is_rounded else 1e-5, atol=1e-6)
    sigmastar.save_model(fitted, tmp_path / "other.sigma")
    assert (tmp_path / "other.sigma").read_bytes() == (tmp_path / "model.sigma").read_bytes()


def _answers(fitted: Any, example: Example) -> tuple[str, list[float]]:
    """What an estimator says to all questions that take data: the text, and the numbers in it apart."""
    questions = QUESTIONS.get(type(fitted).__name__, lambda X: X)(example.X)
    said = []
    with np.printoptions(threshold=sys.maxsize, floatmode="unique"):
        for name in ASKED:
            ask = getattr(type(fitted), name, None)
            with suppress(InputError):  # as of taggers, whose scores need tags
                said += (
                    [f"{name} {ask(fitted, example.X if name in OF_DATA else questions)!r}"] if ask else []
                )
    assert said
    text = "".join("\n".join(said).split())
    return NUMBER.sub("#", text), [float(number) for number in NUMBER.findall(text)]


def test_every_public_estimator_is_tried() -> None:
    named = (getattr(sigmastar, name) for name in sigmastar.__all__)
    public = {found.__name__ for found in named if inspect.isclass(found) and hasattr(found, "fit")}
    assert public - {name for _, name in ESTIMATORS} == {"DistilledAutomaton", "DistilledClassifier"}


def test_it_works_in_a_grid_search(example: Example) -> None:
    assert example.grid
    search = GridSearchCV(clone(example.estimator), dict(example.grid), cv=2, error_score="raise")
    search.fit(*_data(example))
    assert set(search.best_params_) == set(example.grid)


def test_progress_is_told(example: Example) -> None:
    told: list[tuple[str, float | None]] = []
    fit(example, progress=lambda message, done=None: told.append((message, done)))
    assert all(message and (done is None or 0 <= done <= 1) for message, done in told)


class _Frame:
    """What estimators see of a table of pandas."""

    columns, iloc = ("events",), None

    def __iter__(self) -> Any:
        return iter(self.columns)


LOOKALIKES = [
    (_Frame(), r"X is a table; pass one column of it, as in fit\(X\['events'\]\)"),
    ({"a": 1}, "X is a mapping; pass a list"),
    ({"ab", "ba"}, "X is a set, which has no fixed order; pass a list"),
]


@pytest.mark.parametrize(("given", "problem"), LOOKALIKES, ids=["table", "mapping", "set"])
def test_lookalikes_of_lists_are_refused(example: Example, given: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        clone(example.estimator).fit(given)


@pytest.mark.parametrize("seed", [-1, "x", 0.5])
def test_a_seed_that_is_none_is_refused(seed: Any) -> None:
    with pytest.raises(ValueError, match="must be a whole number, 0 or more, a Generator, or None"):
        as_generator(seed)
