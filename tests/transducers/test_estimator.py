"""`SpectralTransducer`: the contract, four methods, both directions."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from sigmastar import SpectralTransducer, StringPairs
from sigmastar.core.errors import InputError, NotFittedError
from sigmastar.transducers.model.generators import make_transducer

TRUTH = make_transducer(2, "ab", "XY", np.random.default_rng(0), density=0.15, stop=0.3)
PAIRS = [(x, y) for x, y in TRUTH.sample(500, np.random.default_rng(1)) if x and y]
SETTINGS = {
    "combined": {"order": 3},
    "ngram": {},
    "spectral": {"n_states": 3},
    "completion": {"n_states": 2},
}


@pytest.fixture(scope="module", params=list(SETTINGS))
def fitted(request) -> SpectralTransducer:
    return SpectralTransducer(method=request.param, **SETTINGS[request.param]).fit(PAIRS)


def test_outputs_are_among_the_symbols_and_mostly_right(fitted):
    inputs = [x for x, _ in PAIRS[:50]]
    found = fitted.predict(inputs)
    assert len(found) == 50
    assert all(set(output) <= set("XY") for output in found)
    best = SpectralTransducer(method="ngram", order=3).fit(PAIRS).score(PAIRS)
    assert fitted.score(PAIRS) > best - 0.15


def test_shares_fall(fitted):
    for ranking in fitted.predict_nbest([PAIRS[0][0], "aaa"], 5):
        shares = [share for _, share in ranking]
        assert shares == sorted(shares, reverse=True)


def test_the_other_direction_gives_inputs(fitted):
    assert all(set(x) <= set("ab") for x in fitted.predict_inputs([y for _, y in PAIRS[:10]]))


@pytest.mark.parametrize("joint", [False, True])
def test_pairs_are_scored(fitted, joint):
    logs = fitted.score_samples(PAIRS[:20], joint=joint)
    assert logs.shape == (20,)
    assert (logs < 1e-12).all()
    assert np.isfinite(logs).mean() > 0.8
    assert fitted.score_samples([("zz", "X")], joint=joint)[0] == -np.inf


def test_shares_and_scores_are_one_distribution(fitted):
    (ranking,) = fitted.predict_nbest(["aaa"], 30)
    shares = [share for _, share in ranking]
    assert sum(shares) == pytest.approx(1.0, abs=0.01)
    assert max(shares) <= 1.0
    logs = fitted.score_samples([("aaa", output) for output, _ in ranking])
    assert np.allclose(np.exp(logs), shares, atol=1e-10)


def test_unknown_input_symbols_are_told(fitted):
    with pytest.warns(UserWarning, match="not known are left out: '[?]'"):
        assert fitted.predict(["a?"]) == fitted.predict(["a"])
    with pytest.warns(UserWarning, match="left out"):
        ((_, share),) = fitted.predict_nbest(["a?"], 1)[0]
    assert share == pytest.approx(fitted.predict_nbest(["a"], 1)[0][0][1] / 2)  # `?` for X, or for nothing


def test_samples_repeat(fitted):
    assert fitted.sample(5) == fitted.sample(5)
    assert len(fitted.sample(3, random_state=9)) == 3


def test_estimators_are_cloned_and_pickled(fitted):
    again = pickle.loads(pickle.dumps(fitted))
    assert again.predict(["aaa"]) == fitted.predict(["aaa"])
    assert clone(fitted).get_params() == fitted.get_params()


def test_inputs_and_outputs_may_come_apart():
    xs, ys = zip(*PAIRS, strict=True)
    together, apart = SpectralTransducer("ngram", order=2).fit(PAIRS), SpectralTransducer("ngram", order=2)
    assert apart.fit(list(xs), list(ys)).predict(["aaa"]) == together.predict(["aaa"])
    assert apart.fit(StringPairs.of(PAIRS)).predict(["aaa"]) == together.predict(["aaa"])


def test_alignments_are_units_that_spell_the_pair():
    model = SpectralTransducer("ngram", order=2).fit(PAIRS)
    (units,) = model.align(PAIRS[:1])
    assert tuple(s for unit in units for s in unit[0]) == PAIRS[0][0]
    with pytest.raises(InputError, match="no best alignment"):
        SpectralTransducer("spectral", n_states=2).fit(PAIRS).align(PAIRS)


def test_wrong_calls_are_told():
    with pytest.raises(NotFittedError):
        SpectralTransducer().predict(["a"])
    with pytest.raises(ValueError, match="method"):
        SpectralTransducer(method="magic").fit(PAIRS)
    with pytest.raises(ValueError, match="order"):
        SpectralTransducer(order=0).fit(PAIRS)
    with pytest.raises(InputError, match="no pairs"):
        SpectralTransducer().fit([])
    with pytest.raises(InputError, match="list of strings"):
        SpectralTransducer("ngram", order=2).fit(PAIRS).predict("ab")
