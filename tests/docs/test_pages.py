"""What the documentation is held to when it is built: links, words, formulas, pictures, the gallery."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from sigmastar.core.family import families

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def module(name: str) -> ModuleType:
    """A helper of the build, which lies outside the package."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(DOCS))
    try:
        spec.loader.exec_module(found)
    finally:
        sys.path.remove(str(DOCS))
    return found


@pytest.fixture(scope="module")
def pages() -> ModuleType:
    return module("pages")


def test_links_that_lead_nowhere_are_found(pages: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<h1 id="top">A</h1><a href="b.html#there">1</a><a href="b.html#gone">2</a><a href="c.html">3</a>'
        '<a href="#top">4</a><a href="https://example.org/x">5</a><script src="https://example.org/x.js"></script>'
    )
    (tmp_path / "b.html").write_text('<p id="there"></p><img alt="" src="missing.svg">')
    assert list(pages.broken_links(tmp_path)) == [
        ("a.html", "b.html#gone"),
        ("a.html", "c.html"),
        ("a.html", "https://example.org/x.js"),  # nothing is fetched from elsewhere
        ("b.html", "missing.svg"),
    ]


def test_words_are_looked_up_and_code_is_not(pages: ModuleType) -> None:
    text = (
        "The recieved `teh` words\n```python\nimprot x\n```\nof $\\alhpa$ in [seperate](hrere.md) treebanks"
    )
    assert [word for _, word in pages.unknown_words({"page": text})] == ["recieved", "seperate"]


def test_listed_words_are_in_order(pages: ModuleType) -> None:
    listed = pages.LISTED.read_text(encoding="utf-8").split()
    assert listed == sorted(set(listed), key=str.lower)


def test_formulas_need_no_script(pages: ModuleType) -> None:
    formulas = [
        f for text in pages.sources().values() for f in re.findall(r"(?<!\$)\$([^$\n]+)\$(?!\$)", text)
    ]
    assert len(formulas) > 30
    for formula in formulas:
        assert pages.tex2mathml(formula).startswith("<math")


def test_pictures_are_many_and_every_one_is_shown() -> None:
    modules = [module(name) for name in ("figures", "family_figures", "guide_figures")]
    measured = module("measured")
    made = {*(name for each in modules for name in each.PICTURES), *measured.pictures()}
    generated = measured.page() + module("gallery").page()
    shown = {
        name
        for text in (*(p.read_text("utf-8") for p in DOCS.rglob("*.md")), generated)
        for name in re.findall(r"pictures/([\w-]+)\.svg", text)
    }
    assert made == shown
    assert len(made) >= 30


@pytest.mark.parametrize("guide", sorted((DOCS / "guides").glob("*.md")), ids=lambda path: path.stem)
def test_a_guide_has_three_figures_made_when_it_is_built(guide: Path) -> None:
    shown = re.findall(r"^:::\{figure\} \.\./pictures/[\w-]+\.svg$", guide.read_text("utf-8"), re.MULTILINE)
    assert len(set(shown)) >= 3


def test_the_reference_of_the_core_names_modules_that_there_are() -> None:
    for names in module("reference").CORE.values():
        for name in names:
            assert importlib.util.find_spec(f"sigmastar.core.{name}"), name


def test_the_reference_begins_with_what_each_page_has() -> None:
    rows = {
        row.split("<generated/")[1].split(">")[0]: row
        for row in module("reference").table().split("\n")[2:-1]
    }
    listed = re.findall(r"^generated/(\w+)$", (DOCS / "api" / "index.md").read_text("utf-8"), re.MULTILINE)
    assert sorted(rows) == sorted(listed)
    for name, family in families().items():
        assert family.summary in rows[name]
        assert all(f"`{estimator}`" in rows[name] for estimator in dict(family.estimators))


def test_the_gallery_has_every_example_with_what_it_prints() -> None:
    gallery = module("gallery")
    names = {path.stem for path in (ROOT / "examples").glob("*.py")}
    assert set(gallery.SHOWN) == names
    assert {path.stem for path in (ROOT / "examples" / "output").glob("*.txt")} == names
    assert gallery.page().count("It prints:") == len(names)


def test_aims_that_were_not_reached_stand_on_the_page() -> None:
    measured = module("measured")
    page = measured.page()
    missed = [
        entry["label"]
        for path in measured.RESULTS.glob("*.json")
        for entry in measured.result(path.stem).get("findings", [])
        if entry["verdict"] == "not reached"
    ]
    assert missed
    assert all(f"| {label} |" in page for label in missed)
    assert page.count("not reached") >= len(missed)


def test_every_command_that_learns_is_in_the_chooser() -> None:
    chooser = (DOCS / "choose.md").read_text()
    commands = [f"learn {command}" for family in families().values() for command in family.learn]
    assert len(commands) > 10
    assert [name for name in [*commands, "distil"] if f"`sigmastar {name}`" not in chooser] == []
