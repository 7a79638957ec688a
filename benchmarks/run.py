"""Ask one question: measure what is not yet known, write it down, show it."""

from __future__ import annotations

import os
import time
from pathlib import Path

from rich.console import Console

from benchmarks.harness import Question, Row, Settings, measured, say
from benchmarks.record import HERE, Ledger, file_hashes, load, result, signature, write_result
from benchmarks.tables import print_findings, print_rows

RESULTS, WORK = HERE / "results", HERE / "output"


def ask(
    question: Question,
    settings: Settings,
    console: Console,
    resume: bool = False,
    results: Path = RESULTS,
    work: Path = WORK,
) -> bool:
    """Measure, record, show. False if a unit failed; `Skip` where the question cannot be asked here."""
    question.require_modules()
    units = question.asked_units(settings)
    ledger = Ledger(work / f"{question.name}.jsonl", signature(question, settings), resume)
    open_units = [unit for unit in units if unit not in ledger.done]
    _warn_of_neighbours()
    failures: list[str] = []
    try:
        if open_units:
            say(f"{question.name}: warming up")
            question.prepare(settings)
        for unit in open_units:
            _measure(question, unit, settings, ledger, failures)
    finally:  # also after an interrupt: what is finished is shown and kept
        whole = not failures and is_whole(question, settings, ledger)
        folder = results if whole else work
        _show(question, settings, ledger, console, folder / f"{question.name}.json")
    return not failures


def _warn_of_neighbours() -> None:
    cores = os.cpu_count() or 1
    if load() > cores:
        say(f"the load is {load():.1f} on {cores} cores: times on the clock will be too long, and uneven")


def is_whole(question: Question, settings: Settings, ledger: Ledger) -> bool:
    """Whether the ledger answers the question with its default choices."""
    if settings.quick or settings.methods:
        return False
    every = question.units(Settings(seed=settings.seed, data=settings.data))
    return set(every) <= set(ledger.done)


def _measure(question: Question, unit: str, settings: Settings, ledger: Ledger, failures: list[str]) -> None:
    began, rows = time.monotonic(), list[Row]()
    try:
        for row in measured(question, unit, settings):
            ledger.add(row)
            rows.append(row)
        ledger.finish(unit, rows, file_hashes(question.files(unit, settings), settings.data))
    except Exception as error:  # one problem that fails must not cost the others
        failures.append(unit)
        say(f"{question.name} {unit}: {type(error).__name__}: {error}")
        return
    say(f"{question.name} {unit}: done in {time.monotonic() - began:.1f} s")


def _show(question: Question, settings: Settings, ledger: Ledger, console: Console, path: Path) -> None:
    if not ledger.rows:
        return
    findings = question.conclude(ledger.rows)
    print_rows(console, question, ledger.rows)
    print_findings(console, findings)
    write_result(path, result(question, settings, ledger, findings))
    say(f"{question.name}: written to {path}")
