"""One registry: a family that is registered from outside the package is whole."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import sigmastar
import toy_family
from cli.calls import fail, invoke, succeed
from sigmastar.core.family import register, unregister
from sigmastar.report import demos


@pytest.fixture(autouse=True)
def _coins() -> Iterator[None]:
    register(toy_family.FAMILY)
    yield
    unregister("coins")
    vars(sigmastar).pop("CoinEstimator", None)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (tmp_path / "throws.txt").write_text("h\nt\nh\nh\n")
    succeed("learn", "coin", tmp_path / "throws.txt", "-o", tmp_path / "coin.sigma")
    return tmp_path / "coin.sigma"


def test_it_is_exported() -> None:
    assert sigmastar.CoinEstimator is toy_family.CoinEstimator
    assert "CoinEstimator" in sigmastar.__all__


def test_it_is_learned_stored_and_shown(model: Path) -> None:
    assert sigmastar.load_model(model) == toy_family.Coin(4 / 6)
    assert succeed("show", model) == "0.667\n"
    assert succeed("show", "--percent", model) == "66.7%\n"


def test_its_options_are_listed_and_others_are_refused(model: Path) -> None:
    assert "--percent" in succeed("show", model, "--help")
    told = " ".join(succeed("learn", "coin", "--help").split())
    assert "Number of throws added per side. [default: 1.0]" in told
    assert "No such option" in fail("show", model, "--dot", status=2)
    assert "there is no predict for models of kind 'coin'" in fail("predict", model, status=2)


def test_it_is_in_the_demo_and_in_the_help() -> None:
    assert "coins" in [family.name for family in demos()]
    assert "A coin from throws." in invoke("learn", "--help").output


def test_without_its_record_nothing_knows_it(model: Path) -> None:
    unregister("coins")
    assert "unknown kind 'coin'" in fail("show", model)
