"""`sigmastar sample` with constraints, as it is typed."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from cli.calls import fail, invoke, succeed
from sigmastar import NgramAutomaton, WeightedAutomaton
from sigmastar.automata import FilteredAutomaton, make_automaton
from sigmastar.core.model_format import save_model

TEXT = ["the dog sees a cat", "a cat sleeps", "the cat sees the dog", "a dog sleeps", "the dog sleeps"]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """An n-gram model, an automaton and a filtered one, on words."""
    folder = tmp_path_factory.mktemp("control")
    ngram = NgramAutomaton(order=2).fit([line.split() for line in TEXT]).model_
    n_symbols = len(ngram.alphabet)
    made = make_automaton(4, n_symbols, np.random.default_rng(0), density=0.9, stop=0.2)
    automaton = WeightedAutomaton(ngram.alphabet, *made.arrays)
    n_classes = ngram.contexts.n_classes
    restarts, mixing = np.tile(made.initial, (n_classes, 1)), np.full(n_classes, 0.3)
    filtered = FilteredAutomaton(automaton, np.ones(4), ngram, restarts, mixing)
    paths = {}
    for name, model in (("ngram", ngram), ("automaton", automaton), ("filtered", filtered)):
        paths[name] = folder / f"{name}.sigma"
        save_model(model, paths[name])
    return paths


@pytest.mark.parametrize("kind", ["ngram", "automaton", "filtered"])
def test_samples_meet_every_constraint(models: dict[str, Path], kind: str) -> None:
    words = ("--constraint", ".* (dog|cat) .*", "--contains", "the dog", "--avoids", "a", "--length", "3-6")
    lines = succeed("sample", models[kind], "-n", "200", *words, "-q").splitlines()
    assert len(lines) == 200
    assert len(set(lines)) > 5
    for line in lines:
        assert re.search(r"\bthe dog\b", line)
        assert "a" not in line.split()
        assert 3 <= len(line.split()) <= 6


def test_it_says_how_likely_the_constraint_is(models: dict[str, Path]) -> None:
    result = invoke("sample", models["automaton"], "--length", "2", "-n", "1")
    share = re.search(r"note: (0\.\d+) of the strings of the model meet the constraint", result.stderr)
    assert share is not None
    drawn = succeed("sample", models["automaton"], "-n", "20000", "-q").splitlines()
    found = np.mean([len(line.split()) == 2 for line in drawn])
    assert float(share[1]) == pytest.approx(found, abs=0.015)


@pytest.mark.parametrize(
    ("words", "message", "status"),
    [
        (("--contains", "mouse"), "phrase 'mouse': 'mouse' is not among the 6 symbols of the model", 1),
        (("--constraint", "(the"), "constraint '(the', character 5: a ( is not closed", 1),
        (("--contains", "dog", "--avoids", "dog"), "the constraint excludes every string", 1),
        (("--length", "many"), "--length 'many' is not of the form 5, 5-8, 5- or -8", 2),
    ],
)
def test_wrong_constraints_are_one_line(
    models: dict[str, Path], words: tuple[str, ...], message: str, status: int
) -> None:
    assert message in fail("sample", models["ngram"], *words, status=status)
