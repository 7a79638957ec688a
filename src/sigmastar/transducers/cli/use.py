"""The commands for transducers: pairs in, outputs out, in either direction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click
import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.core.atomic import atomic_write
from sigmastar.core.cli.printing import print_figures, to_json
from sigmastar.core.cli.progress import watching
from sigmastar.core.errors import InputError
from sigmastar.core.model_files import load_model, read_header
from sigmastar.core.page import Part, Picture, Section, Table, render
from sigmastar.transducers.data.string_pairs import StringPairs
from sigmastar.transducers.data.tables import joined, read_inputs, read_transductions
from sigmastar.transducers.draw import draw_alignment, draw_lattice
from sigmastar.transducers.estimator import alignments, best_outputs
from sigmastar.transducers.metrics import transduction_scores
from sigmastar.transducers.model.transducer import Transducer
from sigmastar.transducers.model.weighted_transducer import WeightedTransducer

Parameters = Mapping[str, Any]
Model = Transducer | WeightedTransducer

_DRAWN = 20  # lattices on a page


def evaluate(parameters: Parameters) -> None:
    """Word and symbol error rates; an input with several outputs may give any of them."""
    if parameters["file"] is None:
        raise click.UsageError("give pairs to measure on")
    model, sides = _loaded(parameters)
    with watching("transducing", parameters["quiet"]):
        references = StringPairs.of(read_transductions(parameters["file"], *sides)).references()
        rankings = best_outputs(model, Strings.of(list(references)), 1)
        found = [ranking[0][0] if ranking else () for ranking in rankings]
        scores = transduction_scores(found, list(references.values()), np.random.default_rng(0))
    figures: dict[str, Any] = {"n_inputs": len(found)}
    for name in ("word_error_rate", "symbol_error_rate"):
        estimate = getattr(scores, name)
        figures |= {name: estimate.value, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
    print_figures(figures, parameters["as_json"])


def predict(parameters: Parameters) -> None:
    """`input TAB output TAB share` lines, `--nbest` of them an input, best first."""
    model, sides = _loaded(parameters)
    if parameters["inverse"]:
        model, sides = model.inverse(), (sides[1], sides[0])
    with watching("transducing", parameters["quiet"]):
        inputs = read_inputs(parameters["file"], sides[0])
        rankings = best_outputs(model, Strings.of(inputs), parameters["nbest"])
    with atomic_write(parameters["output"]) as stream:
        for symbols, ranking in zip(inputs, rankings, strict=True):
            text = joined(symbols, sides[0])
            found = [(joined(output, sides[1]), share) for output, share in ranking] or [("", 0.0)]
            if parameters["as_json"]:
                listed = [{"output": output, "share": share} for output, share in found]
                stream.write(to_json({"input": text, "outputs": listed}) + "\n")
            else:
                stream.writelines(f"{text}\t{output}\t{share:.6g}\n" for output, share in found)


def score(parameters: Parameters) -> None:
    """log of the sum over alignments of each pair."""
    model, sides = _loaded(parameters)
    with watching("scoring", parameters["quiet"]):
        pairs = StringPairs.of(read_transductions(parameters["file"], *sides))
        logs = model.log_probability(pairs).tolist()
    with atomic_write(parameters["output"]) as stream:
        stream.writelines(f"{value!r}\n" for value in logs)


def sample(parameters: Parameters) -> None:
    """Pairs, `input TAB output`."""
    model, sides = _loaded(parameters)
    rng = np.random.default_rng(parameters["seed"])
    with watching("sampling", parameters["quiet"]):
        pairs = model.sample(parameters["n_strings"], rng, min(parameters["max_length"], 10_000))
    with atomic_write(parameters["output"]) as stream:
        stream.writelines(f"{joined(x, sides[0])}\t{joined(y, sides[1])}\n" for x, y in pairs)


def show(parameters: Parameters) -> None:
    """What a transducer is; with --pairs the alignments of pairs, with --html their lattices."""
    model, sides = _loaded(parameters)
    if parameters["dot"]:
        raise click.UsageError("--dot is for automata")
    pairs = None
    if parameters["pairs"] is not None:
        pairs = StringPairs.of(read_transductions(parameters["pairs"], *sides))
    said = _facts(parameters["model"], model)
    if parameters["as_json"]:
        print_figures({**said, "learned": read_header(parameters["model"])["learned"]}, as_json=True)
        return
    with atomic_write(parameters["output"]) as stream:
        if parameters["html"]:
            stream.write(_page(parameters["model"], model, said, pairs))
        elif pairs is None:
            stream.writelines(f"{name:<12}  {value}\n" for name, value in said.items())
        else:
            stream.writelines(
                f"{draw_alignment(units)}\n\n" for units in alignments(_combined(model).align(pairs))
            )


def _facts(path: str, model: Model) -> dict[str, str]:
    header = read_header(path)
    learned = header["learned"]
    units = model.units
    said = {
        "file": path,
        "family": str(header["family"]),
        "alphabets": f"{len(units.inputs)} input symbols, {len(units.outputs)} output symbols",
        "units": str(len(units)),
        "method": str(learned.get("method", "")),
        "data": f"{learned.get('data', {}).get('n_pairs', '')} pairs",
        "seconds": str(learned.get("seconds", "")),
    }
    if isinstance(model, Transducer):
        weights = zip(model.names, model.weights.tolist(), strict=True)
        said["weights"] = ", ".join(f"{name} {weight:.3g}" for name, weight in weights)
        said["order"] = str(learned.get("order", ""))
    else:
        said["states"] = str(model.n_states)
    return {name: value for name, value in said.items() if value}


def _page(path: str, model: Model, said: dict[str, str], pairs: StringPairs | None) -> str:
    parts: list[Part] = [Table("The model", ("", ""), list(said.items()))]
    chosen = pairs if pairs is not None else model.sample(3, np.random.default_rng(0), 12)
    for number in range(min(len(chosen), _DRAWN)):
        picture = draw_lattice(_lattice(model, chosen.select([number])))
        caption = f"Alignments of {' '.join(map(str, chosen.inputs[number]))}"
        parts.append(Picture(picture, caption, caption))
    return render(f"transducer: {path}", [Section("Transducer", parts)], {})


def _lattice(model: Model, pair: StringPairs) -> list[tuple[tuple[Any, ...], float]]:
    """Alignments of one pair with their posteriors."""
    if not isinstance(model, Transducer):
        raise InputError(
            "--html draws the lattices of transducers that have an aligner; use combined or ngram"
        )
    aligned = model.align(pair, 8)
    return list(zip(aligned.strings, aligned.posterior.tolist(), strict=True))


def _combined(model: Model) -> Transducer:
    if not isinstance(model, Transducer):
        raise InputError("--pairs needs a transducer with an aligner; use --method combined or ngram")
    return model


def _loaded(parameters: Parameters) -> tuple[Model, tuple[str, str]]:
    """The model, and what its two sides are made of."""
    model: Model = load_model(parameters["model"])
    settings = read_header(parameters["model"])["learned"].get("settings", {})
    return model, (settings.get("input", "chars"), settings.get("output", "tokens"))
