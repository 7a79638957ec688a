"""`make faults`: runs of commands with faults of disks and signals, chosen by chance."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from cli.calls import succeed
from faults.faults import job, random_runs


def main() -> None:
    parser = argparse.ArgumentParser(prog="faults", description=__doc__)
    parser.add_argument("--runs", type=int, default=2000, help="Number of runs.")
    parser.add_argument("--seed", type=int, default=0, help="Seed of all choices.")
    settings = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        place, lines, tags = Path(name) / "out", Path(name) / "lines.txt", Path(name) / "tags.txt"
        place.mkdir()
        lines.write_text("a b a\nb\na a b\n" * 20)
        tags.write_text("the D\ndog N\n\na D\ncat N\n\n" * 10)
        model = str(Path(name) / "model")
        succeed("learn", "automaton", lines, "-o", model, "-q")
        calls = [
            ["learn", "automaton", str(lines), "-q"],
            ["learn", "tagger", str(tags), "--method", "bigram", "-q"],
            ["score", model, str(lines)],
            ["sample", model, "-n", "100"],
        ]
        outputs = [place / str(number) for number in range(len(calls))]
        jobs = [job([*call, "-o", str(path)], path) for call, path in zip(calls, outputs, strict=True)]
        findings = random_runs(jobs, settings.runs, settings.seed, longest=0.3)
    print(f"{settings.runs} runs, {len(findings)} findings")
    for finding in findings[:20]:
        print(f"    {finding}")
    sys.exit(bool(findings))


if __name__ == "__main__":
    main()
