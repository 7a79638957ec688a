"""`sigmastar learn automaton`: from strings to a model file."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import click

from sigmastar import __version__
from sigmastar.automata.cli.corpora import Layout, describe, read_all
from sigmastar.automata.estimator import (
    METHODS,
    STATISTICS,
    EMAutomaton,
    NgramAutomaton,
    SequenceEstimator,
    SpectralAutomaton,
)
from sigmastar.automata.learn.em import STARTS
from sigmastar.automata.learn.ngram import SMOOTHINGS
from sigmastar.automata.learn.repair import REPAIRS
from sigmastar.core.cli.options import auto_or_number, data_options, json_option, quiet_option, seed_option
from sigmastar.core.cli.paths import require_folder
from sigmastar.core.cli.printing import print_figures
from sigmastar.core.cli.progress import tell, watching
from sigmastar.core.model_files import save_model
from sigmastar.core.rank import RankEvidence

Settings = dict[str, Any]
"""Options of the command line by their names."""


def _spectral(settings: Settings) -> SequenceEstimator:
    return SpectralAutomaton(
        method=settings["method"],
        n_states=settings["states"],
        statistic=settings["statistic"],
        basis_size=settings["basis_size"],
        repair=settings["repair"],
    )


def _em(settings: Settings) -> SequenceEstimator:
    return EMAutomaton(n_states=settings["states"], n_seeds=settings["seeds"], start=settings["start"])


def _ngram(settings: Settings) -> SequenceEstimator:
    return NgramAutomaton(order=settings["order"], smoothing=settings["smoothing"])


MAKERS: Mapping[str, Callable[[Settings], SequenceEstimator]] = {
    **dict.fromkeys(METHODS, _spectral),
    "em": _em,
    "ngram": _ngram,
}
ONLY_FOR: Mapping[str, tuple[str, ...]] = {
    "states": (*METHODS, "em"),
    "statistic": ("spectral",),
    "basis_size": ("spectral",),
    "repair": ("spectral",),
    "seeds": ("em",),
    "start": ("em",),
    "order": ("ngram",),
    "smoothing": ("ngram",),
}
"""The methods that an option speaks to: with others it is refused, not ignored."""


@click.command(context_settings={"show_default": True})
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--output", "-o", required=True, metavar="MODEL", help="The model file to write.")
@click.option("--method", type=click.Choice(list(MAKERS)), default="fast", help="How to learn.")
@click.option(
    "--states",
    type=auto_or_number,
    metavar="auto|N",
    default="auto",
    help="How many; auto chooses on held-out strings.",
)
@click.option(
    "--statistic", type=click.Choice(list(STATISTICS)), default="substring", help="What spectral counts."
)
@click.option("--basis-size", type=click.IntRange(1), default=500, help="Outsides and insides of spectral.")
@click.option("--repair", type=click.Choice(list(REPAIRS)), default="filter", help="What follows spectral.")
@click.option("--seeds", type=click.IntRange(1), default=1, help="Ascents of em, of which the best is kept.")
@click.option("--start", type=click.Choice(list(STARTS)), default="random", help="What em starts from.")
@click.option(
    "--order",
    type=auto_or_number,
    metavar="auto|N",
    default="3",
    help="Of ngram; auto chooses on held-out strings.",
)
@click.option("--smoothing", type=click.Choice(list(SMOOTHINGS)), default="witten-bell", help="Of ngram.")
@click.option("--threads", type=click.IntRange(1), help="To learn with; without it one a core.")
@seed_option
@data_options
@json_option
@quiet_option
@click.pass_context
def command(
    ctx: click.Context,
    /,
    files: tuple[str, ...],
    output: str,
    threads: int | None,
    seed: int,
    file_format: str | None,
    characters: bool | None,
    separator: str | None,
    as_json: bool,
    quiet: bool,
    **settings: Any,
) -> None:
    """Learn a distribution on strings from FILE... (- is standard input).

    fast: spectral, seconds. convex: non-negative, no EM. auto: spectral start, then EM, the best. spectral:
    the classic method on a basis. em: expectation-maximisation. ngram: smoothed n-grams.
    """
    _require_fitting_options(ctx, settings["method"])
    require_folder(output)
    layout = Layout.of(file_format, characters, separator)
    estimator = MAKERS[settings["method"]](settings)
    begin = time.perf_counter()
    with watching("reading", quiet) as say:
        strings = read_all(files, layout)
        say("learning")
        estimator.set_params(random_state=seed, n_threads=threads)
        if "progress" in estimator.get_params():
            estimator.set_params(progress=say)
        estimator.fit(strings)
    learned = {
        "method": settings["method"],
        "seed": seed,
        "settings": {name: settings[name] for name in ONLY_FOR if settings["method"] in ONLY_FOR[name]},
        "layout": layout.to_header(),
        "data": describe(files, strings),
        **_findings(estimator),
        "sigmastar": __version__,
        "seconds": round(time.perf_counter() - begin, 3),
    }
    save_model(estimator.model_, output, learned)  # type: ignore[arg-type]
    if as_json:
        print_figures(learned, as_json=True)
    tell(_summary(learned, len(estimator.alphabet_), output), quiet)


def _require_fitting_options(ctx: click.Context, method: str) -> None:
    for name, methods in ONLY_FOR.items():
        given = ctx.get_parameter_source(name) is not click.core.ParameterSource.DEFAULT
        if given and method not in methods:
            option = "--" + name.replace("_", "-")
            raise click.UsageError(f"{option} is for --method {' or '.join(methods)}, not {method}", ctx)


def _findings(estimator: SequenceEstimator) -> dict[str, Any]:
    found = vars(estimator)
    findings = {
        name: found[f"{name}_"]
        for name in ("n_states", "held_out_score", "n_iterations")
        if f"{name}_" in found
    }
    evidence = found.get("rank_evidence_")
    return {**findings, "rank": _evidence_header(evidence)} if evidence is not None else findings


def _evidence_header(evidence: RankEvidence) -> dict[str, Any]:
    return {
        "singular_values": [float(value) for value in evidence.singular_values],
        "noise_level": evidence.noise_level,
        "candidates": list(evidence.candidates),
        "scores": [float(score) for score in evidence.scores],
        "chosen": evidence.chosen,
        "reason": evidence.reason,
    }


def _summary(learned: Mapping[str, Any], n_symbols: int, output: str) -> str:
    states = f"{learned['n_states']} states, " if "n_states" in learned else ""
    data = f"{learned['data']['n_strings']} strings over {n_symbols} symbols"
    score = learned.get("held_out_score")
    held = "" if score is None else f", held-out log-likelihood {score:.4f} a string"
    return f"{output}: {learned['method']}, {states}from {data} in {learned['seconds']:.1f} s{held}"
