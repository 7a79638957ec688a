"""Short sentences of real treebanks as strings of tags."""

from __future__ import annotations

from pathlib import Path

import pytest

from sigmastar import EMGrammar
from sigmastar.grammars.metrics import baselines, bracket_score
from sigmastar.reproduce.corpora import read_ewt, read_wsj


def test_the_sample_has_its_known_sizes(data_folder: Path) -> None:
    train = read_wsj(data_folder, ["train"])
    assert len(train) == 490
    assert len(set(train.strings)) == 432
    every = read_wsj(data_folder)
    assert len(every) == 555
    assert baselines(every)["right-branching"].f1 == pytest.approx(0.55, abs=5e-4)
    web = read_ewt(data_folder)
    assert len(web) == 5375
    assert web.lengths.max() == 10


def test_brackets_from_bare_tags_beat_right_branching(data_folder: Path) -> None:
    gold = read_wsj(data_folder, ["train"])
    found = bracket_score(EMGrammar(random_state=0).fit(gold.strings).brackets(gold), gold).f1
    assert found > baselines(gold)["right-branching"].f1 + 0.1
