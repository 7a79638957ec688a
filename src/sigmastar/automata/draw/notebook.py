"""What notebooks show of automata, and of the choice of their states."""

from __future__ import annotations

from typing import Any

from sigmastar.automata.draw.graph import draw_automaton
from sigmastar.automata.draw.spectrum import plot_spectrum
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core.figures import to_svg
from sigmastar.core.rank import RankEvidence


def draw_inner(model: Any) -> str:
    """The automaton that a model is, or that is inside it."""
    inner = getattr(model, "automaton", model)
    assert isinstance(inner, WeightedAutomaton)
    return draw_automaton(inner, label=f"{type(model).__name__} of {inner.n_states} states")


def draw_evidence(evidence: RankEvidence) -> str:
    """The spectrum, with the noise and the number of states that was chosen."""
    return to_svg(plot_spectrum(evidence), f"Spectrum; {evidence.chosen} states were chosen")
