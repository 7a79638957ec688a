from __future__ import annotations

import pytest

from sigmastar.core.alphabet import Alphabet
from sigmastar.core.errors import UnknownSymbolError


def test_codes_are_positions():
    alphabet = Alphabet(["b", ("pair", 1), None])
    assert alphabet.codes == {"b": 0, ("pair", 1): 1, None: 2}
    assert alphabet.encode([None, "b"]) == [2, 0]
    assert alphabet.decode([1, 1]) == (("pair", 1), ("pair", 1))
    assert list(alphabet) == ["b", ("pair", 1), None]
    assert len(alphabet) == 3
    assert None in alphabet
    assert "c" not in alphabet


def test_equal_symbols_in_equal_order_are_equal():
    assert Alphabet("ab") == Alphabet(["a", "b"])
    assert hash(Alphabet("ab")) == hash(Alphabet(["a", "b"]))
    assert Alphabet("ab") != Alphabet("ba")


def test_an_alphabet_may_be_empty():
    assert len(Alphabet([])) == 0
    assert Alphabet([]).encode([]) == []


def test_a_symbol_twice_is_refused():
    with pytest.raises(ValueError, match="each symbol once"):
        Alphabet("aba")


def test_unknown_symbols_are_named():
    with pytest.raises(UnknownSymbolError, match="symbol 'c' is not among the 2 symbols"):
        Alphabet("ab").encode("abc")
