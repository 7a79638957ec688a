"""The transduction part of the tutorial, small."""

from __future__ import annotations

import numpy as np

from sigmastar.reproduce.balle2014 import transduction as part
from sigmastar.reproduce.result import Reproduction


def test_completion_learns_from_unaligned_pairs(monkeypatch, tmp_path):
    monkeypatch.setattr(part, "SIZES", (400,))
    empty = Reproduction("x", "x", [], [], [], {}, {}, None)
    result = part.with_transduction(empty, tmp_path, True, 0, lambda message, done: None)
    (row,) = result.figures["transduction"]["unaligned"]
    assert row["completion"] < row["counted"]
    assert len(result.tables) == len(result.claims) == 1  # without the data of sounds


def test_completion_is_judged_run_by_run():
    rng = np.random.default_rng(0)
    nearer, farther = (0.5, 0.6, 1.0), (1.5, 0.6, 1.0)

    def verdict(*runs):
        return part._completion_claim([part.Distances(300, 0.0, 0.0, 0.0, runs)], rng).holds

    assert verdict(*[nearer] * 5) is True
    assert verdict(*[farther] * 5) is False
    assert verdict(nearer, farther, nearer, farther) is None
    assert verdict(nearer) is None


def test_sounds_of_words_where_the_data_are_there(monkeypatch, data_folder):
    import pytest

    if not (data_folder / part.SOUNDS[0]).is_file():
        pytest.skip("no transduction in SIGMASTAR_DATA")
    monkeypatch.setattr(part, "N_QUICK", 400)
    scores = part.sounds(data_folder, True, 0)
    assert set(scores) == {part.BEAM, part.RISK, "ngram"}
    assert scores["ngram"].word_error_rate.value < 0.6
