"""Transducers on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from cli.calls import fail, figures, invoke, succeed
from sigmastar.transducers.model.generators import make_transducer


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("transducer")
    truth = make_transducer(3, "abc", "XYZ", np.random.default_rng(0), n_units=5, density=0.2, stop=0.25)
    drawn = [(x, y) for x, y in truth.sample(1500, np.random.default_rng(1)) if x and y]
    lines = [f"{''.join(x)}\t{' '.join(y)}\n" for x, y in drawn]
    (folder / "train.tsv").write_text("".join(lines[:250]))
    (folder / "new.tsv").write_text("".join(lines[250:400]))
    for method, words in (("combined", ()), ("ngram", ()), ("spectral", ("--states", "3"))):
        call = (folder / "train.tsv", "--method", method, *words, "-o", folder / method, "-q")
        succeed("learn", "transducer", *call)
    return folder


@pytest.mark.parametrize("method", ["combined", "ngram", "spectral"])
def test_evaluate(folder: Path, method: str) -> None:
    found = figures("evaluate", folder / method, folder / "new.tsv")
    assert found["word_error_rate_low"] <= found["word_error_rate"] <= found["word_error_rate_high"]
    assert found["symbol_error_rate"] <= found["word_error_rate"] < 0.7


def test_predict_reads_the_first_column(folder: Path) -> None:
    first = (folder / "new.tsv").read_text().splitlines()[0].split("\t")[0]
    printed = succeed("predict", folder / "combined", folder / "new.tsv", "--nbest", "2").splitlines()
    assert printed[0].split("\t")[0] == first
    shares = [float(line.split("\t")[2]) for line in printed[:2]]
    assert 1.0 >= shares[0] >= shares[1] >= 0.0


def test_the_share_that_is_predicted_is_the_score(folder: Path) -> None:
    best = succeed("predict", folder / "combined", folder / "new.tsv", "--top", "1").splitlines()
    assert best == succeed("predict", folder / "combined", folder / "new.tsv", "--nbest", "1").splitlines()
    pairs = [line.split("\t") for line in best]
    (folder / "best.tsv").write_text("".join(f"{x}\t{y}\n" for x, y, _ in pairs if y))
    logs = [float(line) for line in succeed("score", folder / "combined", folder / "best.tsv").splitlines()]
    assert np.allclose(np.exp(logs), [float(share) for _, y, share in pairs if y], rtol=1e-5)


def test_predict_in_json_and_backwards(folder: Path) -> None:
    printed = succeed("predict", folder / "ngram", folder / "new.tsv", "--json").splitlines()
    assert set(json.loads(printed[0])) == {"input", "outputs"}
    back = folder / "back.txt"
    back.write_text("Z Y\nZ\n")
    lines = succeed("predict", folder / "combined", back, "--inverse").splitlines()
    assert [line.split("\t")[0] for line in lines] == ["Z Y", "Z"]
    assert all(set(line.split("\t")[1]) <= set("abc") for line in lines)


@pytest.mark.parametrize("method", ["combined", "spectral"])
def test_score_and_sample(folder: Path, method: str) -> None:
    logs = [float(line) for line in succeed("score", folder / method, folder / "new.tsv").splitlines()]
    assert len(logs) == len((folder / "new.tsv").read_text().splitlines())
    assert max(logs) <= 1e-12  # an input may have one output alone
    assert np.isfinite(logs).all()
    joint = [float(line) for line in succeed("score", folder / method, folder / "new.tsv", "--joint").split()]
    assert max(joint) < 0.0
    drawn = succeed("sample", folder / method, "-n", "4").splitlines()
    assert len(drawn) == 4
    assert all(line.count("\t") == 1 for line in drawn)


def test_show_draws_alignments(folder: Path) -> None:
    assert "1.ngram" in succeed("show", folder / "combined")
    some = folder / "some.tsv"
    some.write_text((folder / "new.tsv").read_text().splitlines()[0] + "\n")
    assert " | " in succeed("show", folder / "combined", "--pairs", some)
    assert "<svg" in succeed("show", folder / "combined", "--html", "--pairs", some)
    told = figures("show", folder / "spectral")
    assert told["family"] == "weighted-transducer"
    assert isinstance(told["units"], int)
    assert set(figures("show", folder / "combined")["weights"]) >= {"1.ngram"}


def test_bad_calls_are_told(folder: Path) -> None:
    empty = folder / "empty.tsv"
    empty.write_text("")
    assert "no pairs" in fail("learn", "transducer", empty, "-o", folder / "x")
    bad = folder / "bad.tsv"
    bad.write_text("a\tX\nb\n")
    assert "bad.tsv:2:" in fail("learn", "transducer", bad, "-o", folder / "x")
    assert "bad.tsv:2:" in fail("evaluate", folder / "ngram", bad)
    assert "does not exist" in fail("learn", "transducer", bad, "-o", folder / "no" / "x")
    assert "aligner" in fail("show", folder / "spectral", "--pairs", folder / "new.tsv")
    assert "<svg" in succeed("show", folder / "spectral", "--html")
    for words in (("--units", "x"), ("--units", "0-0"), ("--method", "ngram", "--states", "3")):
        assert invoke("learn", "transducer", bad, "-o", folder / "x", *words).exit_code == 2


def test_learn_says_what_it_did(folder: Path) -> None:
    found = figures(
        "learn", "transducer", folder / "train.tsv", "--method", "ngram", "-o", folder / "again", "-q"
    )
    assert found["layout"] == {"input": "chars", "output": "tokens"}
    assert found["order"] in range(3, 9)
    assert (folder / "again").read_bytes() == (folder / "ngram").read_bytes()


def test_symbols_of_sides_have_options_of_their_own(folder: Path) -> None:
    file, model = folder / "letters.tsv", folder / "letters"
    file.write_text("x y\tXY\ny x\tYX\nx x y\tXXY\n")
    sides = ("--input-symbols", "tokens", "--output-symbols", "chars")
    succeed("learn", "transducer", file, *sides, "--method", "ngram", "--output", model, "-q")
    assert succeed("predict", model, file).splitlines()[0].split("\t")[:2] == ["x y", "XY"]
    again = folder / "letters2"
    succeed("learn", "transducer", file, *sides, "--method", "ngram", "--model", again, "-q")
    assert again.read_bytes() == model.read_bytes()
    told = fail("learn", "transducer", file, "-o", "x", "--output", "tokens", status=2)
    assert "--output-symbols tokens" in told


def test_unknown_input_symbols_are_told(folder: Path) -> None:
    strange = folder / "strange.txt"
    strange.write_text("zzz\nab\n")
    assert "'z'" in fail("predict", folder / "ngram", strange)
    result = invoke("predict", folder / "ngram", strange, "--unknown", "skip")
    assert result.exit_code == 0
    assert "'z': they are left out" in result.stderr
    first, second = result.stdout.splitlines()
    assert first == "zzz\t\t0"
    assert float(second.split("\t")[2]) > 0.0
    pairs = folder / "strange.tsv"
    pairs.write_text("zzz\tX\n")
    assert figures("evaluate", folder / "spectral", pairs, "-q")["word_error_rate"] == 1.0


@pytest.mark.parametrize("words", [("predict", "--tags"), ("show", "--dot"), ("evaluate", "--gold-tags")])
def test_options_of_other_families_are_refused(folder: Path, words: tuple[str, str]) -> None:
    assert "No such option" in fail(words[0], folder / "ngram", folder / "new.tsv", words[1], status=2)


def test_completion_that_is_too_large_is_refused_at_once(folder: Path) -> None:
    call = ("--method", "completion", "--units", "1-1,1-0,1-2,2-1", "-o", folder / "x")
    told = fail("learn", "transducer", folder / "train.tsv", *call)
    assert "too many" in told
    assert "1-1" in told
