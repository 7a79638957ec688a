from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sigmastar.automata.draw.graph import draw_automaton, importance, select
from sigmastar.automata.draw.layout import Box, arrow, circle_order, ellipse
from sigmastar.automata.draw.marks import symbol_name, weight_name
from sigmastar.automata.draw.merging import merged
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.generators import make_automaton
from sigmastar.core.alphabet import Alphabet

SVG = "{http://www.w3.org/2000/svg}"


def two_states(symbols: object = ("a", "b"), sign: float = 1.0) -> WeightedAutomaton:
    transitions = np.zeros((2, 2, 2))
    transitions[0, 0, 1], transitions[1, 0, 1], transitions[0, 1, 1] = 0.5 * sign, 0.2 * sign, 0.6
    return WeightedAutomaton(Alphabet(symbols), np.array([1.0, 0.0]), transitions, np.array([0.3, 0.4]))


def titles(svg: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(svg).iter(f"{SVG}title")]


def texts(svg: str) -> str:
    return " ".join(" ".join(element.itertext()) for element in ET.fromstring(svg).iter(f"{SVG}text"))


def test_every_state_and_merged_arrow_is_there():
    svg = draw_automaton(two_states())
    assert sorted(titles(svg)) == [
        "0 to 1: a 0.5, b 0.2",
        "1 to 1: a 0.6",
        "starts here: 1",
        "state 0, final weight 0.3",
        "state 1, final weight 0.4",
    ]
    assert "a .50 b .20" in texts(svg)
    assert "not drawn" not in texts(svg)


def test_threshold_hides_light_arrows_and_says_so():
    svg = draw_automaton(two_states(), threshold=0.65)
    assert [t for t in titles(svg) if " to " in t] == ["0 to 1: a 0.5, b 0.2"]
    assert "1 of 2 arrows are drawn, 40% of the weight of all moves." in texts(svg)
    assert "1 of 2 arrows" in (ET.fromstring(svg).get("aria-label") or "")


def test_negative_arrows_are_dashed():
    assert "stroke-dasharray" in draw_automaton(two_states(sign=-1.0)).split("<circle", 1)[0]
    assert "stroke-dasharray" not in draw_automaton(two_states()).split("<circle", 1)[0]


def test_symbols_cannot_break_the_markup():
    svg = draw_automaton(two_states(['<script>&"', "\x00\n "]))
    root = ET.fromstring(svg)
    assert not list(root.iter(f"{SVG}script"))
    assert "<script…" in texts(svg)
    assert r"\x00" in texts(svg)


def test_large_automata_are_cut_to_what_can_be_read(rng):
    automaton = make_automaton(40, 5, rng, density=0.3)
    drawing = select(automaton, None, 12)
    assert len(drawing.states) == 12
    assert len(drawing.edges) <= 30
    assert drawing.note.startswith("28 more states are not drawn.")
    visits = np.linalg.solve(np.eye(40) - automaton.transitions.sum(axis=0).T, automaton.initial)
    assert set(drawing.states) == set(np.argsort(-visits)[:12].tolist())


def test_groups_of_states_are_visited_and_left_as_often_as_their_states(rng):
    automaton = make_automaton(40, 5, rng, density=0.3)
    small, groups = merged(automaton, 12)
    assert sorted(state for group in groups for state in group) == list(range(40))
    visits = importance(automaton)
    assert importance(small) == pytest.approx([visits[group].sum() for group in groups])
    assert small.total_mass() == pytest.approx(automaton.total_mass())
    assert all(group[0] == max(group, key=lambda state: visits[state]) for group in groups)


def test_states_that_are_left_alike_are_one_group():
    same = np.zeros((2, 4, 4))
    same[0, :2, 2], same[1, 2:, 0] = [0.5, 0.5], [0.5, 0.5]
    automaton = WeightedAutomaton(Alphabet("ab"), np.array([0.5, 0.5, 0, 0]), same, np.full(4, 0.5))
    assert sorted(map(sorted, merged(automaton, 2)[1])) == [[0, 1], [2, 3]]


