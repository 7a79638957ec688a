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
from fuzz.limits import CALL, bounded_address_space
from fuzz.mutating import SEEDS
from fuzz.questions import arguments, patterns, requests
from fuzz.readers import READERS, corpora, reader
from fuzz.trials import Finding, Target, again, fuzz

TARGETS = ("readers", "arguments", "bits", "forged")
TYPED, FILES = ("readers", "arguments"), ("bits", "forged")
ASKED = ("ngram", "tagger-refined")  # by the requests to the explorer
IN_MEMORY = "/dev/shm"  # writing an input to a disk takes longer than reading it


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
    parser.add_argument("--arrays", action="append", help="Some of the arrays of models; may be repeated.")
    parser.add_argument("--again", type=Path, metavar="FILE", help="Try the input of one finding again.")
    settings = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=IN_MEMORY if os.access(IN_MEMORY, os.W_OK) else None) as name:
        sys.exit(_again(Path(name), settings.again) if settings.again else _all(Path(name), settings))


def _again(folder: Path, path: Path) -> bool:
    finding = Finding.load(path)
    models = small_models(folder, ASKED if finding.target == "requests" else ASKED[:1])
    problem = again(_targets(folder, models)[finding.target](), finding.case)
    print(problem)
    return bool(problem)


def _all(folder: Path, settings: argparse.Namespace) -> bool:
    findings: list[str] = []
    try:
        _run(folder, settings, findings)
    finally:  # last, and whole: where readers of a long log look, also where the trial itself was stopped
        print(f"{len(findings)} findings", *findings, sep="\n    ", flush=True)
    return bool(findings)


def _run(folder: Path, settings: argparse.Namespace, all_findings: list[str]) -> None:
    total, seed = Counter[str](), settings.seed
    chosen = settings.only or TARGETS
    models = small_models(folder, settings.models if set(chosen) & set(FILES) else ASKED)

    def tell(name: str, counts: Mapping[str, int], findings: Sequence[object]) -> None:
        told = [str(finding) for finding in findings]
        all_findings.extend(told)
        total.update(counts)
        print(f"{name}: {dict(counts)}", *(text[:500] for text in told[:10]), sep="\n    ", flush=True)

    def until() -> float:
        return time.monotonic() + float(settings.seconds)

    if set(chosen) & set(TYPED):
        with bounded_address_space():
            for name, target in _targets(folder, models, chosen).items():
                if name in (settings.target or [name]):
                    n_inputs, found = fuzz(target(), settings.inputs, seed, until())
                    tell(name, {"inputs": n_inputs}, found)
    if "bits" in chosen:
        for name, small in models.items():
            n_flips, wrong = flip_bits(small.model, settings.flips // len(models), folder, until(), seed)
            n_cuts, accepted = cut_off(small.model, settings.cuts, folder, until())
            how = f"{CALL} --only bits --models {name} --seed {seed} --seconds 1000"
            told = [f"{text}\n        to see again: {how}" for text in (*wrong, *accepted)]
            tell(f"bits {name}", {"flipped bits": n_flips, "cut": n_cuts}, told)
    if "forged" in chosen:
        warm_up(models, folder)
        numbers = range(seed, seed + settings.mutations)
        for name, small in models.items():
            tell(f"forged {name}", *try_model(small, numbers, folder, until(), arrays=settings.arrays))
    print("all:", dict(total))


def _targets(
    folder: Path, models: Mapping[str, Small], chosen: Sequence[str] = TYPED
) -> dict[str, Callable[[], Target]]:
    """What is fed with inputs, by name."""
    asked = [models[name] for name in ASKED if name in models]
    found: dict[str, Callable[[], Target]] = {}
    if "readers" in chosen:
        smallest = min((small.model for small in models.values()), key=lambda path: path.stat().st_size)
        seeds = {**SEEDS, "models": smallest.read_bytes()}
        found |= {name: partial(reader, name, folder, seeds) for name in READERS}
        found["corpora"] = partial(corpora, folder)
    if "arguments" in chosen:
        found |= {"arguments": arguments, "patterns": patterns}
        if asked and asked[0].data:
            found["requests"] = partial(requests, [small.model for small in asked], asked[0].data)
    return found


if __name__ == "__main__":
    main()
