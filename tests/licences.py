"""Licences of what the package needs, and known weaknesses of pinned versions where pip-audit is installed.

python tests/licences.py
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution, requires
from pathlib import Path

ROOT = Path(__file__).parents[1]
FREE = re.compile(r"BSD|MIT|Apache|PSF|Python|ISC|MPL|Zlib|NCSA|LLVM", re.IGNORECASE)


def main() -> None:
    licences = {name: licence_of(name) for name in needed()}
    print("\n".join(f"{name:<16}{licence}" for name, licence in licences.items()))
    unclear = [name for name, licence in licences.items() if not FREE.search(licence)]
    if unclear:
        sys.exit(f"licences to be looked at: {', '.join(unclear)}")
    audit()


def needed() -> list[str]:
    """Packages that users of the package install, with all that they need."""
    found: dict[str, None] = {}
    waiting = ["sigmastar"]
    while waiting:
        for line in requires(waiting.pop()) or []:
            name = re.split(r"[^\w.-]", line, maxsplit=1)[0].lower()
            if "extra ==" not in line and name not in found and is_installed(name):
                found[name] = None
                waiting.append(name)
    return sorted(found)


def is_installed(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True


def licence_of(name: str) -> str:
    data = distribution(name).metadata
    classifiers = [
        c.rpartition(" :: ")[2] for c in data.get_all("Classifier") or [] if c.startswith("License")
    ]
    stated = data.get("License-Expression") or "; ".join(classifiers) or data.get("License") or "unknown"
    return stated.splitlines()[0][:70]


def audit() -> None:
    tool = shutil.which("pip-audit", path=str(Path(sys.executable).parent))
    if tool is None:
        print("pip-audit is not installed: known weaknesses are not looked up")
        return
    words = [tool, "--no-deps", "--disable-pip", "--format", "json", "-r", str(ROOT / "requirements.txt")]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True)
    found, sentence = weaknesses(done.stdout)
    print(sentence)
    if found:
        sys.exit(f"known weaknesses: {', '.join(found)}")


def weaknesses(printed: str) -> tuple[list[str], str]:
    """Known weaknesses in what pip-audit prints as JSON, and a sentence on how much it looked up."""
    try:
        packages = json.loads(printed)["dependencies"]
    except (ValueError, KeyError):
        return [], "pip-audit could not reach its index: known weaknesses are not looked up"
    known = [package for package in packages if "skip_reason" not in package]
    found = [f"{p['name']} {p['version']} {weak['id']}" for p in known for weak in p["vulns"]]
    return (
        found,
        f"pip-audit looked up {len(known)} of {len(packages)} packages: {len(found)} known weaknesses",
    )


if __name__ == "__main__":
    main()
