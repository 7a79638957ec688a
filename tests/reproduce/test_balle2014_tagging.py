"""The tagging part of the tutorial, on made sentences."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sigmastar.core.progress import silent
from sigmastar.core.provenance import provenance
from sigmastar.reproduce.balle2014.tagging import MBR, RECOVERED, TAMED, tagging, with_tagging
from sigmastar.reproduce.result import Reproduction
from sigmastar.taggers.data.generators import make_tagged
from sigmastar.taggers.data.sentences import TaggedSentences


def write(path: Path, sentences: TaggedSentences) -> None:
    rows = zip(sentences.cut(sentences.words), sentences.cut(sentences.tags or []), strict=True)
    text = "\n".join("".join(f"{w}\t{t}\t0\n" for w, t in zip(*row, strict=True)) for row in rows)
    path.write_text(text, encoding="utf-8")


def test_the_part_is_added(tmp_path: Path) -> None:
    whole = make_tagged(np.random.default_rng(0), 700)
    (tmp_path / "ptb_sample").mkdir()
    write(tmp_path / "ptb_sample" / "wsj-train.dp", whole.select(np.arange(600)))
    write(tmp_path / "ptb_sample" / "wsj-test.dp", whole.select(np.arange(600, 700)))
    before = Reproduction("x", "X", ["a"], [], [], {}, {"old": 1}, provenance(0, "h"))
    after = with_tagging(before, tmp_path, quick=True, seed=0, progress=silent)
    names = [row["tagger"] for row in after.figures["tagging"]]
    assert {RECOVERED, TAMED, TAMED + MBR} <= set(names)
    assert after.figures["old"] == 1
    assert len(after.claims) == 2
    assert "Taggers on the Penn Treebank sample" in str(after)


def test_all_taggers_run() -> None:
    whole = make_tagged(np.random.default_rng(1), 330)
    found = tagging(whole.select(np.arange(300)), whole.select(np.arange(300, 330)), False, 0, silent)
    assert len(found) == 12
    assert all(0.5 < row.accuracy.value <= 1 for row in found)
    assert {row.learner for row in found if row.nonpositive is not None} >= {RECOVERED, TAMED}
