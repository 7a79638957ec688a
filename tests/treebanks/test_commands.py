"""Treebank parsers on the command line: learn, evaluate, predict, score, sample, show."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path

import pytest

from cli.calls import fail, figures, invoke, succeed
from sigmastar.core import time_estimates
from sigmastar.trees.data.brackets import parse_brackets

TREES = (
    "( (S (NP-SBJ (DT the) (NN dog)) (VP (VBZ sees) (NP (DT a) (NN cat))) (. .)) )",
    "(S (NP-SBJ (-NONE- *)) (VP (VBZ sees) (NP (NP (DT the) (NN man)) "
    "(PP (IN in) (NP (DT the) (NN rain))))) (. .))",
    "(S (NP (NNS dogs)) (VP (VBP bark) (PRN (-LRB- -LRB-) (ADVP (RB loudly)) (-RRB- -RRB-))) (. .))",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("treebank")
    (place / "train.mrg").write_text("\n".join(TREES * 12) + "\n", encoding="utf-8")
    for method, more in (("pcfg", ()), ("spectral+em", ("--states", "2", "--rounds", "2"))):
        succeed(
            "learn", "treebank", place / "train.mrg", "--method", method, "-o", place / method, "-q", *more
        )
    return place


def test_evaluate(folder: Path) -> None:
    found = figures("evaluate", folder / "spectral+em", folder / "train.mrg", "-q")
    assert found["f1"] == found["exact"] == found["tagging"] == found["recall"] == 1.0
    assert found["f1_low"] <= found["f1"] <= found["f1_high"]
    assert (found["n_sentences"], found["n_fallback"]) == (36, 0)
    short = figures(
        "evaluate", folder / "pcfg", folder / "train.mrg", "--gold-tags", "--max-length", "6", "-q"
    )
    assert (short["n_sentences"], short["n_left_out"], short["tags"]) == (24, 12, "gold")


def test_predict_writes_a_tree_a_line(folder: Path) -> None:
    said = succeed(
        "predict", folder / "spectral+em", "-", "-q", stdin="the cat sees a dog .\n\ndogs bark ( loudly ) .\n"
    )
    first, empty, third = said.splitlines()
    assert first == "(S (NP (DT the) (NN cat)) (VP (VBZ sees) (NP (DT a) (NN dog))) (. .))"
    assert empty == ""
    assert third == TREES[2]


def test_long_sentences_are_told_and_get_flat_trees_where_asked(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = "the cat sees a dog .\n" + "dogs " * 400 + "\n"
    said = succeed("predict", folder / "pcfg", "-", "--max-length", "50", "-q", stdin=lines).splitlines()
    assert said[0].startswith("(S (NP (DT the)")
    assert said[1].count("(") == 401
    told = [json.loads(line) for line in succeed(
        "predict", folder / "pcfg", "-", "--max-length", "5", "--json", "-q", stdin=lines
    ).splitlines()]  # fmt: skip
    assert [one["found_by"] for one in told] == ["flat", "flat"]
    monkeypatch.setattr(time_estimates, "_clock", count(step=1.0).__next__)
    for command, work, remedy in (
        ("predict", "parsing", ": --max-length 300 gives it a flat tree"),
        ("score", "scoring", ""),
    ):
        said = invoke(command, folder / "pcfg", "-", stdin="dogs " * 320).stderr
        assert said == f"{work}: about 64 s on one core; the longest input has 320 symbols{remedy}\n"


def test_decoding_may_be_chosen_later(folder: Path) -> None:
    for command in ("evaluate", "predict"):
        given = folder / "spectral+em", folder / "train.mrg", "--decoding"
        assert succeed(command, *given, "rules", "-q")
        assert succeed(command, *given, "trees", "-q")
    assert "'viterbi' is not one of" in fail("predict", *given, "viterbi", status=2)


def test_trees_with_rules_never_seen_are_told(folder: Path) -> None:
    result = invoke("score", folder / "pcfg", "-", stdin=f"(S (NN dog) (NN dog))\n{TREES[2]}\n")
    assert result.stdout.startswith("-inf\n-")
    assert "1 of 2 trees have a rule or label that was never seen" in result.stderr


def test_chains_of_labels_without_end(folder: Path) -> None:
    (folder / "chain.mrg").write_text("(S (A a) (B b))\n" + "(S " * 20_000 + "a" + ")" * 20_000)
    said = fail("learn", "treebank", folder / "chain.mrg", "-o", folder / "m", "-q")
    assert "chain.mrg: tree 2: 20000 labels stand in a row" in said


def test_predict_with_tags_from_lines_and_from_trees(folder: Path) -> None:
    said = succeed(
        "predict", folder / "pcfg", "-", "--tags", "-q", stdin="a_DT b_NN sees_VBZ the_DT c_d_NN ._.\n"
    )
    assert said == "(S (NP (DT a) (NN b)) (VP (VBZ sees) (NP (DT the) (NN c_d))) (. .))\n"
    again = succeed("predict", folder / "pcfg", folder / "train.mrg", "--tags", "-q").splitlines()
    assert len(again) == 36
    assert again[0] == "(S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (DT a) (NN cat))) (. .))"


def test_predict_as_json(folder: Path) -> None:
    said = json.loads(succeed("predict", folder / "pcfg", "-", "--json", "-q", stdin="a dog sees a cat .\n"))
    assert set(said) == {"tree", "log_probability", "found_by"}
    assert said["log_probability"] < 0


def test_best_trees_stand_behind_their_scores(folder: Path) -> None:
    lines, model = "the cat sees a dog .\n\n", folder / "spectral+em"
    one = succeed("predict", model, "-", "-q", stdin=lines).splitlines()[0]
    said = succeed("predict", model, "-", "-q", "--top", "3", stdin=lines)
    ranked = [line.split("\t") for line in said.split("\n\n")[0].splitlines()]
    assert ranked[0][1] == one
    assert 1 < len(ranked) <= 3
    assert [float(score) for score, _ in ranked] == sorted((float(s) for s, _ in ranked), reverse=True)
    told = succeed("predict", model, "-", "-q", "--nbest", "3", "--json", stdin=lines).splitlines()
    assert [tree["tree"] for tree in json.loads(told[0])["trees"]] == [tree for _, tree in ranked]
    assert json.loads(told[1]) == {"trees": []}


def test_score_trees_and_sentences(folder: Path) -> None:
    trees = [float(x) for x in succeed("score", folder / "pcfg", folder / "train.mrg", "-q").split()]
    assert len(trees) == 36
    words = succeed("score", folder / "pcfg", "-", "-q", stdin="the dog sees a cat .\n")
    assert trees[0] <= float(words) < 0  # one tree of the sentence is no more than all


def test_sample_and_its_seed(folder: Path) -> None:
    call = ("sample", folder / "spectral+em", "-n", "4", "--max-length", "12", "-q", "--seed", "3")
    drawn = parse_brackets(succeed(*call))
    assert len(drawn) == 4
    assert all(sum(1 for _ in tree.words()) <= 12 for tree in drawn)
    assert parse_brackets(succeed(*call)) == drawn


def test_show(folder: Path, tmp_path: Path) -> None:
    said = succeed("show", folder / "spectral+em")
    assert "spectral+em" in said
    assert "head binarization" in said
    told = figures("show", folder / "pcfg")
    assert told["learned"]["data"]["n_trees"] == told["trees"] == 36
    assert told["grammars"][0]["binarization"] == "right"
    assert (told["grammars"][0]["horizontal"], told["grammars"][0]["vertical"]) == (0, 1)
    assert told["span scorer"] is None
    lines = succeed("show", folder / "pcfg", "--sentence", "the dog sees a cat .")
    assert lines.splitlines()[:3] == ["S", "├─ NP", "│  ├─ DT the"]
    succeed("show", folder / "pcfg", "--sentence", "the dog sees a cat .", "--svg", "-o", tmp_path / "t.svg")
    assert (tmp_path / "t.svg").read_text().startswith("<svg")
    succeed("show", folder / "pcfg", "--html", "-o", tmp_path / "t.html")
    assert (tmp_path / "t.html").read_text().count("<svg") == 2


def test_the_same_seed_gives_the_same_file(folder: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        succeed("learn", "treebank", folder / "train.mrg", "--states", "2", "-o", tmp_path / name, "-q")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    scorer = figures("show", tmp_path / "a")["span scorer"]
    assert scorer["share"] == 0.35
    assert "span scorer" in succeed("show", tmp_path / "a")
    succeed(
        "learn", "treebank", folder / "train.mrg", "--states", "2", "--no-spans", "-o", tmp_path / "c", "-q"
    )
    assert figures("show", tmp_path / "c")["span scorer"] is None


def test_what_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.mrg").write_text("(S (NP x))\n(S (NP y)\n")
    said = fail("learn", "treebank", tmp_path / "bad.mrg", "-o", tmp_path / "m")
    assert "bad.mrg:2: " in said
    assert "closing" in said
    (tmp_path / "empty.mrg").write_text("\n")
    assert "holds no trees" in fail("learn", "treebank", tmp_path / "empty.mrg", "-o", tmp_path / "m")
    (tmp_path / "mixed.mrg").write_text("(S she (VP runs))\n")
    assert "tag of its own" in fail("learn", "treebank", tmp_path / "mixed.mrg", "-o", tmp_path / "m")
    train = folder / "train.mrg"
    for option, others in (("--vertical", "pcfg or spectral or cluster or em or spectral+em, not best"),):
        told = fail("learn", "treebank", train, option, "2", "-o", tmp_path / "m", status=2)
        assert others in told
    told = fail("learn", "treebank", train, "--method", "pcfg", "--no-spans", "-o", tmp_path / "m", status=2)
    assert "--no-spans is for --method best, not pcfg" in told
    assert "line" not in fail("evaluate", folder / "pcfg", tmp_path / "empty.mrg")
    assert "has no tag" in fail("predict", folder / "pcfg", "-", "--tags", stdin="dogs_NNS bark\n")
    assert "--sentence" in fail("show", folder / "pcfg", "--svg", status=2)
    assert "No such option" in fail("show", folder / "pcfg", "--dot", status=2)
    assert not (tmp_path / "m").exists()


def test_numbers_of_threads_change_nothing(folder: Path) -> None:
    one, two = (
        succeed("predict", folder / "pcfg", folder / "train.mrg", "-q", "--threads", n) for n in ("1", "2")
    )
    assert one == two


def test_the_real_treebank(data_folder: Path, tmp_path: Path) -> None:
    bank = data_folder / "ptb_sample"
    succeed("learn", "treebank", bank / "wsj-train.mrg", "--method", "pcfg", "-o", tmp_path / "m", "-q")
    found = figures(
        "evaluate", tmp_path / "m", bank / "wsj-dev.mrg", "--max-length", "15", "--gold-tags", "-q"
    )
    assert found["f1"] > 0.7
    assert found["n_sentences"] + found["n_left_out"] == 273
