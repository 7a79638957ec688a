"""Lexicons: back-off by hand, candidates, tags, states."""

from __future__ import annotations

import numpy as np
import pytest

from sigmastar.core.word_signatures import signatures, word_class
from sigmastar.treebanks.counts import choose_heads
from sigmastar.treebanks.data.binarized import Binarization, BinaryPhrases, binarize
from sigmastar.treebanks.data.phrases import phrases
from sigmastar.treebanks.learn.clusters_and_em import (
    LexicalCounts,
    count_lexicon,
    plain_lexicon,
    state_lexicon,
)
from sigmastar.trees.data.brackets import parse_brackets

TEXT = "(S (D the) (N cats)) (S (D the) (N dogs)) (S (D a) (V dogs)) (S (NP (N cats)) (V runs))" * 2


@pytest.fixture(scope="module")
def bank() -> BinaryPhrases:
    rows = phrases(parse_brackets(TEXT))
    return binarize(rows, Binarization(), choose_heads(rows).heads(rows))


@pytest.fixture(scope="module")
def counts(bank: BinaryPhrases) -> LexicalCounts:
    return count_lexicon(bank, rare=2, strength=5.0)


def names(bank: BinaryPhrases) -> list[str]:
    return [bank.symbols.name(a, bank.phrases.labels) for a in range(bank.symbols.n_leaves)]


def share(bank: BinaryPhrases, words: list[str], wanted: str, tag: str | None = None) -> tuple[float, float]:
    """How often words of a list have a leaf symbol, and how many there are, by hand."""
    found = total = 0.0
    for node in np.flatnonzero(bank.word >= 0).tolist():
        name = names(bank)[bank.symbol[node]]
        if bank.phrases.words[bank.word[node]] in words and (tag is None or name.split("+")[-1] == tag):
            total += 1
            found += name == wanted
    return found, total


def backed_off(levels: list[tuple[float, float]], k: float = 5.0) -> float:
    """From the coarsest level down: (how often, of how many) at each."""
    value = levels[-1][0] / levels[-1][1]
    for found, total in reversed(levels[:-1]):
        value = (found + k * value) / (total + k)
    return value


def tag_of(name: str) -> str:
    return name.split("+")[-1]


EVERYTHING = ["the", "cats", "dogs", "a", "runs"]
RARE = ["a", "runs"]  # at most two occurrences
# "dogs" is frequent: no rare word ends in "ogs", but "runs" ends in "s", and "a" shares its class
LEVELS = [["dogs"], ["runs"], RARE, RARE, EVERYTHING]


@pytest.mark.parametrize("tag", [None, "N"])
def test_probabilities_back_off_from_the_word_to_its_signatures(
    bank: BinaryPhrases, counts: LexicalCounts, tag: str | None
) -> None:
    """P(t | w) P(a | w, t), each by itself."""
    leaves = counts.forest.leaves(["dogs"], None if tag is None else [tag], least=0.0)
    got = dict(zip([names(bank)[a] for a in leaves.symbols], leaves.scores, strict=True))
    total = sum(share(bank, EVERYTHING, name)[0] for name in names(bank))
    for name in names(bank):
        if tag in (None, tag_of(name)):
            of_tag = [[other for other in names(bank) if tag_of(other) == tag_of(name)]] * len(LEVELS)
            found = [
                (sum(share(bank, words, other)[0] for other in others), share(bank, words, name)[1])
                for words, others in zip(LEVELS, of_tag, strict=True)
            ]
            expected = 1.0 if tag else backed_off(found, 2.5)
            expected *= backed_off([share(bank, words, name, tag_of(name)) for words in LEVELS], 20.0)
            frequency = share(bank, EVERYTHING, name)[0] / total
            np.testing.assert_allclose(got.get(name, 0.0), expected / frequency)
        else:
            assert name not in got


