"""A screen per function: how many are longer, or take more than can be kept in mind."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "src" / "sigmastar"
LONG, MANY = 40, 8  # lines; parameters
MOST_LONG, MOST_WIDE, LONGEST_FILE = 15, 30, 450

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions() -> Iterator[tuple[str, Function]]:
    for path in sorted(SOURCES.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, Function):
                yield f"{path.relative_to(SOURCES)}:{node.lineno} {node.name}", node


def n_lines(function: Function) -> int:
    """Lines from `def` to the end, without the docstring."""
    assert function.end_lineno is not None
    first = function.body[0]
    is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    text = (first.end_lineno or 0) - first.lineno + 1 if is_text else 0
    return function.end_lineno - function.lineno + 1 - text


def n_parameters(function: Function) -> int:
    arguments = function.args
    names = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return len([argument for argument in names if argument.arg not in ("self", "cls")])


def test_few_functions_are_long() -> None:
    long = [name for name, function in functions() if n_lines(function) > LONG]
    assert len(long) <= MOST_LONG, "\n".join(long)


def test_few_functions_take_many_parameters() -> None:
    wide = [name for name, function in functions() if n_parameters(function) > MANY]
    assert len(wide) <= MOST_WIDE, "\n".join(wide)


def test_files_are_short() -> None:
    sizes = {
        str(path.relative_to(SOURCES)): len(path.read_text().splitlines()) for path in SOURCES.rglob("*.py")
    }
    assert not {name: size for name, size in sizes.items() if size > LONGEST_FILE}
