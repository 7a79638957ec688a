from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sigmastar.automata.data.spice import SpiceTargets, read_spice, read_spice_targets
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.metrics import (
    ndcg,
    ndcg_scores,
    next_symbol_error,
    next_symbol_errors,
    rank_next,
    score_rankings,
)
from sigmastar.automata.model import sequence as prediction
from sigmastar.automata.model.generators import make_automaton
from sigmastar.automata.model.sequence import pieces, top_columns
from sigmastar.core.alphabet import Alphabet


class Fixed:
    """The same distribution at every gap."""

    def __init__(self, alphabet, probabilities) -> None:
        self.alphabet, self.probabilities = Alphabet(alphabet), np.array(probabilities)

    def gap_distributions(self, strings: Strings):
        return np.tile(self.probabilities, (strings.n_gaps, 1))


def targets_of(*lines: tuple[float, dict[int, float]]) -> SpiceTargets:
    return SpiceTargets(
        np.array([denominator for denominator, _ in lines]),
        np.array([symbol for _, gains in lines for symbol in gains], dtype=np.int32),
        np.array([p for _, gains in lines for p in gains.values()]),
        np.cumsum([0, *(len(gains) for _, gains in lines)]),
    )


def test_error_rate_by_hand():
    strings = Strings.of(["aab", "", "ba"], alphabet=Alphabet("ab"))
    says_a, says_end = Fixed("ab", [0.6, 0.1, 0.3]), Fixed("ab", [0.3, 0.1, 0.6])
    assert next_symbol_error(says_a, strings) == pytest.approx(5 / 8)
    assert next_symbol_error(says_end, strings) == pytest.approx(5 / 8)
    assert next_symbol_error(says_end, strings, include_end=False) == pytest.approx(2 / 5)
    wrong = [False, False, True, True, True, True, False, True]
    assert next_symbol_errors(says_a, strings).tolist() == wrong


def test_how_far_it_is_is_told_piece_by_piece(monkeypatch):
    monkeypatch.setattr(prediction, "MAX_CELLS", 9)
    told = []
    strings = Strings.of(["ab", "ab", "b"])
    next_symbol_error(Fixed("ab", [0.6, 0.3, 0.1]), strings, progress=lambda *step: told.append(step))
    assert told == [("next symbols", 0.0), ("next symbols", 3 / 8), ("next symbols", 6 / 8)]


def test_a_foreign_symbol_is_always_missed():
    assert next_symbol_error(Fixed("ab", [0.6, 0.3, 0.1]), Strings.of(["za"]), include_end=False) == 0.5


def test_ties_go_to_the_first_symbol():
    strings = Strings.of(["b", "a"], alphabet=Alphabet("ab"))
    assert next_symbol_errors(Fixed("ab", [0.4, 0.4, 0.2]), strings, include_end=False).tolist() == [
        True,
        False,
    ]
    assert rank_next(Fixed("abc", [0.2, 0.3, 0.2, 0.3]), Strings.of([""], alphabet=Alphabet("abc"))) == [
        ("b", -1, "a", "c")
    ]


def test_nothing_to_predict_is_said():
    with pytest.raises(ValueError, match="all strings are empty"):
        next_symbol_error(
            Fixed("a", [0.5, 0.5]), Strings.of(["", ""], alphabet=Alphabet("a")), include_end=False
        )


@given(st.lists(st.integers(0, 6), max_size=20), st.integers(1, 40))
def test_pieces_keep_every_string_in_order(lengths, max_cells):
    strings = Strings.of(["ab" * length for length in lengths], alphabet=Alphabet("ab"))
    cut = list(pieces(strings, max_cells))
    assert [string for piece in cut for string in piece] == list(strings)
    assert all(piece.n_gaps * 3 <= max_cells or len(piece) == 1 for piece in cut)


def test_results_do_not_depend_on_the_pieces(rng, monkeypatch):
    model = make_automaton(4, 3, rng)
    strings = model.sample(40, rng)
    targets = targets_of(*[(0.9, {0: 0.5, -1: 0.3, 2: 0.2})] * 40)
    whole = next_symbol_error(model, strings), ndcg(model, strings, targets)
    monkeypatch.setattr(prediction, "MAX_CELLS", 50)
    assert (next_symbol_error(model, strings), ndcg(model, strings, targets)) == pytest.approx(whole)


def test_ndcg_by_hand():
    """Ranked b, end, a: p(b)/log2(2) + p(end)/log2(3) + p(a)/log2(4), over the denominator."""
    model = Fixed([0, 1, 2], [0.2, 0.4, 0.1, 0.3])
    targets = targets_of((1.25, {1: 0.5, 0: 0.25, -1: 0.125}), (1.0, {2: 1.0}))
    prefixes = Strings.of([(), (0, 1)], alphabet=model.alphabet)
    first = (0.5 + 0.125 / math.log2(3) + 0.25 / 2) / 1.25
    assert ndcg_scores(model, prefixes, targets).tolist() == pytest.approx([first, 1 / math.log2(5)])
    assert ndcg_scores(model, prefixes, targets, k=1).tolist() == pytest.approx([0.4, 0.0])


def test_more_targets_than_prefixes_pair_from_the_start():
    model = Fixed([0], [0.7, 0.3])
    targets = targets_of((1.0, {0: 1.0}), (1.0, {-1: 1.0}))
    one, three = (Strings.of([()] * n, alphabet=model.alphabet) for n in (1, 3))
    assert ndcg(model, one, targets) == 1.0
    assert len(ndcg_scores(model, three, targets)) == 2


def test_a_perfect_ranking_scores_one_and_repetitions_are_refused():
    gains = {3: 0.4, -1: 0.3, 0: 0.2, 1: 0.1}
    best = sum(p / math.log2(r + 2) for r, p in enumerate(gains.values()))
    assert score_rankings([tuple(gains)], targets_of((best, gains))).tolist() == pytest.approx([1.0])
    with pytest.raises(ValueError, match="ranking 1 names a symbol twice"):
        score_rankings([(3, 3)], targets_of((best, gains)))


@given(
    st.lists(st.lists(st.sampled_from([0.0, 0.1, 0.5, 1.0]), min_size=4, max_size=4), min_size=1, max_size=5)
)
def test_top_columns_sorts_stably(rows):
    slow = [sorted(range(4), key=lambda k, row=row: (-row[k], k))[:3] for row in rows]
    assert top_columns(np.array(rows), 3).tolist() == slow


def test_spice_targets_rank_themselves_perfectly(data_folder):
    """The best-first order of the target lines must reach their denominators."""
    folder = data_folder / "spice"
    targets = read_spice_targets(folder / "4.spice.target.public.gz")
    prefixes = read_spice(folder / "4.spice.prefix.public.gz")
    assert (len(prefixes), len(targets)) == (748, 749)
    lines = zip(targets.offsets[:-1], targets.offsets[1:], strict=True)
    rankings = [targets.symbols[a : min(a + 5, b)].tolist() for a, b in lines]
    assert score_rankings(rankings, targets) == pytest.approx(1.0, abs=1e-3)
