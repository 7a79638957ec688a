"""What the commands of this family are given: files of strings, and models of strings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeVar

import click
import numpy as np

from sigmastar.automata.data.formats import FORMATS, Layout
from sigmastar.automata.data.rare import in_class
from sigmastar.automata.data.strings import UNKNOWNS, Strings
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.sequence import SequenceModel
from sigmastar.core.alphabet import UNKNOWN_CLASS
from sigmastar.core.errors import ModelFileError, UnknownSymbolError
from sigmastar.core.model_reading import Header, load_model, read_header
from sigmastar.core.progress import tell

if TYPE_CHECKING:  # most calls read files
    pass

Function = TypeVar("Function", bound=Callable[..., Any])

unknown_option = click.option(
    "--unknown",
    type=click.Choice(UNKNOWNS),
    help="Treatment of symbols that the model does not know: an error, probability zero, or the class <unk>  "
    "[default: class where the model has <unk>, else error]",
)
_REMEDY = "learn with --min-count 2, which makes rare symbols <unk>, or use --unknown zero for no probability"


def string_options(function: Function) -> Function:
    """How a file of strings is read, or written."""
    options = [
        click.option("--separator", metavar="TEXT", help="Text between symbols  [default: blanks]"),
        click.option("--characters", is_flag=True, default=None, help="One symbol per character."),
        click.option(
            "--format",
            "file_format",
            type=click.Choice(list(FORMATS)),
            help="Format of the strings  [default: lines; with a model, that of its data]",
        ),
    ]
    return reduce(lambda wrapped, option: option(wrapped), options, function)


def layout_of(
    file_format: str | None,
    characters: bool | None,
    separator: str | None,
    learned: Mapping[str, Any],
) -> Layout:
    """The layout by the options; where none is given, that of the model's own data."""
    try:
        return Layout.chosen(file_format, characters, separator, learned.get("layout"))
    except ValueError as problem:
        raise click.UsageError(str(problem)) from None


_ROUNDING, _NEAR_ONE = 1e-6, 0.1  # of total masses


@dataclass(frozen=True, eq=False)
class Loaded:
    """A model of strings, and the header of its file."""

    model: SequenceModel
    header: Header
    path: str

    @property
    def learned(self) -> dict[str, Any]:
        learned = self.header["learned"]
        return learned if isinstance(learned, dict) else {}

    @property
    def automaton(self) -> WeightedAutomaton | None:
        """The weighted automaton that the model is or that is inside it."""
        inner = getattr(self.model, "automaton", self.model)
        return inner if isinstance(inner, WeightedAutomaton) else None

    def require_automaton(self) -> WeightedAutomaton:
        if self.automaton is None:
            raise ModelFileError(
                f"a model of family {self.header['family']!r} has no weighted automaton inside; "
                "learn one, as with --method auto",
                file=self.path,
            )
        return self.automaton

    def say_if_no_distribution(self) -> None:
        """A note where the values of a bare automaton are far from probabilities, as after regression."""
        automaton = self.model
        if not isinstance(automaton, WeightedAutomaton) or automaton.is_stochastic(_ROUNDING):
            return
        mass = automaton.total_mass() if automaton.spectral_radius < 1.0 else np.inf
        if not abs(mass - 1.0) <= _NEAR_ONE:
            total = f"sum to {mass:.3g}" if np.isfinite(mass) else "have no finite sum"
            tell(f"note: the values of {self.path} {total} over all strings: they are no probabilities")

    def read(self, path: str, layout: Layout, unknown: str | None) -> Strings:
        """Strings over the model's symbols; others are an error with a remedy, unknown, or in their class."""
        alphabet = self.model.alphabet
        unknown = unknown or ("class" if UNKNOWN_CLASS in alphabet else "error")
        try:
            strings = layout.read(path, alphabet, unknown != "error")
            return in_class(strings) if unknown == "class" else strings
        except UnknownSymbolError as problem:
            raise UnknownSymbolError(
                f"{problem.problem}; {_REMEDY}", file=problem.file, line=problem.line
            ) from None


def load(path: str) -> Loaded:
    """Read a model of strings; a damaged or foreign file is refused."""
    model = load_model(path)
    if not isinstance(model, SequenceModel):
        raise ModelFileError("is not a model of strings", file=path)
    return Loaded(model, read_header(path), path)
