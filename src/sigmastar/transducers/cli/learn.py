"""`sigmastar learn transducer`: from pairs of strings to a transducer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from sigmastar.core.cli.learning import Learned, Method, built, learn, learn_options, method_option, parameter
from sigmastar.core.cli.options import auto_or_number
from sigmastar.core.progress import Say
from sigmastar.core.text_files import described_file
from sigmastar.transducers.data import SIDES, Shape, StringPairs, read_transductions
from sigmastar.transducers.estimator import SpectralTransducer

Function = TypeVar("Function", bound=Callable[..., Any])

COMBINED = Method(SpectralTransducer, ("order", "shapes", "long_units"), {"method": "combined"})
NGRAM = Method(SpectralTransducer, ("order", "shapes", "long_units"), {"method": "ngram"})
SPECTRAL = Method(SpectralTransducer, ("n_states", "shapes", "long_units"), {"method": "spectral"})
COMPLETION = Method(SpectralTransducer, ("n_states", "shapes"), {"method": "completion"})
METHODS = {"combined": COMBINED, "ngram": NGRAM, "spectral": SPECTRAL, "completion": COMPLETION}


def _shapes(value: str | tuple[Shape, ...]) -> str | tuple[Shape, ...]:
    """The type of an option: `1-1,1-0`, or `auto`."""
    if not isinstance(value, str) or value == "auto":
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


def _once_called_so(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    """`--model` is `--output`, as the option was called once."""
    if value is not None:
        context.default_map = {**(context.default_map or {}), "output": value}


@click.command()
@click.argument("file", metavar="FILE")
@_side_option("--input-symbols", "chars", "inputs")
@_side_option("--output-symbols", "tokens", "outputs")
@method_option(METHODS, "combined")
@parameter(
    "order",
    "--order",
    COMBINED,
    NGRAM,
    type=auto_or_number,
    metavar="N",
    help="Order of n-grams (combined, ngram).",
)
@parameter(
    "n_states",
    "--states",
    SPECTRAL,
    COMPLETION,
    type=auto_or_number,
    metavar="N",
    help="Number of states (spectral, completion).",
)
@parameter(
    "shapes",
    "--units",
    *METHODS.values(),
    type=_shapes,
    metavar="SHAPES",
    help="Numbers of input and output symbols of alignment units, such as 1-1,1-0,2-1.",
)
@parameter(
    "long_units",
    "--long-units",
    COMBINED,
    type=float,
    metavar="FACTOR",
    help="Factor of the counts of units of more than two symbols in the aligner.",
)
@click.option(
    "--model", callback=_once_called_so, expose_value=False, is_eager=True, hidden=True, metavar="MODEL"
)
@learn_options
def learn_transducer(file: str, input_symbols: str, output_symbols: str, method: str, **options: Any) -> None:
    """Learn a transducer from FILE, `input TAB output` on every line; the other direction comes with it.

    A side is characters, or tokens between spaces; an input may stand on several lines. combined: joint
    n-grams, chains of substates from two views and spectral automata over two inventories of alignment units,
    with a spectral automaton of outputs, weighed on held-out inputs; the most accurate. ngram: a joint
    Kneser-Ney n-gram alone, faster. spectral: operators of units as they are recovered. completion: without
    an aligner, for a handful of symbols.
    """
    if options["output"] in SIDES:  # what it once meant
        hint = f"for symbols of outputs use --output-symbols {options['output']}"
        raise click.UsageError(f"--output is the model file; {hint}")
    given = {name: options.pop(name) for name in ("order", "n_states", "shapes", "long_units")}

    def work(estimator: Any, say: Say) -> Learned:
        pairs = StringPairs.of(read_transductions(file, input_symbols, output_symbols))
        estimator.fit(pairs)
        return Learned(
            {"files": [described_file(file)], "n_pairs": len(pairs)},
            f"from {len(pairs)} pairs",
            {"input": input_symbols, "output": output_symbols},
            _found(estimator),
        )

    learn(built(METHODS, method, given), method, work, **options)


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
