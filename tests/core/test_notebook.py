"""What objects show of themselves in notebooks: drawings by the records, with names as text."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import numpy as np
import pytest

from sigmastar.automata.model.generators import make_hmm
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.estimator import Estimator
from sigmastar.core.family import families, load
from sigmastar.core.rank import RankEvidence
from sigmastar.dependency.data.treebank import DependencyTreebank
from sigmastar.regression.model import StringFunction
from sigmastar.trees.data.tree import Tree

BAD = "<script>alert(1)</script>"
MACHINE = replace(make_hmm(3, 2, np.random.default_rng(0)), alphabet=Alphabet((BAD, "b")))
SHOWN = {
    "automaton": MACHINE,
    "function": StringFunction(MACHINE),
    "tree": Tree("S", (Tree(BAD, (BAD,)), Tree("V", ("runs",)))),
    "arcs": DependencyTreebank.of([[BAD, "runs"], ["a"]], [["N", "V"], ["D"]], [[2, 0], [0]]),
    "evidence": RankEvidence(np.array([1.0, 0.5, 0.1]), 0.2, (1, 2), (-3.0, -2.0), 2, "best"),
}


@pytest.mark.parametrize("name", SHOWN)
def test_a_drawing_is_markup_and_names_are_not(name: str) -> None:
    svg = SHOWN[name]._repr_svg_()  # type: ignore[attr-defined]
    assert svg is not None
    root = ElementTree.fromstring(svg)
    assert root.tag.endswith("svg")
    assert not [element for element in root.iter() if element.tag.endswith("script")]


def test_what_cannot_be_drawn_is_left_to_its_text() -> None:
    headless = DependencyTreebank.of([["a"]], [["D"]])
    assert headless._repr_svg_() is None


def test_an_estimator_shows_its_model() -> None:
    class Learner(Estimator):
        model_ = MACHINE

        def __sklearn_is_fitted__(self) -> bool:
            return True

    shown = Learner()._repr_html_()
    assert "<svg" in shown
    assert "states <b>3</b>" in shown
    assert BAD not in shown


def test_every_picture_is_of_a_class_that_asks_for_it() -> None:
    for family in families().values():
        for place, drawing in family.pictures.items():
            assert hasattr(load(place), "_repr_svg_")
            assert callable(load(drawing))
