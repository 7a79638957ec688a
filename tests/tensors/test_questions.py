"""What benchmarks ask of a GPU can be asked of tensors on a processor too, in small."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed: make test-torch installs it")

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("row", ["treebank-round", "svd"])
def test_a_row_of_the_record_runs_in_small(row: str) -> None:
    path = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    words = [sys.executable, "-m", "benchmarks.gpu", "--quick", "unused", row]
    environment = {**os.environ, "PYTHONPATH": path, "SIGMASTAR_DATA": ""}
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    if row == "svd":
        found = found["at random, correlations"]
        assert found["largest residual"] < 1e-6
        assert abs(found["values above PROPACK's"]) < 1e-9
    else:
        assert found["seconds"] > 0.0
        assert found["rules"] > 0
