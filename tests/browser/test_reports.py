"""Pages of `demo` and `show --html` in Chromium: sorted, dark and light, on a phone, heard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sigmastar.core.page import Picture, Section, Table, Text, render

WIDE = '<svg xmlns="http://www.w3.org/2000/svg" width="700" height="80"><text x="5" y="40">a</text></svg>'


@pytest.fixture
def address(tmp_path: Path) -> str:
    table = Table(
        "Times", ("learner", "seconds"), [("auto", 12.5), ("fast", 0.5), ("em", None), ("b", "1,000")]
    )
    facts = Table("Facts", ("", ""), [("settings", "a long line " * 30), ("sha256", "0" * 64)])
    parts = [Text("Words."), table, facts, Picture(WIDE, "A letter: see how wide.", "a letter")]
    place = tmp_path / "report.html"
    sections = [Section("First", parts), Section("Second", [Text("x")])]
    place.write_text(render("Report", sections, {"Seed": "0", "Data (SHA-256)": "f" * 200}), encoding="utf-8")
    return place.as_uri()


@pytest.fixture(params=["light", "dark"])
def page(request: pytest.FixtureRequest, chromium: Any, address: str) -> Any:
    context = chromium.new_context(viewport={"width": 360, "height": 740}, color_scheme=request.param)
    problems: list[str] = []
    opened = context.new_page()
    opened.on("console", lambda told: problems.append(told.text) if told.type == "error" else None)
    opened.on("pageerror", lambda problem: problems.append(str(problem)))
    opened.goto(address)
    yield opened
    context.close()
    assert not problems


def learners(page: Any) -> list[str]:
    return [cell.inner_text() for cell in page.locator("table").first.locator("tbody th").all()]


def test_tables_are_sorted_by_a_click_and_a_third_brings_the_order_back(page: Any) -> None:
    seconds = page.get_by_role("button", name="seconds")
    seconds.click()
    assert learners(page) == ["fast", "auto", "b", "em"]
    seconds.click()
    assert page.locator('th[aria-sort="descending"]').count() == 1
    seconds.press("Enter")
    assert learners(page) == ["auto", "fast", "em", "b"]
    page.get_by_role("button", name="learner").click()
    assert learners(page) == ["auto", "b", "em", "fast"]


def test_the_reader_changes_between_light_and_dark(page: Any) -> None:
    colour = "getComputedStyle(document.documentElement).backgroundColor"
    before = page.evaluate(colour)
    page.locator(".top button").click()
    assert page.evaluate(colour) != before
    page.locator(".top button").click()
    assert page.evaluate(colour) == before


def test_a_phone_shows_all_of_it(page: Any) -> None:
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_it_can_be_heard(page: Any) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    found = axe.Axe().run(page).response["violations"]
    assert not [entry["id"] for entry in found]
