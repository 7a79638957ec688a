"""`learn pcfg`, `bound`, and the other commands on grammars."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import sigmastar
from cli.calls import fail, figures, succeed
from sigmastar.automata.data.strings import Strings
from sigmastar.core.errors import ModelFileError
from sigmastar.core.model_reading import load_model
from sigmastar.pcfg.data.formulas import read_dimacs
from sigmastar.pcfg.data.rules import parse_rules, read_rules
from sigmastar.pcfg.model.pcfg import ProbabilisticCFG
from sigmastar.pcfg.model.probabilistic_grammar import sample_derivations

RULES = "S -> a S S 0.3\nS -> b 0.6\nS -> c 0.1\n"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("grammars")
    found = parse_rules(RULES.splitlines())
    truth = ProbabilisticCFG.of_weights(found.grammar, found.weights)
    drawn = sample_derivations(truth, 120, np.random.default_rng(0))
    (folder / "g.rules").write_text(RULES)
    (folder / "t.mrg").write_text("".join(f"{tree}\n" for tree in truth.trees(drawn)))
    short = [string for string in truth.strings(drawn) if len(string) < 15]
    (folder / "t.txt").write_text("".join(" ".join(map(str, string)) + "\n" for string in short))
    for method in ("erm", "mle", "map"):
        succeed("learn", "pcfg", folder / "t.mrg", "--method", method, "-o", folder / f"{method}.model")
    succeed("learn", "pcfg", folder / "t.txt", "--hmm", "2", "--iterations", "2", "-o", folder / "hmm.model")
    return folder


def test_methods_on_trees(place):
    losses = [
        figures("evaluate", place / f"{m}.model", place / "t.mrg")["log_loss"] for m in ("erm", "mle", "map")
    ]
    assert losses[1] == pytest.approx(min(losses))
    strings = figures("evaluate", place / "erm.model", place / "t.txt")
    assert strings["data"] == "strings"
    assert strings["n_impossible"] == 0


def test_methods_on_strings(place):
    learned = figures(
        "learn",
        "pcfg",
        place / "t.txt",
        "--rules",
        place / "g.rules",
        "--seeds",
        "2",
        "-o",
        place / "em.model",
    )
    assert learned["method"] == "em"
    assert np.diff(learned["log_likelihoods"]).min() > -1e-6
    succeed("learn", "pcfg", place / "t.txt", "--trees", place / "t.mrg", "-o", place / "semi.model", "-q")
    scores = succeed("score", place / "em.model", place / "t.txt").split()
    loss = figures("evaluate", place / "em.model", place / "t.txt")["log_loss"]
    assert -np.mean([float(score) for score in scores]) == pytest.approx(loss)


def test_parses_samples_and_shows(place):
    first = (place / "t.mrg").read_text().splitlines()[0]
    assert succeed("predict", place / "erm.model", "-", stdin="a b c\nb b\n") == "(S a (S b) (S c))\n\n"
    assert succeed("score", place / "erm.model", "-", stdin=first + "\n").strip() != "-inf"
    assert len(succeed("sample", place / "erm.model", "-n", "3").splitlines()) == 3
    assert "S -> " in succeed("show", place / "erm.model")
    assert figures("show", place / "erm.model")["rules"] == 3
    entropy = next(line for line in succeed("show", place / "erm.model").splitlines() if "entropy" in line)
    assert len(entropy.split()[1]) <= 8
    assert succeed("score", place / "erm.model", "-", "--unknown", "zero", stdin="x\n") == "-inf\n"


def test_rules_come_back(place):
    succeed("convert", place / "erm.model", "--to", "rules", "-o", place / "erm.rules")
    known, learned = read_rules(place / "erm.rules"), load_model(place / "erm.model")
    assert known.grammar.rules == learned.grammar.rules
    np.testing.assert_array_equal(known.weights, learned.parameters)
    start = ("learn", "pcfg", "-", "--start", "T", "-o", place / "late.model", "--rules", "-")
    (place / "late.rules").write_text("A -> a 1\nT -> A A 0.5\nT -> b 0.5\n")
    succeed(*start[:-1], place / "late.rules", stdin="a a\nb\n")
    assert succeed("convert", place / "late.model", "--to", "rules").startswith("T -> ")


def test_hidden_markov_models(place):
    (place / "states.txt").write_text((place / "t.txt").read_text().replace("c", "b"))
    by_em = figures(
        "learn", "pcfg", place / "t.txt", "--hmm", "2", "--iterations", "5", "-o", place / "hmm.model"
    )
    assert np.diff(by_em["log_likelihoods"]).min() > -1e-6
    learned = figures(
        "learn", "pcfg", place / "t.txt", "--state-file", place / "states.txt", "-o", place / "tag.model"
    )
    assert (learned["method"], sorted(learned["states"])) == ("erm", ["a", "b"])
    for name in ("hmm.model", "tag.model"):
        assert figures("evaluate", place / name, place / "t.txt")["n_impossible"] == 0
        assert f"{by_em['data']['n_strings']} strings" in succeed("show", place / name)
        assert figures("bound", place / name, "--epsilon", "0.5", "--delta", "0.05")["samples"] > 1e6


def test_states_of_some_strings(place):
    """Empty lines of the file of states: em from both kinds of strings, also with the weight of one kind."""
    (place / "some.txt").write_text("a b b\nb a\na a b\nb\n")
    (place / "some.states").write_text("x y y\n\nx x y\ny\n")
    call = ("learn", "pcfg", place / "some.txt", "--state-file", place / "some.states", "-o", place / "m")
    learned = figures(*call, "--string-weight", "0.5")
    assert (learned["method"], learned["states"]) == ("em", ["x", "y"])
    assert np.diff(learned["log_likelihoods"]).min() > -1e-9
    assert "incomplete --state-file; use em, erm, viterbi" in fail(*call, "--method", "mle", status=2)
    assert "--trees or --state-file" in fail(
        *("learn", "pcfg", place / "some.txt", "--states", "2", "--string-weight", "1", "-o", place / "m"),
        status=2,
    )


def test_commands_on_hidden_markov_models(place):
    """Scores are those of the automaton, best states have their names, arrays come back as they are."""
    strings = [["a", "b", "b"], ["b"], ["a", "c"]]
    text = "".join(" ".join(words) + "\n" for words in strings)
    (place / "s.txt").write_text("x y y\ny\nx y\n")
    known = ("--state-file", place / "s.txt", "--method", "mle")
    succeed("learn", "pcfg", "-", *known, "-o", place / "named.model", stdin=text)
    model = load_model(place / "named.model")
    assert succeed("predict", place / "named.model", "-", stdin=text) == "x y y\ny\nx y\n"
    scores = [float(line) for line in succeed("score", place / "named.model", "-", stdin=text).split()]
    np.testing.assert_allclose(scores, model.automaton.log_probability(Strings.of(strings)))
    (place / "named.txt").write_text(text)
    measured = figures("evaluate", place / "named.model", place / "named.txt")
    assert measured["log_loss"] == pytest.approx(-np.mean(scores))
    assert measured["symbol_perplexity"] == pytest.approx(np.exp(-np.sum(scores) / 9))
    assert len(succeed("sample", place / "named.model", "-n", "4").splitlines()) == 4
    arrays = json.loads(succeed("convert", place / "named.model", "--to", "hmm"))
    assert arrays["states"] == ["x", "y"]
    np.testing.assert_array_equal(arrays["moves"], model.moves)
    succeed("convert", place / "named.model", "--to", "automaton", "-o", place / "wfa.model")
    with pytest.raises(ModelFileError, match="use load_model"):
        sigmastar.load(place / "wfa.model")
    np.testing.assert_array_equal(load_model(place / "wfa.model").transitions, model.automaton.transitions)
    assert "digraph" in succeed("convert", place / "named.model", "--to", "dot")
    shown = succeed("show", place / "named.model")
    assert "x y" in shown
    assert "y             b" in shown


def test_the_same_call_gives_the_same_file(place):
    for name in ("once", "twice"):
        succeed("learn", "pcfg", place / "t.mrg", "-o", place / name, "-q")
    assert (place / "once").read_bytes() == (place / "twice").read_bytes()


def test_bound(place):
    told = figures("bound", place / "erm.model", "--epsilon", "0.5", "--delta", "0.05")
    by_trees = figures(
        "bound", place / "erm.model", "--epsilon", "0.5", "--delta", "0.05", "--treebank", place / "t.mrg"
    )
    for found in (told, by_trees):
        assert found["samples_from_strings"] > found["samples"] > 1e6
        assert "loose" in found["note"]
    assert by_trees["n_derivations"] == 120
    assert 0 < told["measured_deviation"] < 0.2  # 2000 derivations against the entropy
    assert succeed("bound", place / "erm.model", "--epsilon", "1", "--delta", "0.1").count("loose") == 1
    assert json.dumps(by_trees)


@pytest.mark.parametrize(
    ("words", "status", "what"),
    [
        (("learn", "pcfg", "t.txt", "-o", "x"), 2, "give --rules FILE"),
        (("learn", "pcfg", "t.txt", "--rules", "g.rules", "--method", "mle", "-o", "x"), 2, "needs trees"),
        (("learn", "pcfg", "t.mrg", "--method", "em", "-o", "x"), 2, "learns from strings"),
        (("learn", "pcfg", "bad.mrg", "-o", "x"), 1, "bad.mrg:2: "),
        (("learn", "pcfg", "empty", "-o", "x"), 1, "holds no trees or strings"),
        (("learn", "pcfg", "b.txt", "--rules", "g.rules", "-o", "x"), 1, "string 1 has no derivation"),
        (("score", "erm.model", "x.txt"), 1, "'x' is not a word of the grammar"),
        (("evaluate", "erm.model", "empty"), 1, "no sentences"),
        (("bound", "erm.model", "--epsilon", "1", "--delta", "0.1", "--treebank", "t.txt"), 1, "two trees"),
        (("show", "erm.model", "--dot"), 2, "No such option"),
        (("convert", "erm.model", "--to", "att"), 2, "'att' is not"),
        (("convert", "hmm.model", "--to", "rules"), 2, "'rules' is not one of"),
        (("bound", "hmm.model", "--epsilon", "1", "--delta", "0.1", "--treebank", "t.mrg"), 1, "holds trees"),
        (("learn", "pcfg", "t.mrg", "--hmm", "2", "-o", "x"), 2, "without rules and trees"),
        (("learn", "pcfg", "t.txt", "--hmm", "2", "--method", "map", "-o", "x"), 2, "use em, erm, viterbi"),
        (
            ("learn", "pcfg", "t.txt", "--state-file", "t.txt", "--method", "em", "-o", "x"),
            2,
            "use erm, mle, map",
        ),
        (("learn", "pcfg", "t.txt", "--state-file", "b.txt", "-o", "x"), 1, "but states for 1"),
        (("learn", "pcfg", "t.mrg", "--method", "mle", "--alpha", "2", "-o", "x"), 2, "for --method map"),
        (("learn", "pcfg", "t.mrg", "--method", "mle", "--s", "2", "-o", "x"), 2, "--s is for --method erm"),
        (("learn", "pcfg", "t.mrg", "--method", "mle", "--seeds", "2", "-o", "x"), 2, "--seeds is for"),
        (("learn", "pcfg", "t.mrg", "--seeds", "2", "-o", "x"), 2, "derivations are hidden"),
        (("learn", "pcfg", "t.txt", "--states", "2", "--string-weight", "2", "-o", "x"), 2, "with --trees"),
        (("predict", "hmm.model", "t.txt", "--nbest", "2"), 2, "No such option"),
        (("convert", "hmm.model", "--to", "automaton"), 2, "needs --output"),
    ],
)
def test_what_goes_wrong_is_told(place, monkeypatch, words, status, what):
    monkeypatch.chdir(place)
    Path("bad.mrg").write_text("(S b)\n(S (S b)\n")
    Path("empty").write_text("")
    Path("b.txt").write_text("a b\n")
    Path("x.txt").write_text("x\n")
    assert what in fail(*words, status=status)


def test_formulas_become_grammars_that_decide_them(place):
    (place / "yes.cnf").write_text("c a comment\np cnf 3 2\n1 -2 3 0\n-1 2 0\n")
    (place / "no.cnf").write_text("p cnf 1 2\n1 0\n-1 0\n")
    files = ("--rules", place / "f.rules", "--strings", place / "f.txt")
    yes, no = figures("hardness", place / "yes.cnf", *files), figures("hardness", place / "no.cnf")
    assert (yes["satisfiable"], yes["likelihood"], yes["length"]) == (True, pytest.approx(1.0), 12)
    signs = [int(word) > 0 for word in yes["assignment"].split()]
    assert read_dimacs(place / "yes.cnf").holds(signs)
    assert (no["satisfiable"], "assignment" in no, no["likelihood"] <= 1 / 16) == (False, False, True)
    assert "satisfiable" not in figures("hardness", place / "yes.cnf", "--tries", "0")
    asked = ("--rules", place / "f.rules", "--seeds", "3", "-o", place / "sat.model")
    succeed("learn", "pcfg", place / "f.txt", *asked)
    assert (place / "f.txt").read_text() == (" ".join("10" * 6) + "\n") * yes["n_copies"]
    found = np.exp(-figures("evaluate", place / "sat.model", place / "f.txt")["log_loss"])
    assert yes["threshold"] < found <= yes["likelihood"]
    assert "f.txt:1:" in fail("hardness", place / "f.txt")
    (place / "long.cnf").write_text("p cnf 4 1\n1 2 3 4 0\n")
    assert "long.cnf: the clause (1, 2, 3, 4) must have one to three literals" in fail(
        "hardness", place / "long.cnf"
    )


def test_an_empty_string_is_not_asked_rules_for(tmp_path: Path) -> None:
    (data := tmp_path / "t.txt").write_text("a b\n\nb\n")
    said = fail("learn", "pcfg", data, "--states", "2", "-o", tmp_path / "m.sigma")
    assert "string 2, which is empty, has no derivation" in said
    assert "leave empty strings out" in said
