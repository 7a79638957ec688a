"""Every command on good input: from a corpus to a model, and from the model to all it can say."""

from __future__ import annotations

import gzip
import hashlib
import json
import math
from pathlib import Path

import numpy as np
import pytest

from cli.calls import figures, invoke, succeed
from sigmastar import __version__
from sigmastar.automata.data.pautomac import read_pautomac
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.metrics import competition_perplexity, log_likelihood
from sigmastar.automata.model.att import read_att
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.pautomac_machine import read_pautomac_model
from sigmastar.core.model_reading import load_model, read_header, save_model


def test_help_and_version() -> None:
    assert f"version {__version__}" in succeed("--version")
    for words in ((), ("learn",), ("learn", "automaton"), ("evaluate",), ("show",)):
        assert "Usage: " in succeed(*words, "--help")
    bare = invoke()
    assert bare.exit_code == 2
    assert "Commands:" in bare.stderr


@pytest.mark.parametrize("method", ["fast", "convex", "auto", "spectral", "em", "ngram"])
def test_every_method_learns_and_says_how(folder: Path, tmp_path: Path, method: str) -> None:
    out = tmp_path / "m"
    size = ("--states", "2") if method != "ngram" else ("--order", "2")
    call = ("learn", "automaton", folder / "lines.txt", "--method", method, *size, "--seed", "7", "-o", out)
    result = invoke(*call)
    assert result.exit_code == 0, result.output
    assert result.stdout == ""
    told = [line for line in result.stderr.splitlines() if not line.startswith("compiling kernels")]
    assert len(told) == 1
    assert f"{method}, " in told[0]
    learned = read_header(out)["learned"]
    assert learned["method"] == method
    assert learned["seed"] == 7
    assert learned["sigmastar"] == __version__
    assert "seconds" not in learned
    assert learned["settings"]["order" if method == "ngram" else "n_states"] == 2
    assert learned["data"]["n_strings"] == 300
    content = (folder / "lines.txt").read_bytes()
    assert learned["data"]["files"] == [{"name": "lines.txt", "sha256": hashlib.sha256(content).hexdigest()}]
    assert learned.get("n_states", 2) == 2
    assert math.isfinite(figures("evaluate", out, folder / "lines.txt")["log_likelihood"])


