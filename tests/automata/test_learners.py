"""What every learner of automata keeps to: proper distributions, the same from the same seed, odd corpora."""

from __future__ import annotations

import numpy as np
import pytest

from automata.test_context_models import TRUTH
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.learn.auto import learn_auto
from sigmastar.automata.learn.convex import learn_convex
from sigmastar.automata.learn.em import STRUCTURES, EMSettings, from_spectrum, learn_em
from sigmastar.automata.learn.fast import learn_fast
from sigmastar.automata.learn.held_out import HeldOut, hold_out
from sigmastar.automata.learn.ngram import ORDERS, SMOOTHINGS, learn_ngram
from sigmastar.automata.model.algebra import mixture
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.restart_filter import FilteredAutomaton
from sigmastar.automata.model.sequence import SequenceModel
from sigmastar.core import recover
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.errors import InputError, UnknownSymbolError


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


LEARNERS = {
    "fast": lambda strings, n=None: learn_fast(strings, rng(), n).model,
    "convex": lambda strings, n=None: learn_convex(strings, rng(), n).model,
    "auto": lambda strings, n=None: learn_auto(strings, rng(), n).automaton,
    "em": lambda strings, n=None: learn_em(strings, n or 3, rng()).automaton,
    "em, no held-out": lambda strings, n=None: (
        learn_em(strings, n or 3, rng(), EMSettings(held_out=0.0)).automaton
    ),
    "em, spectral start": lambda strings, n=None: (
        learn_em(strings, n or 1, rng(), EMSettings(start=from_spectrum)).automaton
    ),
    "hmm": lambda strings, n=None: (
        learn_em(strings, n or 3, rng(), EMSettings(step=STRUCTURES["hmm"])).automaton
    ),
    "witten-bell": lambda strings, n=None: learn_ngram(strings, None, rng=rng()),
    "kneser-ney": lambda strings, n=None: learn_ngram(strings, None, SMOOTHINGS["kneser-ney"], rng()),
}
SPECTRAL = ["fast", "convex", "auto", "em, spectral start"]
every_learner = pytest.mark.parametrize("name", LEARNERS)
every_spectral_learner = pytest.mark.parametrize("name", SPECTRAL)

AB, ABCD = Alphabet("ab"), Alphabet("abcd")
ODD_CORPORA = {
    "one string": Strings.of(["abbab"]),
    "one empty string": Strings.of([""]),
    "equal strings": Strings.of(["abcab"] * 40),
    "empty strings": Strings.of([""] * 30),
    "empty strings over an alphabet": Strings.of([""] * 30, alphabet=AB),
    "symbols never seen": Strings.of(["ab", "abb", "a", ""] * 20, alphabet=ABCD),
    "two strings": Strings.of(["ab", "ba"]),
    "two strings that share nothing": Strings.of(["ab", "c"]),
    "one symbol": Strings.of(["a" * k for k in range(12)] * 3),
    "rare symbols": Strings.of(["aaa"] * 30 + list("bcdefgh")),
}


@pytest.fixture(scope="module")
def strings() -> Strings:
    return TRUTH.sample(600, rng(1))


@pytest.fixture(scope="module")
def fresh() -> Strings:
    return TRUTH.sample(1_000, rng(2))


@pytest.fixture(scope="module")
def learnt(strings) -> dict[str, SequenceModel]:
    """Every learner once, on the same strings."""
    return {
        name: learn(strings, 3 if name == "em, spectral start" else None) for name, learn in LEARNERS.items()
    }


def require_proper(model: SequenceModel, strings: Strings) -> None:
    rows = model.gap_distributions(strings)
    assert (rows >= 0).all()
    np.testing.assert_allclose(rows.sum(axis=1), 1.0, atol=1e-12)


def weights_of(model: SequenceModel) -> dict[str, np.ndarray]:
    return model.to_parts()[0]


@every_learner
def test_models_are_proper_distributions(name, learnt, fresh):
    model = learnt[name]
    assert isinstance(model, SequenceModel)
    require_proper(model, fresh)
    logs = model.log_probability(fresh)
    assert np.isfinite(logs).all()
    assert len(model.sample(20, rng())) == 20


@every_learner
def test_models_beat_a_unigram_on_fresh_strings(name, learnt, strings, fresh):
    unigram = learn_ngram(strings, 1).log_probability(fresh).mean()
    truth = TRUTH.log_probability(fresh).mean()
    gained = (learnt[name].log_probability(fresh).mean() - unigram) / (truth - unigram)
    assert 0.3 < gained < 1.0


@every_learner
def test_the_same_seed_gives_the_same_model(name, learnt, strings):
    again = LEARNERS[name](strings, 3 if name == "em, spectral start" else None)
    first, second = weights_of(learnt[name]), weights_of(again)
    assert first.keys() == second.keys()
    for key in first:
        np.testing.assert_array_equal(first[key], second[key])


