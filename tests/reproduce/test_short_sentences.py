"""Short sentences of real treebanks as strings of tags."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sigmastar.grammars.learn.em import learn_grammar_em
from sigmastar.grammars.learn.em_steps import RulePrior
from sigmastar.grammars.learn.starts import named_start
from sigmastar.grammars.metrics.brackets import baselines, bracket_score
from sigmastar.reproduce.bailly2013.short_sentences import read_ewt, read_wsj


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
    fit = learn_grammar_em(
        gold.strings,
        12,
        np.random.default_rng(0),
        start=named_start("cca", "right"),
        n_iterations=30,
        prior=RulePrior(0.1, 20.0),
    )
    found = bracket_score(fit.grammar.brackets(gold.strings), gold).f1
    assert found > baselines(gold)["right-branching"].f1 + 0.03
