"""Labels by the difference of two distributions."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from sigmastar import EMAutomaton, HankelClassifier
from sigmastar.automata.data.strings import Strings
from sigmastar.regression.data import LOSSES, Observations
from sigmastar.regression.learn.contrast import _errors, contrast

WORDS = ["".join(letters) for n in range(6) for letters in product("ab", repeat=n)]


def test_signs_are_those_of_the_more_likely_class(rng: np.random.Generator) -> None:
    """With one state per class, whose maximum likelihood has one solution, by hand."""
    words = ["aab", "aaa", "abaa", "ab", "bba", "bbb", "b", "babb"]
    signs = np.array([1.0] * 4 + [-1.0] * 4)
    observations = Observations.of(Strings.of(words), signs, LOSSES["logistic"])
    found = contrast(observations, 2, rng)
    logs = []
    for sign in (-1.0, 1.0):
        own = [word for word, one in zip(words, signs, strict=True) if one == sign]
        model = EMAutomaton(n_states=1, alphabet="ab").fit(own)
        logs.append(model.score_samples(WORDS) + np.log(len(own)))
    values = found.value(Strings.of(WORDS, alphabet=found.alphabet))
    told_apart = np.abs(logs[1] - logs[0]) > 1e-6
    np.testing.assert_array_equal((values > 0)[told_apart], (logs[1] > logs[0])[told_apart])
    wrong = (found.value(Strings.of(words, alphabet=found.alphabet)) > 0) != (signs > 0)
    assert _errors(found, observations) == wrong.sum()
    assert _errors(found, replace(observations, targets=-signs)) == (~wrong).sum()


def drawn(rng: np.random.Generator, n: int) -> tuple[list[tuple[int, ...]], list[int]]:
    """Strings of two noisy cycles: long, so that no two share a prefix of some length."""
    words, labels = [], []
    for k in range(n):
        label = k % 2
        turn, word = 1 if label else 3, [int(rng.integers(4))]
        while len(word) < 20:
            word.append((word[-1] + turn) % 4 if rng.random() < 0.5 else int(rng.integers(4)))
        words.append(tuple(word))
        labels.append(label)
    return words, labels


def test_long_strings_are_told_apart_by_their_distributions(rng: np.random.Generator) -> None:
    words, labels = drawn(rng, 200)
    model = HankelClassifier(random_state=0, max_iter=10).fit(words[:150], labels[:150])
    assert model.starts_ == ("contrast",)
    assert model.score(words[150:], labels[150:]) > 0.8
    probabilities = model.predict_proba(words)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)


def test_a_rule_on_short_strings_is_completed() -> None:
    labels = [word.count("a") % 2 for word in WORDS]
    model = HankelClassifier(random_state=0).fit(WORDS, labels)
    assert model.starts_ == ("completed",)
    assert model.score(["ab" * 20, "a" * 31], [0, 1]) == 1.0


@pytest.mark.parametrize("words", [["a", "b"], ["", "b"]])
def test_few_strings(words: list[str]) -> None:
    assert HankelClassifier(random_state=0).fit(words, [0, 1]).predict(words).tolist() == [0, 1]


def test_a_string_that_weighs_two_counts_as_two_strings() -> None:
    words, values = ["ab", "ba", "a", "b", "abab"], np.array([1.0, -1.0, 1.0, -1.0, 1.0])
    twice = Observations.of(Strings.of([*words, "a", "ba", "ba"]), np.append(values, [1.0, -1.0, -1.0]))
    weighed = Observations.of(
        Strings.of(words, alphabet=twice.strings.alphabet),
        values,
        weights=np.array([1.0, 3.0, 2.0, 1.0, 1.0]),
    )
    one, other = (contrast(given, 2, np.random.default_rng(0)) for given in (twice, weighed))
    strings = weighed.strings
    assert np.allclose(one.value(strings), other.value(strings))
    bare = contrast(replace(weighed, weights=np.ones(5)), 2, np.random.default_rng(0))
    assert not np.allclose(bare.value(strings), other.value(strings))


def test_weights_that_are_no_whole_numbers_count_by_their_share() -> None:
    words, values = Strings.of(["ab", "ba", "a", "b"]), np.array([1.0, -1.0, 1.0, -1.0])
    small, large = (
        contrast(
            Observations.of(words, values, weights=scale * np.array([0.5, 1.5, 1.0, 1.0])),
            2,
            np.random.default_rng(0),
        )
        for scale in (0.3, 0.7)
    )
    assert np.allclose(small.value(words), large.value(words))
