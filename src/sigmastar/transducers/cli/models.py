"""What is done with transducers: `evaluate`, `predict`, `score`, `sample`, `show`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import click
import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.att import write_att_pairs
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.arrays import Indices
from sigmastar.core.atomic import atomic_write, write_lines
from sigmastar.core.cli.options import (
    TableCommand,
    json_option,
    model_argument,
    output_option,
    quiet_option,
    sample_options,
    threads_option,
)
from sigmastar.core.cli.printing import print_figures, to_json, with_interval
from sigmastar.core.errors import InputError, UnknownSymbolError
from sigmastar.core.model_reading import family_of, load_model, read_header
from sigmastar.core.page import Part, Section, Table, render
from sigmastar.core.progress import tell, watching
from sigmastar.core.resources import limited_threads
from sigmastar.core.time_estimates import foretell
from sigmastar.core.view_drawings import parts_of
from sigmastar.transducers.data import StringPairs, joined, read_inputs, read_transductions
from sigmastar.transducers.draw import draw_alignment
from sigmastar.transducers.explore import TransducerExhibit
from sigmastar.transducers.model.transducer import Transducer
from sigmastar.transducers.model.weighted_transducer import WeightedTransducer

Function = TypeVar("Function", bound=Callable[..., Any])
Model = Transducer | WeightedTransducer

_N_DRAWN = 20  # lattices on a page
_SHORT = 1000  # symbols that are transduced within a second
_N_NAMED = 10  # unknown symbols in a message


class _Loaded(NamedTuple):
    """A model, how it was learned, and the symbols of its two sides."""

    model: Model
    learned: dict[str, Any]
    inputs: str
    outputs: str

    def pairs(self, file: str) -> StringPairs:
        return StringPairs.of(read_transductions(file, self.inputs, self.outputs))


def _load(path: str, inverse: bool = False) -> _Loaded:
    model, learned = load_model(path), read_header(path)["learned"]
    layout = learned.get("layout") or learned.get("settings", {})
    by_letters = all(len(str(symbol)) == 1 for symbol in model.units.inputs)  # where the file does not tell
    sides = layout.get("input", "chars" if by_letters else "tokens"), layout.get("output", "tokens")
    if inverse:
        return _Loaded(model.inverse(), learned, *reversed(sides))
    return _Loaded(model, learned, *sides)


@contextmanager
def _working(message: str, threads: int | None, quiet: bool) -> Iterator[None]:
    with watching(message, quiet), limited_threads(threads):
        yield


def _foretell(work: str, inputs: Strings, run: Callable[[Strings], object], quiet: bool) -> None:
    """Tell how long work on inputs takes: as long as they are."""

    def on_begins(numbers: Indices, most: int) -> None:
        with limited_threads(1):
            run(inputs.select(numbers, most))

    foretell(work, inputs.lengths, on_begins, 1.0, _SHORT, 1.0, quiet=quiet)


def _unknown_option(default: str) -> Callable[[Function], Function]:
    return click.option(
        "--unknown",
        type=click.Choice(["error", "skip"]),
        default=default,
        show_default=True,
        help="Treatment of input symbols that the model does not know: an error, or left out with a warning.",
    )


def _check_symbols(inputs: Strings, known: Alphabet, unknown: str, quiet: bool) -> None:
    """Refuse symbols that no unit reads, or warn of them."""
    strange = [repr(symbol) for symbol in inputs.alphabet if symbol not in known.codes]
    if not strange:
        return
    listed = ", ".join(strange[:_N_NAMED]) + (", .." if len(strange) > _N_NAMED else "")
    message = f"the model does not know the input symbols {listed}"
    if unknown == "error":
        raise UnknownSymbolError(f"{message}; use --unknown skip to leave them out")
    tell(f"{message}: they are left out", quiet)


@click.command()
@model_argument
@click.argument("file", metavar="FILE")
@_unknown_option("skip")
@threads_option
@json_option
@quiet_option
def evaluate(model: str, file: str, unknown: str, threads: int | None, as_json: bool, quiet: bool) -> None:
    """Word and symbol error rates of MODEL on the pairs of FILE, with 95% intervals over inputs.

    An input on several lines may give any of its outputs.
    """
    from sigmastar.transducers import metrics  # intervals need scipy, which the other commands do without

    loaded = _load(model)
    with _working("transducing", threads, quiet):
        pairs = loaded.pairs(file)
        _check_symbols(pairs.inputs, loaded.model.units.inputs, unknown, quiet)
        _foretell("transducing", pairs.inputs, loaded.model.predict, quiet)
        scores = metrics.evaluate(loaded.model, pairs, np.random.default_rng(0))
    words = with_interval("word_error_rate", scores.word_error_rate)
    symbols = with_interval("symbol_error_rate", scores.symbol_error_rate)
    print_figures({"n_inputs": len(scores.wrong), **words, **symbols}, as_json)


@click.command()
@model_argument
@click.argument("file", metavar="FILE")
@click.option(
    "--top",
    "--nbest",
    "n_best",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Outputs per input.",
)
@click.option("--inverse", is_flag=True, help="Inputs for the outputs in FILE.")
@_unknown_option("error")
@threads_option
@output_option
@json_option
@quiet_option
def predict(
    model: str, file: str, n_best: int, inverse: bool, unknown: str, output: str, **options: Any
) -> None:
    """Outputs for the inputs in the first column of FILE.

    Prints `input TAB output TAB share` lines, --top of them per input, best first: the share is the
    probability of the output given the input. An input without an output has an empty one with a share of 0.
    """
    loaded = _load(model, inverse)
    with _working("transducing", options["threads"], options["quiet"]):
        inputs = Strings.of(read_inputs(file, loaded.inputs))
        _check_symbols(inputs, loaded.model.units.inputs, unknown, options["quiet"])
        _foretell("transducing", inputs, lambda some: loaded.model.predict(some, n_best), options["quiet"])
        rankings = loaded.model.predict(inputs, n_best)
    texts = [joined(symbols, loaded.inputs) for symbols in inputs]
    outputs = [
        [(joined(y, loaded.outputs), share) for y, share in ranking] or [("", 0.0)] for ranking in rankings
    ]
    write_lines(output, (_in_json if options["as_json"] else _in_columns)(texts, outputs))


def _in_json(inputs: list[str], outputs: list[list[tuple[str, float]]]) -> Iterator[str]:
    for text, found in zip(inputs, outputs, strict=True):
        yield to_json({"input": text, "outputs": [{"output": y, "share": share} for y, share in found]})


def _in_columns(inputs: list[str], outputs: list[list[tuple[str, float]]]) -> Iterator[str]:
    for text, found in zip(inputs, outputs, strict=True):
        yield from (f"{text}\t{y}\t{share:.6g}" for y, share in found)


@click.command()
@model_argument
@click.argument("file", metavar="FILE")
@click.option("--joint", is_flag=True, help="Log-probabilities of pairs, which `sample` draws from.")
@output_option
@quiet_option
def score(model: str, file: str, joint: bool, output: str, quiet: bool) -> None:
    """The natural log-probability of each output of FILE given its input, the share that `predict` prints.

    -inf where a symbol is unknown or the units of the model cannot spell the pair.
    """
    loaded = _load(model)
    with watching("scoring", quiet):
        pairs = loaded.pairs(file)
        run = loaded.model.log_probability if joint else loaded.model.log_conditional
        lengths = pairs.inputs.lengths
        longest = int(lengths.max(initial=0))
        foretell("scoring", lengths, lambda at, _: run(pairs.select(at)), 1.0, longest, quiet=quiet)
        logs = run(pairs)
    write_lines(output, map(repr, logs.tolist()))


@click.command(cls=TableCommand, columns=("input", "output"))
@sample_options("pairs", "Number of alignment units per pair, at most.")
def sample(model: str, n_samples: int, max_length: int, seed: int, output: str, quiet: bool) -> None:
    """Draw pairs, `input TAB output` lines."""
    loaded = _load(model)
    with watching("sampling", quiet):
        pairs = loaded.model.sample(n_samples, np.random.default_rng(seed), max_length)
    write_lines(output, (f"{joined(x, loaded.inputs)}\t{joined(y, loaded.outputs)}" for x, y in pairs))


@click.command()
@model_argument
@click.option("--pairs", "file", metavar="FILE", help="Pairs to draw the alignments of.")
@click.option("--html", is_flag=True, help="A page with edit lattices.")
@output_option
@json_option
def show(model: str, file: str | None, html: bool, output: str, as_json: bool) -> None:
    """What MODEL is and how it was learned; with --pairs alignments, with --html edit lattices."""
    loaded = _load(model)
    pairs = None if file is None else loaded.pairs(file)
    facts = {"file": model, **_facts(loaded)}
    words = {name: _in_words(value) for name, value in facts.items()}
    if as_json:
        print_figures({**facts, "learned": loaded.learned}, as_json, output)
    elif html:
        words["seed"] = str(loaded.learned.get("seed", ""))
        write_lines(output, [_page(model, loaded.model, words, pairs).removesuffix("\n")])
    elif pairs is not None:
        drawn = map(draw_alignment, loaded.model.align(pairs).by_pair())
        write_lines(output, (f"{text}\n" for text in drawn))
    else:
        print_figures(words, as_json, output)


def _facts(loaded: _Loaded) -> dict[str, Any]:
    """Numbers and lists about a model."""
    model, learned = loaded.model, loaded.learned
    facts: dict[str, Any] = {
        "family": family_of(model),
        "input_symbols": len(model.units.inputs),
        "output_symbols": len(model.units.outputs),
        "units": len(model.units),
        "method": learned.get("method"),
        "n_pairs": learned.get("data", {}).get("n_pairs"),
    }
    if isinstance(model, Transducer):
        facts["weights"] = dict(zip(model.names, model.weights.tolist(), strict=True))
        facts["order"] = learned.get("order")
    else:
        facts["states"] = model.n_states
    return {name: value for name, value in facts.items() if value is not None}


@click.command()
@model_argument
@click.option("--to", "target", type=click.Choice(["att"]), required=True, help="Format of the transducer.")
@output_option
def convert(model: str, target: str, output: str) -> None:
    """Write MODEL as AT&T text, a transducer for OpenFst: from, to, input, output, cost.

    Of combined models the joint n-gram is written, which proposes what the others weigh. Paths of one pair
    are its alignments, and their sum in the log semiring is the joint probability of input and output.
    """
    loaded = load_model(model)
    is_one = isinstance(loaded, WeightedTransducer)
    found = loaded.automaton if is_one else loaded.inventories[0].models["ngram"]
    with atomic_write(output) as stream:
        try:
            write_att_pairs(found, loaded.units.alphabet.symbols, stream)
        except ValueError as problem:
            raise InputError(getattr(problem, "problem", str(problem)), file=model) from None
    if not is_one and len(loaded.weights) > 1:
        tell(f"note: the joint n-gram is written; the other models of {model} have no place in {target}")


def _in_words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {weight:.3g}" for name, weight in value.items())
    return str(value)


def _page(path: str, model: Model, lines: dict[str, str], pairs: StringPairs | None) -> str:
    parts: list[Part] = [Table("The model", ("", ""), list(lines.items()))]
    chosen = pairs if pairs is not None else model.sample(3, np.random.default_rng(0), 12)
    exhibit = TransducerExhibit(model, {})
    for inputs, outputs in list(chosen)[:_N_DRAWN]:
        for view in exhibit.ways(model, list(map(str, inputs)), list(map(str, outputs))):
            named = replace(view, title=f"{view.title}: {' '.join(map(str, inputs))}")
            parts += parts_of(named)
    return render(f"transducer: {path}", [Section("Transducer", parts)], {"Seed": lines.get("seed", "")})
