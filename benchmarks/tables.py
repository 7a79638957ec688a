"""Tables for readers: rows first, then findings with their targets."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.harness import Finding, Question, Row

_COLOURS = {"reached": "green", "not reached": "red"}


def print_rows(console: Console, question: Question, rows: list[Row]) -> None:
    table = Table(title=question.title, title_justify="left")
    for name in ("unit", *question.columns):
        table.add_column(name, justify="left" if name in ("unit", "method", "size", "setting") else "right")
    for row in rows:
        table.add_row(*(shown(row.get(name, "")) for name in ("unit", *question.columns)))
    console.print(table)


def print_findings(console: Console, findings: list[Finding]) -> None:
    table = Table("figure", "measured", "target", "", "note")
    for finding in findings:
        verdict = finding.verdict
        colour = _COLOURS.get(verdict, "default")
        target = str(finding.target) if finding.target else ""
        table.add_row(
            finding.label, shown(finding.value), target, f"[{colour}]{verdict}[/{colour}]", finding.note
        )
    console.print(table)


def shown(value: Any) -> str:
    """Numbers with as many digits as are of interest."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    if value != value or abs(value) in (float("inf"), 0.0):
        return f"{value:g}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}" if abs(value) < 1 else f"{value:.5g}"
