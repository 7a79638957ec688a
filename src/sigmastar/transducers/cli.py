"""The commands of transducers: learn from pairs of strings; outputs, figures, pictures from models."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

import click
import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.atomic import atomic_write
from sigmastar.core.cli.learning import Learned, Method, built, learn_options, parameter
from sigmastar.core.cli.learning import learn as learn_model
from sigmastar.core.cli.options import (
    auto_or_number,
    json_option,
    model_argument,
    output_option,
    quiet_option,
    seed_option,
)
from sigmastar.core.cli.printing import print_figures, to_json, with_interval
from sigmastar.core.cli.progress_bar import tell, watching
from sigmastar.core.errors import UnknownSymbolError
from sigmastar.core.model_files import load_model, read_header
from sigmastar.core.page import Part, Picture, Section, Table, render
from sigmastar.core.parallel import limited_threads
from sigmastar.core.text_files import described_file
from sigmastar.transducers.data.string_pairs import StringPairs
from sigmastar.transducers.data.tables import SIDES, joined, read_inputs, read_transductions
from sigmastar.transducers.data.units import Shape
from sigmastar.transducers.draw import draw_alignment, draw_lattice
from sigmastar.transducers.estimator import SpectralTransducer
from sigmastar.transducers.metrics import evaluate as evaluated
from sigmastar.transducers.model.transducer import Transducer
from sigmastar.transducers.model.weighted_transducer import WeightedTransducer

Function = TypeVar("Function", bound=Callable[..., Any])

_N_DRAWN = 20  # lattices on a page
_N_NAMED = 10  # unknown symbols in a message

NGRAM, STATES, UNITS = ("order",), ("n_states",), ("shapes", "long_units")
METHODS = {
    "combined": Method(SpectralTransducer, NGRAM + UNITS, {"method": "combined"}),
    "ngram": Method(SpectralTransducer, NGRAM + UNITS, {"method": "ngram"}),
    "spectral": Method(SpectralTransducer, STATES + UNITS, {"method": "spectral"}),
    "completion": Method(SpectralTransducer, (*STATES, "shapes"), {"method": "completion"}),
}
_ALL = tuple(METHODS.values())


def _shapes(value: str | tuple[Shape, ...]) -> tuple[Shape, ...]:
    """The type of an option: `1-1,1-0`."""
    if not isinstance(value, str):
        return value
    try:
        found = tuple((int(p), int(q)) for p, q in (part.split("-") for part in value.split(",")))
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a list such as 1-1,1-0,2-1") from None
    if any(p + q == 0 or max(p, q) > 4 or min(p, q) < 0 for p, q in found):
        raise click.BadParameter(f"{value!r}: a unit has 0 to 4 symbols per side, and not 0-0")
    return found


def _side_option(flag: str, default: str, whose: str) -> Callable[[Function], Function]:
    return click.option(
        flag,
        type=click.Choice(list(SIDES)),
        default=default,
        show_default=True,
        help=f"Symbols of {whose}: characters, or tokens between spaces.",
    )


@click.command()
@click.argument("file", metavar="FILE")
@_side_option("--input-symbols", "chars", "inputs")
@_side_option("--output-symbols", "tokens", "outputs")
@click.option(
    "--method", type=click.Choice(list(METHODS)), default="combined", show_default=True, help="Way to learn."
)
@parameter(
    "order",
    "--order",
    METHODS["combined"],
    METHODS["ngram"],
    type=auto_or_number,
    metavar="N",
    help="Order of n-grams (combined, ngram).",
)
@parameter(
    "n_states",
    "--states",
    METHODS["spectral"],
    METHODS["completion"],
    type=auto_or_number,
    metavar="N",
    help="Number of states (spectral, completion).",
)
@parameter(
    "shapes",
    "--units",
    *_ALL,
    type=_shapes,
    metavar="SHAPES",
    help="Numbers of input and output symbols of alignment units, such as 1-1,1-0,2-1.",
)
@parameter(
    "long_units",
    "--long-units",
    METHODS["combined"],
    type=float,
    metavar="FACTOR",
    help="Factor of the counts of units of more than two symbols in the aligner.",
)
@learn_options
def learn(file: str, input_symbols: str, output_symbols: str, method: str, **options: Any) -> None:
    """Learn a transducer from FILE, `input TAB output` on every line; the other direction comes with it.

    A side is characters, or tokens between spaces; an input may stand on several lines. combined: joint
    n-grams and chains of substates from two views over two inventories of alignment units, with a spectral
    automaton of outputs, weighed on held-out inputs; the most accurate. ngram: a joint Kneser-Ney n-gram
    alone, faster. spectral: operators of units as they are recovered. completion: without an aligner, for a
    handful of symbols.
    """
    if options["output"] in SIDES:  # what it once meant
        hint = f"for symbols of outputs use --output-symbols {options['output']}"
        raise click.UsageError(f"--output is the model file; {hint}")
    given = {name: options.pop(name) for name in ("order", "n_states", "shapes", "long_units")}
    sides = (input_symbols, output_symbols)

    def work(estimator: Any, say: Any) -> Learned:
        pairs = StringPairs.of(read_transductions(file, *sides))
        estimator.fit(pairs)
        return Learned(
            {"files": [described_file(file)], "n_pairs": len(pairs)},
            f"from {len(pairs)} pairs",
            {"input": sides[0], "output": sides[1]},
            _found(estimator),
        )

    learn_model(built(METHODS, method, given), method, work, **options)


def _found(learner: SpectralTransducer) -> dict[str, Any]:
    """What held-out inputs showed."""
    fit = vars(learner).get("fit_")
    if fit is None:
        return {}
    weights = dict(zip(fit.transducer.names, fit.transducer.weights.round(4).tolist(), strict=True))
    return {
        "order": fit.order,
        "held_out_error": fit.held_out_error,
        "weights": weights,
        "n_unaligned": fit.n_unaligned,
    }


class _Loaded(NamedTuple):
    """A model, and the symbols of its two sides."""

    model: Transducer | WeightedTransducer
    inputs: str
    outputs: str

    def pairs(self, file: str) -> StringPairs:
        return StringPairs.of(read_transductions(file, self.inputs, self.outputs))


def _load(path: str, inverse: bool = False) -> _Loaded:
    model: Transducer | WeightedTransducer = load_model(path)
    learned = read_header(path)["learned"]
    layout = learned.get("layout") or learned.get("settings", {})
    sides = layout.get("input", "chars"), layout.get("output", "tokens")
    return _Loaded(model.inverse(), sides[1], sides[0]) if inverse else _Loaded(model, *sides)


@contextmanager
def _working(message: str, threads: int | None, quiet: bool) -> Iterator[None]:
    with watching(message, quiet), limited_threads(threads):
        yield


def _unknown_option(default: str) -> Callable[[Function], Function]:
    return click.option(
        "--unknown",
        type=click.Choice(["error", "skip"]),
        default=default,
        show_default=True,
        help="Input symbols that the model does not know: an error, or passed over with a warning.",
    )


def _check_symbols(inputs: Strings, known: Alphabet, unknown: str, quiet: bool) -> None:
    """Refuse symbols that no unit reads, or warn of them."""
    strange = [repr(symbol) for symbol in inputs.alphabet if symbol not in known.codes]
    if not strange:
        return
    listed = ", ".join(strange[:_N_NAMED]) + (", .." if len(strange) > _N_NAMED else "")
    message = f"the model does not know the input symbols {listed}"
    if unknown == "error":
        raise UnknownSymbolError(f"{message}; use --unknown skip to pass them over")
    tell(f"{message}: they are passed over", quiet)


threads_option = click.option(
    "--threads", type=click.IntRange(1), metavar="N", help="Number of threads  [default: one per core]"
)


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
    loaded = _load(model)
    with _working("transducing", threads, quiet):
        pairs = loaded.pairs(file)
        _check_symbols(pairs.inputs, loaded.model.units.inputs, unknown, quiet)
        scores = evaluated(loaded.model, pairs, np.random.default_rng(0))
    words = with_interval("word_error_rate", scores.word_error_rate)
    symbols = with_interval("symbol_error_rate", scores.symbol_error_rate)
    print_figures({"n_inputs": len(scores.wrong), **words, **symbols}, as_json)


@click.command()
@model_argument
@click.argument("file", metavar="FILE")
@click.option("--nbest", type=click.IntRange(1), default=1, show_default=True, help="Outputs per input.")
@click.option("--inverse", is_flag=True, help="Inputs for the outputs in FILE.")
@_unknown_option("error")
@threads_option
@output_option
@json_option
@quiet_option
def predict(
    model: str, file: str, nbest: int, inverse: bool, unknown: str, output: str, **options: Any
) -> None:
    """Outputs for the inputs in the first column of FILE.

    Prints `input TAB output TAB share` lines, --nbest of them per input, best first. An input without an
    output has an empty one with a share of 0.
    """
    loaded = _load(model, inverse)
    with _working("transducing", options["threads"], options["quiet"]):
        inputs = Strings.of(read_inputs(file, loaded.inputs))
        _check_symbols(inputs, loaded.model.units.inputs, unknown, options["quiet"])
        rankings = loaded.model.predict(inputs, nbest)
    with atomic_write(output) as stream:
        for symbols, ranking in zip(inputs, rankings, strict=True):
            text = joined(symbols, loaded.inputs)
            found = [(joined(y, loaded.outputs), share) for y, share in ranking] or [("", 0.0)]
            if options["as_json"]:
                listed = [{"output": y, "share": share} for y, share in found]
                stream.write(to_json({"input": text, "outputs": listed}) + "\n")
            else:
                stream.writelines(f"{text}\t{y}\t{share:.6g}\n" for y, share in found)


@click.command()
@model_argument
@click.argument("file", metavar="FILE")
@output_option
@quiet_option
def score(model: str, file: str, output: str, quiet: bool) -> None:
    """The natural log-probability of each pair of FILE: of the sum over its alignments."""
    loaded = _load(model)
    with watching("scoring", quiet):
        logs = loaded.model.log_probability(loaded.pairs(file)).tolist()
    with atomic_write(output) as stream:
        stream.writelines(f"{value!r}\n" for value in logs)


@click.command()
@model_argument
@click.option("-n", "n_pairs", type=click.IntRange(0), default=10, show_default=True, help="Number of pairs.")
@click.option(
    "--max-length",
    type=click.IntRange(1),
    default=1000,
    show_default=True,
    help="Number of alignment units per pair, at most.",
)
@seed_option
@output_option
@quiet_option
def sample(model: str, n_pairs: int, max_length: int, seed: int, output: str, quiet: bool) -> None:
    """Draw pairs, `input TAB output` lines."""
    loaded = _load(model)
    with watching("sampling", quiet):
        pairs = loaded.model.sample(n_pairs, np.random.default_rng(seed), max_length)
    with atomic_write(output) as stream:
        stream.writelines(f"{joined(x, loaded.inputs)}\t{joined(y, loaded.outputs)}\n" for x, y in pairs)


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
    facts = _facts(model, loaded.model)
    if as_json:
        print_figures(facts, as_json=True)
        return
    lines = {name: _in_words(value) for name, value in facts.items() if name != "learned"}
    with atomic_write(output) as stream:
        if html:
            stream.write(_page(model, loaded.model, lines, pairs))
        elif pairs is None:
            stream.writelines(f"{name:<14}  {value}\n" for name, value in lines.items())
        else:
            drawn = map(draw_alignment, loaded.model.align(pairs).by_pair())
            stream.writelines(f"{text}\n\n" for text in drawn)


def _facts(path: str, model: Transducer | WeightedTransducer) -> dict[str, Any]:
    """Numbers and lists about a model."""
    header, units = read_header(path), model.units
    learned = header["learned"]
    facts: dict[str, Any] = {
        "file": path,
        "family": str(header["family"]),
        "input_symbols": len(units.inputs),
        "output_symbols": len(units.outputs),
        "units": len(units),
        "method": learned.get("method"),
        "n_pairs": learned.get("data", {}).get("n_pairs"),
    }
    if isinstance(model, Transducer):
        facts["weights"] = dict(zip(model.names, model.weights.tolist(), strict=True))
        facts["order"] = learned.get("order")
    else:
        facts["states"] = model.n_states
    return {**{name: value for name, value in facts.items() if value is not None}, "learned": learned}


def _in_words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {weight:.3g}" for name, weight in value.items())
    return str(value)


def _page(
    path: str, model: Transducer | WeightedTransducer, lines: dict[str, str], pairs: StringPairs | None
) -> str:
    parts: list[Part] = [Table("The model", ("", ""), list(lines.items()))]
    chosen = pairs if pairs is not None else model.sample(3, np.random.default_rng(0), 12)
    for number in range(min(len(chosen), _N_DRAWN)):
        aligned = model.align(chosen.select([number]), 8)
        if len(aligned.strings):
            drawn = draw_lattice(list(zip(aligned.strings, aligned.posterior.tolist(), strict=True)))
            caption = f"Alignments of {' '.join(map(str, chosen.inputs[number]))}"
            parts.append(Picture(drawn, caption, caption))
    return render(f"transducer: {path}", [Section("Transducer", parts)], {})
