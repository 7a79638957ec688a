"""Every family's page in Chromium: typed, clicked, dragged, resized, dark and light, read and heard."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from explorer.serving import Client, Echo, echo_gallery, serving
from sigmastar.automata.data.formats import write_lines
from sigmastar.automata.model.generators import make_hmm
from sigmastar.core.exhibit import Judged, Row, View, bars, table
from sigmastar.core.family import families
from sigmastar.core.model_format import save_model
from sigmastar.core.progress import Measure, Phase, Point, Saved
from sigmastar.explorer.gallery import Gallery, Shown
from sigmastar.explorer.learning import Board

PATIENCE = 600_000  # milliseconds: the first page learns a model, and compiles kernels
SIZES = {"phone": (360, 740), "desk": (1280, 800), "wall": (3840, 2160)}
EXAMPLES = [
    (number, f"{name}: {title}")
    for number, (name, title) in enumerate(
        (family.name, title) for family in families().values() for title in family.examples
    )
]


class Page:
    """A page, with what went wrong on it."""

    def __init__(self, browser: Any, address: str, **context: Any) -> None:
        self.context = browser.new_context(**context)
        self.page = self.context.new_page()
        self.problems: list[str] = []
        self.page.on(
            "console", lambda told: self.problems.append(told.text) if told.type == "error" else None
        )
        self.page.on("pageerror", lambda problem: self.problems.append(str(problem)))
        self.page.on("request", self._watch)
        self.address = address

    def _watch(self, request: Any) -> None:
        if not request.url.startswith((self.address.split("#")[0], "data:", "blob:")):
            self.problems.append(f"asked for {request.url}")

    def __enter__(self) -> Any:
        self.page.goto(self.address)
        self.page.wait_for_selector(".card", timeout=PATIENCE)
        return self.page

    def __exit__(self, *_: object) -> None:
        self.context.close()
        assert not self.problems, self.problems


def until(page: Any, expression: str, seconds: float = 60.0) -> None:
    """Wait for an expression; the page's own policy forbids playwright's way of waiting."""
    end = time.monotonic() + seconds
    while not page.evaluate(expression):
        assert time.monotonic() < end, expression
        page.wait_for_timeout(50)


def violations(page: Any) -> list[str]:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    found = axe.Axe().run(page).response["violations"]
    return [f"{each['id']}: {[node['html'][:120] for node in each['nodes'][:3]]}" for each in found]


def overflows(page: Any) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth > innerWidth + 1"))


@pytest.mark.parametrize(("number", "name"), EXAMPLES, ids=[name for _, name in EXAMPLES])
def test_a_family_on_its_page(chromium: Any, examples: Client, number: int, name: str) -> None:
    with Page(chromium, f"{examples.address}#m={number}", viewport=_size("desk")) as page:
        assert page.locator(".card").count() >= 1
        assert "bad" not in (page.get_attribute("#message", "class") or "")
        field = page.locator("#fields input").first
        typed = field.input_value()
        field.fill("?? no such thing ??")
        until(page, "document.querySelector('#message.bad, #board .card') !== null")
        field.fill(typed)
        until(page, "document.querySelector('#message').textContent.startsWith('answered')")
        assert not violations(page)
        _resized(page)
        page.get_by_role("button", name="The model").click()
        until(page, "location.hash.includes('v=model')")
        page.wait_for_timeout(100)
        assert not violations(page)
        _resized(page)


def _resized(page: Any) -> None:
    """No size makes the page scroll sideways, and no card is wider than the page."""
    for name in ("phone", "wall", "desk"):
        page.set_viewport_size(_size(name))
        page.wait_for_timeout(150)
        widest = page.eval_on_selector_all(
            ".card", "c => Math.max(...c.map(e => e.getBoundingClientRect().right))"
        )
        assert widest <= SIZES[name][0], name
        assert not overflows(page), name


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_dark_and_light(chromium: Any, examples: Client, scheme: str) -> None:
    with Page(chromium, f"{examples.address}#m=0", viewport=_size("phone"), color_scheme=scheme) as page:
        paper = page.evaluate("getComputedStyle(document.body).color.match(/\\d+/g).map(Number)[0]")
        assert (paper > 128) == (scheme == "dark")
        page.locator("#theme").click()
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"
        assert not violations(page)


def test_typing_and_clicking_next_symbols(chromium: Any, examples: Client) -> None:
    with Page(chromium, f"{examples.address}#m=0&i.text=the ", viewport=_size("desk")) as page:
        until(page, "document.querySelector('#message').textContent.startsWith('answered')")
        first = page.locator(".bars button .name").first.inner_text()
        page.locator(".bars button").first.click()
        field = page.locator("#fields input").first
        assert field.input_value() == f"the {first} "
        until(page, "location.hash.includes('i.text')")
        assert field.evaluate("element => element === document.activeElement")
        page.keyboard.type("with a t")
        until(page, "[...document.querySelectorAll('.bars .name')].every(e => e.textContent.startsWith('t'))")
        page.reload()
        page.wait_for_selector(".card")
        assert page.locator("#fields input").first.input_value() == f"the {first} with a t"


def test_a_graph_is_moved_and_saved(chromium: Any, examples: Client, tmp_path: Path) -> None:
    with Page(chromium, f"{examples.address}#m=0&v=model", viewport=_size("desk")) as page:
        node = page.locator(".node").first
        before = node.get_attribute("transform")
        box = node.bounding_box()
        page.mouse.move(box["x"] + 15, box["y"] + 15)
        page.mouse.down()
        page.mouse.move(box["x"] + 95, box["y"] + 55, steps=4)
        page.mouse.up()
        assert node.get_attribute("transform") != before
        node.focus()
        moved = node.get_attribute("transform")
        page.keyboard.press("ArrowRight")
        assert node.get_attribute("transform") != moved
        layer = page.locator("svg.canvas > g").first
        page.get_by_role("button", name="Zoom in").first.click()
        assert "scale(1.4)" in (layer.get_attribute("transform") or "")
        for kind, start in (("SVG", b"<svg"), ("PNG", b"\x89PNG"), ("JSON", b"{")):
            with page.expect_download() as saved:
                page.get_by_role("button", name=f"Save The automaton as {kind}").click()
            saved.value.save_as(tmp_path / kind)
            assert (tmp_path / kind).read_bytes().startswith(start)
        assert json.loads((tmp_path / "JSON").read_text())["kind"] == "graph"
        assert "var(" not in (tmp_path / "SVG").read_text()


class Trees(Echo):
    """An exhibit with two trees side by side."""

    def answer(self, inputs: Any) -> list[View]:
        trees = [
            {"name": name, "tree": {"label": root, "children": [{"label": "dog"}]}}
            for name, root in (("in the data", "NP"), ("found", "VP"))
        ]
        return [View("tree", "Both", {"trees": trees, "together": True})]


def test_trees_side_by_side_are_saved_together(chromium: Any, tmp_path: Path) -> None:
    exhibit: Any = Trees()
    with (
        serving(Gallery((Shown(0, "trees", "toys", lambda: exhibit),))) as client,
        Page(chromium, client.address, viewport=_size("desk")) as page,
    ):
        with page.expect_download() as saved:
            page.get_by_role("button", name="Save Both as SVG").click()
        saved.value.save_as(tmp_path / "both.svg")
        drawn = (tmp_path / "both.svg").read_text()
        assert [drawn.count(f">{name}<") for name in ("in the data", "NP", "found", "VP", "dog")] == [
            *(1, 1, 1, 1, 2)
        ]
        assert "var(" not in drawn
        with page.expect_download() as saved:
            page.get_by_role("button", name="Save Both as PNG").click()
        saved.value.save_as(tmp_path / "both.png")
        assert (tmp_path / "both.png").read_bytes().startswith(b"\x89PNG")
        assert page.locator(".card svg[viewBox]").count() == 2  # what was made to be saved is gone


def test_labels_of_arrows_hide_neither_states_nor_each_other(chromium: Any, examples: Client) -> None:
    with Page(chromium, f"{examples.address}#m=0&v=model", viewport=_size("desk")) as page:
        until(page, "document.querySelectorAll('svg.canvas .node').length > 6")
        hidden = page.evaluate(
            """() => {
              const boxes = of => [...document.querySelectorAll(of)].map(e => e.getBoundingClientRect());
              const shown = boxes('svg.canvas text.halo').filter(b => b.width > 0);
              const nodes = boxes('.node circle.paper');
              const beside = (a, b) => a.right <= b.left + 2 || b.right <= a.left + 2;
              const above = (a, b) => a.bottom <= b.top + 4 || b.bottom <= a.top + 4;
              const over = (a, b) => !beside(a, b) && !above(a, b);
              const hidden = (a, i) => [...shown.slice(i + 1), ...nodes].filter(b => over(a, b));
              return [shown.length, shown.flatMap(hidden).length];
            }"""
        )
        assert hidden[0] >= 4
        assert hidden[1] == 0


@pytest.mark.parametrize("family", ["automata", "continuous", "dependency", "regression"])
def test_labels_of_arrows_stay_in_the_picture(chromium: Any, examples: Client, family: str) -> None:
    number = next(number for number, name in EXAMPLES if name.startswith(family))
    with Page(chromium, f"{examples.address}#m={number}&v=model", viewport=_size("phone")) as page:
        page.wait_for_selector("svg.canvas text.halo")
        cut = page.evaluate(
            """() => [...document.querySelectorAll('svg.canvas')].flatMap(svg => {
              const frame = svg.getBoundingClientRect();
              const isShown = e => e.getBoundingClientRect().width > 0;
              const shown = [...svg.querySelectorAll('text.halo')].filter(isShown);
              const isCut = box => box.left < frame.left - 1 || box.right > frame.right + 1;
              return shown.filter(e => isCut(e.getBoundingClientRect())).map(e => e.textContent);
            })"""
        )
        assert cut == []


def test_labels_of_arcs_stand_above_all_arcs(chromium: Any, examples: Client) -> None:
    number = next(number for number, name in EXAMPLES if name.startswith("dependency"))
    with Page(chromium, f"{examples.address}#m={number}", viewport=_size("desk")) as page:
        order = page.evaluate(
            """() => [...document.querySelectorAll('[data-kind=arcs] svg :is(path, text.halo)')]
              .map(e => e.tagName)"""
        )
        assert order.count("text") >= 4
        assert "path" not in order[order.index("text") :]


def test_why_a_second_model_has_no_answer_stands_in_its_column(chromium: Any, examples: Client) -> None:
    first, second = (
        next(number for number, name in EXAMPLES if title in name) for title in ("the company", "attaches")
    )
    with Page(chromium, f"{examples.address}#m={first}&c={second}", viewport=_size("desk")) as page:
        until(page, "document.querySelectorAll('.column').length === 2")
        assert "give four words" in page.locator(".column").nth(1).inner_text()


class Hostile:
    """An exhibit all of whose names are markup."""

    name = "<script>window.harmed = 1</script><img src=x onerror='window.harmed = 1'>"

    @property
    def fields(self) -> Any:
        from sigmastar.core.exhibit import Field

        return (Field("text", self.name, self.name, append=" ", hint=self.name),)

    def facts(self) -> Any:
        return {self.name: self.name}

    def overview(self) -> list[View]:
        tree = {"label": self.name, "children": [{"label": self.name}]}
        nodes = [{"id": 0, "label": self.name, "x": 0, "y": 0, "ring": 0.5, "initial": 1, "title": self.name}]
        edges = [{"source": 0, "target": 0, "weight": 1, "label": self.name, "title": self.name}]
        points = [{"name": self.name, "x": 0, "y": 0, "group": self.name}, {"name": "b", "x": 1, "y": 1}]
        grid = {"rows": [self.name], "columns": [self.name], "values": [[0.5]]}
        return [
            View("tree", self.name, {"trees": [{"name": self.name, "tree": tree}] * 2}, self.name),
            View("graph", self.name, {"nodes": nodes, "edges": edges}),
            View("map", self.name, {"points": points}),
            View("heat", self.name, grid),
            View(
                "arcs",
                self.name,
                {"words": [self.name], "tags": [self.name], "heads": [0], "labels": [self.name]},
            ),
            View("chart", self.name, {"words": [self.name, "b"], "cells": [_cell(self.name)]}),
            View("lattice", self.name, {"inputs": [self.name], "outputs": [self.name], "edges": []}),
            View(
                "lines",
                self.name,
                {"x": [1, 2], "series": [{"name": self.name, "y": [1, 2]}], "x_name": self.name},
            ),
            View("strip", self.name, {"tokens": [{"text": self.name, "value": 1, "title": self.name}]}),
            table(self.name, (self.name,), [(self.name,)]),
            bars(self.name, [(self.name, 1.0)], click="text"),
        ]

    def answer(self, inputs: Any) -> list[View]:
        return self.overview()


def _cell(name: str) -> dict[str, Any]:
    return {"begin": 0, "end": 2, "label": name, "value": 0.5, "title": name}


@pytest.fixture(scope="module")
def hostile(chromium: Any) -> Iterator[Client]:
    exhibit: Any = Hostile()
    with serving(Gallery((Shown(0, Hostile.name, Hostile.name, lambda: exhibit),))) as client:
        yield client


def test_markup_in_names_stays_text_in_every_view(chromium: Any, hostile: Client) -> None:
    with Page(chromium, hostile.address, viewport=_size("desk")) as page:
        until(page, "document.querySelectorAll('.card').length === 11")
        assert page.evaluate("window.harmed") is None
        assert page.locator("main script, main img").count() == 0
        assert page.locator(".card h3").first.inner_text() == Hostile.name
        kinds = page.eval_on_selector_all(".card", "cards => cards.map(card => card.dataset.kind)")
        assert len(set(kinds)) == 11


def _size(name: str) -> dict[str, int]:
    width, height = SIZES[name]
    return {"width": width, "height": height}


@pytest.fixture(scope="module")
def measured(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A model with data beside it, and a second one to compare it with."""
    folder = tmp_path_factory.mktemp("measured")
    rng = np.random.default_rng(0)
    machines = [make_hmm(3, 3, rng) for _ in range(2)]
    for number, machine in enumerate(machines):
        save_model(machine, folder / f"{number}.sigma")
    with (folder / "strings.txt").open("w") as stream:
        write_lines(machines[0].sample(40, rng), stream)
    files = [str(folder / f"{number}.sigma") for number in range(2)]
    with serving(Gallery.of_files(files, str(folder / "strings.txt"))) as client:
        yield client


