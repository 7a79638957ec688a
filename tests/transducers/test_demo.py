"""The section of transducers in the demo, small."""

from __future__ import annotations

from sigmastar.core.progress import silent
from sigmastar.transducers.demo import METHODS, TRUTH, TransducerFamily


def test_every_learner_stands_against_the_truth():
    result = TransducerFamily(n_train=120, n_fresh=30).run(0, silent)
    assert [row.learner for row in result.rows] == [*METHODS, TRUTH]
    assert all(0.0 <= row.measures["word error"] <= 1.0 for row in result.rows)
    assert "<svg" in result.section.parts[-1].svg
