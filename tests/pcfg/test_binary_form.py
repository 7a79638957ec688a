"""Theorem 1 of Cohen and Smith (2012): equal probabilities in both directions, zeros included."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcfg.random_grammars import random_hmm, random_pcfg
from sigmastar.pcfg.data.binary_form import BinaryForm
from sigmastar.pcfg.data.events import EventSystem
from sigmastar.pcfg.data.rules import Grammar, Part, Rule
from sigmastar.pcfg.model.pcfg import ProbabilisticCFG
from sigmastar.pcfg.model.probabilistic_grammar import log_probability_of, sample_derivations

seeds = st.integers(0, 10_000)


def binary_grammar(grammar: Grammar) -> Grammar:
    """The context-free grammar whose events are the normal form of this grammar's.

    A -> A[1], A[i] -> alpha_i, A[i] -> A[i + 1], and A[N] -> alpha_N.
    """
    rules = list[Rule]()
    for k, left in enumerate(grammar.nonterminals):
        own = grammar.rules[grammar.offsets[k] : grammar.offsets[k + 1]]
        names = [f"{left}[{i}]" for i in range(1, len(own) + 1)]
        rules.append(Rule(left, (names[0],)))
        for i, rule in enumerate(own):
            rules.append(Rule(names[i], rule.right))
            if i + 1 < len(own):
                following: tuple[Part, ...] = (names[i + 1],)
                rules.append(Rule(names[i], following))
    return Grammar.of(rules, grammar.start)


@settings(max_examples=30)
@given(seeds, st.booleans())
def test_theorem_1(seed, zeros):
    rng = np.random.default_rng(seed)
    model = random_pcfg(rng, zeros=zeros)
    form = BinaryForm(model.events)
    sticks = form.sticks(model.parameters)
    np.testing.assert_allclose(form.probabilities(sticks), model.parameters, atol=1e-15)
    twin = ProbabilisticCFG(binary_grammar(model.grammar), form.binary_parameters(sticks))
    assert twin.events.degree <= 2
    assert twin.events.n_multinomials == model.events.n_events + model.events.n_multinomials
    for name in ("offsets", "child_start", "children", "root"):
        np.testing.assert_array_equal(getattr(twin.events, name), getattr(form.binary, name))
    drawn = sample_derivations(model, 20, rng)
    mapped = form.to_binary(drawn)
    np.testing.assert_allclose(log_probability_of(twin, mapped), log_probability_of(model, drawn))
    assert form.of_binary(mapped).events.tolist() == drawn.events.tolist()
    back = sample_derivations(twin, 20, rng)  # and the other way: what the twin draws
    np.testing.assert_allclose(
        log_probability_of(model, form.of_binary(back)), log_probability_of(twin, back)
    )
    strings = model.strings(drawn)
    short = strings.select(np.flatnonzero(strings.lengths <= 6))
    np.testing.assert_allclose(twin.log_probability(short), model.log_probability(short))


@given(seeds)
def test_any_sticks_give_distributions(seed):
    rng = np.random.default_rng(seed)
    model = random_hmm(rng)
    form = BinaryForm(model.events)
    sticks = np.where(form.is_last, 1.0, rng.random(model.events.n_events) * (rng.random() < 0.9))
    parameters = model.events.require_distributions(form.probabilities(sticks))
    again = form.sticks(parameters)
    np.testing.assert_allclose(form.probabilities(again), parameters, atol=1e-12)


def test_nothing_counted_is_shared_equally():
    form = BinaryForm(EventSystem.of([4], [[]] * 4))
    np.testing.assert_allclose(form.probabilities(form.sticks(np.zeros(4))), 0.25)
    np.testing.assert_allclose(form.sticks(np.array([0, 1, 0, 0.0])), [0, 1, 1 / 2, 1])


def test_truncation_keeps_sticks_from_the_ends():
    form = BinaryForm(EventSystem.of([2, 1], [[]] * 3))
    np.testing.assert_allclose(form.truncated(np.array([0.0, 1.0, 1.0]), 0.1), [0.1, 1, 1])
    with pytest.raises(ValueError, match=r"margin=0\.6"):
        form.truncated(np.ones(3), 0.6)
