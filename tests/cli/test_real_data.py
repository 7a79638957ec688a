"""The commands of the documentation on real data."""

from __future__ import annotations

from pathlib import Path

from cli.calls import figures, succeed


def test_a_problem_of_pautomac(data_folder: Path, tmp_path: Path) -> None:
    problem = data_folder / "pautomac" / "7.pautomac"
    train, model = f"{problem}.train.gz", tmp_path / "model"
    succeed("learn", "automaton", train, "--format", "pautomac", "-o", model, "--quiet")
    call = ("evaluate", model, f"{problem}.test", "--targets", f"{problem}_solution.txt")
    found = figures(*call, "--reference", f"{problem}_model.txt", "--samples", "2000")
    assert 1.0 <= found["ratio"] < 1.005
    assert 0.0 < found["kl"] < 0.1


def test_a_problem_of_spice(data_folder: Path, tmp_path: Path) -> None:
    folder, model = data_folder / "spice", tmp_path / "model"
    succeed("learn", "automaton", folder / "4.spice.train.gz", "--format", "spice", "-o", model, "--quiet")
    found = figures(
        "evaluate",
        model,
        folder / "4.spice.prefix.public.gz",
        "--targets",
        folder / "4.spice.target.public.gz",
    )
    assert 0.5 < found["ndcg5"] < 1.0
