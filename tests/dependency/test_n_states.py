"""Numbers of states by what is held out."""

from __future__ import annotations

import numpy as np
import pytest

from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import Alphabet
from sigmastar.dependency.data.sequences import WeightedSequences
from sigmastar.dependency.data.treebank import DependencyTreebank
from sigmastar.dependency.learn.parser import METHODS, Recipe, choose_states, held_out_scores, learn_parser


def sequences(drawn: list[list[str]]) -> WeightedSequences:
    """Drawn sequences of the first sorts over a and b, each counted once for every time it was drawn."""
    rows = [(sort, *np.unique(part, return_counts=True)) for sort, part in enumerate(drawn)]
    strings = Strings.of([string for _, part, _ in rows for string in part.tolist()], alphabet=Alphabet("ab"))
    sorts = np.concatenate([np.full(len(part), sort) for sort, part, _ in rows])
    counts = np.concatenate([counts for _, _, counts in rows]).astype(np.float64)
    return WeightedSequences(
        Alphabet("ab"), strings, counts, np.searchsorted(sorts, np.arange(6)), np.arange(len(sorts))
    )


@pytest.mark.parametrize("method", ["spectral+em", "em"])
def test_memory_is_given_states_and_none_is_not(method: str) -> None:
    rng = np.random.default_rng(0)
    alternating = ["abababab"[: 2 * n] for n in rng.integers(0, 4, 400)]
    free = ["".join(rng.choice(["a", "b"], n)) for n in rng.geometric(0.5, 400) - 1]
    data = sequences([alternating, free])
    chosen = choose_states(data, METHODS[method], rng, (1, 2, 6))
    assert chosen[0] >= 2
    assert chosen[2:].tolist() == [1, 1, 1]  # nothing seen: the fewest
    gains = np.ptp(held_out_scores(data, METHODS[method], rng, (1, 2, 6)), axis=0)
    assert gains[0] > 30
    assert gains[1] < 10


def test_what_is_held_out_is_not_learnt_from() -> None:
    rng = np.random.default_rng(1)
    data = sequences([["a", "ab", "b", ""] * 50])
    totals: list[float] = []

    def learner(seen: WeightedSequences, n: object, rng: np.random.Generator) -> object:
        totals.append(float(seen.counts.sum()))
        return METHODS["det"](seen, 1, rng)

    scores = held_out_scores(data, learner, rng, (1, 2))
    assert scores.shape == (2, 5)
    assert totals[0] == totals[1]
    assert 130 < totals[0] < 185
    assert (scores[:, 0] < 0).all()
    assert not scores[:, 1:].any()


def test_parsers_with_numbers_of_their_own() -> None:
    treebank = DependencyTreebank.of(
        [["D", "N", "V", "D", "N"]] * 200, [["D", "N", "V", "D", "N"]] * 200, [[2, 3, 0, 5, 3]] * 200
    )
    parser = learn_parser(treebank, Recipe("spectral+em", n_states=None), np.random.default_rng(0))
    assert (parser.parse(treebank).heads == treebank.head).all()
