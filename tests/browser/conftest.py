"""Chromium, if it is there and asked for."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from explorer.serving import Client, serving
from sigmastar.explorer.gallery import Gallery
from sigmastar.explorer.guard import Limits

FLAGS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
PLACES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    place = next(filter(None, map(shutil.which, PLACES)), None)
    if not os.environ.get("SIGMASTAR_BROWSER"):
        pytest.skip("tests in the browser run by make test-browser")
    if place is None:
        pytest.skip("Chromium is not installed: the explorer is not tried in a browser")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=place, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def examples(chromium: Any) -> Iterator[Client]:
    """A server of the models that `explore` begins with."""
    with serving(Gallery.of_examples(), Limits(seconds=600.0)) as client:
        yield client
