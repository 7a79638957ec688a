"""Random automata for law-like tests: drawn by hypothesis through a seed and small sizes."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.alphabet import Alphabet

SEEDS = st.integers(0, 2**32 - 1)


def signed(rng, n_states: int, n_symbols: int = 2, radius: float = 0.6) -> WeightedAutomaton:
    """Signed weights whose masses and sums of squares converge: every norm of products decays."""
    transitions = rng.normal(size=(n_symbols, n_states, n_states))
    transitions *= radius / np.linalg.norm(transitions, ord=2, axis=(1, 2)).sum()
    alphabet = Alphabet("abcdefgh"[:n_symbols])
    return WeightedAutomaton(alphabet, rng.normal(size=n_states), transitions, rng.normal(size=n_states))


def proper(rng, n_states: int, n_symbols: int = 2, stop: float = 0.3) -> WeightedAutomaton:
    """A probabilistic automaton with sparse moves."""
    moves = rng.dirichlet(np.full(n_symbols * n_states, 0.5), size=n_states) * (1.0 - stop)
    transitions = moves.reshape(n_states, n_symbols, n_states).transpose(1, 0, 2)
    alphabet = Alphabet("abcdefgh"[:n_symbols])
    return WeightedAutomaton(alphabet, rng.dirichlet(np.ones(n_states)), transitions, np.full(n_states, stop))


@st.composite
def signed_automata(draw, max_states: int = 4) -> WeightedAutomaton:
    rng = np.random.default_rng(draw(SEEDS))
    return signed(rng, draw(st.integers(1, max_states)), draw(st.integers(1, 3)))


@st.composite
def proper_automata(draw, max_states: int = 4) -> WeightedAutomaton:
    rng = np.random.default_rng(draw(SEEDS))
    return proper(rng, draw(st.integers(1, max_states)), draw(st.integers(1, 3)))


def strings_of(words, alphabet: Alphabet) -> Strings:
    """Coded words (-1: unknown) as strings."""
    offsets = np.append(0, np.cumsum([len(word) for word in words])).astype(np.int64)
    codes = np.array([code for word in words for code in word], dtype=np.int32)
    return Strings(alphabet, codes, offsets)
