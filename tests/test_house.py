"""The house: core and optimise know no family, a room imports the rooms before it, the shell comes last."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "sigmastar"

GROUND = ("core", "optimise", "corpus")
SHELL = ("runtime", "report", "reproduce", "explorer", "cli")
FAMILIES = {
    "automata": (),
    "regression": ("automata",),
    "transducers": ("automata",),
    "trees": ("automata",),
    "treebanks": ("trees",),
    "dependency": ("automata",),
    "taggers": ("automata", "dependency"),
    "pcfg": ("automata", "trees"),
    "grammars": ("automata", "pcfg", "trees"),
    "bilexical": ("dependency",),
    "continuous": (),
    "words": ("automata",),
}
"""Each family, and the families that it stands on."""
ACROSS = {
    "control": ("automata",),
    "distil": ("automata", "regression"),
    "datasets": ("automata", "dependency", "taggers", "trees", "transducers", "bilexical"),
}
"""What works across families: folders with a record and without rooms, and what each of them stands on."""
ROOMS = (
    "data",
    "kernels",
    "gpu",
    "counts",
    "model",
    "metrics",
    "learn",
    "theory",
    "estimator",
    "draw",
    "explore",
    "demo",
    "laws",
    "cli",
)
CLOSED = ("demo", "laws", "cli")  # rooms that nothing outside their family imports
NO_ROOMS = ("__pycache__", "py.typed", "__init__.pyi", "sigmastar.mjs")
OF_THE_PACKAGE = ("__version__", "_COMMON")


def imported_modules(source: str, module: str, is_package: bool) -> Iterator[str]:
    """Every dotted name that a file imports: at its top, in functions, for type checkers, by a string."""
    package = module if is_package else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, package)
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and _called(node) in ("import_module", "__import__"):
            yield from (
                a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)
            )


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    return ".".join([*parts[: len(parts) - node.level + 1], *([node.module] if node.module else [])])


def _called(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def problems(source: str, module: str, is_package: bool = False) -> list[str]:
    """What is wrong with the imports of a module of sigmastar."""
    names = [n for n in imported_modules(source, module, is_package) if n.split(".")[0] == "sigmastar"]
    return [f"{module} imports {name}" for name in names if not allowed(module, name)]


def allowed(module: str, name: str) -> bool:
    (_, here, room, *_), (_, there, other, *_) = (
        [*dotted.split("."), "", "", ""] for dotted in (module, name)
    )
    if there in OF_THE_PACKAGE:
        return True
    if here in GROUND:
        return there in GROUND[: GROUND.index(here) + 1]
    if here in FAMILIES:
        return there in GROUND or _allowed_in_family(here, room, there, other)
    if here in ACROSS:
        return there in GROUND or _allowed_across(here, room, there, other)
    if here == "reproduce":
        below = there in FAMILIES or there in ACROSS
        return there in (*GROUND, "reproduce", "report") or (below and other not in CLOSED)
    return here in SHELL and there in (*GROUND, *SHELL[: SHELL.index(here) + 1])


def _allowed_in_family(here: str, room: str, there: str, other: str) -> bool:
    if room in ("", "family"):
        return False
    if there == here:
        return room in ROOMS and other in ROOMS and ROOMS.index(other) <= ROOMS.index(room)
    return there in FAMILIES[here] and other not in CLOSED


def _allowed_across(here: str, room: str, there: str, other: str) -> bool:
    if room in ("", "family"):
        return False
    if there == here:
        return other not in CLOSED or room == other
    return there in ACROSS[here] and other not in CLOSED


def modules() -> list[tuple[str, Path]]:
    names = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        names.append((".".join(parts[:-1] if parts[-1] == "__init__" else parts), path))
    return names


DOORS = ("sigmastar", "sigmastar.__main__")


def test_every_import_points_to_an_earlier_room() -> None:
    found = [
        problem
        for module, path in modules()
        if module not in DOORS
        for problem in problems(path.read_text(), module, path.name == "__init__.py")
    ]
    assert not found, "\n".join(found)


def private_imports(source: str) -> list[str]:
    """Names with an underscore that a module takes from another one of the package."""
    return [
        f"{node.module}.{alias.name}"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").startswith("sigmastar"))
        for alias in node.names
        if alias.name.startswith("_") and not alias.name.startswith("__")
    ]


def test_what_is_private_stays_in_its_module() -> None:
    assert private_imports("from sigmastar.core.x import _y") == ["sigmastar.core.x._y"]
    found = {module: private_imports(path.read_text()) for module, path in modules()}
    del found["sigmastar.core.stubs"]  # it writes down what the package itself exports
    assert not {module: names for module, names in found.items() if names}


def test_the_table_of_families_has_no_cycle() -> None:
    order = list(FAMILIES)
    for family, below in FAMILIES.items():
        assert all(order.index(name) < order.index(family) for name in below)


def test_every_entry_is_a_family_the_ground_or_the_shell() -> None:
    names = {p.name.removesuffix(".py") for p in PACKAGE.iterdir() if p.name not in NO_ROOMS}
    assert names == {"__init__", "__main__", *GROUND, *FAMILIES, *ACROSS, *SHELL}


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_has_rooms_and_a_record_alone(family: str) -> None:
    names = {p.name.removesuffix(".py") for p in (PACKAGE / family).iterdir() if p.name not in NO_ROOMS}
    assert names <= {"__init__", "family", *ROOMS}


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("sigmastar.core.em", "sigmastar.automata.learn.em"),
        ("sigmastar.core.em", "sigmastar.optimise.solvers"),
        ("sigmastar.optimise.solvers", "sigmastar.trees.model"),
        ("sigmastar.automata.data.strings", "sigmastar.automata.model.automaton"),
        ("sigmastar.automata.learn.fast", "sigmastar.automata.cli.learn"),
        ("sigmastar.automata.learn.fast", "sigmastar.transducers.model.aligner"),
        ("sigmastar.transducers.learn.fast", "sigmastar.automata.demo"),
        ("sigmastar.automata.family", "sigmastar.automata.model.automaton"),
        ("sigmastar.cli.learn", "sigmastar.automata.estimator"),
        ("sigmastar.report", "sigmastar.cli.group"),
        ("sigmastar.automata.learn.fast", "sigmastar.cli.group"),
        ("sigmastar.automata.helpers", "sigmastar.automata.data.strings"),
        ("sigmastar.core.em", "sigmastar.SpectralAutomaton"),
        ("sigmastar.automata.learn.fast", "sigmastar.distil.black_box"),
        ("sigmastar.distil.black_box", "sigmastar.automata.cli.learn"),
        ("sigmastar.distil.black_box", "sigmastar.distil.cli"),
    ],
)
def test_a_backward_edge_is_caught(module: str, name: str) -> None:
    assert not allowed(module, name)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("sigmastar.core.em", "sigmastar.core.jit"),
        ("sigmastar.optimise.solvers", "sigmastar.core.errors"),
        ("sigmastar.automata.learn.fast", "sigmastar.automata.model.restart_filter"),
        ("sigmastar.automata.learn.fast", "sigmastar.automata.learn.held_out"),
        ("sigmastar.transducers.learn.fast", "sigmastar.automata.learn.fast"),
        ("sigmastar.automata.family", "sigmastar.core.family.Family"),
        ("sigmastar.reproduce.luque2012", "sigmastar.dependency.learn.em"),
        ("sigmastar.cli.learn", "sigmastar.core.family"),
        ("sigmastar.distil.black_box", "sigmastar.automata.model.sequence"),
        ("sigmastar.core.provenance", "sigmastar.__version__"),
    ],
)
def test_a_forward_edge_is_not(module: str, name: str) -> None:
    assert allowed(module, name)


def test_the_architecture_page_tells_the_same_house() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    rooms = re.findall(
        r"^\d+\. `(\w+)`", text.partition("## The rooms")[2].partition("\n## ")[0], re.MULTILINE
    )
    assert tuple(rooms) == ROOMS
    table = dict(re.findall(r"^\| `(\w+)` \| ([^|]*) \|", text.partition("## Which family")[2], re.MULTILINE))
    told = {name: tuple(re.findall(r"`(\w+)`", below)) for name, below in table.items()}
    assert told == FAMILIES
