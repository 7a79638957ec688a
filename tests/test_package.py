from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from importlib import import_module, metadata
from pathlib import Path

import pytest

import sigmastar
from sigmastar.core.family import Family, families, load
from sigmastar.core.stubs import stubs

ROOT = Path(__file__).parents[1]
HEAVY = ("numpy", "scipy", "numba", "matplotlib", "sklearn", "click", "rich")


def modules_after(statement: str) -> set[str]:
    code = f"{statement}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(run.stdout))


def test_import_is_lazy() -> None:
    assert not modules_after("import sigmastar; dir(sigmastar)").intersection(HEAVY)


def test_the_check_of_laziness_can_fail() -> None:
    assert "numpy" in modules_after("import sigmastar, numpy")


def test_version_is_that_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert sigmastar.__version__ == project["version"] == metadata.version("sigmastar")


def test_every_public_name_is_where_its_record_says() -> None:
    places = sigmastar._exports()
    for name, place in places.items():
        module, _, attribute = place.partition(":")
        value = getattr(sigmastar, name)
        assert value is getattr(import_module(module), attribute)
        assert getattr(value, "__module__", module) == module, f"{name} is defined elsewhere"
        assert attribute == name
    assert set(sigmastar.__all__) == {"__version__", *places}
    assert set(sigmastar.__all__) <= set(dir(sigmastar))


def places(value: object) -> Iterator[str]:
    """Every `module:name` of the package that a record holds, at any depth."""
    if isinstance(value, str) and value.startswith("sigmastar.") and ":" in value:
        yield value
    elif isinstance(value, Mapping):
        yield from places([*value.keys(), *value.values()])
    elif is_dataclass(value):
        yield from places(list(vars(value).values()))
    elif isinstance(value, list | tuple | set | frozenset):
        for part in value:
            yield from places(part)


@pytest.mark.parametrize("family", families().values(), ids=families())
def test_every_place_that_a_record_names_is_there(family: Family) -> None:
    named = set(places(family))
    assert named
    for place in named:
        load(place)


def test_an_asterisk_gives_the_names_of_a_family() -> None:
    names: dict[str, object] = {}
    exec("from sigmastar.control import *", names)
    assert {"ConstrainedDecoder", "matches", "length"} <= set(names)


def test_a_name_is_found_and_kept() -> None:
    from sigmastar.core.errors import InputError

    vars(sigmastar).pop("InputError", None)
    assert sigmastar.InputError is InputError
    assert vars(sigmastar).pop("InputError") is InputError


def test_names_of_a_family_are_names_of_its_package() -> None:
    import sigmastar.automata
    from sigmastar.automata.model.automaton import WeightedAutomaton

    assert sigmastar.automata.WeightedAutomaton is WeightedAutomaton
    assert "WeightedAutomaton" in dir(sigmastar.automata)
    with pytest.raises(AttributeError, match=r"'sigmastar\.automata' has no attribute 'nothing'"):
        _ = sigmastar.automata.nothing


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'sigmastar' has no attribute 'nothing'"):
        _ = sigmastar.nothing


def test_the_package_is_typed() -> None:
    assert (Path(sigmastar.__file__).parent / "py.typed").is_file()


def test_pins_are_plain() -> None:
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    assert lines
    assert all(line.count("==") == 1 and not set(line) & set(" @/:") for line in lines)


def test_extras_install_what_is_used() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    source = "".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    for extra in set(extras) - {"dev"}:
        for wanted in extras[extra]:
            package = re.split(r"[\[<>=~! ]", wanted)[0].replace("-", "_")
            assert re.search(rf"\b(import|from) {package}\b|import_module\(.{package}", source), (
                extra,
                wanted,
            )


def test_a_source_distribution_holds_what_its_tests_need() -> None:
    held = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["sdist"]
    folders = {path.name for path in ROOT.iterdir() if path.is_dir() and path.name[0] not in "._"}
    made = {"dist", "build", "demo-output"}
    assert folders - made <= set(held["include"])
    assert {"*.md", "Makefile", "requirements*.txt", "CITATION.cff"} <= set(held["include"])


def test_stubs_are_those_of_the_records() -> None:
    for path, content in stubs().items():
        assert path.read_text() == content, (
            f"{path.name} of {path.parent.name}: run python -m sigmastar.core.stubs"
        )


def test_type_checkers_see_every_public_class(tmp_path: Path) -> None:
    """Every estimator has a type of its own, an unknown name or parameter is an error."""
    estimators = [
        name for family in families().values() for name in family.estimators if name in sigmastar.__all__
    ]
    lines = [f"from sigmastar import {name}\nreveal_type({name})\n" for name in estimators]
    lines += [f"{name}().{found}\n" for name in estimators for found in documented_attributes(name)]
    lines.append("from sigmastar import SpectralAutomaton as S, Typo\nS(foo=1)\nS().nonsense()\n")
    lines.append("import sigmastar\nsigmastar.runtime.load('model.sigma')\n")
    (tmp_path / "use.py").write_text("".join(lines))
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", tmp_path / "use.py"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env={**os.environ, "MYPYPATH": str(ROOT / "src")},
    )
    assert done.stdout.count("Revealed type is") == len(estimators), done.stdout
    assert 'Revealed type is "Any"' not in done.stdout
    assert 'attribute "runtime"' not in done.stdout
    assert 'has no attribute "Typo"' in done.stdout
    assert 'Unexpected keyword argument "foo"' in done.stdout
    absent = re.findall(r'"(\w+)" has no attribute "(\w+)"', done.stdout)
    assert absent == [("sigmastar", "Typo"), ("SpectralAutomaton", "nonsense")], done.stdout


def documented_attributes(name: str) -> list[str]:
    """What the docstring of an estimator says that `fit` sets."""
    text = inspect.getdoc(getattr(sigmastar, name)) or ""
    heads = re.findall(
        r"^(\w[^:\n]*?)(?: :.*)?$", text.partition("Attributes\n---")[2].split("\n\n")[0], re.M
    )
    return [found.strip() for head in heads for found in head.split(",") if found.strip().endswith("_")]
