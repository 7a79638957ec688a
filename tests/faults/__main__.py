"""`make faults`: runs of commands with faults of disks, of memory and signals, chosen by chance."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from faults.faults import random_runs
from faults.jobs import Places, all_jobs


def main() -> None:
    parser = argparse.ArgumentParser(prog="faults", description=__doc__)
    parser.add_argument("--runs", type=int, default=2000, help="Number of runs.")
    parser.add_argument("--seed", type=int, default=0, help="Seed of all choices.")
    settings = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        jobs = all_jobs(Places(Path(name)))
        print("jobs:", *(f"{' '.join(job.words[:2])} {job.seconds:.2f} s" for job in jobs), sep="\n    ")
        findings = random_runs(jobs, settings.runs, settings.seed)
    print(f"{settings.runs} runs, {len(findings)} findings")
    sys.exit(bool(findings))


if __name__ == "__main__":
    main()
