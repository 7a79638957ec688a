"""What a stand-in does, in words: its states by typical prefixes and futures, and where it fails worst."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.sequence import SequenceModel
from sigmastar.distil.asked_strings import Asked
from sigmastar.distil.judging import tell_apart
from sigmastar.distil.kernels import filter_states
from sigmastar.distil.parametrizations import Proper
from sigmastar.distil.questions import strings_of

END = "<end>"
_STATES, _EXAMPLES = 40, 3
_STRINGS = 400
_LONGEST, _LAST = 60, 8  # symbols that are written, of a string and of a prefix: its end tells the state

Line = list[str]


def worst_strings(model: SequenceModel, asked: Asked, n: int = 10) -> list[Line]:
    """The strings on which a stand-in diverges most per symbol: string, millinats per symbol."""
    told = tell_apart(model, asked)
    means = told.divergence / told.lengths
    order = np.argsort(-means, kind="stable")[:n]
    return [[_written(asked.strings[int(at)]), f"{1e3 * means[at]:.3g}"] for at in order]


def state_lines(model: SequenceModel, asked: Asked) -> list[Line]:
    """A line per state of a proper automaton, the most visited first: its share, prefixes, and futures."""
    if not isinstance(model, WeightedAutomaton) or not model.is_stochastic(1e-6):
        return []
    return list(_lines(model, asked.select(np.arange(min(len(asked), _STRINGS)))))


def _lines(automaton: WeightedAutomaton, asked: Asked) -> Iterator[Line]:
    trie, soft = asked.on_trie(np.float32)
    form = Proper()
    states = filter_states(soft, form.arrays(form.parameters(automaton)))
    shares = soft.weights @ states / soft.weights.sum()
    names = (*map(str, automaton.alphabet), END)
    for state in np.argsort(-shares, kind="stable")[:_STATES]:
        likely = np.flatnonzero(states[:, state] > 0.5 * states[:, state].max())
        order = np.argsort(-states[likely, state] * soft.weights[likely], kind="stable")
        typical = likely[order[:_EXAMPLES]]
        prefixes = strings_of(trie, typical, automaton.alphabet)
        told = automaton.next_weights[state]
        nexts = [f"{names[at]} {told[at]:.2f}" for at in np.argsort(-told, kind="stable")[:_EXAMPLES]]
        written = ", ".join(_written(prefix, _LAST) for prefix in prefixes)
        yield [str(int(state)), f"{shares[state]:.3f}", written, ", ".join(nexts)]


def _written(symbols: tuple[object, ...], longest: int = _LONGEST) -> str:
    text = " ".join(map(str, symbols[-longest:]))
    return ("nothing" if not symbols else text) if len(symbols) <= longest else f".. {text}"
