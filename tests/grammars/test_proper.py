"""Proper grammars by a race of starts: lengths in place of long strings, held-out counts, the last climb."""

from __future__ import annotations

import numpy as np
import pytest

from oracles_grammar import random_pcfg
from sigmastar import CompletionGrammar, SpectralGrammar
from sigmastar.automata.data.strings import Strings
from sigmastar.core.em import Climb
from sigmastar.grammars.data.substrings import ENOUGH, distinct_strings, exact_length, held_counts, some_of
from sigmastar.grammars.learn import proper
from sigmastar.grammars.learn.em import LONGEST_ANY, GrammarCorpus, RulePrior, from_chance
from sigmastar.grammars.learn.proper import ProperPlan, ascend, learn_proper
from sigmastar.grammars.model.grammar import WeightedGrammar
from sigmastar.grammars.model.mass import grammar_values_up_to, length_masses
from sigmastar.grammars.model.rules import of_rules
from sigmastar.pcfg.data.rules import parse_rules
from sigmastar.trees.data.tree import Tree


def language(*rules: str) -> WeightedGrammar:
    parsed = parse_rules(rules)
    return of_rules(parsed.grammar, parsed.weights)


def test_a_length_counts_as_all_its_strings_do() -> None:
    truth = random_pcfg(2, 2, np.random.default_rng(3), stop=0.6)
    strings, values = grammar_values_up_to(truth, 4)
    four = np.flatnonzero(strings.lengths == 4)
    every = GrammarCorpus.of(strings.select(four), values[four] / values[four].sum()).expect(truth)
    alone = GrammarCorpus.of(Strings.of(["abab"], alphabet=truth.alphabet), exact=3)
    counts = alone.expect(truth)
    for name in ("initial", "words", "composition"):
        np.testing.assert_allclose(getattr(counts, name), getattr(every, name), atol=1e-12)
    assert counts.log_likelihood == pytest.approx(np.log(length_masses(truth, 4)[3]), abs=1e-12)
    assert alone.log_likelihood(truth) == pytest.approx(counts.log_likelihood)


def test_short_strings_are_seen_whole_and_the_longest_are_bounded() -> None:
    truth = random_pcfg(2, 2, np.random.default_rng(3), stop=0.6)
    strings = Strings.of(["ab", "ab", "a", "ba" * 100], alphabet=truth.alphabet)
    corpus = GrammarCorpus.of(strings, exact=12)
    expected = truth.log_probability(strings)[:3].sum() + np.log(length_masses(truth, LONGEST_ANY)[-1])
    assert corpus.log_likelihood(truth) == pytest.approx(expected, abs=1e-9)
    np.testing.assert_allclose(corpus.unigram, [103 / 205, 102 / 205], atol=1e-6)


def test_the_last_climb_goes_higher_than_em() -> None:
    truth = random_pcfg(3, 2, np.random.default_rng(1), stop=0.6)
    strings = truth.sample(500, np.random.default_rng(0), max_length=30)
    corpus = GrammarCorpus.of(strings, exact=12)
    start = from_chance(strings, np.ones(500), 3, np.random.default_rng(0))
    by_em = Climb.begin(corpus.problem(RulePrior()), start).run(60).latest
    found = ascend(corpus, start, 60)
    assert found.is_probabilistic()
    assert corpus.log_likelihood(found) > corpus.log_likelihood(by_em)


def test_counts_are_held_out_one_by_one() -> None:
    strings, counts = Strings.of(["a", "b", "ab"]), np.array([50.0, 30.0, 20.0])
    kept, held = held_counts(strings, counts, np.random.default_rng(0))
    assert held is not None
    assert held[1].sum() == 10
    by_string = {s: n for part in (kept, held) for s, n in zip(part[0], part[1], strict=True)}
    assert set(by_string) == set(strings)
    assert kept[1].sum() == 90
    assert held_counts(strings, np.full(3, (ENOUGH - 1) / 3), np.random.default_rng(0))[1] is None
    assert (
        held_counts(strings, counts + 0.5, np.random.default_rng(0))[1] is None
    )  # three strings are too few
    assert len(some_of((strings, counts), np.random.default_rng(0))[0]) == 3


