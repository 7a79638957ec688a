"""`sigmastar distil`: from a black box to a model file, through the estimator."""

from __future__ import annotations

from typing import Any

import click

from sigmastar.automata.data.formats import FORMATS, Layout
from sigmastar.automata.data.strings import Strings
from sigmastar.core.cli.learning import Learned, Method, built, learn, learn_options, method_option, parameter
from sigmastar.core.cli.options import auto_or_number
from sigmastar.core.model_format import hash_strings
from sigmastar.core.progress import Say
from sigmastar.core.text_files import described_file
from sigmastar.distil.black_box import alphabet_of
from sigmastar.distil.classifier import DistilledClassifier
from sigmastar.distil.estimator import DistilledAutomaton
from sigmastar.distil.learn import METHODS as NAMES
from sigmastar.distil.sources import open_source

_PARAMETERS = ("n_states", "max_queries", "max_length", "cache")
METHODS = {
    name: Method(DistilledAutomaton, _PARAMETERS, {} if name == "auto" else {"method": name})
    for name in NAMES
}
AUTO = METHODS["auto"]
CLASSIFY = Method(DistilledClassifier, ("n_states", "max_queries", "cache"))
TASKS = {"next": METHODS, "classify": {"auto": CLASSIFY}}


@click.command()
@click.argument("source", metavar="SOURCE")
@click.option(
    "--strings",
    "file",
    metavar="FILE",
    help="Strings on which the stand-in should be good  [default: its own]",
)
@click.option(
    "--task",
    type=click.Choice(list(TASKS)),
    default="next",
    show_default=True,
    help="Question that is answered: the next symbol, or yes or no by scores above 0.5.",
)
@method_option(METHODS, "auto")
@parameter(
    "n_states",
    "--states",
    AUTO,
    type=auto_or_number,
    metavar="auto|N",
    help="Number of states of the stand-in.",
)
@parameter(
    "max_queries", "--max-queries", AUTO, type=click.IntRange(1), help="Number of answers asked for at most."
)
@parameter(
    "max_length", "--max-length", AUTO, type=click.IntRange(1), help="Length at which drawn strings are cut."
)
@click.option("--cache", metavar="FILE", help="File that keeps the answers for another run  [default: none]")
@click.option("--separator", metavar="TEXT", help="Text between symbols of --strings  [default: blanks]")
@click.option("--characters", is_flag=True, help="One symbol per character in --strings.")
@click.option(
    "--format", "file_format", type=click.Choice(list(FORMATS)), default="lines", help="Format of --strings."
)
@learn_options
def command(
    source: str,
    file: str | None,
    task: str,
    method: str,
    separator: str | None,
    characters: bool,
    file_format: str,
    **options: Any,
) -> None:
    """Learn an automaton that stands in for SOURCE, from its exact answers.

    SOURCE is a model file, path/to/file.py:name (an object with next_distributions, or with scores for --task
    classify, or a function that makes one; the file is run), or a file of questions and answers.
    """
    if method not in TASKS[task]:
        raise click.UsageError(f"--method {method} is for --task next, not {task}")
    layout = Layout(file_format, characters, separator)

    def work(estimator: Any, say: Say) -> Learned:
        box = open_source(source)
        strings = None if file is None else read_for(box, file, layout)
        say("asking")
        estimator.fit(box, strings)
        told = (_summary, _found) if task == "next" else (_answers, _tried)
        return Learned(
            _described(source, file, strings), told[0](estimator), layout.to_header(), told[1](estimator)
        )

    shared = {name: options.pop(name) for name in ("output", "threads", "seed", "as_json", "quiet")}
    learn(built(TASKS[task], method, options), method, work, **shared)


def read_for(box: Any, file: str, layout: Layout) -> Strings:
    """Strings of a file over the symbols of a black box; 7 is "7" in files."""
    alphabet = alphabet_of(box)
    return layout.read(file, alphabet, False)


def _described(source: str, file: str | None, strings: Strings | None) -> dict[str, Any]:
    if file is None or strings is None:
        return {"source": source}
    described = {"files": [described_file(file)], "n_strings": len(strings), "n_symbols": strings.n_symbols}
    return {"source": source, **described, "sha256": hash_strings(strings)}


def _found(estimator: DistilledAutomaton) -> dict[str, Any]:
    return {
        "chosen": estimator.method_,
        "n_queries": estimator.n_queries_,
        "divergence": -estimator.held_out_score_,
        "divergences": estimator.divergences_,
        "worst_strings": estimator.worst_,
        "states_explained": estimator.states_,
        **({"n_states": estimator.n_states_} if "n_states_" in vars(estimator) else {}),
    }


def _summary(estimator: DistilledAutomaton) -> str:
    found = [] if estimator.method_ == estimator.method else [estimator.method_]
    found += [f"{estimator.n_states_} states"] if vars(estimator).get("n_states_") else []
    return (
        f"{', '.join([*found, str(estimator.queries_)])}, "
        f"{-estimator.held_out_score_:.3g} nats per symbol from held-out answers"
    )


def _tried(estimator: DistilledClassifier) -> dict[str, Any]:
    return {
        "chosen": estimator.method_,
        "n_queries": estimator.n_queries_,
        "n_states": estimator.n_states_,
        "n_tried": estimator.n_tried_,
        "n_errors": estimator.n_errors_,
    }


def _answers(estimator: DistilledClassifier) -> str:
    kind = "deterministic" if estimator.method_ == "dfa" else "signed"
    return (
        f"{kind} automaton, {estimator.n_states_} states, {estimator.queries_}, "
        f"{estimator.n_errors_} errors on {estimator.n_tried_} strings"
    )
