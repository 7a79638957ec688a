"""The reproduction of Cohen et al. 2012 on a small treebank of its own."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sigmastar.core.errors import InputError
from sigmastar.reproduce import cohen2012
from sigmastar.reproduce.cohen2012.report import (
    NODES,
    Certified,
    Recovery,
    Results,
    Trained,
    _claims,
    mean_errors,
    slope,
)
from sigmastar.trees.data.brackets import write_brackets
from sigmastar.trees.model.generators import make_treebank


def test_tables_figures_and_claims(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cohen2012, "QUICK", cohen2012.Scale(1, (200, 800), None, None))
    trees, rest = make_treebank(300, 0).trees, iter(((0, 200), (200, 250), (250, 300)))
    (tmp_path / "ptb_sample").mkdir()
    for part, (low, high) in zip(cohen2012.PARTS, rest, strict=True):
        with (tmp_path / part).open("w", encoding="utf-8") as stream:
            write_brackets(trees[low:high], stream)
    result = cohen2012.run(tmp_path, tmp_path / "out", quick=True)
    assert len(result.claims) == 5
    written = json.loads((tmp_path / "out" / "figures.json").read_text())
    assert len(written["recovery"]) == 6
    assert {"PCFG", "several binarizations"} <= {row["grammar"] for row in written["treebank"]}
    assert all(0.3 < row["dev_f1"] <= 1.0 for row in written["treebank"])
    likely = {row["grammar"]: row["dev_log_likelihood"] for row in written["treebank"]}
    assert likely["PCFG"] < 0
    assert likely["spectral, 8 states"] is None  # its values are no probabilities
    assert (tmp_path / "out" / "report.html").exists()


def test_slopes_of_known_errors() -> None:
    found = [
        Recovery(g, "all nodes", n, (1 + g) / np.sqrt(n)) for g in range(2) for n in (100, 400, 1600, 6400)
    ]
    assert slope(found, "all nodes").value == pytest.approx(-0.5)
    assert slope(found, "all nodes").high == pytest.approx(-0.5)
    np.testing.assert_allclose(mean_errors(found, "all nodes")[1][0], np.sqrt(2) / 10)


def test_verdicts_follow_the_data() -> None:
    """Errors that fall at the rate, that stay, and that cannot be told; one node against all, and uniform."""
    rng = np.random.default_rng(0)

    def found(
        power: float, noise: float, factors: tuple[float, float, float], certified: float = 9.0
    ) -> Results:
        rows = [
            Recovery(g, nodes, n, factor * n**power * float(np.exp(noise * rng.standard_normal())))
            for g in range(4)
            for n in (100, 400, 1600, 6400)
            for nodes, factor in zip(NODES, factors, strict=True)
        ]
        trained = [Trained(name, 1.0, 0.5, 0, 0.5, (-1.0,)) for name in ("spectral, 2", "EM")]
        return Results(rows, [Certified(0, 1e-4, 1e-3, (), 20.0, certified)], trained, 10)

    holds = [claim.holds for claim in _claims(found(-0.5, 0.05, (1.0, 2.0, 2.0)))]
    assert holds == [True, None, True, True, None]  # whatever is found, an error of 10^9 is above it
    holds = [claim.holds for claim in _claims(found(-0.1, 0.05, (2.0, 1.0, 3.0)))]
    assert holds == [False, None, False, False, None]
    holds = [claim.holds for claim in _claims(found(-0.3, 3.0, (1.0, 1.0, 1.0)))]
    assert holds[0] is None
    assert holds[2] is not True
    assert _claims(found(-0.5, 0.05, (1.0, 2.0, 2.0), -0.5))[1].holds is True
    assert _claims(found(-0.5, 0.05, (1.0, 2.0, 2.0), -3.0))[1].holds is False


def test_missing_data_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError):
        cohen2012.run(tmp_path, tmp_path / "out")
