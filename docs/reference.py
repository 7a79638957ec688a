"""Pages of the API reference, made from the records of the families when the documentation is built."""

from __future__ import annotations

from pathlib import Path

import sigmastar
from sigmastar.core.family import Family, families, public_names

FOLDER = Path(__file__).parent / "api" / "generated"

CORE = {
    "The first idea: recover": ("alphabet", "factors", "recover", "rank"),
    "The second idea: states from two views": (
        *("views", "clusters", "shrinkage", "em", "race"),
        *("held_out", "mixture", "log_linear"),
    ),
    "What a family is": ("family", "laws", "estimator"),
    "What kernels and files stand on": (
        "arrays",
        "jit",
        "scaling",
        "resources",
        "engines",
        "atomic",
        "progress",
    ),
}


def write(app: object = None) -> None:
    """One page per family, one for names of no family, one for the core; a table of them all."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "table.txt").write_text(table())
    for family in families().values():
        (FOLDER / f"{family.name}.rst").write_text(_family_page(family))
    (FOLDER / "common.rst").write_text(_common_page())
    (FOLDER / "core.rst").write_text(_core_page())


def table() -> str:
    """What each page is about, in Markdown."""
    rows = ["| page | what it has | estimators |", "| --- | --- | --- |"]
    for family in families().values():
        estimators = ", ".join(f"`{name}`" for name in dict(family.estimators))
        page = f"{{doc}}`sigmastar.{family.name} <generated/{family.name}>`"
        rows.append(f"| {page} | {family.summary} | {estimators} |")
    of_all = "Loading and saving, errors, alphabets, corpora on disk, drawing; the small runtime."
    return "\n".join(
        [
            *rows,
            f"| {{doc}}`names of no family <generated/common>` | {of_all} | |",
            "| {doc}`sigmastar.core <generated/core>` | What families are built on; for contributors. | |",
            "",
        ]
    )


def _family_page(family: Family) -> str:
    package = f"sigmastar.{family.name}"
    kinds = ", ".join(f"``{kind}``" for kind in family.kinds)
    lines = [*_title(package), family.summary, ""]
    if kinds:
        lines += [f"Kinds of model files: {kinds}.", ""]
    lines += _names("Estimators", family.estimators)
    lines += _names("Exported from ``sigmastar`` too", family.exports)
    lines += _names("Names of the package", family.names)
    return "\n".join(lines)


def _common_page() -> str:
    runtime = [".. automodule:: sigmastar.runtime", "   :members:", ""]
    return "\n".join([*_title("Names of no family"), "", *_names("", sigmastar._COMMON), *runtime])


def _core_page() -> str:
    lines = [*_title("sigmastar.core"), "What families are built on; for contributors.", ""]
    public = sorted({*sigmastar._COMMON.values(), *public_names().values()})  # which other pages have
    for heading, modules in CORE.items():
        lines += [heading, "-" * len(heading), ""]
        for name in modules:
            lines += [f".. automodule:: sigmastar.core.{name}", "   :members:"]
            there = [place for place in public if place.startswith(f"sigmastar.core.{name}:")]
            elsewhere = ", ".join(place.partition(":")[2] for place in there)
            lines += [f"   :exclude-members: {elsewhere}", ""] if elsewhere else [""]
    return "\n".join(lines)


def _title(text: str) -> list[str]:
    return [text, "=" * len(text), ""]


def _names(heading: str, places: object) -> list[str]:
    if not places:
        return []
    lines = [heading, "-" * len(heading), ""] if heading else []
    for _, place in sorted(dict(places).items()):  # type: ignore[call-overload]
        module, _, attribute = place.partition(":")
        lines += [
            f".. autodata:: {module}.{attribute}" if _is_data(place) else _directive(place, module, attribute)
        ]
        lines += ["   :members:", "   :inherited-members: object", ""] if _is_class(place) else [""]
    return lines


def _directive(place: str, module: str, attribute: str) -> str:
    return f".. {'autoclass' if _is_class(place) else 'autofunction'}:: {module}.{attribute}"


def _is_class(place: str) -> bool:
    return isinstance(_load(place), type)


def _is_data(place: str) -> bool:
    return not callable(_load(place))


def _load(place: str) -> object:
    from sigmastar.core.family import load

    return load(place)
