"""Graphviz text of an automaton: states, and one edge per pair of states with the labels on it."""

from __future__ import annotations

from typing import TextIO

import numpy as np

from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.arrays import Floats


def write_dot(
    automaton: WeightedAutomaton,
    stream: TextIO,
    threshold: float = 0.01,
    max_labels: int = 8,
    name: str = "automaton",
) -> None:
    """Write a graph of the heavier weights.

    Parameters
    ----------
    automaton : WeightedAutomaton
        The function.
    stream : text stream
        Where to write.
    threshold : float
        Size below which weights are left out.
    max_labels : int
        Number of labels per edge at most.
    name : str
        Of the graph.
    """
    stream.write(f"digraph {quoted(name)} {{\n  rankdir=LR;\n  node [shape=circle];\n")
    for state in range(automaton.n_states):
        stream.write(_state(state, float(automaton.final[state]), threshold))
    for state in np.flatnonzero(np.abs(automaton.initial) >= threshold).tolist():
        stream.write(f'  start{state} [shape=point, label=""];\n')
        stream.write(
            f"  start{state} -> {state} [label={quoted(_shown(float(automaton.initial[state])))}];\n"
        )
    shown = np.abs(automaton.transitions) >= threshold
    for source, target in np.argwhere(shown.any(axis=0)).tolist():
        label = _labels(automaton, automaton.transitions[:, source, target], threshold, max_labels)
        stream.write(f"  {source} -> {target} [label={label}];\n")
    stream.write("}\n")


def quoted(text: str) -> str:
    """A Graphviz string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "")
    return f'"{escaped}"'


def _state(state: int, final: float, threshold: float) -> str:
    if abs(final) < threshold:
        return f'  {state} [label="{state}"];\n'
    return f'  {state} [shape=doublecircle, label="{state}\\n{_shown(final)}"];\n'


def _labels(automaton: WeightedAutomaton, weights: Floats, threshold: float, max_labels: int) -> str:
    """The heaviest labels of an edge, one a line."""
    order = np.argsort(-np.abs(weights), kind="stable")
    codes = order[np.abs(weights[order]) >= threshold].tolist()
    lines = [
        f"{automaton.alphabet.symbols[code]} {_shown(float(weights[code]))}" for code in codes[:max_labels]
    ]
    if len(codes) > max_labels:
        lines.append(f"and {len(codes) - max_labels} more")
    return quoted("\n".join(lines))


def _shown(weight: float) -> str:
    return f"{weight:.3g}"
