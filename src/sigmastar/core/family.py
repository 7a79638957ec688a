"""The record of a family: all that the rest of the program knows of it.

A family is a folder of the package with a module `family` in it that defines `FAMILY`. Exports, model files,
commands, the demo and the laws are generated from these records, so that adding a family is adding a folder.
A family outside the package joins by an entry point of the group `sigmastar.families`, or by `register`.

Places are written `module:name` and imported when they are asked for: reading all records costs milliseconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

ENTRY_POINTS = "sigmastar.families"


class Command(NamedTuple):
    """A command of the command line.

    Parameters
    ----------
    place : str
        Where the command is defined, `module:name`.
    summary : str
        Its line in the list of commands.
    """

    place: str
    summary: str


@dataclass(frozen=True)
class Kind:
    """A kind of model file.

    Parameters
    ----------
    model : str
        The place of the class.
    commands : mapping
        Commands that take such a file as their first argument (`predict`, `show` ..), by name, with the
        places of what they do for it. Other commands and foreign options are refused.
    runtime : str or None
        The place of a class that answers for a model where there is NumPy alone (`sigmastar.runtime`).
    readers : mapping
        How names of other tools' files that hold such a model end, with the places of their readers.
    """

    model: str
    commands: Mapping[str, str] = field(default_factory=dict)
    runtime: str | None = None
    readers: Mapping[str, str] = field(default_factory=dict)


class Pace(NamedTuple):
    """Seconds of one core that an estimator takes with its default parameters.

    They were measured on four sizes of data or more: work of above a second took between half and twice the
    estimate.

    Parameters
    ----------
    seconds : mapping
        Seconds per unit, by attributes of the data that are numbers, or have a length: `n_words`. With a
        power, `n_words^2`, numbers are raised to it; of many, `lengths^3`, the powers are summed.
    fixed : float
        Seconds however little there is.
    most : float
        Seconds up to which that was seen to hold; of more nothing is known.
    """

    seconds: Mapping[str, float]
    fixed: float = 0.0
    most: float = math.inf

    def of(self, data: Any) -> float | None:
        """Seconds for data; None where they do not have the attributes, or are larger than all measured."""
        total = self.fixed
        for entry, pace in self.seconds.items():
            name, _, power = entry.partition("^")
            try:
                size = attrgetter(name)(data)
            except AttributeError:
                return None
            total += pace * _amount(size, int(power or 1), bool(power))
        return total if total <= self.most else None


def _amount(size: Any, power: int, is_summed: bool) -> float:
    if not hasattr(size, "__len__"):
        return float(size) ** power
    return float(((1.0 * size) ** power).sum()) if is_summed else len(size)


@dataclass(frozen=True)
class Family:
    """Everything that a family brings.

    Parameters
    ----------
    name : str
        The name of its folder.
    summary : str
        One line about what it is for.
    kinds : mapping
        Kinds of model files by name.
    estimators : mapping
        Public classes that learn, with their places: exported, and held to the contract of estimators.
    exports : mapping
        Other public names with their places; with the estimators, names of the package `sigmastar`.
    names : mapping
        Public names of the family's own package, such as `sigmastar.automata.minimize`, with their places.
    learn : mapping
        Commands below `sigmastar learn`.
    commands : mapping
        Commands beside `learn`, such as `vectors`.
    formats : mapping
        Formats of data by name, with the places of their readers.
    metrics : mapping
        Figures of `evaluate` by name, and what each of them is.
    judges : mapping
        What else a model can be held against, by name, with the places of functions that give figures.
    demo : str or None
        The place of its part of the demo.
    demo_seconds : int
        What that part takes without a kernel cache, about: parts that take longest begin first.
    explore : str or None
        The place of the function that opens its models for the explorer: from a model, and how it was
        learned, to an `Exhibit`.
    examples : mapping
        Models to begin with, by what they are learned from, with the places of functions that learn them.
    pictures : mapping
        Places of classes, with the places of functions that draw their objects as SVG, for notebooks.
    laws : str or None
        The place of what the laws are tried on: a known model, its exact statistics, its learner.
    constrained : str or None
        The place of what puts a model of strings under constraints of the command line.
    paces : mapping
        Estimators by name, with the time that they take by default.
    """

    name: str
    summary: str
    kinds: Mapping[str, Kind] = field(default_factory=dict)
    estimators: Mapping[str, str] = field(default_factory=dict)
    exports: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    learn: Mapping[str, Command] = field(default_factory=dict)
    commands: Mapping[str, Command] = field(default_factory=dict)
    formats: Mapping[str, str] = field(default_factory=dict)
    metrics: Mapping[str, str] = field(default_factory=dict)
    judges: Mapping[str, str] = field(default_factory=dict)
    demo: str | None = None
    demo_seconds: int = 0
    explore: str | None = None
    examples: Mapping[str, str] = field(default_factory=dict)
    pictures: Mapping[str, str] = field(default_factory=dict)
    laws: str | None = None
    constrained: str | None = None
    paces: Mapping[str, Pace] = field(default_factory=dict)

    @property
    def public(self) -> dict[str, str]:
        """All public names with their places."""
        return {**self.exports, **self.estimators}


_registered: dict[str, Family] = {}


def register(family: Family) -> Family:
    """Add a family that lies outside the package; it can be a decorator's argument or a plain call.

    Parameters
    ----------
    family : Family
        The record. A second one of the same name replaces the first.

    Returns
    -------
    Family
        The record itself.
    """
    _registered[family.name] = family
    return family


def unregister(name: str) -> None:
    """Remove a family that `register` added."""
    _registered.pop(name, None)


def families() -> dict[str, Family]:
    """All families by name: those of the package, of entry points, and those that were registered."""
    return {**_built_in(), **_plugged_in(), **_registered}


@cache
def _built_in() -> dict[str, Family]:
    package = Path(__file__).parents[1]
    folders = sorted(
        record.parent.name for record in package.glob("*/family.py") if record.parent.name != "core"
    )
    found = [import_module(f"sigmastar.{folder}.family").FAMILY for folder in folders]
    return {family.name: family for family in found}


@cache
def _plugged_in() -> dict[str, Family]:
    from importlib.metadata import entry_points  # a quarter of the time that it takes to start

    return {family.name: family for family in (p.load() for p in entry_points(group=ENTRY_POINTS))}


def kinds() -> dict[str, Kind]:
    """All kinds of model files by name."""
    return {name: kind for family in families().values() for name, kind in family.kinds.items()}


def foreign_kind(path: str) -> tuple[str, str] | None:
    """The kind of model in a file of another tool, and the place of its reader, by how its name ends."""
    plain = path.removesuffix(".gz").removesuffix(".zst")
    families = (*_registered.values(), *_built_in().values())
    known = ((name, kind.readers) for family in families for name, kind in family.kinds.items())
    found = (
        (name, place) for name, readers in known for end, place in readers.items() if plain.endswith(end)
    )
    return next(found, None)


def find_kind(name: str) -> Kind | None:
    """A kind of model files, or None; entry points are looked for where no other family has it.

    Parameters
    ----------
    name : str
        As the header of a model file has it.
    """
    for known in (_registered, _built_in()):
        for family in known.values():
            if name in family.kinds:
                return family.kinds[name]
    return kinds().get(name)


def public_names() -> dict[str, str]:
    """The public names of all families, with their places."""
    return {name: place for family in families().values() for name, place in family.public.items()}


def commands_of(command: str) -> Iterator[tuple[str, str]]:
    """The kinds of model files that a command knows, each with the place of what it does for them."""
    for name, kind in kinds().items():
        if command in kind.commands:
            yield name, kind.commands[command]


def judge(name: str) -> Callable[..., dict[str, Any]]:
    """The function of a name among what models can be held against, of whatever family.

    Parameters
    ----------
    name : str
        A key of the `judges` of some family.

    Returns
    -------
    callable
        It gives figures by name.
    """
    places = {key: place for family in families().values() for key, place in family.judges.items()}
    found: Callable[..., dict[str, Any]] = load(places[name])
    return found


def exporter(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a family's package: its public names, imported when they are asked for.

    Parameters
    ----------
    package : str
        The `__name__` of the package; its module `family` holds the record.

    Returns
    -------
    tuple of callables
        To be assigned to `__getattr__` and `__dir__`.
    """

    def names() -> dict[str, str]:
        family: Family = import_module(f"{package}.family").FAMILY
        return {**family.names, **family.public}

    def get(name: str) -> Any:
        if name == "__all__":
            return sorted(names())
        place = None if name.startswith("_") else names().get(name)
        if place is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return load(place)

    return get, lambda: sorted(names())


def load(place: str) -> Any:
    """What stands at a place.

    Parameters
    ----------
    place : str
        `module:name`.

    Examples
    --------
    >>> load("math:floor")(2.5)
    2
    """
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
