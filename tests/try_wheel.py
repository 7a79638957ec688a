"""The wheel: built twice to the same bytes, then installed into a clean environment and used there.

python tests/try_wheel.py
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOMENT = "1700000000"  # files in the wheel carry it; any will do, as long as it is the same
CALLS = (
    ["learn", "automaton", "strings.txt", "--method", "ngram", "-o", "model", "-q"],
    ["check", "model"],
    ["score", "model", "strings.txt", "-o", "scores.txt"],
)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        wheels = [built(Path(name) / number) for number in ("first", "second")]
        digests = {hashlib.sha256(wheel.read_bytes()).hexdigest() for wheel in wheels}
        if len(digests) != 1:
            sys.exit("two builds of the wheel differ")
        print(f"{wheels[0].name} {digests.pop()}")
        tried(wheels[0], Path(name))


def built(folder: Path) -> Path:
    environment = {**os.environ, "SOURCE_DATE_EPOCH": MOMENT}
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "-w", str(folder), str(ROOT)], check=True, env=environment)
    return next(folder.glob("*.whl"))


def tried(wheel: Path, folder: Path) -> None:
    """Learn and score with the installed command alone; the versions are the pinned ones."""
    venv.create(folder / "clean", with_pip=True)
    python = folder / "clean" / "bin" / "python"
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "-c", str(ROOT / "requirements.txt"), str(wheel)], check=True)
    (folder / "strings.txt").write_text("a b a\nb\na a b\n" * 20)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    for words in CALLS:
        command = [str(folder / "clean" / "bin" / "sigmastar"), *words]
        subprocess.run(command, check=True, cwd=folder, env=environment)
    print("the wheel works in a clean environment")


if __name__ == "__main__":
    main()
