from __future__ import annotations

import json

import numpy as np
import pytest

from sigmastar.core.errors import InputError
from sigmastar.pcfg.theory.assumptions import fit_tail
from sigmastar.reproduce.cohensmith2012 import run, sentence_lengths
from sigmastar.reproduce.cohensmith2012.report import (
    Looseness,
    Risk,
    Tail,
    _tail_claim,
    alike,
    loose_claim,
    table_one,
)


def test_table_one_is_a_truncation_of_the_papers():
    table = table_one()
    assert table["S -> NP VP"][2] == pytest.approx(0.1)
    assert 0.1 <= table["S -> NP"][2] <= 0.11
    assert sum(row[2] for row in table.values()) == pytest.approx(1)


def test_lengths_count_words_only(tmp_path):
    (tmp_path / "x.conllu").write_text("# c\n1-2\tab\n1\ta\n2\tb\n2.1\tc\n\n1\tx\n\n\n1\ty\n2\tz\n")
    assert sentence_lengths(tmp_path / "x.conllu").tolist() == [2, 1, 2]


def test_without_data_the_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"en_ewt-train\.conllu\.gz"):
        run(tmp_path, tmp_path)


def test_quick_run_meets_its_targets(data_folder, tmp_path):
    result = run(data_folder, tmp_path / "out", quick=True)
    found = json.loads((tmp_path / "out" / "figures.json").read_text())
    assert found["tails"]["English"]["alpha"] == pytest.approx(0.953, abs=0.002)
    assert found["tails"]["Turkish"]["alpha"] == pytest.approx(0.881, abs=0.002)
    assert max(found["ratios"][:4]) <= 1.3  # the hidden Markov model and the grammar that is written down
    assert max(found["ratios_by_visits"]) < max(found["ratios"])
    assert np.diff(found["ascent"]).min() > -1e-9
    assert [claim.holds for claim in result.claims] == [False, False, None, True, True]  # five samples
    assert "Vietnamese 0.60" in result.claims[0].ours


def test_verdicts_follow_the_data():
    rng = np.random.default_rng(0)
    lengths = 10 + rng.geometric(0.1, 3000)
    for found, holds in ((lengths, True), (lengths[lengths <= 25], False)):
        fit = fit_tail(np.concatenate([found, np.full(600, 10)]))
        assert _tail_claim([Tail("made", fit, fit.frequencies, len(found))]).holds is holds
    for asked, holds in ((9.0, True), (3.0, False)):
        assert loose_claim([Looseness(100, 0.1, asked, 0.1)]).holds is holds


def test_risks_are_alike_only_where_samples_tell():
    rng = np.random.default_rng(1)
    prior = rng.lognormal(0.0, 0.3, 25)

    def pair(factor, noise):
        values = factor * prior * rng.lognormal(0.0, noise, 25)
        risks = (tuple(values.tolist()), tuple(prior.tolist()))
        return tuple(Risk("made", "any", 100, float(np.median(row)), 0, row) for row in risks)

    assert alike([pair(1.0, 0.01), pair(1.1, 0.01)]) is True
    assert alike([pair(1.0, 0.01), pair(3.0, 0.1)]) is False
    assert alike([pair(1.0, 0.01), pair(1.28, 0.5)]) is None