@every_learner
@pytest.mark.parametrize("corpus", ODD_CORPORA)
def test_odd_corpora(name, corpus):
    strings = ODD_CORPORA[corpus]
    model = LEARNERS[name](strings)
    require_proper(model, strings)
    assert model.alphabet == strings.alphabet
    logs = model.log_probability(strings)
    assert np.isfinite(logs).all()
    assert (logs <= 1e-9).all()
    if corpus.startswith(("one empty", "empty")):
        assert (logs > -0.05).all()
    assert len(model.sample(5, rng(), max_length=20)) == 5


@every_learner
def test_there_must_be_strings(name):
    with pytest.raises(InputError, match="no strings to learn from"):
        LEARNERS[name](Strings.of([], alphabet=AB))


@every_learner
def test_symbols_outside_the_alphabet_are_refused(name):
    with pytest.raises(UnknownSymbolError, match="string 2 holds a symbol"):
        LEARNERS[name](Strings.of(["ab", "b?", "a"], alphabet=AB, allow_unknown=True))


def automaton_of(model: SequenceModel) -> WeightedAutomaton:
    return model.automaton if isinstance(model, FilteredAutomaton) else model


@every_spectral_learner
@pytest.mark.parametrize("n_states", [1, 2, 5])
def test_there_are_as_many_states_as_asked_for(name, n_states, strings):
    assert automaton_of(LEARNERS[name](strings, n_states)).n_states == n_states


@pytest.mark.parametrize("name", ["fast", "convex", "auto"])
def test_no_states_are_refused(name, strings):
    with pytest.raises(ValueError, match="n_states=0: an automaton has at least one state"):
        LEARNERS[name](strings, 0)


@every_spectral_learner
def test_more_states_than_the_counts_bear_are_refused(name):
    with pytest.raises(ValueError, match=r"n_states=40 exceeds block rank \d+; use n_states<=\d+, more data"):
        LEARNERS[name](Strings.of(["abab", "ab", ""] * 10), 40)


@pytest.mark.parametrize("name", ["auto", "convex", "em", "em, spectral start", "hmm"])
def test_automata_are_stochastic(name, learnt):
    assert automaton_of(learnt[name]).is_stochastic()


def test_auto_says_why_it_has_its_size(strings):
    said: list[str] = []
    fit = learn_auto(strings, rng(), progress=said.append)
    assert fit.automaton.n_states == sum(fit.sizes)
    assert fit.evidence.chosen in fit.evidence.candidates
    assert len(fit.evidence.scores) == len(fit.evidence.candidates)
    assert fit.n_iterations > 0
    assert np.isfinite(fit.held_out_score)
    assert said


@pytest.mark.parametrize("learn", [learn_fast, learn_convex])
def test_filtered_fits_say_why_they_have_their_rank(learn, strings, fresh):
    said: list[str] = []
    fit = learn(strings, rng(), progress=said.append)
    assert fit.evidence.chosen == fit.model.automaton.n_states == fit.contexts.n_states
    assert max(fit.evidence.scores) == fit.evidence.scores[fit.evidence.candidates.index(fit.evidence.chosen)]
    assert fit.evidence.singular_values[0] == pytest.approx(1.0)
    assert fit.contexts.counts.n_strings == len(strings)  # held-out strings join in the end
    assert fit.held_out_score == pytest.approx(fit.model.log_probability(fresh).mean(), abs=0.5)
    assert said


def test_more_seeds_are_no_worse(strings):
    one = learn_em(strings, 4, rng(), EMSettings(n_seeds=1))
    three = learn_em(strings, 4, rng(), EMSettings(n_seeds=3))
    assert three.held_out_score >= one.held_out_score
    assert three.n_iterations > one.n_iterations
    assert min(np.diff(one.log_likelihoods)) > -1e-2  # smoothed steps may lose a little


def test_a_time_limit_ends_the_search_for_seeds(strings):
    fit = learn_em(strings, 3, rng(), EMSettings(n_seeds=1_000, time_limit=0.2))
    assert fit.automaton.is_stochastic()
    at_once = learn_em(strings, 3, rng(), EMSettings(n_seeds=1_000, time_limit=-1.0))
    assert at_once.n_iterations == 1
    assert np.isfinite(at_once.held_out_score)


def test_em_in_single_precision_is_as_good(strings, fresh):
    double, single = (
        learn_em(strings, 3, rng(), EMSettings(dtype=dtype)).automaton for dtype in (np.float64, np.float32)
    )
    difference = double.log_probability(fresh).mean() - single.log_probability(fresh).mean()
    assert abs(difference) < 0.05


def test_hidden_markov_models_are_factored(learnt):
    automaton = automaton_of(learnt["hmm"])
    sums = automaton.transition_sum
    emission = automaton.transitions.sum(axis=2) / sums.sum(axis=1)
    np.testing.assert_allclose(automaton.transitions, emission[:, :, None] * sums, atol=1e-12)