def test_work_bounds_the_strings_that_are_seen_whole() -> None:
    strings = Strings.of(["ab" * n for n in range(1, 30)])
    assert exact_length(strings, 10**6) == 200
    assert 28 <= exact_length(strings, 1000) < 58  # half of the strings are always seen
    assert exact_length(Strings.of(["ab"] * 5 + ["ab" * 40]), 0) == 12


def test_a_language_is_learned_as_well_as_its_sample_tells() -> None:
    truth = language("S -> a S b 0.6", "S -> a b 0.4")
    sample = truth.sample(1500, np.random.default_rng(0))
    model = CompletionGrammar().fit(sample)
    every, p = grammar_values_up_to(truth, 7)
    distinct, counts = distinct_strings(sample)
    seen = dict(zip(distinct, (counts / 1500).tolist(), strict=True))
    own = np.abs(np.array([seen.get(string, 0.0) for string in every]) - p).sum()
    assert np.abs(model.model_.value(every) - p).sum() < 1.3 * own
    assert model.model_.is_probabilistic(1e-9)
    assert model.exact_ > 12
    assert model.n_states_ in model.evidence_
    assert model.evidence_[model.n_states_] > max(model.evidence_.values()) - 0.01


def test_weights_stand_for_repetitions() -> None:
    strings, counts = ["ab", "aabb", "a", "abab"], [9, 5, 3, 2]
    repeated = [s for s, n in zip(strings, counts, strict=True) for _ in range(n)]
    one = CompletionGrammar(n_states=3).fit(strings, sample_weight=counts)
    other = CompletionGrammar(n_states=3).fit(repeated)
    np.testing.assert_allclose(one.score_samples(strings), other.score_samples(strings), rtol=1e-9)


def test_strings_that_cannot_be_completed_are_learned_all_the_same() -> None:
    model = CompletionGrammar(n_states=2).fit(["ab" * 10, "ab" * 8] * 6)
    assert model.start_ == "random"
    assert np.isfinite(model.score(["abab"]))
    assert not hasattr(model, "completion_")


def test_completion_alone_chooses_its_rank_and_tells_a_smaller_one() -> None:
    strings = ["ab", "aabb", "ab", "aaabbb", "abab"] * 20
    model = CompletionGrammar(em=False, refinement_max_iter=0).fit(strings)
    assert model.n_states_ == max(model.evidence_, key=model.evidence_.__getitem__)
    with pytest.warns(UserWarning, match="states in place of 40"):
        CompletionGrammar(40, em=False, refinement_max_iter=0).fit(["ab", "a", "b"] * 5)


def test_too_few_states_for_brackets_are_told() -> None:
    trees = [Tree("X", ("a", "b"))] * 5
    with pytest.warns(UserWarning, match="no string it learned from has a value above 0"):
        SpectralGrammar(n_states=1).fit(trees)


@pytest.mark.parametrize(
    ("best", "tried"), [(2, [2, 3]), (3, [2, 3, 4]), (4, [2, 3, 4, 5]), (5, [2, 3, 4, 5])]
)
def test_larger_sizes_are_tried_one_by_one_from_the_start_that_won(
    monkeypatch: pytest.MonkeyPatch, best: int, tried: list[int]
) -> None:
    """The next size only where the largest before it is best, which `best` says here."""
    asked: list[tuple[int, str]] = []

    def raced(begun: list[proper.Candidate], _: object) -> list[proper.Candidate]:
        asked.extend((candidate.n_states, candidate.start) for candidate in begun)
        return begun

    monkeypatch.setattr(proper, "SIZES", (2, 3))
    monkeypatch.setattr(proper, "LARGER", (4, 5))
    monkeypatch.setattr(proper, "_raced", raced)
    monkeypatch.setattr(
        proper,
        "smallest",
        lambda ran: min(ran, key=lambda one: (abs(one.n_states - best), one.start != "clusters")),
    )
    truth = random_pcfg(2, 2, np.random.default_rng(3), stop=0.6)
    strings = truth.sample(200, np.random.default_rng(0), max_length=10)
    learn_proper(strings, ProperPlan(pair_priors=(0.0,), max_iter=1), np.random.default_rng(0))
    assert sorted({n for n, _ in asked}) == tried
    assert {start for n, start in asked if n > 3} <= {"clusters"}
