"""Public classes and functions are documented in the manner of numpydoc."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest

import sigmastar
from sigmastar.core.family import families, load

PUBLIC = {
    **{f"sigmastar.{name}": place for name, place in sigmastar._COMMON.items()},
    **{
        f"sigmastar.{family.name}.{name}": place
        for family in families().values()
        for name, place in {**family.names, **family.public}.items()
    },
}
CALLABLE = {name: value for name, place in PUBLIC.items() if callable(value := load(place))}
ESTIMATORS = {
    f"{name}": load(place) for family in families().values() for name, place in family.estimators.items()
}


def sections(value: Any) -> dict[str, str]:
    """The sections of a docstring by name, with what stands in them."""
    text = inspect.getdoc(value) or ""
    parts = re.split(r"^(\w[\w ]*)\n-{3,}\n", text, flags=re.MULTILINE)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def documented(text: str) -> set[str]:
    """The names that a section of parameters explains."""
    heads = re.findall(r"^(\*{0,2}\w[\w, *]*?)(?: : .*)?$", text, flags=re.MULTILINE)
    return {name.strip(" *") for head in heads for name in head.split(",")}


def parameters(value: Any) -> set[str]:
    signature = inspect.signature(value)
    return {name for name in signature.parameters if name not in ("self", "cls") and not name.startswith("_")}


@pytest.mark.parametrize("name", CALLABLE)
def test_a_public_name_says_what_it_is(name: str) -> None:
    summary = sections(CALLABLE[name])[""].strip()
    assert summary
    assert summary.split("\n\n")[0].endswith((".", ":")), summary


@pytest.mark.parametrize("name", [n for n, v in CALLABLE.items() if inspect.isfunction(v)])
def test_a_public_function_explains_its_parameters_and_its_result(name: str) -> None:
    found = sections(CALLABLE[name])
    missing = parameters(CALLABLE[name]) - documented(found.get("Parameters", ""))
    assert not missing, f"{name}: {missing} not under Parameters"
    returned = inspect.signature(CALLABLE[name]).return_annotation
    assert returned in (None, "None") or "Returns" in found or "Yields" in found, f"{name}: no Returns"


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_estimator_has_parameters_attributes_and_an_example(name: str) -> None:
    found = sections(ESTIMATORS[name])
    shared = {"random_state", "n_jobs", "progress", "verbose"}
    missing = parameters(ESTIMATORS[name]) - documented(found.get("Parameters", "")) - shared
    assert not missing, f"{name}: {missing} not under Parameters"
    assert "model_" in documented(found.get("Attributes", "")), f"{name}: model_ not under Attributes"
    assert ">>>" in found.get("Examples", ""), f"{name}: no example"


@pytest.mark.parametrize("name", ESTIMATORS)
def test_methods_of_an_estimator_are_documented(name: str) -> None:
    for method, value in inspect.getmembers(ESTIMATORS[name], inspect.isfunction):
        if method.startswith("_"):
            continue
        found = sections(value)
        assert found[""].strip(), f"{name}.{method}"
        needed = parameters(value) - {"y", "deep", "params"}
        if len(needed) > 1:
            missing = needed - documented(found.get("Parameters", ""))
            assert not missing, f"{name}.{method}: {missing} not under Parameters"
