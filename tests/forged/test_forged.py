"""Forged model files of every kind are refused, or used without harm."""

from __future__ import annotations

import faulthandler
import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from forged.forging import forged
from forged.small_models import ONE_OF_EACH_KIND, Small
from forged.trial import cut_off, flip_bits, try_model
from fuzz.limits import TOO_SLOW
from sigmastar.core.errors import ModelFileError
from sigmastar.core.family import kinds
from sigmastar.core.model_reading import kind_of, load_model, read_header
from sigmastar.treebanks.data.sentences import Input
from sigmastar.treebanks.model.parser import Chart


def test_every_kind_is_on_trial(models: Mapping[str, Small]) -> None:
    assert {kind_of(small.model) for small in models.values()} == set(kinds())


@pytest.mark.parametrize("name", ONE_OF_EACH_KIND)
def test_spoilt_arrays_do_no_harm(models: Mapping[str, Small], name: str, tmp_path: Path) -> None:
    counts, findings = try_model(models[name], range(3), tmp_path, most_runs=3)
    assert counts["files"] >= 3
    assert not findings, findings[:3]


@pytest.mark.parametrize("name", ONE_OF_EACH_KIND)
def test_infinite_numbers_are_refused(models: Mapping[str, Small], name: str, tmp_path: Path) -> None:
    for array in read_header(models[name].model)["arrays"]:
        for infinite in (np.inf, -np.inf, np.nan):

            def change(
                header: dict[str, Any], arrays: dict[str, Any], n: str = array, v: float = infinite
            ) -> None:
                if arrays[n].dtype.kind == "f" and arrays[n].size:
                    arrays[n].reshape(-1)[-1] = v
                else:
                    arrays["no part of it"] = np.zeros(1)

            with pytest.raises(ModelFileError):
                load_model(forged(models[name].model, tmp_path / "forged", change))


def test_a_crash_is_a_finding_and_the_rest_goes_on(
    models: Mapping[str, Small], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small, number = models["function"], 4  # weights twice as large: accepted
    monkeypatch.setattr("forged.trial.BATCH", 2)
    whole, _ = try_model(small, [number, number + 12], tmp_path)

    def crash(*_: object) -> None:
        faulthandler.disable()  # of the child: a crash that is meant leaves no report in the log
        os.kill(os.getpid(), signal.SIGSEGV)

    monkeypatch.setattr("forged.trial._run", crash)
    counts, findings = try_model(small, [number, number + 12], tmp_path)
    assert len(findings) == counts["files"] == whole["files"] > 1
    assert all("signal 11" in finding for finding in findings)
    monkeypatch.setattr("forged.trial._run", lambda _, output: output.write_text("this is a bug"))
    _, findings = try_model(small, [number], tmp_path)
    assert findings
    assert all("show MODEL: this is a bug" in finding for finding in findings)


def test_what_the_load_caused_is_tried_in_a_process_of_its_own(
    models: Mapping[str, Small], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small, mark = models["function"], tmp_path / "mark"
    array = next(iter(read_header(small.model)["arrays"]))

    def run_out(words: list[str], output: Path) -> None:
        output.write_text("")
        if len(mark.read_bytes()) < n_times:
            mark.write_bytes(mark.read_bytes() + b".")
            os.kill(os.getpid(), signal.SIGPROF)

    monkeypatch.setattr("forged.trial._run", run_out)
    n_times = 1
    mark.write_bytes(b"")
    counts, findings = try_model(small, [4], tmp_path, arrays=[array])
    assert mark.read_bytes() == b"."
    assert (counts["files"], findings) == (1, [])
    n_times = 3
    _, (finding,) = try_model(small, [4], tmp_path, arrays=[array])
    assert mark.read_bytes() == b"..."  # twice more
    assert f"{TOO_SLOW}; alone: show MODEL: {TOO_SLOW}" in finding
    assert f"--models function --arrays {array} --seed 4 --mutations 1" in finding


def test_classes_take_no_memory_before_they_are_checked(models: Mapping[str, Small], tmp_path: Path) -> None:
    def change(header: dict[str, Any], arrays: dict[str, Any]) -> None:
        arrays["class_of"][0] = np.iinfo(arrays["class_of"].dtype).max

    path = forged(models["classed"].model, tmp_path / "forged", change)
    with pytest.raises(ModelFileError, match="more classes than symbols"):
        load_model(path)


def test_charts_without_numbers_still_give_a_tree_of_all_words(models: Mapping[str, Small]) -> None:
    """Weights of a forged lexicon may overflow: every marginal is then no number."""
    parser, words = load_model(models["treebank-pcfg"].model), ["the", "dog", "sees", "a", "cat"]
    chart = parser.chart(words)
    items = chart.items._replace(values=np.full_like(chart.items.values, np.nan))
    parse = parser._by_labels(words, None, Chart(chart.n_words, items, np.inf, chart.how))
    assert list(Input.of_tree(parse.tree, False).words) == words


WORDS = (3, None, [], ["a", 3], {}, "", float("inf"), -1, True, 2**70, "x" * 10)


@pytest.mark.parametrize("name", ONE_OF_EACH_KIND)
def test_spoilt_descriptions_are_refused_in_words(
    models: Mapping[str, Small], name: str, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    for number in range(30):

        def change(header: dict[str, Any], arrays: dict[str, Any], number: int = number) -> None:
            places = _places(header["model"])
            table, key = places[number % len(places)]
            table[key] = WORDS[rng.integers(len(WORDS))]

        path = forged(models[name].model, tmp_path / "forged", change)
        assert str(path) in _refusal(path)


def _refusal(path: Path) -> str:
    """Why a file is refused; its own name where it is not."""
    try:
        load_model(path)
    except ModelFileError as problem:
        return str(problem)
    return str(path)


def _places(table: dict[str, Any]) -> list[tuple[dict[str, Any], str]]:
    found = [(table, key) for key in table]
    for value in table.values():
        inner = value if isinstance(value, list) else [value]
        found += [place for item in inner[:3] if isinstance(item, dict) for place in _places(item)]
    return found


def test_flipped_bits_are_refused(models: Mapping[str, Small], tmp_path: Path) -> None:
    assert flip_bits(models["function"].model, 300, tmp_path) == (300, [])


def test_files_that_end_too_early_are_refused(models: Mapping[str, Small], tmp_path: Path) -> None:
    model = models["function"].model
    assert cut_off(model, 10**9, tmp_path) == (model.stat().st_size, [])
