"""The wheel: built twice to the same bytes, then installed into clean environments and used there.

python tests/try_wheel.py                                       with this Python and the pinned versions
python tests/try_wheel.py --python python3.12 python3.13        with others
python tests/try_wheel.py --oldest                              with the oldest versions that are allowed
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOMENT = "1700000000"  # files in the wheel carry it; any will do, as long as it is the same
DATA = {
    "strings": "a b a\nb\na a b\n" * 20,
    "tags": "the D\ndog N\n\na D\ncat N\n\n" * 20,
    "words": "the\ndog\n\na\ncat\n\n",
    "trees": "(S (NP (D the) (N dog)) (VP (V barks)))\n(S (NP (N dogs)) (VP (V bark)))\n" * 20,
    "sentences": "the dog barks\ndogs bark\n",
}
CALLS = (
    "--help",
    "learn automaton strings -o automaton -q",
    "check automaton",
    "score automaton strings -o scores",
    "predict automaton strings -o symbols",
    "learn tagger tags --method spectral -o tagger -q",
    "predict tagger words -o tagged",
    "learn treebank trees --method pcfg -o treebank -q",
    "predict treebank sentences -o parses",
)
WRITTEN = {"tagged": "the D\ndog N\n\na D\ncat N\n", "parses": "(S (NP (D the) (N dog)) (VP (V barks)))"}
IMPORTS = "import sigmastar; [getattr(sigmastar, name) for name in sigmastar.__all__]"
TESTS = (
    "alphabet",
    "atomic",
    "em",
    "held_out",
    "integer_counts",
    "kernel_parts",
    "model_reading",
    "text_files",
)

FOR_TESTS = ("pytest", "hypothesis", "cryptography", "safetensors")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--python", nargs="+", default=[sys.executable], help="Pythons to install into.")
    parser.add_argument("--oldest", action="store_true", help="Oldest allowed versions of dependencies.")
    settings = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        wheels = [built(Path(name) / number) for number in ("first", "second")]
        digests = {hashlib.sha256(wheel.read_bytes()).hexdigest() for wheel in wheels}
        if len(digests) != 1:
            sys.exit("two builds of the wheel differ")
        print(f"{wheels[0].name} {digests.pop()}", flush=True)
        for number, python in enumerate(settings.python):
            tried(wheels[0], python, Path(name) / str(number), settings.oldest)


def built(folder: Path) -> Path:
    environment = {**os.environ, "SOURCE_DATE_EPOCH": MOMENT}
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "-w", str(folder), str(ROOT)], check=True, env=environment)
    return next(folder.glob("*.whl"))


def tried(wheel: Path, python: str, folder: Path, oldest: bool) -> None:
    """Import, learn and answer with what is installed alone, with warnings as errors; then some tests."""
    folder.mkdir()
    for name, content in DATA.items():
        (folder / name).write_text(content)
    inside = installed(wheel, python, folder, oldest)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment["PYTHONWARNINGS"] = "error"
    calls = [[inside, "-c", IMPORTS]]
    calls += [[str(Path(inside).with_name("sigmastar")), *words.split()] for words in CALLS]
    files = [str(ROOT / "tests" / "core" / f"test_{name}.py") for name in TESTS]
    calls += [[inside, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--rootdir={ROOT}", *files]]
    for words in calls:
        done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{python}: {' '.join(words)}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    for name, right in WRITTEN.items():
        if not (folder / name).read_text().startswith(right):
            sys.exit(f"{python}: {name} does not begin with {right!r}")
    passed = done.stdout.strip().splitlines()[-1]
    print(f"{python}: {', '.join(versions(inside))}: the wheel works; {passed}", flush=True)


def installed(wheel: Path, python: str, folder: Path, oldest: bool) -> str:
    """The Python of a new environment that holds the wheel, and what its tests need."""
    subprocess.run([python, "-m", "venv", str(folder / "clean")], check=True)
    inside = str(folder / "clean" / "bin" / "python")
    pinned = (ROOT / "requirements.txt").read_text().splitlines()
    if oldest:
        floors = dict(least_versions())
        pinned = [line for line in pinned if line.split("==")[0].lower() not in {*floors, "llvmlite"}]
        pinned += [f"{name}=={version}" for name, version in floors.items()]
    (folder / "constraints").write_text("\n".join(pinned) + "\n")
    pip = [inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "-c", str(folder / "constraints"), str(wheel), *FOR_TESTS], check=True)
    return inside


def least_versions() -> Iterator[tuple[str, str]]:
    """The dependencies, each with the oldest version that is allowed."""
    with open(ROOT / "pyproject.toml", "rb") as stream:
        project = tomllib.load(stream)["project"]
    for line in project["dependencies"]:
        found = re.fullmatch(r"([\w-]+)>=([\d.]+)", line)
        if found is None:
            sys.exit(f"{line!r} does not name the oldest version")
        yield found[1], found[2]


def versions(python: str) -> list[str]:
    code = "import sys, numpy, scipy, numba; print('Python', sys.version.split()[0]); "
    code += "[print(m.__name__, m.__version__) for m in (numpy, scipy, numba)]"
    return subprocess.run(
        [python, "-c", code], check=True, capture_output=True, text=True
    ).stdout.splitlines()


if __name__ == "__main__":
    main()
