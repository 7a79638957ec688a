"""Two numbers of classes as one automaton: what the sum is, what share each has, and when there is none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from automata.test_context_models import TRUTH
from sigmastar.automata.counts.on_classes import ContextCounts
from sigmastar.automata.learn import two_resolutions as module
from sigmastar.automata.learn.context_model import choose_classes, learn_contexts
from sigmastar.automata.learn.fast import ContextBatches, learn_fast
from sigmastar.automata.learn.held_strings import HeldOut
from sigmastar.automata.learn.rank_search import RankSearch, filtered, search_ranks
from sigmastar.automata.learn.two_resolutions import choose, joined, leading
from sigmastar.automata.model.filtered import FilteredAutomaton
from sigmastar.automata.model.ngram import NgramModel


@pytest.fixture(scope="module")
def strings():
    return TRUTH.sample(3_000, np.random.default_rng(0))


@pytest.fixture(scope="module")
def models(strings) -> list[FilteredAutomaton]:
    counts = [ContextCounts.of(strings, *choose_classes(strings, size)) for size in (60, 8)]
    return [filtered(learn_contexts(of, rank)) for of, rank in zip(counts, (4, 3), strict=True)]


@pytest.fixture(scope="module")
def searches(strings) -> tuple[list[RankSearch], HeldOut]:
    held_out = HeldOut.of(TRUTH.sample(500, np.random.default_rng(1)))
    counts = [ContextCounts.of(strings, *choose_classes(strings, size)) for size in (2, 8)]
    coarse, fine = (search_ranks(of, held_out, None) for of in counts)
    assert fine.best.score > coarse.best.score  # else there would be no pair
    return [coarse, fine], held_out


def test_the_pair_is_the_weighted_sum_of_the_functions(models, strings):
    pair = joined(models, [0.7, 0.3])
    values = [model.automaton.value(strings) for model in models]
    np.testing.assert_allclose(pair.automaton.value(strings), 0.7 * values[0] + 0.3 * values[1], atol=1e-12)


def test_restarts_of_the_pair_are_those_of_the_classes_that_hold_each_other(models, strings):
    pair, (fine, coarse) = joined(models, [0.7, 0.3]), models
    seen = zip(
        fine.backoff.contexts.classify(strings), coarse.backoff.contexts.classify(strings), strict=True
    )
    for of, holder in set(seen):
        expected = np.concatenate([0.7 * fine.restarts[of], 0.3 * coarse.restarts[holder]])
        np.testing.assert_array_equal(pair.restarts[of], expected)
    np.testing.assert_allclose(pair.restarts @ pair.mass, 1.0, atol=1e-9)


def test_distributions_of_the_pair_are_proper(models, strings):
    distributions = joined(models, [0.7, 0.3]).gap_distributions(strings.select(range(50)))
    assert distributions.min() >= 0.0
    np.testing.assert_allclose(distributions.sum(axis=1), 1.0, atol=1e-12)


def test_one_model_stays_as_it_is(models):
    assert joined(models[:1], [1.0]) is models[0]


@given(st.integers(0, 1_000))
def test_the_share_is_the_most_likely_one(seed):
    rng = np.random.default_rng(seed)
    held_out = HeldOut.of(TRUTH.sample(30, rng))
    first, second = rng.normal(-5.0, 1.0, (2, len(held_out.ending)))
    found = module._share(first, second, held_out)

    def posterior(share: float) -> float:
        likelihood = np.log(share * np.exp(first) + (1.0 - share) * np.exp(second))
        pseudo = 0.5 * module._SHARE_STRENGTH * (np.log(share) + np.log(1.0 - share))
        return float(held_out.end_counts @ likelihood + pseudo)

    assert posterior(found) >= max(map(posterior, np.linspace(0.01, 0.99, 99))) - 1e-3


def test_a_pair_is_chosen_only_with_coarser_classes(searches, monkeypatch):
    (coarse, fine), held_out = searches
    monkeypatch.setattr(module, "_LEAST_SHARE", 0.0)
    assert len(choose([fine], held_out).parts) == 1
    choice = choose([coarse, fine], held_out)
    assert [part.classes for part in choice.parts] == [fine.classes, coarse.classes]
    assert sum(part.share for part in choice.parts) == pytest.approx(1.0)
    better = replace(coarse, best=replace(coarse.best, score=fine.best.score + 1.0))
    assert [part.classes for part in choose([better, fine], held_out).parts] == [coarse.classes]


def test_a_small_share_is_left_out(searches, monkeypatch):
    monkeypatch.setattr(module, "_LEAST_SHARE", 1.0)
    assert len(choose(*searches).parts) == 1


def test_large_operators_are_not_paired(searches, monkeypatch):
    monkeypatch.setattr(module, "_LEAST_SHARE", 0.0)
    monkeypatch.setattr(module, "_MOST_CELLS", 0)
    assert len(choose(*searches).parts) == 1


def test_the_number_of_states_asked_for_is_kept(strings):
    fit = learn_fast(strings, np.random.default_rng(0), n_states=3, n_classes=(8, 60))
    assert fit.model.automaton.n_states == 3


def test_a_pair_is_recovered_from_all_counts(strings, monkeypatch):
    monkeypatch.setattr(module, "_LEAST_SHARE", 0.0)
    batches = ContextBatches.first(strings, np.random.default_rng(0), (2, 8))
    choice, counts = batches.choose(), batches.all_counts()
    assert len(choice.parts) == 2
    fit = choice.learnt_from(counts.coarsened(*choice.classes))
    assert fit.model.automaton.n_states == sum(part.n_states for part in choice.parts)
    assert fit.contexts.counts.n_strings == len(strings)
    assert fit.contexts.n_states == choice.parts[0].n_states


def test_the_smoothing_is_the_one_that_held_out_strings_like_better(searches, monkeypatch):
    (_, fine), held_out = searches
    scores = {}
    for name in ("witten_bell", "kneser_ney"):
        with monkeypatch.context() as patch:
            patch.setattr(module, "witten_bell", getattr(module, name))
            patch.setattr(module, "kneser_ney", getattr(module, name))
            backoff = NgramModel.of_counts(fine.model.alphabet, fine.following, getattr(module, name))
            alone = replace(fine, model=replace(fine.model, backoff=backoff))
            scores[name] = choose([alone], held_out).score
    choice = choose([fine], held_out)
    assert choice.score == max(scores.values())
    assert choice.smoothing is getattr(module, max(scores, key=scores.__getitem__))


def test_the_leading_searches_are_kept_best_first(searches):
    (coarse, fine), _ = searches
    assert leading(iter([coarse, fine]), 2) == [fine, coarse]
    assert leading(iter([coarse, fine]), 1) == [fine]
