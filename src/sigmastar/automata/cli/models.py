"""`sigmastar score`, `sample`, `predict` and `convert` on models of strings.

`sample` has options that restrict strings to a language; what they do is in the record of one family.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from io import StringIO
from typing import Any, TextIO, TypeVar

import click
import numpy as np

from sigmastar.automata.cli.inputs import Loaded, layout_of, load, string_options, unknown_option
from sigmastar.automata.data.formats import splitter
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.att import write_att
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.automata.model.dot import write_dot
from sigmastar.automata.model.hmm_conversion import Hmm, as_hmm, hmm_arrays, on_own_states
from sigmastar.automata.model.ngram_smoothing import NgramModel
from sigmastar.automata.model.pautomac_machine import write_pautomac_model
from sigmastar.automata.model.restart_filter import FilteredAutomaton
from sigmastar.automata.model.sequence import SequenceModel, next_distribution, next_pieces, top_columns
from sigmastar.core.alphabet import Alphabet, Symbol
from sigmastar.core.arrays import Indices
from sigmastar.core.atomic import atomic_write, atomic_write_pieces, write_lines
from sigmastar.core.cli.options import (
    device_option,
    json_option,
    model_argument,
    output_option,
    quiet_option,
    sample_options,
)
from sigmastar.core.cli.printing import to_json
from sigmastar.core.errors import InputError
from sigmastar.core.family import families
from sigmastar.core.family import load as load_place
from sigmastar.core.model_format import written
from sigmastar.core.progress import tell, watching
from sigmastar.core.time_estimates import foretell
from sigmastar.core.torch_device import placed

END = "<end>"
_LONG = 10_000  # symbols that are scored within a second

Ranking = list[tuple[Symbol | None, float]]
"""Symbols, None for the end, with their probabilities, best first."""


Function = TypeVar("Function", bound=Callable[..., Any])
CONSTRAINTS = ("constraint", "contains", "avoids", "length")

_CONSTRAINING = (
    click.option(
        "--constraint",
        multiple=True,
        metavar="REGEX",
        help="Regular expression over symbols that the whole string matches, as 'a .* (b|c)+'; repeatable.",
    ),
    click.option(
        "--contains", multiple=True, metavar="PHRASE", help="Phrase that every string contains; repeatable."
    ),
    click.option(
        "--avoids", multiple=True, metavar="PHRASE", help="Phrase that no string contains; repeatable."
    ),
    click.option("--length", metavar="N|LOW-HIGH", help="Number of symbols per string, or its bounds."),
)


def constraint_options(function: Function) -> Function:
    """A command with options that restrict strings."""
    return reduce(lambda wrapped, option: option(wrapped), reversed(_CONSTRAINING), function)


def constrained(
    model: Any, options: Mapping[str, Any], split: Callable[[str], Iterable[str]], max_length: int
) -> Any:
    """A model under the constraints of the options, or itself without any.

    Parameters
    ----------
    model : object
        A model of strings.
    options : mapping
        What `constraint_options` brought.
    split : callable
        How a phrase falls into symbols.
    max_length : int
        Largest number of symbols of a string.

    Returns
    -------
    object
        With the `sample` of the model.
    """
    if not any(options[name] for name in CONSTRAINTS):
        return model
    place = next(family.constrained for family in families().values() if family.constrained)
    return load_place(place)(model, options, split, max_length)


def foretell_strings(work: str, strings: Strings, run: Callable[[Strings], object], quiet: bool) -> None:
    """Tell how long work on strings takes: as long as they are."""

    def on_begins(numbers: Indices, most: int) -> None:
        run(strings.select(numbers, most))

    foretell(work, strings.lengths + 1, on_begins, 1.0, _LONG, 1.0, quiet=quiet)


@click.command()
@model_argument
@click.argument("file", metavar="FILE")
@string_options
@unknown_option
@device_option
@output_option
@quiet_option
def score(
    model: str,
    file: str,
    unknown: str | None,
    device: str,
    output: str,
    quiet: bool,
    **layout_options: Any,
) -> None:
    """The natural log-probability of each string of FILE, one per line; -inf where it has none."""
    loaded = load(model)
    loaded.say_if_no_distribution()
    layout = layout_of(**layout_options, learned=loaded.learned)
    scorer = placed(loaded.model, device, model)
    with watching("scoring", quiet):
        strings = loaded.read(file, layout, unknown)
        foretell_strings("scoring", strings, scorer.log_probability, quiet or device != "cpu")
        values = scorer.log_probability(strings).tolist()
    write_lines(output, map(repr, values))


@click.command()
@sample_options("strings", "Number of symbols per string at which strings are cut.", 10_000, 0)
@constraint_options
@string_options
def sample(
    model: str,
    n_samples: int,
    max_length: int,
    seed: int,
    output: str,
    quiet: bool,
    **options: Any,
) -> None:
    """Draw strings from MODEL and write them in the format of its data, or in the one asked for.

    With constraints, strings of MODEL that meet all of them, each as likely as MODEL has it.
    """
    loaded = load(model)
    loaded.say_if_no_distribution()
    wanted = {**{name: options.pop(name) for name in CONSTRAINTS}, "quiet": quiet}
    layout = layout_of(**options, learned=loaded.learned)
    with watching("sampling", quiet):
        split = splitter(layout.separator, layout.characters)
        drawn_from = constrained(loaded.model, wanted, split, max_length)
        strings = drawn_from.sample(n_samples, np.random.default_rng(seed), max_length)
    with atomic_write(output) as stream:
        layout.write(strings, stream)


@click.command()
@model_argument
@click.argument("file", metavar="FILE")
@click.option(
    "--top", type=click.IntRange(1), default=5, show_default=True, help="Number of symbols per prefix."
)
@string_options
@unknown_option
@device_option
@json_option
@output_option
@quiet_option
def predict(
    model: str,
    file: str,
    top: int,
    unknown: str | None,
    device: str,
    as_json: bool,
    output: str,
    quiet: bool,
    **layout_options: Any,
) -> None:
    """The most likely symbols after each prefix in FILE.

    One line per prefix: symbol, probability, symbol, probability .. separated by tabs, best first; <end> is
    the end of the string. With --json one object per line, with null for the end.
    """
    loaded = load(model)
    loaded.say_if_no_distribution()
    layout = layout_of(**layout_options, learned=loaded.learned)
    asked = placed(loaded.model, device, model)
    with watching("predicting", quiet):
        prefixes = loaded.read(file, layout, unknown)
        foretell_strings(
            "predicting", prefixes, lambda some: list(rankings(asked, some, top)), quiet or device != "cpu"
        )
        written = [_in_json(row) if as_json else _in_text(row) for row in rankings(asked, prefixes, top)]
    if END in map(str, loaded.model.alphabet) and not as_json:
        tell(f"note: {END} is a symbol of this model too; with --json the end is null", quiet)
    write_lines(output, written)


def rankings(model: SequenceModel, prefixes: Strings, top: int) -> Iterator[Ranking]:
    names = (*model.alphabet.symbols, None)
    for piece in next_pieces(model, prefixes):
        rows = next_distribution(model, piece)
        best = top_columns(rows, top)
        for columns, values in zip(best.tolist(), np.take_along_axis(rows, best, 1).tolist(), strict=True):
            yield [(names[column], value) for column, value in zip(columns, values, strict=True)]


def _in_text(ranking: Ranking) -> str:
    return "\t".join(f"{END if symbol is None else symbol}\t{value:.6g}" for symbol, value in ranking)


def _in_json(ranking: Ranking) -> str:
    return to_json({"next": [{"symbol": symbol, "probability": value} for symbol, value in ranking]})


Writer = Callable[[WeightedAutomaton, TextIO], None]


def write_hmm(automaton: WeightedAutomaton, stream: TextIO) -> None:
    """A hidden Markov model with stopping, as JSON."""
    write_hidden(as_hmm(automaton), stream)


def write_hidden(hmm: Hmm, stream: TextIO) -> None:
    """The arrays of a hidden Markov model as JSON."""
    arrays = {name: getattr(hmm, name).tolist() for name in ("initial", "transition", "emission", "stop")}
    _write_json({"symbols": _names(hmm.alphabet), **arrays}, stream)


def write_json(automaton: WeightedAutomaton, stream: TextIO) -> None:
    """The weights as JSON: initial, one matrix per symbol, final."""
    matrices = dict(zip(_names(automaton.alphabet), automaton.transitions.tolist(), strict=True))
    _write_json(
        {"initial": automaton.initial.tolist(), "transitions": matrices, "final": automaton.final.tolist()},
        stream,
    )


FORMATS: Mapping[str, Writer] = {
    "att": write_att,
    "pautomac": write_pautomac_model,
    "dot": write_dot,
    "hmm": write_hmm,
    "json": write_json,
}
"""To add a format of machines, write a writer and name it here."""


def hmm_file(automaton: WeightedAutomaton) -> Iterable[bytes | memoryview]:
    """The arrays of a hidden Markov model as safetensors: alpha_exp, beta and gamma."""
    symbols = {"symbols": to_json(_names(automaton.alphabet)), "end": "last column"}
    return written(hmm_arrays(automaton), symbols)


MOST_HIDDEN = 1000  # states of a hidden Markov model that is written: its moves are their square


def _require_few_states(automaton: WeightedAutomaton, model: str) -> None:
    """Refuse an automaton that is no hidden Markov model, where one of the same distribution is huge."""
    n = int(np.count_nonzero(automaton.transitions.sum(axis=2)))
    if n > MOST_HIDDEN and automaton.is_stochastic() and on_own_states(automaton) is None:
        raise InputError(
            f"is no hidden Markov model: symbols and moves depend on each other, and one of the same "
            f"distribution has {n:,} states and {n * n:,} moves; learn with --method em --structure hmm, or "
            "use --to json",
            file=model,
        )


BINARY = {"hmm-arrays": hmm_file}
"""Formats that are no text."""
ARPA = "arpa"  # for n-grams, which are no automata


def _write_ngrams(loaded: Loaded, output: str) -> None:
    from sigmastar.automata.model.arpa import write_arpa  # few models are n-grams

    if not isinstance(loaded.model, NgramModel):
        raise InputError("is no n-gram model; --method ngram learns one", file=loaded.path)
    with atomic_write(output) as stream:
        write_arpa(loaded.model, stream)


@click.command()
@model_argument
@click.option(
    "--to", "target", type=click.Choice([*FORMATS, *BINARY, ARPA]), required=True, help="Format of the model."
)
@click.option("--symbols", metavar="FILE", help="File for the table of symbols, with att.")
@output_option
def convert(model: str, target: str, symbols: str | None, output: str) -> None:
    """Write the automaton of MODEL, or its n-grams.

    att is OpenFst's text, hmm a hidden Markov model in JSON; hmm-arrays is one in safetensors as toolkits
    read it: alpha_exp, and the logarithms beta and gamma, with the end as the last symbol. arpa is the format
    of n-grams that KenLM and SRILM read.
    """
    if symbols is not None and target != "att":
        raise click.UsageError(f"--symbols is for --to att, not {target}")
    loaded = load(model)
    if target == ARPA:
        _write_ngrams(loaded, output)
        return
    if target == "hmm" and hasattr(loaded.model, "to_hmm"):  # it has hidden states
        hidden = loaded.model.to_hmm()
        with atomic_write(output) as stream:
            write_hidden(hidden, stream)
        return
    is_ngram = target == "att" and isinstance(loaded.model, NgramModel)
    automaton: Any = loaded.model if is_ngram else loaded.require_automaton()
    if target in ("hmm", *BINARY):
        _require_few_states(automaton, model)
    try:
        if target in BINARY:
            atomic_write_pieces(output, BINARY[target](automaton))
        else:
            with atomic_write(output) as stream:
                FORMATS[target](automaton, stream)
        if symbols is not None:
            with atomic_write(symbols) as stream:
                write_att(automaton, StringIO(), stream)
    except ValueError as problem:
        if isinstance(problem, InputError) and problem.file is not None:
            raise
        raise InputError(f"{problem} (--method auto or em learns proper automata)", file=model) from None
    if isinstance(loaded.model, FilteredAutomaton):
        tell(f"note: {target} has no place for the filter of {model}; its automaton alone is written")


def _names(alphabet: Alphabet) -> list[str]:
    return [str(symbol) for symbol in alphabet]


def _write_json(value: object, stream: TextIO) -> None:
    json.dump(value, stream, allow_nan=False)
    stream.write("\n")
