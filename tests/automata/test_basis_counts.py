from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import occurrences
from sigmastar.automata.counts import on_basis as string_statistics
from sigmastar.automata.counts.bases import (
    PREFIX,
    STRING,
    SUBSTRING,
    Basis,
    Statistic,
    all_up_to,
    most_frequent,
)
from sigmastar.automata.counts.on_basis import count_strings
from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.recover import Blocks, SparseTensor

AB = Alphabet("ab")
SUFFIX = Statistic("suffix", False, True)
statistics = st.sampled_from([STRING, PREFIX, SUBSTRING, SUFFIX])
samples = st.lists(st.text("ab", max_size=7), min_size=1, max_size=10)
elements = st.sets(st.text("ab", min_size=1, max_size=4), max_size=6).map(lambda words: ["", *sorted(words)])


def basis_of(outsides: list[str], insides: list[str]) -> Basis:
    return Basis(AB, Strings.of(outsides, alphabet=AB), Strings.of(insides, alphabet=AB))


def mean(sample: list[str], word: str, statistic: Statistic) -> float:
    counts = [
        occurrences(tuple(x), tuple(word), statistic.anchored_left, statistic.anchored_right) for x in sample
    ]
    return sum(counts) / len(sample)


def dense(blocks: Blocks) -> tuple[np.ndarray, ...]:
    stop, symbol = blocks.signature.operations
    slices = blocks.slices[symbol]
    assert isinstance(slices, SparseTensor)
    return blocks.matrices["string"].toarray(), slices.toarray(), blocks.slices[stop], blocks.roots["string"]


@given(samples, elements, elements, statistics)
def test_blocks_agree_with_looking_for_every_string(
    sample: list[str], outsides: list[str], insides: list[str], statistic: Statistic
) -> None:
    counts = count_strings(Strings.of(sample, alphabet=AB), basis_of(outsides, insides), statistic)
    matrix, slices, stop, root = dense(counts.blocks())

    def f(word: str) -> float:
        return mean(sample, word, statistic)

    np.testing.assert_allclose(matrix, [[f(o + i) for i in insides] for o in outsides])
    np.testing.assert_allclose(slices, [[[f(o + a + i) for i in insides] for o in outsides] for a in "ab"])
    np.testing.assert_allclose(stop, [[f(o) for o in outsides]])
    np.testing.assert_allclose(root, [f(i) for i in insides])


def test_the_tables_of_the_tutorial() -> None:
    """The empirical Hankel matrix of Balle, Quattoni and Carreras (2014)."""
    sample = ["aa", "b", "bab", "a", "b", "a", "ab", "aa", "ba", "b", "aa", "a", "aa", "bab", "b", "aa"]
    basis = basis_of(["", "a", "b", "ba"], ["", "a", "b"])
    matrix = count_strings(Strings.of(sample, alphabet=AB), basis, STRING).blocks().matrices["string"]
    printed = [[0.19, 0.25], [0.31, 0.06], [0.06, 0.00], [0.00, 0.13]]
    np.testing.assert_allclose(matrix.toarray()[:, 1:], printed, atol=0.0051)


def test_slices_are_sorted_as_recover_needs_them() -> None:
    strings = Strings.of(["abba", "ba", "aab"], alphabet=AB)
    blocks = count_strings(strings, all_up_to(AB, 2), SUBSTRING).blocks()
    tensor = blocks.slices[blocks.signature.operation("symbol")]
    assert isinstance(tensor, SparseTensor)
    assert (np.diff(np.ravel_multi_index(tensor.coordinates, tensor.shape)) > 0).all()


@given(samples, statistics)
def test_pieces_of_a_corpus_change_nothing(sample: list[str], statistic: Statistic) -> None:
    strings, basis = Strings.of(sample, alphabet=AB), all_up_to(AB, 2)
    whole = count_strings(strings, basis, statistic)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(string_statistics, "GAPS_AT_ONCE", 3)
        pieces = count_strings(strings, basis, statistic)
    assert pieces.n_strings == whole.n_strings == len(sample)
    for one, other in ((whole.gaps, pieces.gaps), (whole.steps, pieces.steps)):
        np.testing.assert_array_equal(one.keys, other.keys)
        np.testing.assert_array_equal(one.counts, other.counts)
    for one, other in zip(dense(whole.blocks()), dense(pieces.blocks()), strict=True):
        np.testing.assert_array_equal(one, other)


def test_other_alphabets_and_unknown_symbols_match_nothing() -> None:
    basis = all_up_to(AB, 1)
    foreign = count_strings(Strings.of(["a?b", "b"]), basis, SUBSTRING)
    matrix, slices, _, root = dense(foreign.blocks())
    np.testing.assert_allclose(root, [3.0, 0.5, 1.0])  # gaps, a, b: two strings
    np.testing.assert_allclose(matrix[1:, 1:], 0.0)
    np.testing.assert_allclose(slices[:, 0, 0], [0.5, 1.0])


def test_no_strings_give_empty_blocks() -> None:
    counts = count_strings(Strings.of([], alphabet=AB), all_up_to(AB, 1), SUBSTRING)
    assert counts.n_strings == 0
    assert all(not array.any() for array in dense(counts.blocks()))


def test_counts_on_different_bases_do_not_add() -> None:
    strings = Strings.of(["ab"], alphabet=AB)
    one, other = (count_strings(strings, all_up_to(AB, k), STRING) for k in (1, 2))
    with pytest.raises(ValueError, match="basis and statistic are the same"):
        one + other
    with pytest.raises(ValueError, match="basis and statistic are the same"):
        one + count_strings(strings, all_up_to(AB, 1), PREFIX)


def test_a_basis_with_repetitions_is_refused() -> None:
    with pytest.raises(ValueError, match="each outside and each inside once"):
        count_strings(Strings.of(["ab"], alphabet=AB), basis_of(["", "a", "a"], [""]), STRING)


def test_a_huge_alphabet_costs_only_what_occurs(rng: np.random.Generator) -> None:
    alphabet = Alphabet(range(100_000))
    strings = Strings.of([rng.integers(0, 100_000, 8).tolist() for _ in range(50)], alphabet=alphabet)
    counts = count_strings(strings, most_frequent(strings, 300, 300, SUBSTRING), SUBSTRING)
    tensor = counts.blocks().slices[counts.blocks().signature.operation("symbol")]
    assert tensor.shape == (100_000, 300, 300)
    assert isinstance(tensor, SparseTensor)
    assert tensor.values.sum() * 50 >= 400  # at least every symbol between two empty strings
