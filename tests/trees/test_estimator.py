from __future__ import annotations

import numpy as np
import pytest

from sigmastar import InputError, NotFittedError, SpectralLatentPCFG, SpectralTreeAutomaton, Tree
from sigmastar.trees import as_trees, make_treebank, parse_brackets
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
        SpectralTreeAutomaton().fit(Tree("f", ("a", "b")))
    with pytest.raises(InputError, match="binarize"):
        SpectralLatentPCFG().fit(["(f (A a) (A b) (A c))"])
    with pytest.raises(InputError, match="2 trees"):
        SpectralTreeAutomaton().fit(["(f a b) (f a b)"])
    with pytest.raises(InputError, match="is no tree"):
        SpectralTreeAutomaton().fit([3])
    with pytest.raises(ValueError, match="n_states=0"):
        SpectralTreeAutomaton(0).fit(["(f a b)"])
    with pytest.raises(NotFittedError):
        SpectralTreeAutomaton().score(["a"])
    with pytest.raises(InputError, match="without a tag"):
        SpectralLatentPCFG().fit(["a"])
    with pytest.raises(ValueError, match="nodes='some' must be one of 'all', 'one'"):
        SpectralLatentPCFG(nodes="some").fit(["(S (A a) (B b))"])


class NltkTree(list):
    """A tree as nltk has them: a list of children with a label."""

    def __init__(self, label, children):
        super().__init__(children)
        self._label = label

    def label(self):
        return self._label


def test_text_and_trees_of_nltk_are_trees():
    expected = parse_brackets("(S (A x) (B y)) (S (A x) (S (A x) (B y)))")
    assert as_trees("(S (A x) (B y)) (S (A x) (S (A x) (B y)))") == expected
    small = NltkTree("S", [NltkTree("A", ["x"]), NltkTree("B", ["y"])])
    assert as_trees([small, NltkTree("S", [NltkTree("A", ["x"]), small])]) == expected


def test_a_latent_pcfg_is_learned_scored_and_drawn_from():
    bank = make_treebank(4_000, random_state=1)
    model = SpectralLatentPCFG().fit(bank.trees)
    fresh = bank.grammar.sample(300, np.random.default_rng(9))
    ratio = np.exp(model.score_samples(fresh) - bank.grammar.log_probability(fresh))
    assert np.median(np.abs(ratio - 1)) < 0.2
    assert model.model_.total_mass() == pytest.approx(1.0, abs=0.05)
    drawn = model.sample(2_000, random_state=0)
    assert drawn == model.sample(2_000, random_state=0)
    lengths = [np.mean([len(list(tree.words())) for tree in trees]) for trees in (drawn, bank.trees)]
    assert lengths[0] == pytest.approx(lengths[1], rel=0.1)
    one = SpectralLatentPCFG(nodes="one", random_state=3).fit(bank.trees)
    assert not np.allclose(one.model_.top, model.model_.top)
