"""The time that a fit will take is told before it begins, where it is known and long."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import sigmastar
from cli.calls import invoke
from sigmastar.automata.data.strings import Strings
from sigmastar.bilexical.data.quadruples import Quadruples
from sigmastar.core.errors import InputError
from sigmastar.core.family import Pace, families
from sigmastar.core.progress import expected_seconds, on_long_work
from sigmastar.dependency.data.treebank import as_treebank
from sigmastar.grammars.data.bracketings import Bracketings
from sigmastar.taggers.data.sentences import as_tagged
from sigmastar.transducers.data import StringPairs
from sigmastar.treebanks.data.phrases import phrases
from sigmastar.trees.data.brackets import as_trees
from sigmastar.trees.data.productions import production_trees
from sigmastar.trees.data.ranked import RankedTrees

TREES = as_treebank([["D", "N", "V"]] * 3, [[2, 3, 0]] * 3)
BRACKETS = Bracketings.of_trees(as_trees("(S (NP (D the) (N dog)) (VP (V barks)))"))
DATA = {
    "SpectralTagger": as_tagged([["the", "dog"]], [["D", "N"]]),
    "Pipeline": TREES,
    "SpectralTreebankGrammar": phrases(as_trees("(S (NP (D the) (N dog)) (VP (V barks)))")),
    "SpectralDependencyGrammar": TREES,
    "SpectralTransducer": StringPairs.of([("ab", "AB")]),
    "SpectralAutomaton": Strings.of(["ab", "ba"]),
    "SpectralGrammar": BRACKETS,
    "WordModel": Strings.of(["ab", "ba"]),
    "SpectralTreeAutomaton": RankedTrees.of(as_trees("(S (A x) (B y))")),
    "SpectralLatentPCFG": production_trees(as_trees("(S (A x) (B y))")),
    "PPAttachment": Quadruples.of([("see", "man", "with", "dog")], ["V"]),
}


def test_seconds_grow_with_every_size() -> None:
    pace = Pace({"n_words": 0.5, "inner.symbols": 2.0}, fixed=1.0)
    assert pace.of(SimpleNamespace(n_words=4, inner=SimpleNamespace(symbols="abc"))) == 9.0
    assert pace.of(["a", "b"]) is None
    powers = Pace({"n_words^2": 0.5, "lengths^3": 2.0}, most=100.0)
    assert powers.of(SimpleNamespace(n_words=4, lengths=np.array([1, 2]))) == 26.0
    assert powers.of(SimpleNamespace(n_words=4, lengths=np.array([1, 4]))) is None


def test_data_have_the_sizes_that_records_name() -> None:
    paces = {name: pace for family in families().values() for name, pace in family.paces.items()}
    assert set(paces) == set(DATA)
    for name, data in DATA.items():
        found = expected_seconds(getattr(sigmastar, name)(random_state=3), data)
        assert found == paces[name].of(data)
        assert found is not None
        assert paces[name].fixed < found < paces[name].fixed + 0.1


def test_what_was_not_measured_is_not_guessed() -> None:
    assert expected_seconds(sigmastar.SpectralTagger(n_states=99), DATA["SpectralTagger"]) is None
    assert expected_seconds(sigmastar.SpectralTagger(), [["the", "dog"]]) is None
    assert expected_seconds(sigmastar.NgramTagger(), DATA["SpectralTagger"]) is None


def test_a_fit_inside_another_is_no_news(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sigmastar.core.progress.LONG", 0.0)

    def stop(*_: object) -> None:
        raise InputError("enough")

    monkeypatch.setattr("sigmastar.taggers.estimator.TaggedCorpus.of", stop)
    told = list[float]()
    forget = on_long_work(lambda seconds, work: told.append(seconds))
    try:
        with pytest.raises(InputError, match="enough"):
            sigmastar.Pipeline().fit(TREES)
        assert told == [pytest.approx(9 * 7.0e-4)]
        forget()
        with pytest.raises(InputError, match="enough"):
            sigmastar.SpectralTagger().fit(DATA["SpectralTagger"])
        assert len(told) == 1
    finally:
        forget()


@pytest.mark.parametrize(("n_words", "said"), [(200_000, "learning: about 13 s on one core\n"), (400, "")])
def test_commands_tell_before_the_work(
    n_words: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        raise InputError("enough")

    monkeypatch.setattr("sigmastar.taggers.estimator.TaggedCorpus.of", stop)
    (tmp_path / "tags.txt").write_text("the D\ndog N\n\n" * (n_words // 2))
    call = ("learn", "tagger", tmp_path / "tags.txt", "-o", tmp_path / "model")
    assert invoke(*call).stderr == f"{said}sigmastar: enough\n"
    assert invoke(*call, "-q").stderr == "sigmastar: enough\n"
