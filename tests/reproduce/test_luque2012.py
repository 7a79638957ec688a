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


def test_tables_figures_and_claims(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    automata = make_head_automata(["DT", "NN", "VB"], 2, rng)
    (tmp_path / "ptb_sample").mkdir()
    for part, n in zip(luque2012.PARTS, (200, 30, 30), strict=True):
        write_dp(sample_trees(automata, n, rng, 15), tmp_path / part)
    result = luque2012.run(tmp_path, tmp_path / "out", quick=True)
    assert len(result.claims) == 5
    written = json.loads((tmp_path / "out" / "figures.json").read_text())
    learners = {point["learner"] for point in written["points"]}
    assert {"DET", "DET+F", "spectral (bigrams)", "EM (100)"} <= learners
    assert all(0.0 < point["test"] <= 1.0 for point in written["points"])
    assert {entry["grammar"] for entry in written["lexical"]} == {"lex", "lex+f", "lex+fcp"}
    assert written["dfa"].startswith("digraph")
    assert (tmp_path / "out" / "report.html").exists()


def test_missing_data_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        luque2012.run(tmp_path, tmp_path / "out")
