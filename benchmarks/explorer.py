"""How long does the explorer's page take to answer a key, and how much of the processor, family by family?

The models that `sigmastar explore` begins with, in Chromium: the first field is emptied and typed again, key
by key, each after the answer to the one before. An answer is there when a frame with it was painted. Times on
the clock grow with what else the machine does; those of the processor, of the server and of all the
browser's processes, do so less.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import cache
from typing import Any

import numpy as np

from benchmarks.harness import Finding, Question, Row, Settings, Skip, Target
from benchmarks.serving import processor_seconds
from sigmastar.core.family import families

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ("--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu")
ROUNDS, ROUNDS_QUICK, LONGEST = 3, 1, 40  # of typing, and keys of each
PATIENCE = 600_000  # milliseconds for a model to be learned
KEYS = """() => {
  let typed = null, told = null;
  window.keys = [];
  window.nextKey = () => new Promise((resolve) => { told = resolve; });
  addEventListener("input", (event) => { typed = event.timeStamp; }, true);
  new MutationObserver(() => {
    if (typed === null || document.querySelector("#message .spin")) return;
    const began = typed;
    typed = null;
    const painted = () => { window.keys.push(performance.now() - began); if (told) told(); };
    requestAnimationFrame(() => setTimeout(painted));
  }).observe(document.querySelector("#message"), { childList: true, characterData: true, subtree: true });
}"""
TYPE = """async (key) => {
  const field = document.querySelector("#fields input"), answered = window.nextKey();
  field.focus();
  field.setSelectionRange(key === null ? 0 : field.value.length, field.value.length);
  document.execCommand(key === null ? "delete" : "insertText", false, key ?? "");
  await answered;
}"""
PAINTS = "performance.getEntriesByName('first-contentful-paint')"
FIRST_PAINT = f"{PAINTS}[0].startTime"
ANSWERED = (
    "!document.querySelector('#message .spin') && document.querySelectorAll('.card .view *').length > 0"
)


def units(settings: Settings) -> list[str]:
    every = [f"{family.name}: {title}" for family in families().values() for title in family.examples]
    return every[:1] if settings.quick else every


def measure(unit: str, settings: Settings) -> Iterator[Row]:
    number = units(Settings()).index(unit)
    rounds = ROUNDS_QUICK if settings.quick else ROUNDS
    address, browser = _running()
    with closing(browser.new_page(viewport={"width": 1280, "height": 800})) as page:
        page.goto(f"{address}#m={number}")
        _until(page, ANSWERED)
        page.reload()  # first paints of a model that was learned before
        _until(page, f"{PAINTS}.length && {ANSWERED}")  # an answer may be there before the first frame
        paint = float(page.evaluate(FIRST_PAINT))
        page.evaluate(KEYS)
        text = page.locator("#fields input").first.input_value()[:LONGEST]
        _typed(page, text)  # what is compiled, and what a browser keeps, is not measured
        page.evaluate("window.keys.length = 0")
        before = processor_seconds(address), _browser_seconds(browser)
        for _ in range(rounds):
            _typed(page, text)
        after = processor_seconds(address), _browser_seconds(browser)
        times = np.array(page.evaluate("window.keys"))
    server, shown = (1000 * (end - begin) / len(times) for begin, end in zip(before, after, strict=True))
    yield {
        "first_paint_ms": paint,
        "keys": len(times),
        "median_ms": float(np.median(times)),
        "p95_ms": float(np.quantile(times, 0.95)),
        "server_ms": server,
        "browser_ms": shown,
        "load": os.getloadavg()[0],
    }


def _typed(page: Any, text: str) -> None:
    """A text, key by key into an empty field; each key waits for the answer to the one before."""
    for key in (None, *text):
        page.evaluate(TYPE, key)


def _until(page: Any, expression: str) -> None:
    """The page's own policy forbids the usual way of waiting for an expression."""
    for _ in range(PATIENCE // 10):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(10)
    raise TimeoutError(expression)


@cache
def _running() -> tuple[str, Any]:
    """One server and one browser for all units: to start them takes longer than to ask them."""
    held = ExitStack()
    atexit.register(held.close)
    return held.enter_context(_server()), held.enter_context(_browser())


@contextmanager
def _server() -> Iterator[str]:
    words = [sys.executable, "-m", "sigmastar", "explore", "--no-browser", "--quiet"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


@contextmanager
def _browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    place = next(filter(None, map(shutil.which, BROWSERS)), None)
    if place is None:
        raise Skip("Chromium is not installed")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=place, args=list(FLAGS))
        yield browser
        browser.close()


def _browser_seconds(browser: Any) -> float:
    """What all processes of the browser have taken of the processor."""
    session = browser.new_browser_cdp_session()
    found = session.send("SystemInfo.getProcessInfo")["processInfo"]
    session.detach()
    return sum(float(process["cpuTime"]) for process in found)


def conclude(rows: list[Row]) -> list[Finding]:
    if not rows:
        return []
    worst = {
        name: max(float(row[name]) for row in rows) for name in ("first_paint_ms", "median_ms", "p95_ms")
    }
    spent = max(row["server_ms"] + row["browser_ms"] for row in rows)
    return [
        Finding("first paint, milliseconds, the slowest family", worst["first_paint_ms"], Target("<", 1000)),
        Finding(
            "answer to a key, median in milliseconds, the slowest family",
            worst["median_ms"],
            Target("<", 100),
        ),
        Finding(
            "answer to a key, 95% within milliseconds, the slowest family", worst["p95_ms"], Target("<", 100)
        ),
        Finding(
            "processor, server and browser, milliseconds per key, the slowest family", spent, Target("<", 50)
        ),
    ]


QUESTION = Question(
    name="explorer",
    title="The explorer: time from a key to its answer on the page",
    units=units,
    measure=measure,
    conclude=conclude,
    columns=("first_paint_ms", "keys", "median_ms", "p95_ms", "server_ms", "browser_ms", "load"),
    modules=("starlette", "uvicorn", "playwright"),
)
