from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.distances import all_strings, l1_up_to
from sigmastar.automata.model.generators import make_automaton
from sigmastar.core.alphabet import Alphabet


class Listed:
    """A distribution by its list of strings."""

    def __init__(self, alphabet: str, probabilities: dict[str, float]) -> None:
        self.alphabet, self.probabilities = Alphabet(alphabet), probabilities

    def log_probability(self, strings: Strings):
        rows = [strings.codes[a:b] for a, b in zip(strings.offsets[:-1], strings.offsets[1:], strict=True)]
        words = ["".join(self.alphabet.symbols[c] if c >= 0 else "?" for c in row) for row in rows]
        with np.errstate(divide="ignore"):
            return np.log([self.probabilities.get(word, 0.0) for word in words])


def test_enumeration_is_complete_in_order_and_in_pieces():
    alphabet = Alphabet("abc")
    expected = [w for length in range(4) for w in product("abc", repeat=length)]
    for chunk in (1, 4, 1000):
        assert [w for piece in all_strings(alphabet, 3, chunk=chunk) for w in piece] == expected
    assert [w for piece in all_strings(Alphabet(""), 5) for w in piece] == [()]


def test_l1_of_listed_models_over_different_symbols():
    p = Listed("ab", {"": 0.5, "ab": 0.3, "b": 0.2})
    q = Listed("bc", {"": 0.4, "b": 0.3, "c": 0.2, "cbb": 0.1})
    assert l1_up_to(p, q, 3) == pytest.approx(0.1 + 0.3 + 0.1 + 0.2 + 0.1)
    assert l1_up_to(p, q, 2) == pytest.approx(0.1 + 0.3 + 0.1 + 0.2)
    assert l1_up_to(q, p, 3) == pytest.approx(l1_up_to(p, q, 3))


def test_l1_of_automata_keeps_signs_and_meets_brute_force(rng):
    p = make_automaton(3, 2, rng)
    q = WeightedAutomaton(p.alphabet, -p.initial, p.transitions, p.final)
    mass = sum(float(p.value(piece).sum()) for piece in all_strings(p.alphabet, 5))
    assert l1_up_to(q, p, 5) == pytest.approx(2 * mass)
    assert l1_up_to(p, p, 5) == 0.0


def test_too_many_strings_are_refused_at_once():
    p = Listed("ab", {"": 1.0})
    with pytest.raises(ValueError, match="gives 2,097,151 strings"):
        l1_up_to(p, p, 20, max_strings=1000)
    with pytest.raises(ValueError, match="max_length=-1"):
        l1_up_to(p, p, -1)
