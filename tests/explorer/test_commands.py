"""`explore` and `serve` as they are called."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import numpy as np
import pytest

from cli.calls import fail
from sigmastar.automata.model.generators import make_hmm
from sigmastar.core.model_format import save_model


@pytest.fixture
def model(tmp_path: Path) -> Path:
    save_model(make_hmm(2, 2, np.random.default_rng(0)), tmp_path / "m.sigma")
    return tmp_path / "m.sigma"


def test_wrong_files_are_told_apart(model: Path, tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_text("a b\n")
    assert "no such file" in fail("explore", model, tmp_path / "missing.txt")
    assert "not a model file" in fail("explore", tmp_path / "data.txt")
    assert "second file of data" in fail(
        "explore", model, tmp_path / "data.txt", model.with_name("data.txt"), __file__
    )


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_server_answers_until_it_is_told_to_end(model: Path, name: str) -> None:
    environment = {**os.environ, "SIGMASTAR_TOKEN": "a-token-of-our-own"}
    command = [sys.executable, "-m", "sigmastar", "serve", str(model), "--quiet"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as run:
        assert run.stdout is not None
        address = run.stdout.readline().strip()
        assert address.endswith("/a-token-of-our-own/")
        body = json.dumps({"inputs": [{"text": "1 0"}]}).encode()
        with urllib.request.urlopen(f"{address}api/models/0/batch", body, timeout=20) as answer:
            shares = json.load(answer)["outputs"][0]["next"]
        assert sum(each["probability"] for each in shares) == pytest.approx(1.0)
        run.send_signal(getattr(signal, name))
        _, errors = run.communicate(timeout=20)
    assert run.returncode == 0, errors
    assert errors == ""
