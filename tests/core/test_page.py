from __future__ import annotations

import base64
import hashlib
from html.parser import HTMLParser

import pytest

import sigmastar
from sigmastar.core.errors import InputError
from sigmastar.core.page import Picture, Section, Table, Text, format_cell, render

DOT = '<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="old" width="9"><circle r="1"/></svg>'
EVIL = '<img src=x onerror="alert(1)">&'
VOID = {"meta"}


class Outline(HTMLParser):
    """Elements with their attributes and text; fails on tags that do not nest."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text: dict[str, list[str]] = {}
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open:
            self.text.setdefault(self.open[-1], []).append(data)

    def attributes(self, tag: str, name: str) -> list[str | None]:
        return [attributes[name] for t, attributes in self.elements if t == tag and name in attributes]


def example() -> str:
    table = Table(
        "Times",
        ("learner", "seconds"),
        [("fast", 0.5), ("auto", 1234567)],
        frozenset({(0, 1)}),
        "Lower is better.",
    )
    first = Section("First things", [Text("Hello."), table])
    second = Section("First things", [Picture(DOT, "A dot.", "one dot")])
    return render("Report", [first, second], {"Seed": "0", "Processor": "abacus"}, lead="What was found.")


def test_the_page_nests_and_names_its_parts():
    page = Outline(example())
    assert page.text["h1"] == ["Report"]
    assert page.text["h2"] == ["First things", "First things", "How this was made"]
    assert page.text["caption"] == ["Times"]
    assert page.text["figcaption"] == ["A dot."]
    assert page.attributes("svg", "aria-label") == ["one dot"]
    assert page.attributes("th", "scope") == ["col", "col", "row", "row"]
    assert page.attributes("html", "lang") == ["en"]
    assert page.text["dd"] == ["0", "abacus", f"sigmastar {sigmastar.__version__}"]


def test_links_of_the_contents_resolve_and_ids_are_distinct():
    page = Outline(example())
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    assert [link[1:] for link in page.attributes("a", "href")] == ["first-things", "first-things-2"]
    assert {"first-things", "first-things-2"} <= set(ids)


def test_nothing_comes_from_outside():
    page = example()
    assert "://" not in page.replace('xmlns="http://www.w3.org/2000/svg"', "")
    assert "<link" not in page


def test_one_script_may_run_and_the_policy_names_it():
    outline = Outline(example())
    (script,) = outline.text["script"]
    (policy,) = [
        a["content"] for t, a in outline.elements if a.get("http-equiv") == "Content-Security-Policy"
    ]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy == (
        f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"
    )


def test_a_page_says_by_which_command_it_was_made(monkeypatch):
    monkeypatch.setattr("sys.argv", ["/usr/bin/sigmastar", "demo", "--out", "a <b>"])
    assert Outline(example()).text["code"] == ["sigmastar demo --out 'a <b>'"]
    monkeypatch.setattr("sys.argv", ["pytest"])
    assert "code" not in Outline(example()).text


def test_the_page_follows_dark_settings_and_prints():
    assert "@media (prefers-color-scheme: dark)" in example()
    assert "@media print" in example()


def test_all_text_is_escaped():
    table = Table(EVIL, (EVIL,), [(EVIL,)], note=EVIL)
    section = Section(EVIL, [Text(EVIL), table, Picture(DOT, EVIL, EVIL)])
    page = render(EVIL, [section, section], {EVIL: EVIL}, lead=EVIL)
    outline = Outline(page)
    assert [tag for tag, _ in outline.elements if tag in ("img", "script")] == ["script"]  # its own
    assert not any("onerror" in attributes for _, attributes in outline.elements)
    assert outline.text["h1"] == [EVIL]


@pytest.mark.parametrize(
    "svg",
    [
        "hello",
        "<svg></svg><p>",
        "<svg><script>x</script></svg>",
        '<svg onload="x"></svg>',
        '<svg><image href="http://example.org/a.png"/></svg>',
        '<svg><style>@import "a.css";</style></svg>',
    ],
)
def test_pictures_that_are_no_mere_pictures_are_refused(svg):
    with pytest.raises(InputError, match="a picture must"):
        render("x", [Section("y", [Picture(svg, "c", "d")])], {})


def test_numbers_stand_right_and_the_best_is_marked():
    page = example()
    assert '<td class="number"><strong>0.5</strong></td>' in page
    assert '<td class="number">1,234,567</td>' in page
    assert '<th scope="row">fast</th>' in page


@pytest.mark.parametrize(
    ("cell", "text"),
    [(None, "\N{EN DASH}"), ("x", "x"), (3, "3"), (0.00012345, "0.0001234"), (float("inf"), "∞")],
)
def test_cells(cell, text):
    assert format_cell(cell) == text


def test_ragged_tables_are_refused():
    with pytest.raises(ValueError, match="row 2 of table 'T' has 1 cells, not 2"):
        Table("T", ("a", "b"), [(1, 2), (3,)])


def test_names_and_values_have_no_empty_heads():
    page = render("x", [Section("y", [Table("Facts", ("", ""), [("a", "1"), ("b", "2")])])], {})
    assert "<thead" not in page
    assert '<table class="facts">' in page
