"""The three grammars as estimators: what they accept, what they refuse, what they find."""

from __future__ import annotations

import numpy as np
import pytest

import sigmastar
from oracles_grammar import random_pcfg
from sigmastar import CompletionGrammar, EMGrammar, SpectralGrammar
from sigmastar.automata.data.strings import Strings
from sigmastar.core.errors import InputError, NotFittedError
from sigmastar.grammars.data.bracketings import Bracketings
from sigmastar.grammars.model.grammar import WeightedGrammar
from sigmastar.trees.data.brackets import parse_brackets
from sigmastar.trees.data.tree import Tree


@pytest.fixture(scope="module")
def truth() -> WeightedGrammar:
    return random_pcfg(2, 2, np.random.default_rng(3), stop=0.7)


@pytest.fixture(scope="module")
def sample(truth: WeightedGrammar) -> Bracketings:
    return truth.sample_brackets(3000, np.random.default_rng(0))


def test_from_brackets(truth: WeightedGrammar, sample: Bracketings) -> None:
    model = SpectralGrammar(n_states=2, basis_factor=0.1).fit(sample)
    gap = np.abs(
        np.exp(model.score_samples(["a", "ab", "ba"])) - truth.value(sample.strings.of(["a", "ab", "ba"]))
    )
    assert gap.max() < 0.03
    from_trees = SpectralGrammar(n_states=2, basis_factor=0.1).fit(sample.trees())
    np.testing.assert_allclose(from_trees.score_samples(["ab"]), model.score_samples(["ab"]))


def test_from_bare_strings(truth: WeightedGrammar, sample: Bracketings) -> None:
    expected = truth.log_probability(sample.strings).mean()
    completed = CompletionGrammar(n_states=2, max_length=6, max_iter=30, em=False).fit(sample.strings)
    assert 0.0 < completed.cut_off_ < 0.2
    gap = np.exp(completed.score_samples(["a", "ab"])) - truth.value(sample.strings.of(["a", "ab"]))
    assert np.abs(gap).max() < 0.03
    for model in (
        CompletionGrammar(n_states=2, max_length=6, max_iter=30),
        EMGrammar(n_states=2, max_iter=30, pair_prior=5.0),
        EMGrammar(n_states=2, start="random", max_iter=30, pair_prior=5.0, held_out=0.1),
        EMGrammar(n_states=2, start="spectral", max_iter=30, pair_prior=5.0),
    ):
        model.fit(sample)
        assert model.score(sample.strings) > expected - 0.05
        assert model.model_.is_probabilistic()
        assert len(model.sample(5, 0)) == 5


def test_weights_stand_for_repetitions(sample: Bracketings) -> None:
    strings = ["ab", "b", "abb", "a"]
    counts = [3, 2, 1, 4]
    repeated = [s for s, n in zip(strings, counts, strict=True) for _ in range(n)]
    plain = {"n_states": 2, "start": "random", "max_iter": 5}
    one = EMGrammar(**plain).fit(strings, sample_weight=counts)
    other = EMGrammar(**plain).fit(repeated)
    np.testing.assert_allclose(one.score_samples(strings), other.score_samples(strings), rtol=1e-9)


def test_samples_repeat_unless_a_seed_is_given(sample: Bracketings) -> None:
    model = EMGrammar(n_states=2, max_iter=3, random_state=5).fit(sample)
    assert list(model.sample(20)) == list(model.sample(20))
    assert list(model.sample(20)) != list(model.sample(20, random_state=6))
    with pytest.raises(AttributeError, match="signed"):
        SpectralGrammar(n_states=2).fit(sample).sample(1)


def test_predictions_are_binary_trees(sample: Bracketings) -> None:
    model = EMGrammar(n_states=2, max_iter=5).fit(sample.strings)
    trees = model.predict(["abab", "b"])
    assert list(trees[0].words()) == list("abab")
    assert str(trees[1]) == "(X b)"
    assert model.brackets(["abab"]).is_binary


