"""`sigmastar learn transducer`: from pairs of strings to a transducer."""

from __future__ import annotations

import time
from typing import Any

import click

from sigmastar import __version__
from sigmastar.core.cli.options import auto_or_number, json_option, quiet_option, seed_option
from sigmastar.core.cli.paths import described_file, require_folder
from sigmastar.core.cli.printing import print_figures
from sigmastar.core.cli.progress import tell, watching
from sigmastar.core.model_files import save_model
from sigmastar.transducers.data.string_pairs import StringPairs
from sigmastar.transducers.data.tables import SIDES, read_transductions
from sigmastar.transducers.data.units import SHAPES, Shape
from sigmastar.transducers.estimator import METHODS, SpectralTransducer
from sigmastar.transducers.learn.combined import PANELS

PLAIN = ",".join(f"{p}-{q}" for p, q in SHAPES)


def _shapes(value: str) -> tuple[Shape, ...]:
    """The type of an option: `1-1,1-0`."""
    try:
        found = tuple((int(p), int(q)) for p, q in (part.split("-") for part in value.split(",")))
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a list such as 1-1,1-0,2-1") from None
    if any(p + q == 0 or max(p, q) > 4 or min(p, q) < 0 for p, q in found):
        raise click.BadParameter(f"{value!r}: a unit has 0 to 4 symbols a side, and not 0-0")
    return found


@click.command(context_settings={"show_default": True})
@click.argument("file", metavar="FILE")
@click.option("-o", "--model", "target", required=True, metavar="MODEL", help="The model file to write.")
@click.option("--input", "inputs", type=click.Choice(list(SIDES)), default="chars", help="Symbols of inputs.")
@click.option(
    "--output", "outputs", type=click.Choice(list(SIDES)), default="tokens", help="Those of outputs."
)
@click.option("--method", type=click.Choice(METHODS), default="combined", help="How to learn.")
@click.option("--order", type=auto_or_number, metavar="N", default="auto", help="Of n-grams.")
@click.option("--states", type=auto_or_number, metavar="N", default="auto", help="Of spectral, completion.")
@click.option(
    "--units", "shapes", type=_shapes, default=PLAIN, metavar="SHAPES", help="Symbols in-out of units."
)
@seed_option
@json_option
@quiet_option
def command(
    file: str,
    target: str,
    inputs: str,
    outputs: str,
    method: str,
    order: int | str,
    states: int | str,
    shapes: tuple[Shape, ...],
    seed: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """Learn a transducer from FILE, `input TAB output` on every line; the other direction comes with it.

    A side is characters, or tokens between spaces; an input may stand on several lines. combined: joint
    n-grams, spectral operators and spectral substates over two inventories of alignment units, weighed on
    held-out inputs; the best. ngram: a joint Kneser-Ney n-gram alone, faster. spectral: operators of units
    as they are recovered. completion: without an aligner, for a handful of symbols.
    """
    require_folder(target)
    if order != "auto" and method not in PANELS:
        raise click.UsageError(f"--order is for --method {' and '.join(PANELS)}")
    if states != "auto" and method in PANELS:
        raise click.UsageError("--states is for --method spectral and completion")
    with watching("reading", quiet) as say:
        pairs = StringPairs.of(read_transductions(file, inputs, outputs))
        begin = time.perf_counter()
        learner = SpectralTransducer(method, order, states, shapes, random_state=seed, progress=say).fit(
            pairs
        )
    learned = {
        "method": method,
        "seed": seed,
        "settings": {
            "input": inputs,
            "output": outputs,
            "order": order,
            "states": states,
            "units": [f"{p}-{q}" for p, q in shapes],
        },
        **_found(learner),
        "data": {"files": [described_file(file)], "n_pairs": len(pairs)},
        "sigmastar": __version__,
        "seconds": round(time.perf_counter() - begin, 3),
    }
    save_model(learner.model_, target, learned)
    if as_json:
        print_figures(learned, as_json=True)
    tell(f"{target}: {method}, from {len(pairs)} pairs in {learned['seconds']:.1f} s", quiet)


def _found(learner: SpectralTransducer) -> dict[str, Any]:
    """What held-out inputs said."""
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
