"""Calling the command line from tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from sigmastar.cli import command


def invoke(*words: str | Path, stdin: str | bytes | None = None, **environment: str) -> Result:
    return CliRunner().invoke(command, [str(word) for word in words], input=stdin, env=environment)


def succeed(*words: str | Path, stdin: str | bytes | None = None) -> str:
    """Run a command that must end well; what it printed."""
    result = invoke(*words, stdin=stdin)
    assert result.exit_code == 0, result.output
    return result.stdout


def figures(*words: str | Path) -> dict[str, Any]:
    """Run a command with --json; the object that it printed."""
    printed = json.loads(succeed(*words, "--json"))
    assert isinstance(printed, dict)
    return printed


def fail(*words: str | Path, status: int = 1, stdin: str | bytes | None = None) -> str:
    """Run a command that must fail; the one line that it prints, beside the notice of compilation."""
    result = invoke(*words, stdin=stdin)
    assert result.exit_code == status, result.output
    assert result.stdout == ""
    lines = [line for line in result.stderr.splitlines() if not line.startswith("compiling kernels")]
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("sigmastar: ")
    return lines[0].removeprefix("sigmastar: ")
