"""Every guide is run: its Python in one namespace, its commands, in the order of the page.

A `text` block after a Python block is what that block prints; lines after a command are what it says.
Both may leave things out with `...`. Whole numbers must be the same; decimal fractions nearly so, since
linear algebra rounds differently from machine to machine.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from sigmastar.cli.group import command

GUIDES = sorted((Path(__file__).parents[2] / "docs" / "guides").glob("*.md"))
FRACTION = r"-?\d+\.\d+"
FENCE = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A fenced block, and the line of the page where its content begins."""

    language: str
    content: str
    line: int


def blocks(page: str) -> list[Block]:
    return [Block(m[1], m[2], page.count("\n", 0, m.start(2)) + 1) for m in FENCE.finditer(page)]


def said(expected: str, found: str) -> bool:
    """Whether an output is the one that a page shows."""
    pieces = [_pattern(piece) for piece in re.split(r"(\.\.\.|-?\d+\.\d+|\s+)", expected.strip())]
    match = re.fullmatch("".join(pieces), found.strip(), re.DOTALL)
    shown = re.findall(FRACTION, expected)
    return match is not None and all(map(_near, map(float, shown), map(float, match.groups())))


def _pattern(piece: str) -> str:
    if re.fullmatch(FRACTION, piece):
        return f"({FRACTION})"
    return ".*?" if piece == "..." else r"\s+" if piece.isspace() else re.escape(piece)


def _near(shown: float, found: float) -> bool:
    return abs(shown - found) <= max(0.05, 0.05 * abs(shown))


def run_python(block: Block, name: str, namespace: dict[str, object]) -> str:
    """What a block prints; a traceback points at the line of the page."""
    source = "\n" * (block.line - 1) + block.content
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(source, name, "exec"), namespace)
    return printed.getvalue()


def run_console(block: Block, name: str) -> None:
    for entry in re.split(r"^\$ ", block.content, flags=re.MULTILINE)[1:]:
        line, expected = entry.split("\n", 1)
        words = shlex.split(line)
        assert words[0] == "sigmastar", f"{name}: cannot run {line}"
        done = CliRunner().invoke(command, words[1:])
        assert done.exit_code == 0, f"{name}: {line}: {done.output}"
        lines = [line for line in done.output.splitlines() if not line.startswith("compiling kernels")]
        assert said(expected, "\n".join(lines)), f"{name}: {line} says\n{done.output}"


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_a_guide_runs_and_says_what_it_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if page.stem == "gpu":
        pytest.importorskip("torch", reason="PyTorch is not installed: make test-torch installs it")
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": page.stem}
    printed = ""
    for block in blocks(page.read_text(encoding="utf-8")):
        name = f"{page.name}:{block.line}"
        if block.language == "python":
            printed = run_python(block, page.name, namespace)
        elif block.language == "console":
            run_console(block, name)
        elif block.language == "text":
            assert said(block.content, printed), f"{name}: printed\n{printed}"


def test_there_are_guides_with_code() -> None:
    assert any(block.language == "python" for page in GUIDES for block in blocks(page.read_text("utf-8")))


def test_what_a_guide_shows_must_be_what_is_said() -> None:
    assert said("a ... c\n", "a b c\n")
    assert not said("a ... c\n", "a b d\n")
    assert said("loss -9.33 of 2000", "loss   -9.31 of 2000\n")
    assert not said("loss -9.33 of 2000", "loss -9.33 of 2001")
    assert not said("loss -9.33 of 2000", "loss -8.33 of 2000")
