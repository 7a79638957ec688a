from __future__ import annotations

import pytest

from sigmastar.core.alphabet import (
    Alphabet,
    Operation,
    Signature,
    composition_signature,
    head_signature,
    string_signature,
    tree_signature,
)


def test_strings_have_a_stop_and_symbols():
    signature = string_signature(Alphabet("ab"))
    stop, symbol = signature.operations
    assert (stop.arity, symbol.arity) == (0, 1)
    assert (len(stop.alphabet), len(symbol.alphabet)) == (1, 2)
    assert signature.sorts == signature.roots == ("string",)
    assert signature.operation("symbol") is symbol
    with pytest.raises(KeyError):
        signature.operation("leaf")


def test_ranks_without_symbols_are_left_out():
    signature = tree_signature(Alphabet("x"), Alphabet(""), Alphabet("fg"))
    assert [op.arity for op in signature.operations] == [0, 2]


def test_compositions_and_heads():
    assert [op.arity for op in composition_signature(Alphabet("ab")).operations] == [0, 2]
    heads = head_signature({("v", "left"): Alphabet("n"), ("v", "right"): Alphabet("np")})
    assert heads.sorts == heads.roots == (("v", "left"), ("v", "right"))
    assert heads.operation(("modifier", ("v", "right"))).arguments == (("v", "right"),)


def test_every_sort_must_be_built():
    with pytest.raises(ValueError, match="no operation builds sort 's'"):
        Signature((Operation("x", (), "t"),), ("s",))
    with pytest.raises(ValueError, match="no operation builds sort 's'"):
        Signature((Operation("x", ("s",), "t"),), ("t",))


def test_signatures_are_values():
    assert string_signature(Alphabet("ab")) == string_signature(Alphabet("ab"))
    assert len({string_signature(Alphabet("ab")), string_signature(Alphabet("ab"))}) == 1
