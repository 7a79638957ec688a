"""What `Troubleshooting` quotes is what the program says."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "troubleshooting.md").read_text()
QUOTED = [
    message
    for line in PAGE.splitlines()
    if line.startswith("| `")
    for message in re.findall(r"`([^`]+)`", line.split("|")[1])
]


@cache
def texts() -> str:
    """All string literals of the package, those of one message joined."""
    found = []
    for path in sorted((ROOT / "src" / "sigmastar").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.JoinedStr):
                found.append(
                    "".join(str(p.value) if isinstance(p, ast.Constant) else "\0" for p in node.values)
                )
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
    return "\n".join(found)


@pytest.mark.parametrize("message", QUOTED)
def test_a_quoted_message_exists(message: str) -> None:
    pieces = [re.escape(piece) for piece in re.split(r"\.\.|'x'", message) if piece.strip()]
    assert re.search(r"[^\n]*?".join(pieces), texts()), message


def test_messages_are_quoted() -> None:
    assert len(QUOTED) > 10
