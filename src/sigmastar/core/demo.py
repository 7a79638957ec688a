"""What a family of models brings to the demo: rows for the table and a section for the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from sigmastar.core.page import Section, format_cell
from sigmastar.core.progress import Progress


@dataclass(frozen=True)
class DemoRow:
    """One learner of one family: how good, by named measures, and how long it took."""

    family: str
    learner: str
    measures: Mapping[str, float]
    seconds: float | None = None

    @property
    def quality(self) -> str:
        return ", ".join(f"{name} {_short(value)}" for name, value in self.measures.items())


def _short(value: float) -> str:
    return f"{value:.4f}" if abs(value) < 10 else format_cell(value)


@dataclass(frozen=True)
class DemoResult:
    """Everything that one family shows."""

    rows: tuple[DemoRow, ...]
    section: Section
    data_hash: str = field(default="")


class DemoFamily(Protocol):
    """A family of models that can show itself on data that it generates."""

    @property
    def name(self) -> str: ...

    def run(self, seed: int, progress: Progress) -> DemoResult: ...
