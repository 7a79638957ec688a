"""What the commands of this family are given: files of strings, and models of strings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeVar

import click
import numpy as np

from sigmastar.automata.data.formats import FORMATS, Layout
from sigmastar.automata.data.rare import in_class
from sigmastar.automata.data.strings import UNKNOWNS, Strings, is_corpus
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.sequence import SequenceModel
from sigmastar.core.alphabet import UNKNOWN_CLASS, Alphabet
from sigmastar.core.errors import ModelFileError, UnknownSymbolError
from sigmastar.core.model_files import Header, load_model, read_header
from sigmastar.core.model_format import hash_strings
from sigmastar.core.progress import tell
from sigmastar.core.records import RECORDS
from sigmastar.core.text_files import described_file, reading_policy

if TYPE_CHECKING:  # most calls read files
    from sigmastar.corpus.reading import StringCorpus

Function = TypeVar("Function", bound=Callable[..., Any])

unknown_option = click.option(
    "--unknown",
    type=click.Choice(UNKNOWNS),
    help="Treatment of symbols that the model does not know: an error, probability zero, or the class <unk>  "
    "[default: class where the model has <unk>, else error]",
)
_REMEDY = "leave such strings out, or use --unknown zero to give them no probability"


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
    learned: Mapping[str, Any] | None = None,
) -> Layout:
    """The layout by the options; where none is given, that of the model's own data."""
    if characters and separator is not None:
        raise click.UsageError("give --separator or --characters, not both")
    if (
        file_format is not None
        and not FORMATS[file_format].is_plain
        and (characters or separator is not None)
    ):
        plain = " or ".join(name for name, known in FORMATS.items() if known.is_plain)
        raise click.UsageError(f"--separator and --characters are for --format {plain}, not {file_format}")
    if file_format is None and not characters and separator is None:
        return Layout.of_header((learned or {}).get("layout"))
    return Layout(file_format or "lines", bool(characters), separator)


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


def read_all(paths: Sequence[str], layout: Layout) -> Strings:
    """One corpus of several files, over all of their symbols."""
    if paths.count("-") > 1:
        raise click.UsageError("standard input (-) can be read once only")
    told = [_tell_mistaken(path, layout) for path in paths]
    corpora = [layout.read(path) for path in paths]
    for path, corpus, is_told in zip(paths, corpora, told, strict=True):
        if not is_told:
            _tell_unsplit(path, corpus, layout)
    if len(corpora) == 1:
        return corpora[0]
    alphabet = Alphabet(sorted({symbol for corpus in corpora for symbol in corpus.alphabet}))  # type: ignore[type-var]
    offsets = np.concatenate([[0], *(corpus.lengths for corpus in corpora)]).cumsum()
    return Strings(alphabet, np.concatenate([c.recoded(alphabet).codes for c in corpora]), offsets)


def _tell_mistaken(path: str, layout: Layout) -> bool:
    """A note where the name of a file is that of records or trees, and lines are read; whether there is."""
    if layout.format != "lines" or layout.separator is not None or reading_policy().fields is not None:
        return False
    name = path.lower().removesuffix(".gz").removesuffix(".zst")
    if name.endswith(RECORDS):
        tell(f"note: {path} is read as plain lines; --field NAME reads a field of its records")
    elif name.endswith((".conllu", ".mrg")):
        tell(f"note: {path} is read as plain lines; learn tagger, dependency and treebank read trees")
    return name.endswith((*RECORDS, ".conllu", ".mrg"))


def _tell_unsplit(path: str, strings: Strings, layout: Layout) -> None:
    """A note where no line was split, though the lines are longer than a character."""
    is_default = layout.format == "lines" and layout.separator is None and not layout.characters
    if not is_default or strings.lengths.max(initial=0) != 1:
        return
    longest = max(strings.alphabet, key=lambda symbol: len(str(symbol)))
    if str(longest).startswith('{"'):
        tell(f"note: the lines of {path} look like records; --field NAME reads a field of them")
    elif len(str(longest)) > 1:
        tell(f"note: no line of {path} has a blank: each is one symbol; --characters reads characters")


def read_or_open(paths: Sequence[str], layout: Layout) -> Strings | StringCorpus:
    """The strings of files, or a single corpus on disk, of which nothing is read yet."""
    if len(paths) == 1 and is_corpus(paths[0]):
        from sigmastar.corpus.reading import StringCorpus

        return StringCorpus.open(paths[0])
    return read_all(paths, layout)


def describe(paths: Sequence[str], strings: Strings | StringCorpus) -> dict[str, Any]:
    """What a model file holds of the data it was learned from."""
    return {
        "files": [described_file(path) for path in paths],
        "n_strings": len(strings),
        "n_symbols": strings.n_symbols,
        "sha256": hash_strings(strings) if isinstance(strings, Strings) else strings.manifest.digest,
    }
