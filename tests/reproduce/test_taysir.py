"""The tables of both tracks of TAYSIR."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sigmastar.core.errors import InputError
from sigmastar.core.provenance import provenance
from sigmastar.reproduce.taysir import edited, run
from sigmastar.reproduce.taysir.report import Classified, Modelled, reproduction


def test_without_data_the_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"taysir/networks\.py"):
        run(tmp_path, tmp_path)


def test_edited_words_are_near():
    rng = np.random.default_rng(0)
    for _ in range(200):
        word = tuple(rng.integers(0, 4, rng.integers(0, 6)).tolist())
        found = edited(word, 4, rng)
        assert abs(len(found) - len(word)) <= 3
        assert all(0 <= symbol < 4 for symbol in found)


def test_winners_stand_beside_ours_and_decide_the_claims():
    for mse, n_states, holds in ((1e-4, 2, [True, True, True]), (1.0, 3, [False, False, True])):
        rows = [Modelled("2.4", "asked, clusters", 90, 1.0, 2.0, mse)]
        found = reproduction(
            rows, [Classified("1.7", "dfa", n_states, 5, 0.0, 0.0, 0.0)], False, provenance(0)
        )
        assert [claim.holds for claim in found.claims] == holds
        assert [row[1] for row in found.tables[0].rows] == ["asked, clusters", "the winners"]
        assert found.tables[1].rows[1][2] == 2


def test_quick_run(data_folder, tmp_path):
    result = run(data_folder, tmp_path / "out", quick=True)
    found = json.loads((tmp_path / "out" / "figures.json").read_text())
    mean, ngram, fast, asked = found["modelled"]
    assert fast["own"] < min(ngram["own"], mean["own"])
    assert asked["words"] < 0.2 * fast["words"]
    assert found["classified"][0]["n_states"] == 2
    assert [claim.holds for claim in result.claims] == [True, True, True]