def test_a_symbol_that_only_held_out_strings_hold_does_not_stop_hmms():
    strings = Strings.of(["ab" * 3] * 40 + [[k] for k in range(10)])
    fit = learn_em(strings, 2, rng(), EMSettings(step=STRUCTURES["hmm"], held_out=0.3))
    assert np.isfinite(fit.held_out_score)
    assert fit.n_iterations > 3


def test_an_automaton_has_at_least_one_state(strings):
    with pytest.raises(ValueError, match="n_states=0: an automaton has at least one state"):
        learn_em(strings, 0, rng())


@pytest.mark.parametrize("order", [1, 2, 4])
def test_n_grams_have_the_order_asked_for(order, strings):
    model = learn_ngram(strings, order)
    assert model.contexts.depth.max() == order - 1


def test_the_order_is_chosen_on_held_out_strings(strings, fresh):
    kept, held = strings.split(0.1, rng(5))
    scores = [learn_ngram(kept, order).log_probability(held).mean() for order in ORDERS]
    chosen = learn_ngram(strings, None, rng=rng(5))
    assert chosen.contexts.depth.max() + 1 == ORDERS[int(np.argmax(scores))]
    with pytest.raises(ValueError, match="use order>=1"):
        learn_ngram(strings, 0)


def test_huge_alphabets_cost_little(monkeypatch):
    """Operators, and rows of next symbols, would take gigabytes if their size were not bounded."""
    n_symbols = 100_000
    rows = [(rng(k).zipf(1.3, size=4) % n_symbols).tolist() for k in range(40)]
    strings = Strings.of(rows, alphabet=Alphabet(range(n_symbols)))
    monkeypatch.setattr(recover, "MOST_WEIGHTS", 4 * n_symbols)
    fit = learn_fast(strings, rng(), n_classes=(40,))
    assert fit.model.automaton.n_states <= 2
    assert np.isfinite(fit.model.log_probability(strings)).all()
    drawn = fit.model.sample(3, rng(), max_length=3)
    assert len(drawn) == 3
    row = fit.model.gap_distributions(strings.select([0]))
    np.testing.assert_allclose(row.sum(axis=1), 1.0, atol=1e-12)


def test_learners_find_what_n_grams_cannot(fresh):
    """A mixture of two languages that remember their first symbol for ever."""
    halves = [
        WeightedAutomaton(AB, np.ones(1), np.array([[[p]], [[0.9 - p]]]), np.array([0.1])) for p in (0.8, 0.1)
    ]
    truth = mixture(halves, [0.5, 0.5])
    strings, held = truth.sample(800, rng(0)), truth.sample(500, rng(1))
    best = truth.log_probability(held).mean()
    ngram = best - learn_ngram(strings, None, rng=rng()).log_probability(held).mean()
    for name in ("fast", "convex", "auto"):
        assert best - LEARNERS[name](strings).log_probability(held).mean() < 0.75 * ngram


STICKY = WeightedAutomaton(
    Alphabet("abcd"),
    np.array([1.0, 0.0, 0.0]),
    np.einsum(
        "qa,qr->aqr",
        np.array([[0.7, 0.1, 0.1, 0.1], [0.1, 0.7, 0.1, 0.1], [0.1, 0.1, 0.4, 0.4]]),
        np.array([[0.95, 0.03, 0.02], [0.02, 0.95, 0.03], [0.03, 0.02, 0.95]]),
    ),
    np.zeros(3),
)


@pytest.mark.parametrize("name", ["fast", "convex", "auto"])
def test_one_long_string_is_cut_not_judged_by_itself(name):
    drawn, test = (STICKY.sample(1, rng(seed), max_length=8_000) for seed in (0, 1))
    em = learn_em(drawn, 3, rng(), EMSettings(n_seeds=2)).automaton.log_probability(test)[0]
    found = LEARNERS[name](drawn).log_probability(test)[0]
    assert found / test.n_gaps > em / test.n_gaps - 0.03


def test_where_one_string_ends_is_no_evidence():
    """A model that never ends, and one that would end soon, are as good as what they give to the symbols."""
    _, held = hold_out(STICKY.sample(1, rng(), max_length=1_000), rng())
    judge = HeldOut.of(held)
    ending = WeightedAutomaton(STICKY.alphabet, STICKY.initial, STICKY.transitions, np.full(3, 0.5))
    assert np.isfinite(judge.mean_log_probability(STICKY))
    assert judge.mean_log_probability(STICKY) == judge.mean_log_probability(ending)
    assert judge.weights.sum() == 100.0
    assert held.judged_gaps.sum() == 100


def test_what_is_not_held_out_is_not_called_so():
    nothing, one = Strings.of(["ab"]), Strings.of(["ab" * 400])
    for learn in (learn_fast, learn_convex, learn_auto):
        assert learn(nothing, rng()).held_out_score is None
        assert np.isfinite(learn(one, rng()).held_out_score)
    assert learn_em(nothing, 2, rng()).held_out_score is None
    assert learn_em(Strings.of(["ab", "b"] * 20), 2, rng(), EMSettings(held_out=0.0)).held_out_score is None
