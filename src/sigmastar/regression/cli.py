"""Commands for numbers and labels of strings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import click
import numpy as np

from sigmastar.automata.data.strings import Strings
from sigmastar.automata.draw.graph import draw_automaton
from sigmastar.automata.model.automaton import WeightedAutomaton
from sigmastar.core import page
from sigmastar.core.alphabet import Alphabet
from sigmastar.core.atomic import atomic_write, write_lines
from sigmastar.core.cli.learning import Learned, Method, built, learn, learn_options, parameter
from sigmastar.core.cli.options import (
    auto_or_number,
    json_option,
    model_argument,
    output_option,
    quiet_option,
    seed_option,
    unknown_option,
)
from sigmastar.core.cli.printing import print_figures, to_json
from sigmastar.core.errors import UnknownSymbolError
from sigmastar.core.family import judge
from sigmastar.core.model_reading import kind_of, load_model, read_header, save_model
from sigmastar.core.progress import Say, counted, watching
from sigmastar.core.text_files import described_file, display_name
from sigmastar.optimise.completers import COMPLETERS
from sigmastar.regression.data import LOSSES, Table, read_table
from sigmastar.regression.estimator import HankelClassifier, HankelRegressor
from sigmastar.regression.metrics import r_squared
from sigmastar.regression.model import StringClassifier, StringFunction

PARAMETERS = ("n_states", "loss", "solver", "n_starts", "max_iter", "ridge", "rank", "bound")
TASKS = {
    "regression": Method(HankelRegressor, PARAMETERS),
    "classification": Method(HankelClassifier, PARAMETERS),
}
BOTH = tuple(TASKS.values())

characters_option = click.option(
    "--characters", is_flag=True, default=None, help="Every character as a symbol."
)


@click.command(context_settings={"show_default": True})
@click.argument("file", metavar="FILE")
@click.option("--task", type=click.Choice(list(TASKS)), default="regression", help="Numbers, or labels.")
@parameter("n_states", "--states", *BOTH, type=auto_or_number, metavar="auto|N", help="Number of states.")
@parameter("loss", "--loss", *BOTH, type=click.Choice(list(LOSSES)), help="Cost of a wrong value.")
@parameter("solver", "--solver", *BOTH, type=click.Choice(list(COMPLETERS)), help="Solver of the completion.")
@parameter("n_starts", "--starts", *BOTH, type=click.IntRange(0), help="Number of starts of the refinement.")
@parameter("max_iter", "--max-iter", *BOTH, type=click.IntRange(1), help="Limit of refinement steps.")
@parameter("ridge", "--ridge", *BOTH, type=click.FloatRange(0), help="Penalty on squared weights.")
@parameter("rank", "--rank", *BOTH, type=click.IntRange(1), help="Largest rank of the completed matrix.")
@parameter("bound", "--bound", *BOTH, type=float, metavar="C", help="Largest size of its entries.")
@characters_option
@learn_options
def learn_regression(file: str, task: str, characters: bool | None, **options: Any) -> None:
    """Learn a function on strings from FILE, lines of string TAB value.

    Symbols are separated by blanks, or are characters. With --task classification values are labels.
    """
    estimator = built(TASKS, task, {name: options.pop(name) for name in PARAMETERS})

    def work(estimator: Any, say: Say) -> Learned:
        table = read_table(file, bool(characters), numeric=task == "regression")
        say("learning")
        values = table.numbers if task == "regression" else table.values
        estimator.fit(table.strings, values)
        n_states, n_strings = estimator.n_states_, len(table.strings)
        return Learned(
            data={"files": [described_file(file)], "n_strings": n_strings},
            summary=f"{counted(n_states, 'state')}, from {counted(n_strings, 'string')}",
            layout={"format": "lines", "characters": bool(characters)},
            found={"n_states": n_states},
        )

    learn(estimator, task, work, **options)


@click.command()
@model_argument
@click.argument("file", metavar="FILE")
@characters_option
@unknown_option
@json_option
@output_option
@quiet_option
def predict(
    model: str, file: str, characters: bool | None, unknown: str, as_json: bool, output: str, quiet: bool
) -> None:
    """The number or label of each string of FILE, one per line; values that stand behind them are ignored.

    With --json one object per line; those of labels hold their probabilities where the model has them.
    """
    found, table = load_model(model), _table(model, file, characters, need_values=False)
    with watching("predicting", quiet):
        strings = _coded(found, table, unknown, file)
        lines = _in_json(found, strings) if as_json else map(str, _values(found, strings).tolist())
        write_lines(output, lines)


@click.command()
@model_argument
@click.argument("file", metavar="[FILE]", required=False)
@click.option(
    "--black-box",
    metavar="SOURCE",
    help="Black box a classifier stands in for: FILE.py:NAME, or a file of questions and answers.",
)
@click.option(
    "--samples",
    type=click.IntRange(2),
    default=1000,
    show_default=True,
    help="Number of edited and of random strings to ask the black box for.",
)
@seed_option
@characters_option
@unknown_option
@json_option
@quiet_option
def evaluate(
    model: str,
    file: str | None,
    black_box: str | None,
    samples: int,
    seed: int,
    characters: bool | None,
    as_json: bool,
    **options: Any,
) -> None:
    """How well MODEL predicts the values in FILE: r2 and rmse of numbers, accuracy of labels.

    With --black-box the share of strings with its answer: those of FILE, whose values are ignored, the same
    with one to three symbols replaced, removed or put in, and random ones of their lengths.
    """
    if file is None and black_box is None:
        raise click.UsageError("give a FILE to measure on, or a --black-box")
    found, table, strings = load_model(model), None, None
    if black_box is not None and not isinstance(found, StringClassifier):
        raise click.UsageError(f"--black-box is for classifiers; {model} tells numbers")
    if file is not None:
        table = _table(model, file, characters, need_values=black_box is None)
        strings = _coded(found, table, options["unknown"], file)
    with watching("evaluating", options["quiet"]):
        if black_box is not None:
            figures = judge("black_box_labels")(found, black_box, strings, samples, seed)
        else:
            assert table is not None
            assert strings is not None
            figures = _accuracy(found, table, _values(found, strings))
    print_figures(figures, as_json)


def _accuracy(model: StringFunction | StringClassifier, table: Table, predicted: Any) -> dict[str, Any]:
    figures: dict[str, Any] = {"n_strings": len(table.strings)}
    if isinstance(model, StringClassifier):
        return {**figures, "accuracy": float(np.mean(predicted.astype(str) == np.array(table.values)))}
    values = np.array(table.numbers)
    rmse = float(np.sqrt(np.mean((values - predicted) ** 2)))
    return {**figures, "r2": r_squared(values, predicted), "rmse": rmse}


@click.command()
@model_argument
@click.option("--html", is_flag=True, help="A page with the automata.")
@json_option
@output_option
def show(model: str, html: bool, as_json: bool, output: str) -> None:
    """What MODEL is and how it was learned."""
    if html and as_json:
        raise click.UsageError("give one of --html and --json")
    found, header = load_model(model), read_header(model)
    automata = (found.automaton,) if isinstance(found, StringFunction) else found.automata
    facts: dict[str, Any] = {
        "file": model,
        "kind": header["family"],
        "states": [automaton.n_states for automaton in automata],
        "alphabet": [str(symbol) for symbol in found.alphabet],
    }
    if isinstance(found, StringClassifier):
        facts["labels"] = list(found.classes)
    if as_json:
        print_figures({**facts, "learned": header["learned"]}, True, output)
        return
    shown = {name: _in_words(value) for name, value in facts.items()} | _asked(header["learned"])
    if html:
        with atomic_write(output) as stream:
            stream.write(_page(shown, automata))
    else:
        print_figures(shown, False, output)


def _asked(learned: Any) -> dict[str, str]:
    """What a classifier that stands in for a black box was learned from, and how often it is wrong."""
    if not isinstance(learned, Mapping) or "n_tried" not in learned:
        return {}
    return {
        "black box": f"{learned['data']['source']}, {learned['n_queries']} queries",
        "wrong": f"{learned['n_errors']} of {learned['n_tried']} strings that were tried",
    }


def _page(facts: dict[str, str], automata: Sequence[WeightedAutomaton]) -> str:
    parts: list[page.Part] = [page.Table("The model", ("", ""), list(facts.items()))]
    for automaton in automata:
        is_dfa = bool((np.abs(automaton.final) == 1.0).all())
        ends = "says yes" if is_dfa else "has a large final weight"
        drawn = replace(automaton, final=np.maximum(automaton.final, 0.0)) if is_dfa else automaton
        caption = (
            f"The automaton, {automaton.n_states} states: the heaviest moves. A state with a ring {ends}."
        )
        parts.append(page.Picture(draw_automaton(drawn), caption, f"Graph: {caption}"))
    return page.render(f"{facts['kind']}: {facts['file']}", [page.Section("Model", parts)], {})


@click.command()
@model_argument
@click.option("--to", "target", type=click.Choice(["automaton"]), required=True, help="Format to write.")
@click.option("--output", "-o", required=True, metavar="FILE", help="File to write.")
def convert(model: str, target: str, output: str) -> None:
    """Write a function as a model file of its automaton, for the commands of automata."""
    found, learned = load_model(model), read_header(model)["learned"]
    if not isinstance(found, StringFunction) and len(found.automata) != 1:
        raise click.UsageError(f"{model} holds one automaton per label, not one")
    if isinstance(found, StringFunction):
        save_model(found.automaton, output, learned)
    else:  # of a classifier the automaton is no classifier, which its estimator would take it for
        kept = {name: value for name, value in learned.items() if name != "estimator"}
        save_model(found.automata[0], output, {**kept, "converted": kind_of(model)})


def _table(model: str, file: str, characters: bool | None, need_values: bool) -> Table:
    learned = read_header(model)["learned"]
    layout = learned.get("layout", {}) if isinstance(learned, Mapping) else {}
    chosen = bool(layout.get("characters")) if characters is None else characters
    numeric = need_values and kind_of(model) == "string-function"
    return read_table(file, chosen, need_values, numeric)


def _coded(model: StringFunction | StringClassifier, table: Table, unknown: str, file: str) -> Strings:
    """Over the symbols of a model; 7 is "7" in files."""
    written = Alphabet(map(str, model.alphabet))
    try:
        coded = Strings.of(table.strings, alphabet=written, allow_unknown=unknown == "zero")
    except UnknownSymbolError as problem:
        remedy = "check --characters, or use --unknown zero for a value of 0"
        raise UnknownSymbolError(f"{problem.problem}; {remedy}", file=display_name(file)) from None
    return Strings(model.alphabet, coded.codes, coded.offsets)


def _values(model: StringFunction | StringClassifier, strings: Strings) -> Any:
    return model.value(strings) if isinstance(model, StringFunction) else model.predict(strings)


def _in_json(model: StringFunction | StringClassifier, strings: Strings) -> list[str]:
    rows: list[dict[str, Any]] = [{"value": value} for value in _values(model, strings).tolist()]
    if isinstance(model, StringClassifier) and model.has_probabilities:
        for row, shares in zip(rows, model.probabilities(strings).tolist(), strict=True):
            row["probabilities"] = dict(zip(map(str, model.classes), shares, strict=True))
    return list(map(to_json, rows))


def _in_words(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
