"""Data flows one way: a layer imports only from the layers before it, wherever the import stands."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "sigmastar"

GROUND = ("atomic", "errors", "jit", "parallel")
LAYERS = (
    "structures",
    "inference",
    "statistics",
    "factorization",
    "operators",
    "data",
    "learning",
    "theory",
    "estimators",
    "evaluation",
    "plots",
    "report",
    "reproduce",
    "cli",
)
# The package itself may be asked for these only: another name of it would hide the layer it comes from.
OF_THE_PACKAGE = ("__version__",)
DOORS = ("sigmastar", "sigmastar.__main__")  # stand before the layers, not among them


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
    here = _stage(module)
    if here not in GROUND and here not in LAYERS:
        return [f"{module}: {here!r} is neither a layer nor a ground module"]
    imports = imported_modules(source, module, is_package)
    return [f"{module} imports {name}" for name in imports if _is_ours(name) and not _allowed(here, name)]


def _is_ours(name: str) -> bool:
    return name.split(".")[0] == "sigmastar"


def _stage(module: str) -> str:
    return [*module.split("."), ""][1]


def _allowed(here: str, name: str) -> bool:
    there = _stage(name)
    if there in GROUND or there in OF_THE_PACKAGE:
        return True
    return here in LAYERS and there in LAYERS and LAYERS.index(there) <= LAYERS.index(here)


def modules() -> list[tuple[str, Path]]:
    names = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        names.append((".".join(parts[:-1] if parts[-1] == "__init__" else parts), path))
    return names


def test_every_import_points_to_an_earlier_layer() -> None:
    found = [
        problem
        for module, path in modules()
        if module not in DOORS
        for problem in problems(path.read_text(), module, path.name == "__init__.py")
    ]
    assert not found, "\n".join(found)


def test_the_package_itself_imports_no_layer() -> None:
    imports = imported_modules((PACKAGE / "__init__.py").read_text(), "sigmastar", is_package=True)
    assert not [name for name in imports if _is_ours(name)]


def test_every_folder_is_a_layer() -> None:
    folders = {p.name for p in PACKAGE.iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert folders <= set(LAYERS)


@pytest.mark.parametrize(
    "source",
    [
        "from sigmastar.operators.model import OperatorModel",
        "import sigmastar.operators",
        "from sigmastar import operators",
        "from ..operators import model",
        "from .. import operators",
        "def late():\n    from sigmastar.learning import spectral",
        "if TYPE_CHECKING:\n    from sigmastar.cli import main",
        "import_module('sigmastar.data.files')",
        "importlib.import_module('sigmastar.data.files')",
        "from sigmastar import SpectralAutomaton",
        "import sigmastar",
        "from sigmastar.unheard import of",
    ],
)
def test_a_backward_edge_is_caught(source: str) -> None:
    assert problems(source, "sigmastar.statistics.blocks")


@pytest.mark.parametrize(
    "source",
    [
        "from sigmastar.structures.alphabet import Alphabet",
        "from sigmastar.statistics.contexts import Contexts",
        "from . import contexts",
        "from ..structures import alphabet",
        "from sigmastar.errors import InputError",
        "from sigmastar import __version__",
        "import numpy as np\nfrom scipy import sparse",
    ],
)
def test_a_forward_edge_is_not(source: str) -> None:
    assert not problems(source, "sigmastar.statistics.blocks")


def test_relative_imports_of_a_package_start_at_the_package() -> None:
    assert list(imported_modules("from . import a", "sigmastar.data", is_package=True)) == [
        "sigmastar.data.a"
    ]


def test_ground_stands_on_ground_alone() -> None:
    assert not problems("from sigmastar.errors import InputError", "sigmastar.atomic")
    assert problems("from sigmastar.structures.alphabet import Alphabet", "sigmastar.parallel")


def test_an_unknown_module_is_caught() -> None:
    assert problems("", "sigmastar.helpers.things")
    assert problems("", "sigmastar.utils")


def test_the_documentation_lists_the_same_layers() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    assert tuple(re.findall(r"^\d+\. `(\w+)`", text, flags=re.MULTILINE)) == LAYERS
    assert tuple(re.findall(r"^- `(\w+)`", text.partition("## The ground")[2], flags=re.MULTILINE)) == GROUND


def test_the_api_pages_cover_every_layer_that_exists() -> None:
    listed = re.findall(
        r"^   sigmastar\.(\w+)$", (ROOT / "docs" / "api" / "index.md").read_text(), flags=re.MULTILINE
    )
    existing = {path.relative_to(PACKAGE).parts[0].removesuffix(".py") for path in PACKAGE.rglob("[!_]*.py")}
    assert set(listed) >= existing
    assert [name for name in listed if name in LAYERS] == [n for n in LAYERS if n in listed]
