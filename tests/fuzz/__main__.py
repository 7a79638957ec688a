"""`make fuzz`: readers, parsers of arguments, forged model files and flipped bits, for some time each."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from forged.small_models import Small, small_models
from forged.trial import cut_off, flip_bits, try_model, warm_up
from fuzz.mutating import SEEDS, at_most_a_gigabyte
from fuzz.questions import fuzz_arguments, fuzz_patterns, fuzz_requests
from fuzz.readers import READERS, fuzz_corpora, fuzz_reader

TARGETS = ("readers", "arguments", "bits", "forged")
TYPED, FILES = ("readers", "arguments"), ("bits", "forged")
ASKED = ("ngram", "tagger-refined")  # by the requests to the explorer
IN_MEMORY = "/dev/shm"  # writing an input to a disk takes longer than reading it
Fuzz = Callable[[float], tuple[int, Sequence[object]]]


def main() -> None:
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="Seconds per target.")
    parser.add_argument(
        "--only", choices=TARGETS, action="append", help="Some of the targets; may be repeated."
    )
    parser.add_argument("--target", action="append", help="Some of the readers by name; may be repeated.")
    parser.add_argument("--models", action="append", help="Some of the models by name; may be repeated.")
    parser.add_argument("--inputs", type=int, default=10**9, help="Inputs per reader, at most.")
    parser.add_argument("--flips", type=int, default=10**5, help="Flipped bits of all models, at most.")
    parser.add_argument("--cuts", type=int, default=10**9, help="Lengths that a file is cut to, at most.")
    parser.add_argument("--seed", type=int, default=0, help="Seed of the mutations.")
    parser.add_argument("--mutations", type=int, default=200, help="Mutations per array of a model file.")
    settings = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=IN_MEMORY if os.access(IN_MEMORY, os.W_OK) else None) as name:
        findings = _run(Path(name), settings)
    print(f"{len(findings)} findings", *findings, sep="\n    ")  # last: where readers of a log look
    sys.exit(len(findings) > 0)


def _run(folder: Path, settings: argparse.Namespace) -> list[str]:
    total, all_findings, seed = Counter[str](), list[str](), settings.seed
    chosen = settings.only or TARGETS
    models = small_models(folder, settings.models if set(chosen) & set(FILES) else ASKED)

    def tell(name: str, counts: Mapping[str, int], findings: Sequence[object]) -> None:
        told = [str(finding)[:500] for finding in findings]
        all_findings.extend(f"{name}: {finding}" for finding in told)
        total.update(counts)
        print(f"{name}: {dict(counts)}", *told[:10], sep="\n    ", flush=True)

    def until() -> float:
        return time.monotonic() + settings.seconds

    if set(chosen) & set(TYPED):
        with at_most_a_gigabyte():
            for name, fuzz in _inputs(folder, models, chosen, settings).items():
                n_inputs, found = fuzz(until())
                tell(name, {"inputs": n_inputs}, found)
    if "bits" in chosen:
        for name, small in models.items():
            n_flips, wrong = flip_bits(small.model, settings.flips // len(models), folder, until(), seed)
            n_cuts, accepted = cut_off(small.model, settings.cuts, folder, until())
            tell(f"bits {name}", {"flipped bits": n_flips, "cut": n_cuts}, [*wrong, *accepted])
    if "forged" in chosen:
        warm_up(models, folder)
        numbers = range(seed, seed + settings.mutations)
        for name, small in models.items():
            tell(f"forged {name}", *try_model(small, numbers, folder, until()))
    print("all:", dict(total))
    return all_findings


def _inputs(
    folder: Path, models: Mapping[str, Small], chosen: Sequence[str], settings: argparse.Namespace
) -> dict[str, Fuzz]:
    """What is fed with inputs, by name."""
    n_inputs, seed, asked = settings.inputs, settings.seed, [models[name] for name in ASKED if name in models]
    found: dict[str, Fuzz] = {}
    if "readers" in chosen:
        smallest = min((small.model for small in models.values()), key=lambda path: path.stat().st_size)
        seeds = {**SEEDS, "models": smallest.read_bytes()}
        for name in READERS:
            found[name] = partial(fuzz_reader, name, folder, seeds, n_inputs, seed)
        found["corpora"] = partial(fuzz_corpora, folder, n_inputs, seed)
    if "arguments" in chosen:
        found["arguments"] = partial(fuzz_arguments, n_inputs, seed)
        found["patterns"] = partial(fuzz_patterns, n_inputs, seed)
        if asked and asked[0].data:
            paths = [small.model for small in asked]
            found["requests"] = partial(fuzz_requests, paths, asked[0].data, n_inputs, seed)
    return {name: fuzz for name, fuzz in found.items() if name in (settings.target or found)}


if __name__ == "__main__":
    main()
