"""What is shown of a model of every kind: pages of `show --html`, cells of notebooks, what `draw` gives."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping

import pytest

from cli.calls import fail, succeed
from forged.small_models import ONE_OF_EACH_KIND, Small
from sigmastar.core.model_reading import load_model
from sigmastar.core.notebook import Drawn, draw, exhibit_of
from sigmastar.core.page import SCRIPT


def drawings(markup: str) -> list[ElementTree.Element]:
    return [ElementTree.fromstring(svg) for svg in re.findall(r"<svg .*?</svg>", markup, re.DOTALL)]


@pytest.mark.parametrize("name", ONE_OF_EACH_KIND)
def test_every_kind_has_a_page(models: Mapping[str, Small], name: str) -> None:
    page = succeed("show", models[name].model, "--html")
    assert page.startswith("<!DOCTYPE html>")
    assert "How this was made" in page
    assert "prefers-color-scheme: dark" in page
    assert "width=device-width" in page
    assert page.count("<figure") == page.count("<figcaption")
    assert re.findall(r"<script>(.*?)</script>", page, re.DOTALL) == [SCRIPT]
    assert "<table" in page
    assert all(drawing.get("aria-label") for drawing in drawings(page))


def test_one_form_is_asked_for_at_a_time(models: Mapping[str, Small]) -> None:
    assert "give one of" in fail("show", models["series"].model, "--html", "--markdown", status=2)


@pytest.mark.parametrize("name", ONE_OF_EACH_KIND)
def test_every_kind_shows_itself_in_notebooks(models: Mapping[str, Small], name: str) -> None:
    model = load_model(models[name].model)
    bundle = model._repr_mimebundle_()
    assert bundle["text/plain"] == repr(model)
    assert bundle["text/html"] == model._repr_html_()
    assert ".sigmastar" in bundle["text/html"]
    assert re.search("<svg|<table", bundle["text/html"])
    assert "<script" not in bundle["text/html"]
    assert bundle.get("image/svg+xml") == model._repr_svg_()
    assert set(model._repr_mimebundle_(include={"text/plain"})) == {"text/plain"}
    assert "text/html" not in model._repr_mimebundle_(exclude={"text/html"})


@pytest.mark.parametrize("name", ONE_OF_EACH_KIND)
def test_every_kind_draws_what_is_typed(models: Mapping[str, Small], name: str) -> None:
    model = load_model(models[name].model)
    exhibit = exhibit_of(model, {})
    assert exhibit is not None
    found = draw(model, exhibit.fields[0].example)
    assert isinstance(found, Drawn)
    assert [view.title for view in found.views] == [
        view.title for view in exhibit.answer({field.name: field.example for field in exhibit.fields})
    ]
    assert drawings(str(found._repr_html_())) or "<table" in str(found._repr_html_())
