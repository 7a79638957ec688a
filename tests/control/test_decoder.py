"""Control equals sums over all strings; samples meet the constraint, as often as the model has it."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sigmastar import ConstrainedDecoder, NgramAutomaton, SpectralAutomaton
from sigmastar.automata import Hmm, Strings, WeightedAutomaton, from_hmm, make_automaton
from sigmastar.control import Constraint, avoids, contains, length, matches
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.errors import InputError

SYMBOLS, MOST = "abc", 6
ALL = ["".join(string) for n in range(MOST + 1) for string in product(SYMBOLS, repeat=n)]
CONSTRAINTS = {
    "matches": matches("a?(b|cc*)*[^b]"),
    "contains": contains("ab") & avoids("cc"),
    "lengths": contains("b") & length(2, 4),
    "either": ~matches("a*") & (contains("ca") | length(3, 3)),
}


def hmm(n: int = 4, symbols: str = SYMBOLS) -> Hmm:
    rng = np.random.default_rng(0)
    initial, transition = rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(n), size=n)
    emission = rng.dirichlet(np.ones(len(symbols)), size=n)
    emission[0] = np.eye(len(symbols))[0]  # impossible symbols too
    return Hmm(Alphabet(symbols), initial, transition, emission, rng.uniform(0.1, 0.4, n))


def machine() -> WeightedAutomaton:
    made = make_automaton(3, 3, np.random.default_rng(1), density=0.6, stop=0.3)
    return WeightedAutomaton(Alphabet(SYMBOLS), *made.arrays)


def ngram() -> Any:
    return NgramAutomaton(order=2).fit(["abc", "ca", "bb", "", "cab", "abab"]).model_


MODELS = {"hmm": hmm, "automaton": machine, "ngram": ngram}


def enumerated(model: Any, constraint: Constraint) -> dict[str, float]:
    """The probabilities of the strings of up to MOST symbols that meet a constraint."""
    if isinstance(model, Hmm):
        model = from_hmm(model)
    strings = Strings.of(ALL, alphabet=Alphabet(SYMBOLS))
    values = np.exp(model.log_probability(strings)) * constraint.dfa(SYMBOLS).accepts(strings)
    return dict(zip(ALL, values.tolist(), strict=True))


def beginning(model: Any, prefix: str) -> float:
    """The probability of all strings that begin with a prefix, by the chain rule."""
    if isinstance(model, Hmm):
        model = from_hmm(model)
    rows = model.gap_distributions(Strings.of([prefix], alphabet=Alphabet(SYMBOLS)))
    return float(np.prod([rows[t, SYMBOLS.index(symbol)] for t, symbol in enumerate(prefix)]))


@pytest.mark.parametrize("constraint", CONSTRAINTS.values(), ids=CONSTRAINTS)
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_weights_equal_sums_over_all_strings(model: Any, constraint: Constraint) -> None:
    made = model()
    truth, decoder = enumerated(made, constraint), ConstrainedDecoder(made, constraint, MOST)
    prefixes = ["", "a", "ca", "bb", "abc", "cbb"]
    joint = np.zeros((len(prefixes), 4))
    for row, prefix in enumerate(prefixes):
        for column, symbol in enumerate(SYMBOLS):
            joint[row, column] = sum(v for s, v in truth.items() if s.startswith(prefix + symbol))
        joint[row, 3] = truth[prefix]
    own = np.array([[beginning(made, prefix + symbol) for symbol in SYMBOLS] for prefix in prefixes])
    expected = np.divide(joint[:, :3], own, out=np.zeros_like(own), where=own > 0)
    may_end = constraint.dfa(SYMBOLS).accepts(Strings.of(prefixes, alphabet=Alphabet(SYMBOLS)))
    possible = np.array([beginning(made, prefix) > 0 for prefix in prefixes])
    np.testing.assert_allclose(decoder.weights(prefixes)[:, :3], expected, atol=1e-10)
    np.testing.assert_array_equal(decoder.weights(prefixes)[:, 3], may_end & possible)
    totals = joint.sum(axis=1)
    conditional = np.divide(joint, totals[:, None], out=np.zeros_like(joint), where=totals[:, None] > 0)
    np.testing.assert_allclose(decoder.next_distributions(prefixes), conditional, atol=1e-10)
    within = [beginning(made, prefix) for prefix in prefixes]
    shares = np.divide(totals, within, out=np.zeros(len(prefixes)), where=np.array(within) > 0)
    np.testing.assert_allclose(decoder.probability(prefixes), shares, atol=1e-10)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_samples_are_those_of_the_model_that_meet_the_constraint(model: Any) -> None:
    made, constraint = model(), CONSTRAINTS["contains"]
    truth = enumerated(made, constraint)
    drawn = ["".join(s) for s in ConstrainedDecoder(made, constraint, MOST).sample(20_000, random_state=3)]
    assert set(drawn) <= {string for string, value in truth.items() if value > 0}
    total = sum(truth.values())
    counts = np.array([drawn.count(string) for string in ALL]) / 20_000
    expected = np.array([truth[string] for string in ALL]) / total
    assert np.abs(counts - expected).sum() < 2.5 * np.sqrt(2 / np.pi * expected / 20_000).sum()


def test_without_a_largest_length_all_strings_count() -> None:
    model = machine()
    decoder = ConstrainedDecoder(model, contains("ab"))
    excluded = ConstrainedDecoder(model, avoids("ab"))
    np.testing.assert_allclose(decoder.probability() + excluded.probability(), 1.0, atol=1e-12)
    at_least = ConstrainedDecoder(model, contains("ab") & length(8))
    below = ConstrainedDecoder(model, contains("ab") & length(0, 7))
    np.testing.assert_allclose(
        at_least.probability() + below.probability(), decoder.probability(), atol=1e-12
    )
    assert all(len(string) >= 8 for string in at_least.sample(200))


def test_what_is_very_unlikely_is_not_impossible() -> None:
    symbols = Alphabet(range(50))
    n, rng = 5, np.random.default_rng(0)
    rows = [rng.dirichlet(np.ones(k), size=size) for k, size in ((n, None), (n, n), (50, n))]
    model = Hmm(symbols, *rows, np.full(n, 0.01))
    phrase = rng.integers(0, 50, 300).tolist()
    decoder = ConstrainedDecoder(model, contains(phrase), max_length=400)
    assert decoder.log_probability()[0] < -900
    assert any(phrase == list(string[at : at + 300]) for string in decoder.sample(1) for at in range(101))


def test_a_model_that_never_stops_is_cut() -> None:
    made = hmm()
    endless = SimpleNamespace(
        alphabet=made.alphabet,
        initial=made.initial,
        transition=made.transition,
        emission=made.emission,
        stop=np.zeros(4),
    )
    with pytest.raises(InputError, match="never stops; give a length"):
        ConstrainedDecoder(endless, "a.*")
    decoder = ConstrainedDecoder(endless, "a.*c", max_length=5)
    assert {(len(s), s[0], s[-1]) for s in decoder.sample(100)} == {(5, "a", "c")}
    assert 0 < decoder.probability()[0] < 1
    np.testing.assert_array_equal(decoder.weights(["abbac", "abbaa"])[:, :3], 0.0)
    np.testing.assert_array_equal(decoder.weights(["abbac", "abbaa"])[:, 3], [1.0, 0.0])


@pytest.mark.parametrize(
    ("constraint", "message"),
    [
        (contains("ab") & avoids("b"), "excludes every string"),
        (matches("aaaa"), "probability zero"),
        (contains("ba"), "probability zero: no string of the model meets it within 6 symbols"),
        (matches("d"), "'d' is not among the 3 symbols"),
        (length(7), "at least 7 and at most 6"),
    ],
)
def test_constraints_that_cannot_be_met_are_refused(constraint: Constraint, message: str) -> None:
    emission = np.array([[0.0, 0.5, 0.5]])  # never a
    model = Hmm(Alphabet(SYMBOLS), np.ones(1), np.ones((1, 1)), emission, np.full(1, 0.5))
    with pytest.raises(InputError, match=message):
        ConstrainedDecoder(model, constraint, 6 if "6" in message else None)


def test_signed_automata_are_refused() -> None:
    signed = SpectralAutomaton(method="spectral", n_states=2).fit(["ab", "abab", "b"] * 20).automaton_
    if signed.is_stochastic():
        pytest.skip("the learner found a proper automaton")
    with pytest.raises(InputError, match="proper automaton"):
        ConstrainedDecoder(signed, "a.*")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"stop": np.full(4, 1.5)}, "stop must be probabilities"),
        ({"stop": np.full(4, np.nan)}, "stop must be probabilities"),
        ({"stop": np.full(3, 0.5)}, r"stop \(3,\) are no hidden Markov model of 3 symbols"),
        ({"initial": np.eye(4)}, r"initial \(4, 4\), .* are no hidden Markov model"),
        ({"transition": np.full((4, 4), np.nan)}, "transition must be non-negative with rows that sum to 1"),
        ({"alphabet": None}, "has no states that control can look ahead from"),
    ],
)
def test_arrays_that_are_no_hidden_markov_model_are_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        ConstrainedDecoder(SimpleNamespace(**{**vars(hmm()), **changed}), "a.*")


def test_symbols_may_be_text() -> None:
    model = SimpleNamespace(**{**vars(hmm()), "alphabet": SYMBOLS})
    expected = ConstrainedDecoder(hmm(), "a.*b", 5)
    assert ConstrainedDecoder(model, "a.*b", 5).sample(20) == expected.sample(20)


def test_what_is_no_model_no_constraint_or_no_precision_is_refused() -> None:
    with pytest.raises(InputError, match="object has no states"):
        ConstrainedDecoder(object(), "a.*")
    with pytest.raises(InputError, match="function is no constraint: use matches"):
        ConstrainedDecoder(hmm(), lambda string: True)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="precision is one of"):
        ConstrainedDecoder(hmm(), "a.*", precision="float16")
    with pytest.raises(
        InputError, match=r"'d' is not among the 3 symbols of the alphabet; leave such strings out$"
    ):
        ConstrainedDecoder(hmm(), "a.*").weights(["ad"])


def test_prefixes_can_be_read_symbol_by_symbol() -> None:
    decoder = ConstrainedDecoder(hmm(), contains("ab"), 5)
    read = decoder.start(2)
    for codes in ((0, 1), (1, 2)):
        read = decoder.advance(read, np.array(codes))
    np.testing.assert_allclose(decoder.weights(read), decoder.weights(["ab", "bc"]), atol=1e-14)
