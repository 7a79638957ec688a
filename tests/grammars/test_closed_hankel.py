"""The Hankel matrix of a grammar obeys the equations that completion asks for, and nothing else does."""

from __future__ import annotations

import numpy as np
import pytest

from oracles_grammar import random_grammar, slow_cut
from sigmastar.automata.data.strings import Strings
from sigmastar.grammars.counts.closed_hankel import closed_hankel, yield_entries


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_cuts_of_a_grammar_obey_the_constraints(seed: int) -> None:
    rng = np.random.default_rng(seed)
    grammar = random_grammar(2, 2, rng)
    strings = Strings.of(["abba", "ab", "babab"], alphabet=grammar.alphabet)
    hankel = closed_hankel(strings, grammar.value(strings))
    outsides = np.zeros((hankel.shape[0], 2))
    insides = np.zeros((hankel.shape[1], 2))
    table = hankel.table
    for node, length in enumerate(table.lengths):
        at = table.first[node]
        insides[node] = grammar.inside(strings.codes[at : at + length])
    lefts, rights = insides[hankel.cut_left], insides[hankel.cut_right]
    insides[hankel.n_insides :] = np.einsum("ijk,xj,xk->xi", grammar.composition, lefts, rights)
    first = 0
    for length, chosen in hankel.groups:  # outsides by the cuts of each yield
        entries = yield_entries(length)
        rows = hankel.rows[first : first + len(chosen) * entries.size].reshape(len(chosen), -1)
        for row, string in zip(rows, chosen.tolist(), strict=True):
            codes = strings.codes[strings.offsets[string] : strings.offsets[string + 1]]
            n_c, n_d = len(entries.spans), len(entries.triples)
            for place, (i, j) in enumerate(entries.spans):
                outsides[row[place]] = grammar.outside(codes[:i], codes[j:])
            for place, (i, k, j) in enumerate(entries.triples):
                above = grammar.outside(codes[:i], codes[j:])
                around = np.einsum("i,ijk->jk", above, grammar.composition)
                outsides[row[n_c + n_d + place]] = grammar.inside(codes[i:k]) @ around
                outsides[row[n_c + 2 * n_d + place]] = around @ grammar.inside(codes[k:j])
        first += len(chosen) * entries.size
    matrix = outsides @ insides.T
    values = matrix[hankel.rows, hankel.columns]
    assert np.abs(hankel.residual(values)).max() < 1e-10 * np.abs(values).max()
    assert matrix[0, table.string_node[2]] == pytest.approx(slow_cut(grammar, [1, 0, 1, 0, 1], 0, 5))
    wrong = values.copy()
    wrong[3] += 0.1
    assert np.abs(hankel.residual(wrong)).max() > 1e-3


def test_a_projection_is_one() -> None:
    rng = np.random.default_rng(0)
    strings = Strings.of(["abc", "aabb", "b"])
    hankel = closed_hankel(strings, np.array([0.5, 0.2, 0.3]))
    values = rng.standard_normal(len(hankel.rows))
    projected = values - hankel.residual(values)
    np.testing.assert_allclose(hankel.residual(projected), 0.0, atol=1e-12)
    other = rng.standard_normal(len(hankel.rows))
    other -= hankel.residual(other)
    assert np.dot(values - projected, projected - other) == pytest.approx(0.0, abs=1e-9)


def test_entries_are_counted_once() -> None:
    hankel = closed_hankel(Strings.of(["abab", "ab", "ba"]), np.array([0.5, 0.3, 0.2]))
    places = np.ravel_multi_index((hankel.rows, hankel.columns), hankel.shape)
    assert len(np.unique(places)) == len(places)
    assert hankel.n_outsides < hankel.shape[0]
    assert hankel.n_constraints > 0


def test_long_strings_are_refused() -> None:
    with pytest.raises(ValueError, match="use max_length <= 12"):
        closed_hankel(Strings.of(["a" * 13]), np.ones(1))
