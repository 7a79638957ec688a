"""The demo of treebank parsers: hidden states help, and the pictures are there."""

from __future__ import annotations

from sigmastar.core.page import Picture
from sigmastar.core.progress import silent
from sigmastar.treebanks.demo import TreebankFamily


def test_hidden_states_beat_the_plain_grammar() -> None:
    result = TreebankFamily().run(0, silent)
    found = {row.learner: row.measures["F1"] for row in result.rows}
    assert found["PCFG"] < min(found["spectral"], found["EM"], found["spectral + EM"])
    assert all(0.7 < value < 1.0 for value in found.values())
    pictures = [part for part in result.section.parts if isinstance(part, Picture)]
    assert len(pictures) == 2
    assert all(part.svg.startswith("<svg") for part in pictures)
