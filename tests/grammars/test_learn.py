"""Learners of weighted grammars: exact statistics give the grammar back, samples come close, EM climbs."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from oracles_grammar import bracketings, random_pcfg, slow_value, spans_of_tree, tree_vector
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.generators import make_dyck
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.em import Climb
from sigmastar.core.errors import InputError
from sigmastar.grammars.counts.bracketings import count_brackets, frequent_spans, single_symbols
from sigmastar.grammars.data.bracketings import Bracketings, right_branching
from sigmastar.grammars.learn.completion import CompletionPlan, learn_completion
from sigmastar.grammars.learn.em import (
    EMSettings,
    GrammarCorpus,
    RuleCounts,
    RulePrior,
    from_chance,
    learn_grammar_em,
    maximize,
)
from sigmastar.grammars.learn.refinement import FrequencyObjective, refine_grammar
from sigmastar.grammars.learn.spectral import learn_spectral_grammar
from sigmastar.grammars.learn.starts import cca_start
from sigmastar.grammars.model.grammar import WeightedGrammar
from sigmastar.grammars.model.mass import grammar_values_up_to, total_mass
from sigmastar.reproduce.bailly2013.synthetic import learn_by_projections
from sigmastar.trees.data.tree import Tree


def divergence(truth: WeightedGrammar, found: WeightedGrammar, max_length: int = 8) -> float:
    strings, p = grammar_values_up_to(truth, max_length)
    q = np.maximum(found.value(strings), 1e-30)
    return float((p * np.log(p / q) + q - p).sum())


@pytest.fixture(scope="module")
def truth() -> WeightedGrammar:
    return random_pcfg(2, 2, np.random.default_rng(5), stop=0.75)


def test_counts_of_brackets_are_frequencies_of_cuts() -> None:
    brackets = Bracketings.of_trees([Tree("X", ("a", Tree("X", ("b", "a")))), Tree("X", ("b", "a"))])
    basis = frequent_spans(brackets)
    blocks = count_brackets(brackets, basis).blocks()
    insides = ["".join(string) for string in basis.insides]
    outsides = ["".join(a) + ";" + "".join(b) for a, b in zip(basis.lefts, basis.rights, strict=True)]
    matrix = blocks.matrices["span"].toarray()
    assert matrix[outsides.index("a;"), insides.index("ba")] == 0.5
    assert matrix[0, insides.index("ba")] == 0.5
    assert matrix[0, insides.index("aba")] == 0.5
    assert matrix.sum() == 8 / 2  # each tree has its constituents, single symbols among them
    word, compose = blocks.signature.operations
    assert blocks.slices[word].toarray()[0, outsides.index(";ba")] == 0.5
    cut = blocks.slices[compose].toarray()[0]
    assert cut[outsides.index("a;"), insides.index("b"), insides.index("a")] == 0.5
    assert cut.sum() == 3 / 2
    with pytest.raises(InputError, match="binary"):
        count_brackets(Bracketings.of_trees([Tree("X", ("a", "b", "c"))]), basis)


def test_many_words_and_outsides_take_the_memory_of_their_counts() -> None:
    """A table of words by outsides would take more than 50 MB."""
    rows = [[f"w{25 * k + i}" for i in range(25)] for k in range(100)]
    brackets = right_branching(Strings.of(rows))
    basis = frequent_spans(brackets)
    tracemalloc.start()
    blocks = count_brackets(brackets, basis).blocks()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 2_500 * blocks.matrices["span"].shape[0] * 8 > 50e6
    assert peak < 20e6


def test_flat_trees_branch_to_the_right() -> None:
    flat = Bracketings.of_trees([Tree("X", ("a", "b", Tree("X", ("c", "d")), "e"))])
    assert flat.binary().spans(0) == [(0, 5), (1, 5), (2, 5), (2, 4)]
    assert flat.binary().is_binary


def test_spectral_learning_from_brackets_comes_closer_with_more(truth: WeightedGrammar) -> None:
    rng = np.random.default_rng(0)
    found = [
        divergence(truth, learn_spectral_grammar(truth.sample_brackets(n, rng), 2, 0.05))
        for n in (500, 50_000)
    ]
    assert found[1] < found[0]
    assert found[1] < 1e-3
    basis = single_symbols(truth.alphabet)
    assert basis.shape == (5, 2)
    small = learn_spectral_grammar(truth.sample_brackets(50_000, rng), 1, 1.0, basis)
    assert small.n_states == 1


def test_completion_of_exact_frequencies_gives_the_grammar_back(truth: WeightedGrammar) -> None:
    strings, values = grammar_values_up_to(truth, 7)
    fit = learn_completion(
        strings, 2, CompletionPlan(refinement_max_iter=3000, n_strings=1e12), weights=values * 1e12
    )
    np.testing.assert_allclose(fit.grammar.value(strings), values, rtol=0, atol=1e-6)
    longer, expected = grammar_values_up_to(truth, 9)
    np.testing.assert_allclose(fit.grammar.value(longer), expected, rtol=0, atol=1e-6)


def test_refinement_beats_projections(truth: WeightedGrammar) -> None:
    strings = truth.sample(50_000, np.random.default_rng(1))
    fit = learn_completion(strings, 2, CompletionPlan(8))
    refined, paper = divergence(truth, fit.grammar), divergence(truth, learn_by_projections(strings, 2))
    assert refined < paper / 3
    assert refined < 3e-4
    assert fit.cut_off == pytest.approx((strings.lengths > 8).mean())


@pytest.mark.parametrize("loss", ["squares", "weighted squares", "likelihood"])
def test_the_gradient_of_refinement_is_exact(loss: str) -> None:
    rng = np.random.default_rng(2)
    strings = Strings.of(["ab", "a", "bab", "abba"])
    plain = FrequencyObjective.of(strings, np.array([0.4, 0.2, 0.1, 0.1]), 2)
    objective = {"squares": plain, "weighted squares": plain.weighted(0.01)}.get(loss, plain.likelihood(0.01))
    at = rng.standard_normal(2 + 4 + 8) * 0.5
    cost, gradient = objective(at)
    for place in range(len(at)):
        step = np.zeros_like(at)
        step[place] = 1e-6
        slope = (objective(at + step)[0] - objective(at - step)[0]) / 2e-6
        assert gradient[place] == pytest.approx(slope, rel=1e-5, abs=1e-7 * max(1.0, cost))


def test_refinement_leaves_what_is_right(truth: WeightedGrammar) -> None:
    strings, values = grammar_values_up_to(truth, 6)
    found = refine_grammar(truth, strings, values, 1e6, 20)
    np.testing.assert_allclose(found.value(strings), values, atol=1e-9)


def test_expected_counts_are_those_of_trees_one_by_one(truth: WeightedGrammar) -> None:
    strings = Strings.of(["ab", "abb", "abb", "a"], alphabet=truth.alphabet)
    counts = GrammarCorpus.of(strings).expect(truth)
    total, n_words, cuts = 0.0, 0.0, 0.0
    for string in strings:
        codes = truth.alphabet.encode(string)
        value = slow_value(truth, codes)
        total += np.log(value)
        n_words += len(codes)
        cuts += len(codes) - 1
    assert counts.log_likelihood == pytest.approx(total)
    assert counts.words.sum() == pytest.approx(n_words)
    assert counts.composition.sum() == pytest.approx(cuts)
    assert counts.initial.sum() == pytest.approx(4.0)
    tree = next(iter(bracketings(0, 2)))
    assert spans_of_tree(tree)[0] == {(0, 1), (1, 2), (0, 2)}
    whole = truth.initial * tree_vector(truth, tree, [0, 1])
    alone = GrammarCorpus.of(Strings.of(["ab"], alphabet=truth.alphabet)).expect(truth)
    np.testing.assert_allclose(alone.initial, whole / whole.sum())


def test_em_never_falls(truth: WeightedGrammar) -> None:
    strings = truth.sample(500, np.random.default_rng(0))
    start = from_chance(strings, np.ones(len(strings)), 3, np.random.default_rng(1))
    logs = Climb.begin(GrammarCorpus.of(strings).problem(RulePrior()), start).run(30).log_likelihoods
    assert (np.diff(logs) > -1e-9).all()
    assert logs[-1] > logs[0]


@pytest.mark.parametrize("brackets", ["right", "uniform", "none", "best"])
def test_cca_starts_are_proper_and_better_than_chance(brackets: str) -> None:
    rng = np.random.default_rng(0)
    grammar = WeightedGrammar(  # np -> d n, s -> np v
        Alphabet("dnv"),
        np.array([1.0, 0, 0, 0, 0]),
        np.array([[0, 0, 1.0, 0, 0], [0, 0, 0, 1.0, 0], [0, 0, 0, 0, 0.6]]),
        np.zeros((5, 5, 5)),
    )
    grammar.composition[0, 1, 4] = grammar.composition[1, 2, 3] = 1.0
    grammar.composition[4, 4, 1] = 0.4
    strings = grammar.sample(400, rng)
    start = cca_start(strings, np.ones(len(strings)), 5, rng, brackets)
    assert start.is_probabilistic()
    chance = from_chance(strings, np.ones(len(strings)), 5, rng)
    assert start.log_probability(strings).mean() > chance.log_probability(strings).mean()


def test_long_strings_are_seen_or_told(truth: WeightedGrammar) -> None:
    rng = np.random.default_rng(0)
    strings = truth.sample(400, rng)
    whole = learn_grammar_em(strings, 2, rng, settings=EMSettings(3))
    cut = learn_grammar_em(strings, 2, rng, settings=EMSettings(3, max_length=2))
    assert whole.cut_off == 0.0
    assert cut.cut_off == pytest.approx((strings.lengths > 2).mean())
    assert total_mass(whole.grammar) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("held_out", [0.0, 0.2])
def test_the_best_of_several_starts_is_kept(truth: WeightedGrammar, held_out: float) -> None:
    strings = truth.sample(300, np.random.default_rng(0))
    told: list[float | None] = []
    settings = EMSettings(5, 3, RulePrior(), held_out)
    fit = learn_grammar_em(
        strings,
        2,
        np.random.default_rng(1),
        settings=settings,
        progress=lambda message, done=None: told.append(done),
    )
    assert fit.n_iterations <= 15
    assert told == sorted(told)
    assert 0 < told[0] < told[-1] <= 1
    if not held_out:
        assert fit.score == pytest.approx(max(fit.log_likelihoods))
    one = learn_grammar_em(
        strings, 2, np.random.default_rng(1), settings=EMSettings(5, 1, RulePrior(), held_out)
    )
    assert fit.score >= one.score


def test_a_prior_counts_for_as_many_uses_as_it_says() -> None:
    counts = RuleCounts(np.ones(2), np.array([[6.0, 0.0], [2.0, 0.0]]), np.zeros((2, 2, 2)), 0.0)
    counts.composition[0] = [[2.0, 0.0], [0.0, 2.0]]
    found = maximize(Alphabet("ab"), counts, RulePrior(4.0, 8.0), np.array([0.5, 0.5]))
    np.testing.assert_allclose(found.words[:, 0], np.array([8.0, 4.0]) / 24)
    np.testing.assert_allclose(found.composition[0], np.array([[4.0, 2.0], [2.0, 4.0]]) / 24)
    np.testing.assert_allclose(found.words[:, 1], [0.5, 0.5])  # never used: words as in the corpus
    assert found.is_probabilistic()


def test_fewer_states_than_asked_are_told() -> None:
    told: list[str] = []
    strings = Strings.of(["ab", "a", "b"] * 5)
    plan = CompletionPlan(3, refinement_max_iter=0)
    fit = learn_completion(strings, 40, plan, progress=lambda message, done=None: told.append(message))
    assert fit.grammar.n_states < 40
    assert f"{fit.grammar.n_states} states in place of 40" in told[-1]


def test_bad_weights_are_refused() -> None:
    with pytest.raises(InputError, match="weights must be"):
        GrammarCorpus.of(Strings.of(["a", "b"]), np.array([1.0, -1.0]))


def test_rules_that_die_out_leave_numbers_behind() -> None:
    strings = make_dyck(500, np.random.default_rng(0))
    strings = strings.select(np.flatnonzero((strings.lengths > 0) & (strings.lengths <= 10)))
    settings = EMSettings(80, prior=RulePrior(), tolerance=0.0, patience=80)
    fit = learn_grammar_em(strings, 4, np.random.default_rng(0), settings=settings)
    assert np.isfinite(fit.log_likelihoods).all()
    assert (np.diff(fit.log_likelihoods) > -1e-9).all()


def test_counts_are_finite_where_an_impossible_cut_has_a_far_larger_exponent() -> None:
    """`b b` derives from nothing but has the exponent 0; the only derivation of `b..b c` weighs 1e-650."""
    words, composition = np.array([[0.0, 1.0], [1.0, 0.0]]), np.zeros((2, 2, 2))
    composition[0, 1, 0] = 1e-50
    grammar = WeightedGrammar(Alphabet("bc"), np.array([1.0, 0.0]), words, composition)
    strings = Strings.of(["b" * 13 + "c"], alphabet=grammar.alphabet)
    counts = GrammarCorpus.of(strings).expect(grammar)
    assert counts.words.sum() == pytest.approx(14.0)
    assert counts.composition.sum() == pytest.approx(13.0)
    assert grammar.span_posteriors(strings)[0][0, 14] == pytest.approx(1.0)
