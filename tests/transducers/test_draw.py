"""Alignments as text and as SVG."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from sigmastar.transducers.draw import draw_alignment, draw_lattice

FIRST = ((("p", "h"), ("F",)), (("o",), ("OW",)))
SECOND = ((("p",), ("F",)), (("h",), ()), (("o",), ("OW",)))


def test_units_stand_one_above_the_other():
    assert draw_alignment(SECOND) == "p | h | o\nF | - | OW"


def test_edges_of_all_alignments_are_drawn_once():
    root = ElementTree.fromstring(draw_lattice([(FIRST, 0.75), (SECOND, 0.25)]))
    lines = [element for element in root.iter() if element.tag.endswith("line")]
    assert len(lines) == 4  # the last edge is shared
    titles = [element.text for element in root.iter() if element.tag.endswith("title")]
    assert sorted(map(float, titles)) == [0.25, 0.25, 0.75, 1.0]


def test_symbols_are_escaped():
    assert "&lt;" in draw_lattice([(((("<",), ("&",)),), 1.0)])


def test_nothing_cannot_be_drawn():
    with pytest.raises(ValueError, match="no alignment"):
        draw_lattice([])
