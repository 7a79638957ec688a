"""The reproduction of Luque et al. 2012 on a small treebank of its own."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sigmastar.core.errors import InputError
from sigmastar.dependency.data.conllu import write_dp
from sigmastar.dependency.model.generators import make_head_automata
from sigmastar.dependency.model.head_automata import sample_trees
from sigmastar.reproduce import luque2012
from sigmastar.reproduce.luque2012.report import HeadResults, Point, _claims


def test_tables_figures_and_claims(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    automata = make_head_automata(["DT", "NN", "VB"], 2, rng)
    (tmp_path / "ptb_sample").mkdir()
    for part, n in zip(luque2012.PARTS, (200, 30, 30), strict=True):
        write_dp(sample_trees(automata, n, rng, 15), tmp_path / part)
    result = luque2012.run(tmp_path, tmp_path / "out", quick=True)
    assert len(result.claims) == 6
    written = json.loads((tmp_path / "out" / "figures.json").read_text())
    learners = {point["learner"] for point in written["points"]}
    assert {"DET", "DET+F", "DET, Viterbi", "spectral (bigrams)", "EM (100)"} <= learners
    assert all(0.0 < point["test"] <= 1.0 for point in written["points"])
    assert {entry["grammar"] for entry in written["lexical"]} == {"lex", "lex+f", "lex+fcp"}
    assert written["dfa"].startswith("digraph")
    assert (tmp_path / "out" / "report.html").exists()


def results(better: float, seconds: float) -> HeadResults:
    """Points whose hits on 40 sentences rise by `better` from one to the next."""
    rng = np.random.default_rng(0)
    base = rng.random(40)

    def point(learner: str, steps: int, taken: float) -> Point:
        hits = tuple((base + steps * better + 0.001 * rng.random(40)).tolist())
        return Point(learner, 2, float(np.mean(hits)), float(np.mean(hits)), taken, hits, hits)

    order = ("DET, Viterbi", "DET", "DET+F, Viterbi", "DET+F", "spectral (bigrams)", "EM (25)", "EM (100)")
    points = [point(name, k, seconds if name.startswith("EM") else 1.0) for k, name in enumerate(order)]
    lexical = {("lex", None): points[0].dev_hits, ("lex", 4): points[1].dev_hits}
    return HeadResults(points, lexical, "", 1, 1, 1)


def test_verdicts_follow_the_data() -> None:
    """Yes, no and open on data that are so by construction."""
    assert [claim.holds for claim in _claims(results(0.03, 150.0))] == [True] * 6
    assert [claim.holds for claim in _claims(results(-0.03, 50.0))] == [False] * 6
    undecided = [claim.holds for claim in _claims(results(0.0, 150.0))]
    assert undecided[4] is True
    assert True not in [undecided[k] for k in (0, 1, 2, 3, 5)]


def test_missing_data_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        luque2012.run(tmp_path, tmp_path / "out")
