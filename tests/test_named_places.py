"""Docstrings and comments that name a module, or something in one, name what is there.

Names are read from the package on, or from a family on, as in `core.em`, `learn.arcs` and
`data.trie.PrefixTrie`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from test_house import ACROSS, FAMILIES, GROUND, PACKAGE, ROOMS, SHELL

TEXTS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
NO_PLACES = (
    "learn.COMMAND",
    "datasets.Dataset",
    "report.html",
)  # a table of settings, a class of others, a page


def named(source: str) -> Iterator[str]:
    """Dotted names in backquotes, of all docstrings and comments."""
    texts = [ast.get_docstring(node) or "" for node in ast.walk(ast.parse(source)) if isinstance(node, TEXTS)]
    texts += re.findall(r"#.*", source)
    yield from re.findall(r"`(?:sigmastar\.)?([a-z]\w*(?:\.\w+)+)`", "\n".join(texts))


@cache
def defined(path: Path) -> frozenset[str]:
    """What a module defines, methods and fields too; of a package what its stub exports."""
    if path.is_dir():
        path = path / ("__init__.pyi" if (path / "__init__.pyi").exists() else "__init__.py")
    found = set[str]()
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.FunctionDef() | ast.ClassDef() | ast.alias():
                found.add(node.name)
            case ast.Name(ctx=ast.Store()):
                found.add(node.id)
    return frozenset(found)


def leads_on(start: Path, name: str) -> bool:
    """Whether folders and modules below `start` lead to what is named."""
    here = start
    for step in name.split("."):
        if (here / step).is_dir():
            here /= step
        elif (here / f"{step}.py").exists():
            here = here / f"{step}.py"
        else:
            return here != start and step in defined(here)
    return True


def test_places_that_texts_name_are_there() -> None:
    starts = {*ROOMS, *GROUND, *FAMILIES, *ACROSS, *SHELL}
    lost = [
        f"{path.relative_to(PACKAGE)}: {name}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for name in named(path.read_text())
        if name.split(".")[0] in starts and name not in NO_PLACES
        if not any(leads_on(start, name) for start in path.parents if start.is_relative_to(PACKAGE))
    ]
    assert not lost, "\n".join(lost)


def test_a_place_that_is_gone_is_found() -> None:
    assert list(named('"""As `core.gone` and `sigmastar.core.em.climb` do."""\n')) == [
        "core.gone",
        "core.em.climb",
    ]
    assert not leads_on(PACKAGE, "core.gone")
    assert not leads_on(PACKAGE, "core.em.gone")
    assert leads_on(PACKAGE, "core.em.climb")
