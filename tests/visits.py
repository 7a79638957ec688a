"""The files of the package that a command runs through: `python visits.py learn automaton ..` prints them.

Functions that are compiled are run as Python where NUMBA_DISABLE_JIT is set, so that kernels count too.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from types import FrameType

visited: dict[str, None] = {}
importing = [0]  # modules that are being imported: what runs meanwhile defines things, and does no work


def note(frame: FrameType, event: str, argument: object) -> None:
    if frame.f_code.co_name == "<module>" and event in ("call", "return"):
        importing[0] += 1 if event == "call" else -1
    elif event == "call" and not importing[0]:
        visited.setdefault(frame.f_code.co_filename)


def main() -> None:
    import sigmastar
    from sigmastar.cli import command

    root = Path(sigmastar.__file__).parent
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        command(sys.argv[1:], prog_name="sigmastar")
    finally:
        sys.setprofile(None)
        inside = [Path(name) for name in visited if Path(name).is_relative_to(root)]
        sys.stderr.write("\n".join(str(path.relative_to(root)) for path in inside) + "\n")


if __name__ == "__main__":
    main()
