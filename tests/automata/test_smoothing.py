from __future__ import annotations

import numpy as np
import pytest

from sigmastar.automata.counts import block_smoothing as smoothing
from sigmastar.automata.counts.bases import PREFIX, STRING, SUBSTRING, Basis, Statistic, all_up_to
from sigmastar.automata.counts.block_smoothing import add_strings, exact_blocks, interpolate, unigram_blocks
from sigmastar.automata.counts.on_basis import count_strings
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.algebra import string_to_prefix, string_to_substring
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.recover import Blocks, factorize_blocks, recover

AB = Alphabet("ab")
SAMPLE = Strings.of(["ab", "a", "", "bba"], alphabet=AB)
CONVERSIONS = {STRING: lambda a: a, PREFIX: string_to_prefix, SUBSTRING: string_to_substring}


def unigram_automaton(pseudo_count: float) -> WeightedAutomaton:
    """Six symbols in four strings: three a and three b, q = 6 / 10."""
    counts = np.array([3.0, 3.0]) + pseudo_count
    return WeightedAutomaton(AB, np.array([0.4]), (0.6 * counts / counts.sum()).reshape(2, 1, 1), np.ones(1))


def parts(blocks: Blocks) -> list[np.ndarray]:
    found = [*blocks.matrices.values(), *blocks.slices.values(), *blocks.roots.values()]
    return [part if isinstance(part, np.ndarray) else part.toarray() for part in found]


def exact(automaton: WeightedAutomaton, basis: Basis) -> Blocks:
    return exact_blocks(basis, automaton.initial, automaton.transitions, automaton.final)


@pytest.mark.parametrize("statistic", list(CONVERSIONS), ids=lambda s: s.name)
def test_the_unigram_background_is_its_automaton_under_every_statistic(statistic: Statistic) -> None:
    basis = all_up_to(AB, 2)
    converted = CONVERSIONS[statistic](unigram_automaton(0.5))
    found = unigram_blocks(SAMPLE, basis, statistic, pseudo_count=0.5)
    for one, other in zip(parts(found), parts(exact(converted, basis)), strict=True):
        np.testing.assert_allclose(one, other)


def test_unigram_masses_add_up_to_one() -> None:
    assert unigram_automaton(1.0).total_mass() == pytest.approx(1.0)
    assert unigram_automaton(1.0).expected_length() == pytest.approx(6 / 4)


def test_interpolated_blocks_are_those_of_the_mixture(rng: np.random.Generator) -> None:
    one, other = (
        WeightedAutomaton(AB, rng.random(n), rng.random((2, n, n)) / (3 * n), rng.random(n)) for n in (2, 1)
    )
    basis = all_up_to(AB, 2)
    mixed = interpolate(exact(one, basis), exact(other, basis), 0.3)
    found = WeightedAutomaton.of_operators(recover(mixed, factorize_blocks(mixed, 3)))
    longer = Strings.of(["abbab", "", "aaaa"], alphabet=AB)
    np.testing.assert_allclose(found.value(longer), 0.7 * one.value(longer) + 0.3 * other.value(longer))


def test_additive_smoothing_counts_strings_of_the_background() -> None:
    basis = all_up_to(AB, 1)
    counted = count_strings(SAMPLE, basis, STRING).blocks()
    background = unigram_blocks(SAMPLE, basis)
    smoothed = add_strings(counted, background, len(SAMPLE), 1.0)
    for new, old, prior in zip(parts(smoothed), parts(counted), parts(background), strict=True):
        np.testing.assert_allclose(new, (4 * old + prior) / 5)
    assert (smoothed.matrices["string"] > 0).all()
    assert not (counted.matrices["string"].toarray() > 0).all()


def test_wrong_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    basis = all_up_to(AB, 1)
    blocks = unigram_blocks(SAMPLE, basis)
    with pytest.raises(ValueError, match="not between 0 and 1"):
        interpolate(blocks, blocks, 1.5)
    foreign = unigram_blocks(SAMPLE, all_up_to(Alphabet("abc"), 1))
    with pytest.raises(ValueError, match="same signature"):
        interpolate(blocks, foreign, 0.5)
    with pytest.raises(ValueError, match="must be positive"):
        unigram_blocks(SAMPLE, basis, pseudo_count=0.0)
    monkeypatch.setattr(smoothing, "ENTRY_LIMIT", 10)
    with pytest.raises(ValueError, match="would hold 18 entries"):
        unigram_blocks(SAMPLE, basis)
