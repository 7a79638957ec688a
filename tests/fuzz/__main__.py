"""`make fuzz`: readers, parsers of arguments, forged model files and flipped bits, for some time each."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from forged.small_models import small_models
from forged.trial import cut_off, flip_bits, try_model, warm_up
from fuzz.readers import READERS, SEEDS, fuzz_arguments, fuzz_reader

TARGETS = ("readers", "arguments", "bits", "forged")


def main() -> None:
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="Seconds per target.")
    parser.add_argument(
        "--only", choices=TARGETS, action="append", help="Some of the targets; may be repeated."
    )
    parser.add_argument("--models", action="append", help="Some of the models by name; may be repeated.")
    parser.add_argument("--inputs", type=int, default=10**9, help="Inputs per reader, at most.")
    parser.add_argument("--flips", type=int, default=10**5, help="Flipped bits of all models, at most.")
    parser.add_argument("--cuts", type=int, default=10**9, help="Lengths that a file is cut to, at most.")
    parser.add_argument("--seed", type=int, default=0, help="Seed of the mutations.")
    parser.add_argument("--mutations", type=int, default=200, help="Mutations per array of a model file.")
    settings = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        findings = _run(Path(name), settings)
    print(f"{findings} findings")
    sys.exit(findings > 0)


def _run(folder: Path, settings: argparse.Namespace) -> int:
    models = small_models(folder, settings.models)
    warm_up(models, folder)
    total, n_findings, seed = Counter[str](), 0, settings.seed

    def tell(name: str, counts: Mapping[str, int], findings: Sequence[object]) -> None:
        nonlocal n_findings
        n_findings += len(findings)
        total.update(counts)
        print(f"{name}: {dict(counts)}", *(str(finding)[:500] for finding in findings[:10]), sep="\n    ")
        sys.stdout.flush()

    def until() -> float:
        return time.monotonic() + settings.seconds

    smallest = min((small.model for small in models.values()), key=lambda path: path.stat().st_size)
    for target in settings.only or TARGETS:
        if target == "readers":
            seeds = {**SEEDS, "models": smallest.read_bytes()}
            for name in READERS:
                n_inputs, found = fuzz_reader(name, folder, seeds, settings.inputs, seed, until())
                tell(name, {"inputs": n_inputs}, found)
        elif target == "arguments":
            n_inputs, found = fuzz_arguments(settings.inputs, seed, until())
            tell(target, {"inputs": n_inputs}, found)
        elif target == "bits":
            for name, small in models.items():
                n_flips, wrong = flip_bits(small.model, settings.flips // len(models), folder, until(), seed)
                n_cuts, accepted = cut_off(small.model, settings.cuts, folder, until())
                tell(f"bits {name}", {"flipped bits": n_flips, "cut": n_cuts}, [*wrong, *accepted])
        else:
            numbers = range(seed, seed + settings.mutations)
            for name, small in models.items():
                tell(f"forged {name}", *try_model(small, numbers, folder, until()))
    print("all:", dict(total))
    return n_findings


if __name__ == "__main__":
    main()
