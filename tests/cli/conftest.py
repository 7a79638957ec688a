"""What the tests of the command line share: a corpus and models learned from it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cli.calls import succeed
from sigmastar.data.generators import make_automaton
from sigmastar.data.lines import write_lines
from sigmastar.data.pautomac import write_pautomac, write_pautomac_model
from sigmastar.operators.automaton import WeightedAutomaton
from sigmastar.structures.alphabet import Alphabet


@pytest.fixture(scope="session")
def machine() -> WeightedAutomaton:
    drawn = make_automaton(3, 3, np.random.default_rng(5), stop=0.2)
    return WeightedAutomaton(Alphabet("abc"), drawn.initial, drawn.transitions, drawn.final)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory, machine: WeightedAutomaton) -> Path:
    """A corpus as lines and in PAutomaC's format with its machine and solution, and four models."""
    place = tmp_path_factory.mktemp("cli")
    strings = machine.sample(300, np.random.default_rng(1))
    with open(place / "lines.txt", "w") as stream:
        write_lines(strings, stream)
    with open(place / "train.pautomac", "w") as stream:
        write_pautomac(strings, stream)
    with open(place / "machine.txt", "w") as stream:
        write_pautomac_model(machine, stream)
    probabilities = np.exp(machine.log_probability(strings))
    lines = [str(len(strings)), *map(repr, (probabilities / probabilities.sum()).tolist())]
    (place / "solution.txt").write_text("\n".join(lines) + "\n")
    for method in ("fast", "auto", "ngram"):
        succeed(
            "learn", "automaton", place / "lines.txt", "--method", method, "-o", place / f"{method}.model"
        )
    succeed("learn", "automaton", place / "train.pautomac", "--format", "pautomac", "-o", place / "p.model")
    return place