def test_arrows_to_states_that_are_not_drawn_are_missing_too():
    """Half of all moves from the first state, and all from the last two, concern states that are left out."""
    between = np.array([[0.0, 0.5, 0.25, 0.25], [0.5, 0.0, 0.0, 0.0], [0.5, 0.0, 0.0, 0.0], [0.5, 0, 0, 0]])
    automaton = WeightedAutomaton(Alphabet("a"), np.eye(4)[0], between[None], np.array([0.0, 0.5, 0.5, 0.5]))
    drawing = select(automaton, 0.0, 2)
    assert (
        drawing.note
        == "2 more states are not drawn. 2 of 6 arrows are drawn, 50% of the weight of all moves."
    )


@given(st.integers(0, 2**32 - 1), st.integers(1, 15), st.booleans())
def test_any_automaton_draws_inside_its_frame(seed, n_states, signed):
    rng = np.random.default_rng(seed)
    automaton = make_automaton(n_states, 3, rng)
    if signed:
        basis = rng.normal(size=(n_states, n_states)) + 3 * np.eye(n_states)
        automaton = automaton.change_basis(basis)
    root = ET.fromstring(draw_automaton(automaton))
    left, top, width, height = map(float, (root.get("viewBox") or "").split())
    assert np.isfinite([left, top, width, height]).all()
    for box in root.iter(f"{SVG}rect"):
        assert left <= float(box.get("x", "")) <= left + width - float(box.get("width", ""))
        assert top <= float(box.get("y", "")) <= top + height - float(box.get("height", ""))


def test_some_are_named_of_many_symbols_that_weigh_the_same():
    loop = WeightedAutomaton(Alphabet(range(40)), np.ones(1), np.full((40, 1, 1), 0.02), np.full(1, 0.2))
    assert "+37" in texts(draw_automaton(loop))


def test_drawing_is_deterministic(rng):
    automaton = make_automaton(9, 4, rng)
    assert draw_automaton(automaton) == draw_automaton(automaton)


def test_an_automaton_without_moves_and_a_bad_limit(rng):
    still = WeightedAutomaton(Alphabet("a"), np.ones(1), np.zeros((1, 1, 1)), np.ones(1))
    assert titles(draw_automaton(still)) == ["starts here: 1", "state 0, final weight 1"]
    with pytest.raises(ValueError, match="max_states=0"):
        draw_automaton(still, max_states=0)


def test_circle_order_unties_a_shuffled_ring(rng):
    ring = rng.permutation(9)
    weights = np.zeros((9, 9))
    weights[ring, np.roll(ring, -1)] = 1.0
    order = circle_order(weights, first=4)
    place = np.argsort(order)
    steps = np.abs(place[ring] - place[np.roll(ring, -1)])
    assert order[0] == 4
    assert sorted(order) == list(range(9))
    assert np.minimum(steps, 9 - steps).tolist() == [1] * 9


def test_return_arrows_keep_apart_and_end_at_the_rim():
    start, end = np.array([0.0, 0.0]), np.array([200.0, 0.0])
    there, back = arrow(start, end), arrow(end, start)
    assert np.sign(there.at(0.5)[1]) == -np.sign(back.at(0.5)[1])
    assert np.hypot(*(there.at(1.0) - end)) == pytest.approx(27.0)


def test_positions_are_distinct_and_boxes_overlap_as_they_should():
    positions, _ = ellipse(12)
    distances = np.hypot(*(positions[:, None] - positions[None]).transpose(2, 0, 1)) + 1e9 * np.eye(12)
    assert distances.min() > 2 * 27
    assert Box(0, 0, 2, 2).overlap(Box(1, 1, 3, 3)) == 1
    assert Box(0, 0, 1, 1).overlap(Box(1, 1, 3, 3)) == 0


@pytest.mark.parametrize(
    ("value", "text"), [(0.5, ".50"), (-0.25, "-.25"), (1.0, "1.00"), (0.999, "1.00"), (123.4, "123")]
)
def test_weights_are_short(value, text):
    assert weight_name(value) == text


def test_symbol_names_are_short_and_visible():
    assert (symbol_name("a b"), symbol_name(("x", 1)), symbol_name("abcdefghij")) == (
        "a␣b",
        "('x',␣1)",
        "abcdefg…",
    )
