"""`fast`: what it chooses among, and what leaves no trace in the model."""

from __future__ import annotations

import numpy as np
import pytest

from automata.test_context_models import TRUTH
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.estimator.spectral import SpectralAutomaton
from sigmastar.automata.learn import fast as module
from sigmastar.automata.learn.context_operators import backoff_of, best_strength
from sigmastar.automata.learn.fast import CLASSES, ContextBatches, learn_fast
from sigmastar.automata.learn.held_out import HeldOut
from sigmastar.automata.learn.ngram import learn_ngram
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.toy_english import sentences


@pytest.mark.parametrize("limit", [0, 10**9])
def test_threads_leave_no_trace_in_the_model(monkeypatch, limit):
    strings = TRUTH.sample(600, np.random.default_rng(0))
    whole = learn_fast(strings, np.random.default_rng(0), n_classes=(5, 10, 20))
    monkeypatch.setattr(module, "_FEW_ENTRIES", limit)
    other = learn_fast(strings, np.random.default_rng(0), n_classes=(5, 10, 20))
    assert other.held_out_score == whole.held_out_score
    np.testing.assert_array_equal(other.model.log_probability(strings), whole.model.log_probability(strings))


def test_every_number_of_classes_is_tried_and_the_best_is_taken():
    strings, told = TRUTH.sample(600, np.random.default_rng(0)), list[str]()
    fit = learn_fast(strings, np.random.default_rng(0), n_classes=(2, 20), progress=told.append)
    assert sum("on 2 context classes" in line for line in told) == 1
    assert sum("on 20 context classes" in line for line in told) == 1
    alone = [learn_fast(strings, np.random.default_rng(0), n_classes=(size,)) for size in (2, 20)]
    best = max(alone, key=lambda each: each.held_out_score)
    assert fit.held_out_score == pytest.approx(best.held_out_score, abs=1e-4)
    assert fit.contexts.counts.pasts.n_classes == best.contexts.counts.pasts.n_classes


def test_the_estimator_and_the_learner_have_one_default():
    assert SpectralAutomaton().n_classes == CLASSES


def test_the_number_of_states_asked_for_is_kept():
    strings = TRUTH.sample(600, np.random.default_rng(0))
    asked, chosen = (learn_fast(strings, np.random.default_rng(0), n_states=n) for n in (3, None))
    assert asked.model.automaton.n_states == 3
    assert asked.evidence.reason == "the only number that was tried"
    assert chosen.evidence.reason == "best held-out log-likelihood"


def nearly_random(n: int, seed: int) -> Strings:
    """Independent symbols: there is nothing to be found in contexts."""
    rng = np.random.default_rng(seed)
    return Strings.of(
        [tuple(rng.integers(0, 3, rng.geometric(0.3) - 1).tolist()) for _ in range(n)],
        alphabet=Alphabet(range(3)),
    )


def test_strings_without_contexts_get_none():
    """A search finds something in any held-out strings; here that would be worse than an n-gram."""
    strings, others = nearly_random(3000, 1), nearly_random(3000, 2)
    fit = learn_fast(strings, np.random.default_rng(0))
    assert fit.model.automaton.n_states == 1
    assert fit.evidence.chosen == 1
    assert "contexts alone" in fit.evidence.reason
    ngram = learn_ngram(strings, 3).log_probability(others).mean()
    assert fit.model.log_probability(others).mean() > ngram - 1e-3
    asked = learn_fast(strings, np.random.default_rng(0), n_states=3)
    assert asked.model.automaton.n_states == 3  # what is asked for is not taken away


def test_strings_unlike_those_learnt_from_do_not_lead_astray():
    """Most strings are empty, so that operators are guesses; long strings multiply them."""
    rng = np.random.default_rng(0)
    lengths = np.where(rng.random(4000) < 0.9, 0, rng.integers(1, 4, 4000))
    strings = Strings.of(
        [tuple(rng.integers(0, 3, n).tolist()) for n in lengths], alphabet=Alphabet(range(3))
    )
    model = learn_fast(strings, np.random.default_rng(0), n_states=8).model
    longer = Strings.of(
        [tuple(rng.integers(0, 3, 40).tolist()) for _ in range(20)], alphabet=Alphabet(range(3))
    )
    states = model.start_states(20)
    for at in range(40):
        states = model.advance(states, np.arange(20), longer.codes[at::40])
        assert np.abs(states[0]).max() < model.limit


def test_smoothing_is_as_strong_as_held_out_strings_prefer():
    random, regular = nearly_random(3000, 1), Strings.of([(0, 1, 2) * (n % 7) for n in range(3000)])
    found = []
    for strings in (random, regular):
        batches = ContextBatches.first(strings, np.random.default_rng(0), (300,))
        held_out = HeldOut.of(batches.held)
        strength = best_strength(batches.kept, held_out)
        logs = [
            backoff_of(batches.kept, by).log_probability(batches.held.strings).sum() for by in (1.0, strength)
        ]
        assert logs[1] >= logs[0] - 1e-9
        found.append(strength)
    assert found[0] > 10.0 * found[1]


def test_few_strings_with_structure_are_learned_as_they_are() -> None:
    """A dozen held-out strings gain little by any structure: that is no reason to give it up."""
    strings = ["ab", "abab", "", "ab", "abab", "ababab"] * 20
    found = SpectralAutomaton().fit(strings).score_samples(["ab", "abab", "ababab"])
    np.testing.assert_allclose(np.exp(found), [1 / 3, 1 / 3, 1 / 6], atol=0.02)


def test_all_strings_together_are_learned_as_well_as_nine_tenths_of_them() -> None:
    """The last decomposition starts from that of fewer strings, and must find what is new in the rest."""
    learned, fresh = ([node.words for node in sentences(300, seed)] for seed in (0, 9))
    fit = SpectralAutomaton().fit(learned)
    assert fit.score(fresh) > fit.held_out_score_ - 1.0