@pytest.mark.parametrize("estimator", [SpectralGrammar, CompletionGrammar, EMGrammar])
def test_the_contract(estimator: type[EMGrammar]) -> None:
    model = estimator(n_states=3)
    assert model.get_params()["n_states"] == 3
    assert getattr(sigmastar, estimator.__name__) is estimator
    with pytest.raises(NotFittedError):
        model.predict(["ab"])
    assert str(model) == f"{estimator.__name__}(n_states=3)"
    with pytest.raises(ValueError, match="n_states=0"):
        estimator(n_states=0).fit([Tree("X", ("a", "b"))])


@pytest.mark.parametrize("strings", [["a"], ["ab", "a"], ["ab"] * 3, ["abc", "cab", "bca"]])
@pytest.mark.parametrize("start", ["random", "cca", "spectral"])
def test_tiny_corpora_are_enough(strings: list[str], start: str) -> None:
    model = EMGrammar(n_states=3, start=start, max_iter=3).fit(strings)
    assert model.model_.is_probabilistic()
    assert np.isfinite(model.score(strings))


def test_long_strings_are_refused_with_an_estimate(truth: WeightedGrammar) -> None:
    with pytest.raises(InputError, match=r"20 GB to number, and take up to 4.6e\+03 hours with ten states"):
        truth.log_probability(Strings.of([["a", "b"] * 50_000], alphabet=truth.alphabet))


def test_what_is_wrong_is_told(sample: Bracketings) -> None:
    with pytest.raises(InputError, match="needs brackets"):
        SpectralGrammar().fit(["ab"])
    with pytest.raises(ValueError, match="start='cold' must be one of"):
        EMGrammar(start="cold").fit(["ab"])
    with pytest.raises(InputError, match="no strings"):
        EMGrammar().fit([])
    with pytest.raises(InputError, match="one string"):
        EMGrammar().fit("ab")


def test_a_warm_start_goes_on_where_the_last_fit_ended() -> None:
    strings = ["ab", "aabb", "ab", "aaabbb", "ba"] * 3
    model = EMGrammar(n_states=2, start="random", max_iter=3, warm_start=True).fit(strings)
    first = model.log_likelihoods_
    second = model.fit(strings).log_likelihoods_
    whole = EMGrammar(n_states=2, start="random", max_iter=6).fit(strings).log_likelihoods_
    np.testing.assert_allclose(second[0], whole[len(first)], rtol=1e-9)
    assert EMGrammar(n_states=2, start="random", max_iter=3).fit(strings).log_likelihoods_ == first
    assert model.set_params(n_states=3).fit(strings).model_.n_states == 3


class NltkTree(list[object]):
    def label(self) -> str:
        return "X"


def test_trees_of_nltk_and_in_brackets_have_brackets() -> None:
    texts = ["(X (A a) (A b))", "(X (A a) (X (A a) (A b)))", "( (X (A b)) )"] * 4
    theirs = [
        NltkTree([NltkTree(["a"]), NltkTree(["b"])]),
        NltkTree([NltkTree(["a"]), NltkTree([NltkTree(["a"]), NltkTree(["b"])])]),
        NltkTree([NltkTree(["b"])]),
    ] * 4
    ours = SpectralGrammar(n_states=3).fit([parse_brackets(text)[0] for text in texts])
    wanted = ours.score_samples(["ab", "aab"])
    assert np.isfinite(wanted).all()
    for trees in (texts, theirs):
        np.testing.assert_allclose(
            SpectralGrammar(n_states=3).fit(trees).score_samples(["ab", "aab"]), wanted
        )
        assert len(EMGrammar(n_states=2, start="random", max_iter=2).fit(trees).model_.alphabet) == 2
        assert ours.predict(trees[:1]) == ours.predict(["ab"])


def test_strings_over_brackets_are_strings() -> None:
    grammar = EMGrammar(n_states=2, start="random", max_iter=2).fit(["(())", "()", "( ( ) )"] * 4)
    assert grammar.model_.alphabet.symbols == (" ", "(", ")")
