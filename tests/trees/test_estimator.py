from __future__ import annotations

import numpy as np
import pytest

from sigmastar import InputError, NotFittedError, SpectralTreeAutomaton
from sigmastar.trees.data.tree import Tree
from sigmastar.trees.model.generators import make_tree_automaton


def test_a_known_automaton_is_found():
    truth = make_tree_automaton(2, np.random.default_rng(0))
    model = SpectralTreeAutomaton(2).fit(truth.sample(8_000, np.random.default_rng(1)))
    asked = [Tree("f", (a, b)) for a in "abc" for b in "abc"]
    found, expected = np.exp(model.score_samples(asked)), truth.value(asked)
    assert np.abs(found - expected).sum() < 0.1 * expected.sum()
    assert model.score(asked) == pytest.approx(model.score_samples(asked).mean())


def test_brackets_words_and_what_is_refused():
    model = SpectralTreeAutomaton(1, 10, 10, 1).fit(["(f a b)", "a", Tree("f", ("a", "a"))] * 5)
    assert np.isfinite(model.score_samples(["(f a b)", "a"])).all()
    assert model.score_samples(["(h a b)"])[0] == -np.inf
    assert repr(SpectralTreeAutomaton(n_states=3)) == "SpectralTreeAutomaton(n_states=3)"
    with pytest.raises(InputError, match="list of trees"):
        SpectralTreeAutomaton().fit("(f a b)")
    with pytest.raises(InputError, match="binarise"):
        SpectralTreeAutomaton().fit(["(f a b c)"])
    with pytest.raises(InputError, match="2 trees"):
        SpectralTreeAutomaton().fit(["(f a b) (f a b)"])
    with pytest.raises(ValueError, match="n_states=0"):
        SpectralTreeAutomaton(0).fit(["(f a b)"])
    with pytest.raises(NotFittedError):
        SpectralTreeAutomaton().score(["a"])