@pytest.mark.parametrize("tag", [None, "N"])
def test_states_back_off_by_how_often_the_word_has_the_symbol(
    bank: BinaryPhrases, counts: LexicalCounts, tag: str | None
) -> None:
    """P(z | w, a) of the symbol N, seen once with "dogs": the word's other symbols are no evidence on it."""
    n_states = np.full(len(counts.forest.tags), 2, dtype=np.int64)
    posteriors = np.random.default_rng(0).dirichlet([1.0, 1.0], len(counts.leaves))
    at = 2 * np.arange(len(counts.leaves))
    lexicon = state_lexicon(counts, n_states, posteriors.ravel(), at, across=0.0)
    a = names(bank).index("N")
    words = np.array([bank.phrases.words[word] for word in bank.word[counts.leaves].tolist()])

    def of(level: list[str]) -> np.ndarray:
        return posteriors[np.isin(words, level) & (counts.symbols == a)]

    by_state = [
        backed_off([(part[:, z].sum(), len(part)) for part in map(of, LEVELS) if len(part)]) for z in (0, 1)
    ]
    leaves = counts.forest.leaves(["dogs"], None if tag is None else [tag], least=0.0)
    begin, vectors = lexicon.candidate_vectors(leaves)
    number = leaves.symbols.tolist().index(a)
    got = vectors[begin[number] : begin[number + 1]] * of(EVERYTHING).mean(axis=0)
    np.testing.assert_allclose(got / leaves.scores[number], by_state, rtol=1e-6)


def test_an_unknown_word_is_what_looks_like_it(bank: BinaryPhrases, counts: LexicalCounts) -> None:
    leaves = counts.forest.leaves(["jumps"])
    best = leaves.symbols[int(np.argmax(leaves.scores))]
    assert names(bank)[best] == "V"  # like "runs", the rare word that ends alike


def test_an_unknown_tag_is_ignored(counts: LexicalCounts) -> None:
    known, other = counts.forest.leaves(["cats"]), counts.forest.leaves(["cats"], ["XYZ"])
    assert known.symbols.tolist() == other.symbols.tolist()
    np.testing.assert_array_equal(known.scores, other.scores)


def test_vectors_of_one_state_are_the_scores(counts: LexicalCounts) -> None:
    leaves = counts.forest.leaves(["cats", "a", "unheard"])
    at, vectors = plain_lexicon(counts).candidate_vectors(leaves)
    assert at.tolist() == list(range(len(leaves.symbols) + 1))
    np.testing.assert_allclose(vectors, leaves.scores)


def test_states_share_what_their_symbol_has(counts: LexicalCounts) -> None:
    """sum over z of P(z | a) score(a, z, w) is the score of a."""
    n_states = np.full(len(counts.forest.tags), 2, dtype=np.int64)
    rng = np.random.default_rng(0)
    posteriors = rng.dirichlet([1.0, 1.0], len(counts.leaves))
    at = 2 * np.arange(len(counts.leaves))
    lexicon = state_lexicon(counts, n_states, posteriors.ravel(), at)
    sums = np.zeros((len(n_states), 2))
    np.add.at(sums, counts.symbols, posteriors)
    leaves = counts.forest.leaves(["cats", "dogs", "unheard"])
    begin, vectors = lexicon.candidate_vectors(leaves)
    for number, a in enumerate(leaves.symbols.tolist()):
        vector = vectors[begin[number] : begin[number + 1]]
        np.testing.assert_allclose(vector @ (sums[a] / sums[a].sum()), leaves.scores[number], rtol=1e-6)


def test_vectors_of_known_leaves_agree_with_those_of_candidates(counts: LexicalCounts) -> None:
    lexicon = plain_lexicon(counts)
    vectors, _ = lexicon.vectors(counts.words, counts.symbols)
    for leaf in range(len(vectors)):
        word = list(counts.forest.words)[counts.words[leaf]]
        leaves = counts.forest.leaves([word])
        place = leaves.symbols.tolist().index(counts.symbols[leaf])
        np.testing.assert_allclose(vectors[leaf], leaves.scores[place])


def test_vectors_of_known_leaves_are_sums_on_the_way_up(counts: LexicalCounts) -> None:
    n_states = np.full(len(counts.forest.tags), 3, dtype=np.int64)
    posteriors = np.random.default_rng(1).dirichlet([1.0] * 3, len(counts.leaves))
    lexicon = state_lexicon(counts, n_states, posteriors.ravel(), 3 * np.arange(len(counts.leaves)))
    pairs, weights = counts.forest.way_up(*counts.rows)
    vectors, _ = lexicon.vectors(*counts.rows)
    values = lexicon.values.reshape(-1, 3)[np.maximum(pairs, 0)]
    np.testing.assert_allclose((weights[..., None] * values).sum(axis=1).ravel(), vectors)


def test_signatures_know_scripts_without_case() -> None:
    assert word_class("Straße") == "Ul"
    assert word_class("ОТЕЛЬ") == "U"
    assert word_class("犬") == "o"
    assert word_class("3,5") == "d"
    assert signatures("犬")[0] == "o:犬"
