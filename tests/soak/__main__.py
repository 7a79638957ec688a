"""`make soak`: one process under work for some time; memory, open files and threads must not grow."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from soak.rounds import growth, soak


def main() -> None:
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=1800.0, help="Length of the run.")
    settings = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        measures = soak(Path(name), settings.seconds)
    for number in sorted({round(k * (len(measures) - 1) / 12) for k in range(13)}):
        found = measures[number]
        print(f"round {number}: {found.memory / 1e6:.1f} MB, {found.files} files, {found.threads} threads")
    problems = growth(measures)
    print(f"{len(measures)} rounds:", "; ".join(problems) or "nothing grew")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
