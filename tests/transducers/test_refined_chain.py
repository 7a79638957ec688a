"""Refined chains against sums over all substates."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles_transducer import chain_probability
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.learn.ngram import learn_ngram
from sigmastar.automata.model.generators import make_automaton
from sigmastar.automata.model.ngram_smoothing import kneser_ney
from sigmastar.transducers.learn.refined_chain import Refinement, learn_refined
from sigmastar.transducers.model.refined_chain import RefinedChain

QUICK = Refinement(n_substates=3, per_state=20, n_dimensions=4, n_classes=50, min_count=5, n_iterations=2)


@pytest.fixture(scope="module")
def strings() -> Strings:
    return make_automaton(3, 3, np.random.default_rng(0), stop=0.25).sample(400, np.random.default_rng(1))


@pytest.fixture(scope="module")
def chain(strings) -> RefinedChain:
    return learn_refined(strings, np.random.default_rng(2), QUICK)


def move(chain: RefinedChain, a: int, z: int, b: int, w: int) -> float:
    width, sizes = len(chain.alphabet) + 1, np.diff(chain.firsts)
    pair = np.flatnonzero(chain.pair_keys == a * width + b)
    if len(pair):
        return chain.blocks[chain.block_starts[pair[0]] + z * sizes[b] + w]
    bigram = chain.bigram.probabilities(chain.after_symbol[[a]], np.array([b], dtype=np.int32))[0]
    return chain.spare[chain.firsts[a] + z] * bigram * chain.shares[chain.firsts[b] + w]


@settings(max_examples=20)
@given(string=st.lists(st.integers(0, 2), max_size=4))
def test_the_probability_is_the_sum_over_substates(chain, string):
    found = chain.log_probability(Strings.of([string], alphabet=chain.alphabet))[0]
    wanted = chain_probability(tuple(string), chain.firsts, lambda *args: move(chain, *args))
    assert np.exp(found) == pytest.approx(wanted, rel=1e-10)


def test_what_comes_next_sums_to_one(chain):
    for prefix in product(range(3), repeat=2):
        longer = Strings.of([(*prefix, a) for a in range(3)] + [prefix], alphabet=chain.alphabet)
        steps = chain.outcome_probabilities(longer)
        ends = longer.offsets[1:] + np.arange(len(longer))
        total = sum(steps[ends[k] - 1] for k in range(3)) + steps[ends[3]]
        assert total == pytest.approx(1.0, abs=1e-9)


def test_expected_counts_add_up_to_the_moves_made(strings, chain):
    counts, log = chain.expected(chain.text(strings))
    assert counts.sum() == pytest.approx(strings.n_gaps)
    assert log == pytest.approx(chain.log_probability(strings).sum())


def test_em_raises_the_likelihood_of_what_it_sees(strings):
    few, more = (
        learn_refined(strings, np.random.default_rng(2), Refinement(**{**vars(QUICK), "n_iterations": n}))
        for n in (0, 8)
    )
    assert more.log_probability(strings).mean() > few.log_probability(strings).mean()


def test_substates_help_where_symbols_hide_a_state():
    """The symbol after the next is known from the first: a bigram cannot carry it."""
    rng = np.random.default_rng(0)
    made = [
        ("a" if flip else "b", *("c" * int(n)), "x" if flip else "y")
        for flip, n in (rng.integers(0, 2, (4000, 2)) + np.array([0, 1]))
    ]
    strings = Strings.of(made)
    refined = learn_refined(strings.select(np.arange(3000)), rng)
    bigram = learn_ngram(strings.select(np.arange(3000)), 2, kneser_ney)
    fresh = strings.select(np.arange(3000, 4000))
    assert refined.log_probability(fresh).mean() > bigram.log_probability(fresh).mean() + 0.5


def test_unknown_symbols_have_no_probability(chain):
    assert chain.log_probability(Strings.of([["?"], []], alphabet=None))[0] == -np.inf


def test_tables_that_do_not_fit_are_refused(chain):
    arrays, header = chain.to_parts()
    again = RefinedChain.from_parts(arrays, header)
    assert again.n_substates == chain.n_substates
    with pytest.raises(ValueError, match="do not fit"):
        RefinedChain.from_parts({**arrays, "blocks": arrays["blocks"][:-1]}, header)
