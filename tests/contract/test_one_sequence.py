"""hmmlearn's way: one array without lengths is one sequence, wherever an estimator has hidden states."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sigmastar import EMAutomaton, GaussianHMM, InputError, SpectralAutomaton
from sigmastar.core.family import families, load
from sigmastar.core.model_reading import model_bytes

SYMBOLS = np.tile([0, 1, 0, 2], 30)
ROWS = np.random.default_rng(0).standard_normal((60, 2)) + np.repeat([0.0, 5.0], 30)[:, None]
CASES = [
    (EMAutomaton(n_states=2, structure="hmm", max_iter=5), SYMBOLS),
    (EMAutomaton(n_states=2, structure="hmm", max_iter=5), SYMBOLS[:, None]),
    (SpectralAutomaton("auto", n_states=2), SYMBOLS),
    (GaussianHMM(n_states=2), ROWS),
    (GaussianHMM(n_states=2), ROWS[:, 0]),
]


def test_all_estimators_with_states_are_tried() -> None:
    classes = [load(path) for family in families().values() for path in family.estimators.values()]
    assert {one.__name__ for one in classes if hasattr(one, "decode")} == {
        type(one).__name__ for one, _ in CASES
    }


@pytest.mark.parametrize(("estimator", "X"), CASES)
def test_one_array_is_one_sequence(estimator: Any, X: Any) -> None:
    whole = estimator.fit(X)
    bytes_of_array = model_bytes(whole.model_)
    assert model_bytes(estimator.fit([X]).model_) == bytes_of_array
    assert model_bytes(estimator.fit(X, [len(X)]).model_) == bytes_of_array
    (log, states), (listed, [of_list]) = whole.decode(X), whole.decode([X])
    assert (log == listed).all()
    assert [row.tolist() for row in states] == [of_list.tolist()]
    assert len(of_list) == len(X)
    assert [row.tolist() for row in whole.predict(X)] == [of_list.tolist()]
    np.testing.assert_array_equal(whole.predict_proba(X)[0], whole.predict_proba([X])[0])
    assert whole.score(X) == whole.score([X])
    assert whole.bic(X) == whole.bic([X])


@pytest.mark.parametrize("X", [[1, 2, 3], np.array([0.5, 1.5]), np.zeros((5, 3), dtype=int)])
def test_what_may_be_a_slip_is_refused(X: Any) -> None:
    model = EMAutomaton(n_states=2)
    with pytest.raises(InputError, match="pass a list of strings"):
        model.fit(X)
