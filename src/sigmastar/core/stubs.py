"""Public names for type checkers and editors: `python -m sigmastar.core.stubs` writes them.

Names are imported when they are asked for, which a type checker cannot follow. So beside the `__init__.py` of
the package and of each family lies a stub, made from the records; a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sigmastar import _COMMON
from sigmastar.core.family import families, public_names

PACKAGE = Path(__file__).parents[1]
_WIDTH = 110
_HEAD = "# Made by `python -m sigmastar.core.stubs` from the records of the families.\n"


def stub(names: Mapping[str, str]) -> str:
    """The content of a stub.

    Parameters
    ----------
    names : mapping
        Public names with their places, `module:name`.

    Returns
    -------
    str
        One import per name.
    """
    modules: dict[str, list[str]] = {}
    for name, place in sorted(names.items()):
        module, _, attribute = place.partition(":")
        modules.setdefault(module, []).append(f"{attribute} as {name}")
    return _HEAD + "".join(_import(module, parts) for module, parts in sorted(modules.items()))


def _import(module: str, parts: list[str]) -> str:
    line = f"from {module} import {', '.join(parts)}"
    if len(line) <= _WIDTH:
        return f"{line}\n"
    return f"from {module} import (\n" + "".join(f"    {part},\n" for part in parts) + ")\n"


def stubs() -> dict[Path, str]:
    """All stubs of the package, by their files."""
    runtime = "from sigmastar import runtime as runtime\n"
    whole = stub({**_COMMON, **public_names()}) + runtime + "\n__version__: str\n_COMMON: dict[str, str]\n"
    inside = {name: family for name, family in families().items() if (PACKAGE / name).is_dir()}
    return {
        PACKAGE / "__init__.pyi": whole,
        **{PACKAGE / name / "__init__.pyi": stub({**f.names, **f.public}) for name, f in inside.items()},
    }


if __name__ == "__main__":
    for path, content in stubs().items():
        path.write_text(content)
