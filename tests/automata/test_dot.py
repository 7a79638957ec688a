"""Graphviz text of automata."""

from __future__ import annotations

import io

import numpy as np

from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.dot import write_dot
from sigmastar.core.alphabet import Alphabet


def dot_of(automaton: WeightedAutomaton, **options: float) -> str:
    stream = io.StringIO()
    write_dot(automaton, stream, **options)  # type: ignore[arg-type]
    return stream.getvalue()


def example() -> WeightedAutomaton:
    transitions = np.array([[[0.0, 0.5], [0.001, 0.0]], [[0.0, -0.25], [0.0, 0.0]]])
    return WeightedAutomaton(Alphabet(['"', "\\b"]), np.array([1.0, 0.0]), transitions, np.array([0.0, 0.75]))


def test_labels_of_a_pair_of_states_are_merged_and_escaped() -> None:
    assert r'  0 -> 1 [label="\" 0.5\n\\b -0.25"];' in dot_of(example()).splitlines()


def test_small_weights_are_left_out() -> None:
    assert "1 -> 0" not in dot_of(example())
    assert "1 -> 0" in dot_of(example(), threshold=0.0005)


def test_initial_and_final_states() -> None:
    text = dot_of(example())
    assert '  start0 -> 0 [label="1"];' in text
    assert "start1" not in text
    assert r'  1 [shape=doublecircle, label="1\n0.75"];' in text
    assert '  0 [label="0"];' in text


def test_many_labels_are_cut() -> None:
    automaton = WeightedAutomaton(Alphabet(range(20)), np.ones(1), np.full((20, 1, 1), 0.05), np.ones(1))
    text = dot_of(automaton, max_labels=3)
    assert r'label="0 0.05\n1 0.05\n2 0.05\nand 17 more"' in text


def test_braces_balance() -> None:
    text = dot_of(example())
    assert text.startswith("digraph")
    assert text.count("{") == text.count("}") == 1
