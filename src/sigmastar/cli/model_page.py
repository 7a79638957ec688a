"""`sigmastar show MODEL --html`, where a family has no page of its own: the explorer's views, standing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sigmastar.core.exhibit import Exhibit, View
from sigmastar.core.family import families, load
from sigmastar.core.model_reading import kind_of, load_model, read_header
from sigmastar.core.page import Cell, Part, Section, Table, Text, render
from sigmastar.core.view_drawings import parts_of
from sigmastar.explorer.gallery import PLAIN

_LONG = 300  # characters of a setting


def page(path: str) -> str:
    """What a model is, how it was learned, what can be seen of it, and its answer to an example."""
    kind = kind_of(path)
    family = next(family for family in families().values() if kind in family.kinds)
    header = read_header(path)["learned"]
    learned: Mapping[str, Any] = header if isinstance(header, Mapping) else {}
    exhibit: Exhibit = load(family.explore or PLAIN)(load_model(path), learned)
    facts: list[tuple[Cell, Cell]] = [(name, _cell(value)) for name, value in exhibit.facts().items()]
    sections = [Section("The model", [Table("What it is", ("", ""), facts), *_learned(learned)])]
    if seen := _parts(exhibit.overview()):
        sections.append(Section("What can be seen of it", seen))
    if answers := _answers(exhibit):
        sections.append(Section("What it makes of an example", answers))
    title = f"{kind}: {Path(path).name}"
    return render(title, sections, _origin(path, learned), family.summary)


def _parts(views: list[View]) -> list[Part]:
    return [part for view in views for part in parts_of(view)]


def _answers(exhibit: Exhibit) -> list[Part]:
    """Views of what stands in the fields at first; nothing where there is no example."""
    inputs = {field.name: field.example for field in exhibit.fields}
    typed = {field.label: field.example for field in exhibit.fields if field.example.strip()}
    if not typed:
        return []
    said = Text("; ".join(f"{label}: {value}" for label, value in typed.items()))
    try:
        return [said, *_parts(exhibit.answer(inputs))]
    except ValueError as problem:
        return [said, Text(" ".join(str(problem).split()))]


def _learned(learned: Mapping[str, Any]) -> list[Part]:
    """Settings of the call that learned it."""
    settings = learned.get("settings")
    if not isinstance(settings, Mapping) or not settings:
        return []
    rows: list[tuple[Cell, Cell]] = [(str(name), _cell(value)) for name, value in settings.items()]
    return [Table("How it was learned", ("", ""), rows)]


def _cell(value: Any) -> Cell:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONG else f"{text[:_LONG]}.."


def _origin(path: str, learned: Mapping[str, Any]) -> dict[str, str]:
    data = learned.get("data")
    known = {
        "Model": path,
        "Data (SHA-256)": data.get("sha256") if isinstance(data, Mapping) else None,
        "Seed": learned.get("seed"),
        "Learned with": f"sigmastar {learned['sigmastar']}" if "sigmastar" in learned else None,
    }
    return {name: str(value) for name, value in known.items() if value is not None}
