"""Forged model files with a right checksum are refused with what is wrong, before any kernel sees them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sigmastar.core.alphabet import Alphabet
from sigmastar.dependency.data.treebank import DependencyTreebank
from sigmastar.dependency.estimator import SpectralDependencyGrammar
from sigmastar.dependency.model.parser import DependencyParser

X = [["D", "N", "V"], ["N", "V", "D", "N"]] * 5
Y = [[2, 3, 0], [2, 0, 4, 2]] * 5
Forge = Callable[[dict[str, Any], dict[str, Any]], None]


@pytest.fixture(scope="module")
def parser() -> DependencyParser:
    treebank = DependencyTreebank.of(X, X, Y, [["x", "y", "x", "y"][: len(s)] for s in X])
    return SpectralDependencyGrammar(n_states=2, arcs="lexical", arc_epochs=1).fit(treebank).model_


def test_whole_files_are_read(parser: DependencyParser) -> None:
    arrays, header = parser.to_parts()
    again = DependencyParser.from_parts(arrays, header)
    treebank = DependencyTreebank.of(X, X, Y)
    np.testing.assert_array_equal(again.parse(treebank).heads, treebank.head)


FORGED: dict[str, tuple[Forge, str]] = {
    "no arc weights": (lambda a, h: a.update(arc_weights=a["arc_weights"][:0]), "arc_weights of shape"),
    "cut arc weights": (lambda a, h: a.update(arc_weights=a["arc_weights"][:-1]), "arc_weights of shape"),
    "endless arc weights": (
        lambda a, h: a.update(arc_weights=a["arc_weights"] + np.inf),
        "'arc_weights' must hold numbers",
    ),
    "no label weights": (
        lambda a, h: a.update(label_weights=a["label_weights"][:0]),
        "label_weights of shape",
    ),
    "cut labels": (
        lambda a, h: a.update(label_weights=a["label_weights"][:, :1]),
        "'label_weights' of shape",
    ),
    "no labels": (lambda a, h: h.update(labels=Alphabet([])), "'label_weights' of shape"),
    "cut distances": (lambda a, h: a.update(distances=a["distances"][:, :1]), "'distances' of shape"),
    "negative distances": (lambda a, h: a.update(distances=-a["distances"]), "distances"),
    "no barriers": (lambda a, h: a.pop("barriers"), "without barriers"),
    "high barriers": (lambda a, h: a.update(barriers=a["barriers"] + 9), "barriers"),
    "no grandparents": (lambda a, h: h.update(grandparents=False), "without weights of grandparents"),
    "cut frequencies": (lambda a, h: a.update(frequencies=a["frequencies"][:1]), "frequencies"),
    "many states": (lambda a, h: a.update({"automata.n_states": a["automata.n_states"] + 99}), "states"),
    "cut automata": (lambda a, h: a.update({"automata.final": a["automata.final"][:2]}), "'final' of shape"),
    "other fallback": (
        lambda a, h: a.update({"fallback.operators": np.ones_like(a["fallback.operators"])}),
        r"DET\+F",
    ),
    "unknown stand-in": (lambda a, h: h.update(common="Q"), "not in the alphabet"),
    "words twice": (lambda a, h: h.update(words=["d", "d"]), "strings that differ"),
    "unknown symbols": (lambda a, h: h.update(symbols="letters"), "'symbols' must be"),
    "unknown decoding": (lambda a, h: h.update(decoding="best"), "'decoding' must be"),
    "large pruning": (lambda a, h: h.update(pruning=2.0), "pruning"),
    "counted words": (lambda a, h: h.update(counted={"states": "lex"}), "no longer read"),
}


@pytest.mark.parametrize("name", FORGED)
def test_forged_files_are_refused(parser: DependencyParser, name: str) -> None:
    forge, words = FORGED[name]
    arrays, header = parser.to_parts()
    forge(arrays, header)
    with pytest.raises(ValueError, match=words):
        DependencyParser.from_parts(arrays, header)