def test_data_beside_a_model(chromium: Any, measured: Client) -> None:
    with Page(chromium, f"{measured.address}#m=0&v=data", viewport=_size("desk")) as page:
        until(page, "document.querySelectorAll('tbody tr.link').length > 5")
        assert not violations(page)
        losses = page.eval_on_selector_all(
            "tr.link td:nth-child(3)", "cells => cells.map(c => Number(c.textContent))"
        )
        assert losses == sorted(losses, reverse=True)
        page.get_by_role("button", name="length", exact=True).click()
        until(page, "location.hash.includes('sort=length')")
        page.get_by_label("Filter by text").fill("0 1")
        page.keyboard.press("Enter")
        until(page, "location.hash.includes('filter=0+1')")
        until(page, "[...document.querySelectorAll('button.pick')].every(b => b.textContent.includes('0 1'))")
        page.locator("#fields input").press_sequentially("0 ")
        until(page, "location.hash.includes('v=ask') && document.querySelector('.bars') !== null")
        page.get_by_role("button", name="Data").click()
        page.wait_for_selector("button.pick")
        wanted = page.locator("button.pick").first.inner_text()
        page.locator("button.pick").first.click()
        until(page, f"document.querySelector('#fields input').value === {json.dumps(wanted)}")


def test_a_model_that_is_being_learned(chromium: Any) -> None:
    gallery, _ = echo_gallery("m.sigma")
    board = Board("m.sigma")
    for k in range(1, 5):
        board(Phase(f"EM, iteration {k}", k / 8))
        for curve in ("one", "two"):
            board(Point(Measure.CLIMB, k, -1.0 / k - (curve == "two"), curve, curve))
            board(Point(Measure.START, k, -1.0 / k, curve, curve))
    with serving(Gallery(())) as client:
        client.explorer.board = board
        with Page(chromium, client.address, viewport=_size("desk")) as page:
            until(page, "document.title.startsWith('50 %')")
            assert page.locator("#pickers, #fields").filter(visible=True).count() == 0
            titles = page.locator(".card h3").all_inner_texts()
            assert titles == ["Objective", "Race of starts", "Starts", "What was done"]
            assert not violations(page)
            _resized(page)
            page.evaluate("document.querySelector('.card').mark = true")
            board(Point(Measure.CLIMB, 5, -0.1, "one", "one"))
            board(Phase("EM, iteration 5", 0.75))
            until(page, "document.title.startsWith('75 %')")
            until(page, "document.querySelector('.card svg').outerHTML.includes('one: -0.1 at 5')")
            assert page.evaluate("document.querySelector('.card').mark")  # it was drawn anew in its place
            client.explorer.gallery = gallery
            board(Saved("somewhere/m.sigma"))
            board.finish()
            until(page, "document.querySelector('#message').textContent.includes('somewhere/m.sigma')")
            assert page.locator(".card").count() == 4
            page.get_by_role("button", name="Ask").click()
            until(page, "document.querySelector('#message').textContent.startsWith('answered')")
            page.get_by_role("button", name="How it learned").click()
            until(page, "document.querySelectorAll('.card').length === 4")
            assert not violations(page)


