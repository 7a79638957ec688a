"""Random machines are proper, and corpora follow them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sigmastar.automata.model.generators import make_automaton, make_dyck, make_hmm, make_strings

SEEDS = st.integers(0, 2**32 - 1)


@given(
    SEEDS, st.integers(1, 6), st.integers(1, 5), st.floats(0.01, 1.0), st.floats(0.01, 0.99), st.booleans()
)
def test_automata_are_proper_and_stop(
    seed: int, n_states: int, n_symbols: int, density: float, stop: float, deterministic: bool
) -> None:
    rng = np.random.default_rng(seed)
    machine = make_automaton(
        n_states, n_symbols, rng, density=density, stop=stop, deterministic=deterministic
    )
    assert machine.transitions.shape == (n_symbols, n_states, n_states)
    assert machine.is_stochastic(1e-12)
    assert machine.final.min() > 0.0
    assert 0.0 <= machine.expected_length() <= 1.0 / machine.final.min()
    assert (machine.suffix_initial > 0.0).all()  # every state is within reach
    if deterministic:
        assert (machine.transitions > 0).sum(axis=2).max() <= 1
        assert machine.initial.tolist() == [1.0] + [0.0] * (n_states - 1)


def test_density_is_the_share_of_moves(rng: np.random.Generator) -> None:
    machine = make_automaton(30, 20, rng, density=0.2)
    assert np.mean(machine.transitions > 0) == pytest.approx(0.2, abs=0.02)


@given(SEEDS, st.integers(1, 6), st.integers(1, 5))
def test_hmms_are_proper_and_factored(seed: int, n_states: int, n_symbols: int) -> None:
    machine = make_hmm(n_states, n_symbols, np.random.default_rng(seed))
    assert machine.is_stochastic(1e-12)
    moves = machine.transition_sum / machine.transition_sum.sum(axis=1, keepdims=True)
    emissions = machine.transitions.sum(axis=2)
    np.testing.assert_allclose(machine.transitions, emissions[:, :, None] * moves, atol=1e-14)


def test_strings_come_from_the_model_and_the_seed_alone() -> None:
    machine = make_hmm(3, 4, np.random.default_rng(1))
    first, second = (make_strings(machine, 500, np.random.default_rng(2)) for _ in range(2))
    assert list(first) == list(second)
    assert first.lengths.mean() == pytest.approx(machine.expected_length(), rel=0.2)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_states": 0}, "n_states=0"),
        ({"n_symbols": 0}, "n_symbols=0"),
        ({"stop": 0.0}, "stop=0.0"),
        ({"stop": 1.0}, "stop=1.0"),
        ({"density": 0.0}, "density=0.0"),
    ],
)
def test_impossible_machines(options: dict[str, float], words: str, rng: np.random.Generator) -> None:
    with pytest.raises(ValueError, match=words):
        make_automaton(**{"n_states": 2, "n_symbols": 2, "rng": rng, **options})  # type: ignore[arg-type]


def is_balanced(word: tuple[object, ...], pairs: dict[object, object]) -> bool:
    stack: list[object] = []
    for symbol in word:
        if symbol in pairs:
            stack.append(pairs[symbol])
        elif not stack or stack.pop() != symbol:
            return False
    return not stack


@given(SEEDS, st.integers(0, 200), st.integers(1, 6), st.floats(0.0, 0.45))
def test_dyck_words_are_balanced(seed: int, n_strings: int, n_brackets: int, p: float) -> None:
    strings = make_dyck(n_strings, np.random.default_rng(seed), n_brackets, open_probability=p)
    assert len(strings) == n_strings
    assert len(strings.alphabet) == 2 * n_brackets
    pairs = dict(list(pairwise(strings.alphabet))[::2])
    assert all(is_balanced(word, pairs) for word in strings)


def test_dyck_words_have_the_probabilities_of_their_grammar(rng: np.random.Generator) -> None:
    strings = make_dyck(200_000, rng, 2, open_probability=0.4)
    assert strings.lengths.mean() == pytest.approx(2 * 0.4 / 0.2, rel=0.03)
    counts = np.bincount(strings.codes, minlength=4) / strings.n_symbols
    np.testing.assert_allclose(counts, 0.25, atol=0.01)
    # p(empty) = q; p(word of one pair) = p q^2; words of two pairs: two of them, p^2 q^3 each
    shares = [np.mean(strings.lengths == length) for length in (0, 2, 4)]
    np.testing.assert_allclose(shares, [0.6, 0.4 * 0.6**2, 2 * 0.4**2 * 0.6**3], atol=0.004)


def test_nesting_that_would_not_end_is_refused(rng: np.random.Generator) -> None:
    with pytest.raises(ValueError, match=r"infinite expected length; use < 0\.5"):
        make_dyck(10, rng, open_probability=0.5)
    with pytest.raises(ValueError, match="n_brackets=0"):
        make_dyck(10, rng, 0)
