"""Dependency trees as SVG."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from sigmastar.dependency.draw import draw_arcs

NAMESPACE = "{http://www.w3.org/2000/svg}"


def test_every_word_and_arc_is_drawn() -> None:
    svg = draw_arcs(["a", "<b>", "c"], [2, 0, 2], ["x", "root", "y"], ["A", "B", "C"], gold=[2, 0, 1])
    drawn = ElementTree.fromstring(svg)
    texts = [text.text for text in drawn.iter(f"{NAMESPACE}text")]
    assert {"a", "<b>", "c", "A", "B", "C", "x", "root", "y"} == set(texts)
    assert sum("stroke-dasharray" in path.attrib for path in drawn.iter(f"{NAMESPACE}path")) == 1


def test_long_arcs_run_above_short_ones() -> None:
    svg = draw_arcs(list("abcd"), [4, 1, 2, 0])
    heights = [float(p.split(" ")[0].split(",")[1]) for p in svg.split(" C")[1:]]
    assert min(heights) < max(heights)


def test_wrong_numbers_of_heads_are_refused() -> None:
    with pytest.raises(ValueError, match="one to each word"):
        draw_arcs(["a"], [0, 1])
