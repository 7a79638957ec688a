"""Tree automata and latent PCFGs on the command line: learn, evaluate, score, sample, show."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cli.calls import fail, figures, invoke, succeed
from sigmastar.core.model_reading import load_model, save_model
from sigmastar.trees import make_latent_pcfg, make_tree_automaton


def test_models_of_trees(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    save_model(make_latent_pcfg(rng), tmp_path / "g")
    save_model(make_tree_automaton(2, rng), tmp_path / "a")
    for name, family in (("g", "latent-pcfg"), ("a", "tree-automaton")):
        drawn = succeed("sample", tmp_path / name, "-n", "30", "--max-length", "30", "-q")
        trees = "".join(f"{line}\n" for line in drawn.splitlines() if line.startswith("("))
        logs = succeed("score", tmp_path / name, "-", "-q", stdin=trees).split()
        assert len(logs) == trees.count("\n") > 0
        assert all(float(log) < 0 for log in logs)
        assert family in succeed("show", tmp_path / name)
        assert figures("show", tmp_path / name)["states"] == 2
        (tmp_path / "t.mrg").write_text(trees)
        told = figures("evaluate", tmp_path / name, tmp_path / "t.mrg", "-q")
        assert told["n_trees"] == len(logs)
        assert told["log_probability"] == pytest.approx(np.mean([float(log) for log in logs]))
        assert "no predict" in fail("predict", tmp_path / name, "-", status=2)


def test_learn(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    truth = make_latent_pcfg(rng)
    for name, size in (("train", 600), ("fresh", 50)):
        (tmp_path / f"{name}.mrg").write_text("".join(f"{t}\n" for t in truth.sample(size, rng, 20)))
    train, fresh = tmp_path / "train.mrg", tmp_path / "fresh.mrg"
    model = tmp_path / "m"
    succeed("learn", "trees", train, "--method", "latent-pcfg", "--states", "2", "-o", model, "-q")
    assert load_model(model).n_states == 2
    assert figures("show", model)["learned"]["settings"] == {"n_states": 2, "nodes": "all"}
    found, best = (figures("evaluate", m, fresh)["log_probability"] for m in (model, _saved(truth, tmp_path)))
    assert found == pytest.approx(best, abs=0.5)
    succeed("learn", "trees", train, "--states", "3", "--height", "2", "-o", model, "-q")
    assert figures("show", model)["family"] == "tree-automaton"
    (tmp_path / "few.mrg").write_text("(f a b)\n(f b a)\n" * 5)
    few = invoke("learn", "trees", tmp_path / "few.mrg", "-o", model).stderr  # of rank 3
    assert "3 states, all that the counts have rank for (at most 5), from 10 trees" in few
    asked = fail("learn", "trees", tmp_path / "few.mrg", "--states", "4", "-o", model)
    assert "n_states=4 exceeds block rank 3" in asked
    told = fail("learn", "trees", train, "--nodes", "one", "-o", model, status=2)
    assert "--nodes is for --method latent-pcfg, not spectral" in told
    (tmp_path / "wide.mrg").write_text("(S (A a) (B b) (C c))\n")
    wide = tmp_path / "wide.mrg"
    assert "binarize it" in fail("learn", "trees", wide, "--method", "latent-pcfg", "-o", model)
    (tmp_path / "none.mrg").write_text("\n")
    assert "holds no trees" in fail("learn", "trees", tmp_path / "none.mrg", "-o", model)


def test_trees_with_any_number_of_children(tmp_path: Path) -> None:
    truth = make_tree_automaton(2, np.random.default_rng(0), ternary="t")
    trees = [str(tree) for tree in truth.sample(2_000, np.random.default_rng(1)) if str(tree).startswith("(")]
    train, model = tmp_path / "train.mrg", tmp_path / "m"
    train.write_text("\n".join(trees))
    succeed("learn", "trees", train, "--states", "2", "-o", model, "-q")
    assert figures("show", model)["rank 3"] == 1
    (tmp_path / "short.mrg").write_text("\n".join(tree for tree in trees if len(tree) < 20))
    found, best = (
        figures("evaluate", m, tmp_path / "short.mrg")["log_probability"]
        for m in (model, _saved(truth, tmp_path))
    )
    assert found == pytest.approx(best, abs=0.2)
    assert "(t " in succeed("sample", tmp_path / "truth", "-n", "50", "--max-length", "30", "-q")
    (tmp_path / "wide.mrg").write_text("(f " + "a b " * 8 + ")\n")
    assert "16 children need 1 x 5^17 numbers" in fail("learn", "trees", tmp_path / "wide.mrg", "-o", model)


def _saved(model: object, folder: Path) -> Path:
    save_model(model, folder / "truth")
    return folder / "truth"