class Judging(Echo):
    """An exhibit that says of an item what is right, by its own name."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__()
        self.name, self.text = name, text

    def judge(self, path: str) -> Judged:
        return Judged(
            [Row(self.text, {"text": self.text}, 1, 1.0, None, (bars(f"Right by {self.name}", []),))]
        )


def test_what_is_right_stands_beside_both_models(chromium: Any) -> None:
    exhibits = [Judging("one", "a"), Judging("two", "a"), Judging("three", "other")]
    shown = [
        Shown(k, each.name, "toys", lambda each=each: each, "some data") for k, each in enumerate(exhibits)
    ]
    with (
        serving(Gallery(tuple(shown))) as client,
        Page(chromium, f"{client.address}#m=0&c=1&v=data", viewport=_size("desk")) as page,
    ):
        page.locator("button.pick").first.click()
        until(page, "document.querySelectorAll('.column').length === 2")
        assert page.locator("h3").all_inner_texts() == ["Right by one", "Echo", "Right by two", "Echo"]
        page.locator("#against").select_option("2")  # it was judged on another item
        until(page, "[...document.querySelectorAll('.column h2')][1].textContent === 'three'")
        assert page.locator("h3").all_inner_texts() == ["Right by one", "Echo", "Echo"]
        page.locator("#fields input").fill("b")  # what is typed has no right answer
        until(page, "document.querySelectorAll('h3').length === 2")


def test_two_models_side_by_side(chromium: Any, measured: Client) -> None:
    with Page(chromium, f"{measured.address}#m=0&i.text=0 1 ", viewport=_size("desk")) as page:
        page.locator("#against").select_option("1")
        until(page, "document.querySelectorAll('.column').length === 2")
        names = page.locator(".column > h2").all_inner_texts()
        assert names == ["0.sigma", "1.sigma"]
        first, second = (
            page.locator(f".column:nth-child({k}) .bars .value").all_inner_texts() for k in (1, 2)
        )
        assert first != second
        assert not violations(page)
