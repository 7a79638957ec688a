"""`make fuzz`: readers, parsers of arguments, forged model files and flipped bits, for some time each."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from forged.small_models import small_models
from forged.trial import flip_bits, try_model, warm_up
from fuzz.readers import READERS, SEEDS, fuzz_arguments, fuzz_reader


def main() -> None:
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="Seconds per target.")
    parser.add_argument("--seed", type=int, default=0, help="Seed of the mutations.")
    parser.add_argument("--mutations", type=int, default=200, help="Mutations per array of a model file.")
    settings = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        findings = _run(Path(name), settings)
    print(f"{findings} findings")
    sys.exit(findings > 0)


def _run(folder: Path, settings: argparse.Namespace) -> int:
    models = small_models(folder)
    warm_up(models, folder)
    smallest = min((small.model for small in models.values()), key=lambda path: path.stat().st_size)
    seeds, n_findings, total = {**SEEDS, "models": smallest.read_bytes()}, 0, Counter[str]()

    def until() -> float:
        return time.monotonic() + settings.seconds

    for name in READERS:
        n_inputs, found = fuzz_reader(name, folder, seeds, 10**9, settings.seed, until())
        n_findings += _tell(name, {"inputs": n_inputs}, [f"{f.problem} {f.content!r}" for f in found])
        total["inputs"] += n_inputs
    n_inputs, found = fuzz_arguments(10**9, settings.seed, until())
    total["inputs"] += n_inputs
    n_findings += _tell("arguments", {"inputs": n_inputs}, [f"{f.problem} {f.content!r}" for f in found])
    n_flips, wrong = flip_bits(smallest, 10**5, folder, until())
    n_findings += _tell("flipped bits", {"files": n_flips}, wrong)
    for name, small in models.items():
        numbers = range(settings.seed, settings.seed + settings.mutations)
        counts, wrong = try_model(small, numbers, folder, until())
        n_findings += _tell(f"forged {name}", dict(counts), wrong)
        total += counts
    print("all:", dict(total), f"and {n_flips} flipped bits")
    return n_findings


def _tell(name: str, counts: dict[str, int], findings: list[str]) -> int:
    print(f"{name}: {counts}", flush=True)
    for finding in findings[:10]:
        print(f"    {finding[:500]}", flush=True)
    return len(findings)


if __name__ == "__main__":
    main()