def test_learning_again_gives_the_same_model(folder: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        succeed("learn", "automaton", folder / "lines.txt", "-o", tmp_path / name, "--quiet")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("repair", ["none", "filter", "project", "em"])
@pytest.mark.parametrize("statistic", ["string", "prefix", "substring"])
def test_the_options_of_spectral(folder: Path, tmp_path: Path, statistic: str, repair: str) -> None:
    options = ("--statistic", statistic, "--repair", repair, "--basis-size", "40", "--states", "2")
    call = ("learn", "automaton", folder / "lines.txt", "--method", "spectral", *options)
    learned = figures(*call, "-o", tmp_path / "m", "--quiet")
    expected = {"n_states": 2, "statistic": statistic, "basis_size": 40, "repair": repair}
    assert expected.items() <= learned["settings"].items()
    assert len(learned["rank"]["singular_values"]) == 2
    assert load_model(tmp_path / "m").alphabet.symbols == ("a", "b", "c")


def test_data_from_standard_input_and_several_files(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("a b\na\n")
    with gzip.open(tmp_path / "two.gz", "wt") as stream:
        stream.write("b c\n\n")
    call = ("learn", "automaton", "--method", "ngram", "-o", tmp_path / "m", tmp_path / "one.txt", "-")
    succeed(*call, tmp_path / "two.gz", stdin="c c\n")
    assert load_model(tmp_path / "m").alphabet.symbols == ("a", "b", "c")
    learned = read_header(tmp_path / "m")["learned"]
    assert learned["data"]["n_strings"] == 5
    assert [file["name"] for file in learned["data"]["files"]] == ["one.txt", "standard input", "two.gz"]


def test_a_model_to_standard_output(tmp_path: Path) -> None:
    result = invoke("learn", "automaton", "-", "-o", "-", "--method", "ngram", stdin="a b\n")
    assert result.exit_code == 0
    (tmp_path / "m").write_bytes(result.stdout_bytes)
    assert load_model(tmp_path / "m").alphabet.symbols == ("a", "b")


def test_a_model_remembers_how_its_data_stood(tmp_path: Path) -> None:
    for options, data, symbols in (
        (("--characters",), "ab c\n", (" ", "a", "b", "c")),
        (("--separator", ","), "a b,c\n", ("a b", "c")),
        (("--format", "pautomac"), "1 3\n2 0 2\n", (0, 1, 2)),
        (("--format", "spice"), "1 3\n2 0 2\n", (0, 1, 2)),
    ):
        call = ("learn", "automaton", "-", "--method", "ngram", "-o", tmp_path / "m")
        succeed(*call, *options, stdin=data)
        assert load_model(tmp_path / "m").alphabet.symbols == symbols
        assert len(succeed("score", tmp_path / "m", "-", stdin=data).splitlines()) == 1
        drawn = succeed("sample", tmp_path / "m", "-n", "4")
        assert len(succeed("score", tmp_path / "m", "-", stdin=drawn).splitlines()) == 4


def test_scores_are_natural_logarithms(folder: Path) -> None:
    model = load_model(folder / "auto.model")
    printed = succeed("score", folder / "auto.model", "-", stdin="a b\n\nc\n")
    expected = model.log_probability(Strings.of(["ab", "", "c"], alphabet=model.alphabet))
    assert [float(line) for line in printed.splitlines()] == expected.tolist()


def test_an_unknown_symbol_may_have_no_probability(folder: Path) -> None:
    call = ("--unknown", "zero", folder / "fast.model", "-")
    assert succeed("score", *call, stdin="a\nz\n").splitlines()[1] == "-inf"
    assert len(succeed("predict", *call, stdin="a\nz\n").splitlines()) == 2


def test_predictions(folder: Path) -> None:
    call = ("predict", folder / "ngram.model", "-", "--top", "9")
    lines = succeed(*call, stdin="a b\n\n").splitlines()
    assert len(lines) == 2
    for line in lines:
        cells = line.split("\t")
        assert sorted(cells[::2]) == ["<end>", "a", "b", "c"]
        values = [float(cell) for cell in cells[1::2]]
        assert values == sorted(values, reverse=True)
        assert sum(values) == pytest.approx(1.0, abs=1e-5)
    objects = [json.loads(line) for line in succeed(*call, "--json", stdin="a b\n\n").splitlines()]
    assert {entry["symbol"] for entry in objects[0]["next"]} == {"a", "b", "c", None}
    assert sum(entry["probability"] for entry in objects[1]["next"]) == pytest.approx(1.0, abs=1e-12)


def test_samples(folder: Path, tmp_path: Path) -> None:
    lines = succeed("sample", folder / "auto.model", "-n", "50", "--seed", "3")
    assert lines == succeed("sample", folder / "auto.model", "-n", "50", "--seed", "3")
    assert lines != succeed("sample", folder / "auto.model", "-n", "50", "--seed", "4")
    assert lines.count("\n") == 50
    succeed("sample", folder / "auto.model", "-n", "50", "--format", "pautomac", "-o", tmp_path / "s")
    assert len(read_pautomac(tmp_path / "s")) == 50
    short = succeed("sample", folder / "auto.model", "-n", "50", "--max-length", "1").splitlines()
    assert all(len(line.split()) <= 1 for line in short)


def test_plain_evaluation(folder: Path) -> None:
    found = figures("evaluate", folder / "auto.model", folder / "lines.txt")
    assert set(found) == {
        "n_strings",
        "log_likelihood",
        "symbol_perplexity",
        "next_symbol_error",
        "n_impossible",
    }
    assert found["n_strings"] == 300
    assert 0 < found["next_symbol_error"] < 1
    text = succeed("evaluate", folder / "auto.model", folder / "lines.txt")
    assert f"symbol_perplexity  {found['symbol_perplexity']:.6g}\n" in text


def test_figures_that_are_not_finite_are_null(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "z").write_text("a z\n")
    found = figures("evaluate", folder / "auto.model", tmp_path / "z", "--unknown", "zero")
    assert found["log_likelihood"] is None
    assert found["n_impossible"] == 1


def test_the_score_of_the_competition(folder: Path) -> None:
    call = ("evaluate", folder / "p.model", folder / "train.pautomac", "--format", "pautomac")
    found = figures(*call, "--targets", folder / "solution.txt")
    targets = np.loadtxt(folder / "solution.txt", skiprows=1)
    expected = competition_perplexity(
        load_model(folder / "p.model"), read_pautomac(folder / "train.pautomac"), targets
    )
    assert found["perplexity"] == expected.perplexity
    assert found["target_perplexity"] == expected.target_perplexity
    assert found["ratio"] == expected.ratio >= 1.0


def test_the_score_of_spice(tmp_path: Path, folder: Path) -> None:
    succeed("learn", "automaton", folder / "train.pautomac", "--format", "spice", "-o", tmp_path / "m")
    (tmp_path / "prefixes").write_text("2 3\n1 0\n0\n")
    (tmp_path / "targets").write_text("0.9 0 0.5 1 0.3 -1 0.2\n0.8 2 1.0\n")
    call = (tmp_path / "m", tmp_path / "prefixes", "--targets", tmp_path / "targets")
    found = figures("evaluate", *call)
    assert 0 < found["ndcg5"] <= 1.5
    as_text = tmp_path / "text"
    lines = [" ".join(line.split()[1:]) for line in (folder / "train.pautomac").read_text().splitlines()[1:]]
    (tmp_path / "lines").write_text("\n".join(lines) + "\n")
    succeed("learn", "automaton", tmp_path / "lines", "-o", as_text)
    again = figures("evaluate", as_text, *call[1:], "--format", "spice")
    assert again["ndcg5"] == pytest.approx(found["ndcg5"], abs=1e-6)


def test_divergence_from_a_reference(folder: Path, tmp_path: Path, machine: WeightedAutomaton) -> None:
    call = ("evaluate", folder / "p.model", folder / "train.pautomac", "--samples", "2000")
    found = figures(*call, "--reference", folder / "machine.txt")
    assert found["kl_low"] < found["kl"] < found["kl_high"]
    assert 0 < found["kl"] < 1
    assert found["kl_strings"] == 2000
    assert "log_likelihood" in found
    itself = figures("evaluate", folder / "fast.model", "--reference", folder / "fast.model")
    assert itself["kl"] == 0.0
    assert "log_likelihood" not in itself


def test_a_divergence_below_zero_is_told(folder: Path, tmp_path: Path, machine: WeightedAutomaton) -> None:
    """All values of the reference are half of what they should be."""
    half = WeightedAutomaton(machine.alphabet, 0.5 * machine.initial, machine.transitions, machine.final)
    save_model(half, tmp_path / "half")
    told = invoke("evaluate", folder / "fast.model", "--reference", tmp_path / "half", "--samples", "500")
    assert told.exit_code == 0
    assert "note: kl is below 0" in told.stderr
    assert (
        "note:" not in invoke("evaluate", folder / "fast.model", "--reference", folder / "auto.model").stderr
    )


@pytest.mark.parametrize("method", ["fast", "auto", "convex", "spectral", "em"])
def test_nothing_is_held_out_of_one_string(tmp_path: Path, method: str) -> None:
    (tmp_path / "one").write_text("a b a b\n")
    told = invoke("learn", "automaton", tmp_path / "one", "--method", method, "-o", tmp_path / "m")
    assert told.exit_code == 0
    assert "held-out" not in told.stderr
    assert "held-out" not in succeed("show", tmp_path / "m")
    assert figures("show", tmp_path / "m")["learned"].get("held_out_score") is None


def test_a_reference_whose_symbols_are_written_alike(folder: Path, tmp_path: Path) -> None:
    """A machine over the numbers 0, 1, 2 and a model learned from the text "0", "1", "2"."""
    lines = [" ".join(line.split()[1:]) for line in (folder / "train.pautomac").read_text().splitlines()[1:]]
    (tmp_path / "lines").write_text("\n".join(lines) + "\n")
    succeed("learn", "automaton", tmp_path / "lines", "-o", tmp_path / "m")
    found = figures("evaluate", tmp_path / "m", "--reference", folder / "machine.txt", "--samples", "500")
    assert found["kl_impossible"] == 0
    assert found["kl"] < 1


def test_show(folder: Path) -> None:
    text = succeed("show", folder / "fast.model")
    for words in ("filtered-automaton", "states", "3 symbols: a b c", "fast", "lines.txt", "above the noise"):
        assert words in text
    assert "next-symbol weight is negative" in text
    assert "contexts" in succeed("show", folder / "ngram.model")
    said = figures("show", folder / "auto.model")
    assert said["family"] == "automaton"
    assert said["learned"]["method"] == "auto"


def test_show_as_a_graph_and_as_a_page(folder: Path, tmp_path: Path) -> None:
    assert succeed("show", folder / "auto.model", "--dot").startswith("digraph")
    for name in ("fast", "auto", "ngram"):
        succeed("show", folder / f"{name}.model", "--html", "-o", tmp_path / "page.html")
        page = (tmp_path / "page.html").read_text()
        assert page.startswith("<!DOCTYPE html>")
        assert page.count("<svg") >= 2


def test_convert(folder: Path, tmp_path: Path) -> None:
    model = load_model(folder / "auto.model")
    strings = model.sample(50, np.random.default_rng(0))
    expected = log_likelihood(model, strings)
    table = tmp_path / "symbols"
    succeed("convert", folder / "auto.model", "--to", "att", "-o", tmp_path / "att", "--symbols", table)
    np.testing.assert_allclose(log_likelihood(read_att(tmp_path / "att"), strings), expected)
    assert table.read_text() == "<eps>\t0\na\t1\nb\t2\nc\t3\n"
    succeed("convert", folder / "auto.model", "--to", "pautomac", "-o", tmp_path / "pautomac")
    again = read_pautomac_model(tmp_path / "pautomac")
    renamed = WeightedAutomaton(model.alphabet, again.initial, again.transitions, again.final)
    np.testing.assert_allclose(log_likelihood(renamed, strings), expected)
    assert succeed("convert", folder / "auto.model", "--to", "dot").startswith("digraph")
    weights = json.loads(succeed("convert", folder / "auto.model", "--to", "json"))
    np.testing.assert_array_equal([weights["transitions"][s] for s in "abc"], model.transitions)
    hmm = json.loads(succeed("convert", folder / "auto.model", "--to", "hmm"))
    np.testing.assert_allclose(np.sum(hmm["transition"], axis=1), 1.0)


def test_a_filter_that_is_lost_is_told(folder: Path) -> None:
    result = invoke("convert", folder / "fast.model", "--to", "dot")
    assert result.exit_code == 0
    assert "no place for the filter" in result.stderr


def test_quiet_is_quiet(folder: Path, tmp_path: Path) -> None:
    result = invoke("learn", "automaton", folder / "lines.txt", "-o", tmp_path / "m", "-q", "--threads", "2")
    assert (result.exit_code, result.output) == (0, "")


def test_the_demo_prints_its_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sigmastar.automata.demo import AutomataFamily
    from sigmastar.cli import demo
    from sigmastar.report import run_demo

    report = run_demo(tmp_path / "d", families=(AutomataFamily(n_train=250, n_fresh=100),))
    monkeypatch.setattr(demo, "run_demo", lambda out, seed, say, **options: report)
    result = invoke("demo", "--out", tmp_path / "d")
    assert result.exit_code == 0, result.output
    header, *rows = result.stdout.splitlines()
    assert header.split() == ["family", "learner", "quality", "seconds"]
    assert {row.split()[1] for row in rows} >= {"truth", "EM", "fast", "auto"}
    assert "report.html" in result.stderr
    assert (tmp_path / "d" / "report.html").is_file()
    printed = figures("demo", "--out", tmp_path / "d", "--quiet")
    assert len(printed["rows"]) == len(rows)


def test_blocks_are_smoothed_and_weighted(folder: Path, tmp_path: Path) -> None:
    call = ("learn", "automaton", folder / "lines.txt", "--method", "spectral", "--states", "2", "-q")
    values = []
    for options in ((), ("--block-smoothing", "30"), ("--weighting", "counts")):
        succeed(*call, "--repair", "none", *options, "-o", tmp_path / "m")
        values.append(load_model(tmp_path / "m").value(Strings.of(["ab", "", "cca"])))
    assert not np.allclose(values[0], values[1])
    assert not np.allclose(values[0], values[2])


def test_a_model_is_the_same_as_itself(folder: Path) -> None:
    found = figures("compare", folder / "auto.model", folder / "auto.model", "--samples", "50")
    assert found["equivalent"] is True
    assert found["witness"] is None
    assert found["l1"] == found["kl"] == found["kl_back"] == 0.0
    assert found["l2"] < 1e-12


def test_models_that_differ_are_told_apart(folder: Path, tmp_path: Path, machine: WeightedAutomaton) -> None:
    a, b = tmp_path / "a", tmp_path / "b"
    save_model(machine, a)
    final = machine.final * 0.5
    moves = machine.transitions * ((1 - final) / (1 - machine.final))[None, :, None]
    save_model(WeightedAutomaton(machine.alphabet, machine.initial, moves, final), b)
    found = figures("compare", a, b, "--max-length", "4", "--samples", "500")
    assert found["equivalent"] is False
    assert found["witness"] == []  # the empty string has half the probability
    assert found["l2"] > 0.01
    assert found["l1_length"] == 4
    assert 0 < found["l1"] < 2
    assert found["kl_low"] < found["kl"] < found["kl_high"]
    text = succeed("compare", a, b)
    assert "equivalent" in text
    assert "witness" in text
    assert "witness" not in succeed("compare", a, a)  # there is none, which no "None" says


def test_what_has_no_automaton_is_compared_by_its_values(folder: Path) -> None:
    found = figures("compare", folder / "fast.model", folder / "ngram.model", "--samples", "300")
    assert set(found) == {
        "l1", "l1_length", "kl", "kl_low", "kl_high", "kl_back", "kl_back_low", "kl_back_high"
    }  # fmt: skip
    assert found["kl"] >= 0 or found["kl_high"] > 0


def test_minimize_keeps_the_function(folder: Path, tmp_path: Path, machine: WeightedAutomaton) -> None:
    save_model((machine + machine) * 0.5, tmp_path / "double")
    found = figures("minimize", tmp_path / "double", "-o", tmp_path / "m", "-q")
    assert found == {"states_before": 6, "states": 3, "error_bound": 0.0}
    assert figures("compare", tmp_path / "m", tmp_path / "double", "--samples", "0")["equivalent"] is True


def test_minimize_to_a_number_of_states_tells_its_error(
    folder: Path, tmp_path: Path, machine: WeightedAutomaton
) -> None:
    save_model(machine, tmp_path / "m")
    found = figures("minimize", tmp_path / "m", "--states", "2", "-o", tmp_path / "two", "-q")
    assert found["states"] == load_model(tmp_path / "two").n_states == 2
    distance = figures("compare", tmp_path / "m", tmp_path / "two", "--samples", "0")["l2"]
    assert 0 < distance <= found["error_bound"]
    result = invoke("minimize", folder / "fast.model", "-o", tmp_path / "n")
    assert result.exit_code == 0
    assert "the filter" in result.stderr
    assert " states in place of " in result.stderr


def test_what_is_shown_in_json_is_numbers_and_lists(folder: Path) -> None:
    found = figures("show", folder / "fast.model")
    assert found["symbols"] == ["a", "b", "c"]
    assert found["n_states"] == load_model(folder / "fast.model").automaton.n_states
    assert found["diagnosis"]["spectral_radius"] > 0
    assert found["learned"]["rank"]["chosen"] == found["n_states"]
    assert figures("show", folder / "ngram.model")["longest_context"] == 2
