"""What objects show of themselves in notebooks: drawings by the records, with names as text."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sigmastar.automata.model.generators import make_hmm
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.errors import InputError
from sigmastar.core.estimator import Estimator
from sigmastar.core.exhibit import View
from sigmastar.core.family import families, load
from sigmastar.core.notebook import Drawn, draw
from sigmastar.core.page import Text
from sigmastar.core.rank import RankEvidence
from sigmastar.core.tree_and_arc_drawings import Arcs, draw_heads
from sigmastar.core.view_drawings import DRAWN, parts_of, pictures
from sigmastar.dependency.data.treebank import DependencyTreebank
from sigmastar.regression.model import StringFunction
from sigmastar.taggers.data.sentences import TaggedSentences
from sigmastar.transducers.data import StringPairs
from sigmastar.transducers.estimator import SpectralTransducer
from sigmastar.treebanks.model.parser import Parse
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
POINT = {"name": BAD, "x": 0.0, "y": 1.0, "group": "a"}
VIEWS = [
    View("bars", "Bars", {"bars": [{"name": BAD, "value": 0.5}, {"name": "b", "value": -0.1}]}),
    View("strip", "Strip", {"tokens": [{"text": BAD, "value": None, "wrong": True}]}),
    View("heat", "Heat", {"rows": [BAD], "columns": ["a", BAD], "values": [[0.5, None]], "marks": [(0, 1)]}),
    View(
        "lines",
        "Lines",
        {
            "x": [1, 2, 3],
            "series": [{"name": BAD, "y": [1.0, None, 0.01]}, {"name": "b", "y": [0.0, 0.5, 2.0]}],
            "levels": [{"name": BAD, "y": 0.1}],
            "marks": [{"name": BAD, "x": 2}],
            "log": True,
        },
    ),
    View("map", "Map", {"points": [POINT, {**POINT, "x": 2.0, "group": "b"}], "path": [POINT]}),
    View(
        "graph",
        "Graph",
        {
            "nodes": [{"label": BAD, "x": 0.0, "y": 0.0, "initial": 1.0, "ring": 0.5}],
            "edges": [{"source": 0, "target": 0, "weight": 1.0, "negative": True, "label": BAD}],
        },
    ),
    View("arcs", "Arcs", {"words": [BAD], "heads": [0], "labels": [BAD], "posteriors": [0.5]}),
    View("chart", "Chart", {"words": [BAD], "cells": [{"begin": 0, "end": 1, "value": 0.9, "label": BAD}]}),
    View(
        "lattice",
        "Lattice",
        {
            "inputs": [BAD],
            "outputs": ["b"],
            "edges": [{"from": (0, 0), "to": (1, 1), "value": -0.5, "label": BAD}],
        },
    ),
    View("tree", "Tree", {"trees": [{"name": "1", "tree": {"label": BAD, "children": [{"label": BAD}]}}]}),
]


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


def test_results_of_models_are_drawn() -> None:
    pairs = [("sit", "SIT"), ("sat", "SAT")] * 4
    transducer = SpectralTransducer("ngram").fit(pairs)
    aligned = transducer.model_.align(StringPairs.of(pairs[:2]))
    shown = [aligned, Parse(SHOWN["tree"], 0.0, "full"), TaggedSentences.of([[BAD, "b"]], [["N", BAD]])]
    for value in shown:
        svg = value._repr_svg_()
        assert not [part for part in ElementTree.fromstring(svg).iter() if part.tag.endswith("script")]
        assert svg in value._repr_mimebundle_()["text/html"]


def test_what_is_drawn_can_be_kept(tmp_path: Path) -> None:
    found = draw(MACHINE, BAD)
    assert isinstance(found, Drawn)
    for end in ("svg", "html", "json"):
        found.save(str(tmp_path / f"drawn.{end}"))
    assert ElementTree.parse(tmp_path / "drawn.svg").getroot().get("aria-label") == "What comes next"
    assert "How this was made" in (tmp_path / "drawn.html").read_text()
    assert json.loads((tmp_path / "drawn.json").read_text())[0]["title"] == "What comes next"
    with pytest.raises(InputError, match="must end in"):
        found.save("drawn.gif")
    with pytest.raises(InputError, match="no field 'direction'"):
        draw(MACHINE, BAD, direction="back")
    with pytest.raises(InputError, match="no drawing"):
        draw(3)
    assert draw(SHOWN["tree"]) == SHOWN["tree"]._repr_svg_()  # type: ignore[attr-defined]


def test_every_view_can_stand_still() -> None:
    for view in VIEWS:
        for _, svg in pictures(view):
            root = ElementTree.fromstring(svg)
            assert "<script" in "".join(root.itertext())
            assert not [part for part in root.iter() if part.tag.endswith("script")]
    assert {view.kind for view in VIEWS} == {*DRAWN, "tree"}
    assert parts_of(View("bars", "Bars", {"bars": []}, "None.")) == [Text("Bars. None.")]


def test_every_picture_is_of_a_class_that_asks_for_it() -> None:
    for family in families().values():
        for place, drawing in family.pictures.items():
            assert hasattr(load(place), "_repr_svg_")
            assert callable(load(drawing))


def test_labels_on_arcs_of_neighbours_have_room():
    def between(labels: list[str] | None) -> float:
        svg = draw_heads(Arcs(["the", "dog"], [2, 0], labels))
        at = {text: float(x) for x, text in re.findall(r'<text x="([\d.]+)"[^>]*>([^<]+)</text>', svg)}
        return at["dog"] - at["the"]

    assert between(["determiner", "root"]) > 60 > between(["det", "root"]) >= between(None)
