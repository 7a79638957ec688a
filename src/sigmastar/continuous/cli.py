"""Commands for real-valued sequences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
import numpy as np

from sigmastar.continuous.data import Series, read_series, written_series
from sigmastar.continuous.estimator import GaussianHMM
from sigmastar.continuous.learn import STARTS
from sigmastar.continuous.model import COVARIANCES, GaussianHmm
from sigmastar.core.atomic import write_lines
from sigmastar.core.cli.learning import Learned, Method, built, learn, learn_options, parameter
from sigmastar.core.cli.options import json_option, model_argument, output_option, quiet_option, seed_option
from sigmastar.core.cli.printing import print_figures, to_json
from sigmastar.core.model_reading import load_model, read_header
from sigmastar.core.progress import Say, counted, watching
from sigmastar.core.text_files import described_file

PARAMETERS = ("n_states", "n_components", "covariance", "start", "n_seeds", "max_iter")
METHODS = {"em": Method(GaussianHMM, PARAMETERS)}
EM = METHODS["em"]


@click.command(context_settings={"show_default": True})
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@parameter("n_states", "--states", EM, type=click.IntRange(1), metavar="N", help="Number of states.")
@parameter("n_components", "--components", EM, type=click.IntRange(1), help="Number of Gaussians per state.")
@parameter("covariance", "--covariance", EM, type=click.Choice(COVARIANCES), help="Shape of the covariances.")
@parameter("start", "--start", EM, type=click.Choice(list(STARTS)), help="Start of EM.")
@parameter("n_seeds", "--seeds", EM, type=click.IntRange(1), help="Number of ascents.")
@parameter("max_iter", "--max-iter", EM, type=click.IntRange(1), help="Limit of iterations per ascent.")
@learn_options
def learn_series(files: tuple[str, ...], **options: Any) -> None:
    """Learn a hidden Markov model of vectors from FILEs.

    A line is a row of numbers; a blank line ends a series.
    """
    estimator = built(METHODS, "em", {name: options.pop(name) for name in PARAMETERS})

    def work(estimator: Any, say: Say) -> Learned:
        read = [read_series(file) for file in files]
        series = read[0] if len(read) == 1 else Series.of([part for one in read for part in one])
        say("learning")
        estimator.fit(series)
        model: GaussianHmm = estimator.model_
        n_rows, last = len(series.values), estimator.log_likelihoods_[-1]
        return Learned(
            data={
                "files": [described_file(file) for file in files],
                "n_series": len(series),
                "n_rows": n_rows,
            },
            summary=f"{counted(model.n_states, 'state')}, from {len(series)} series of {n_rows} rows, "
            f"log-density {last:.4f} per row,",
            found={"log_likelihood": last, "n_iterations": len(estimator.log_likelihoods_)},
        )

    learn(estimator, "em", work, **options)


@click.command()
@model_argument
@click.argument("file", metavar="FILE")
@output_option
@quiet_option
def score(model: str, file: str, output: str, quiet: bool) -> None:
    """The natural log-density of each series of FILE, one per line."""
    with watching("scoring", quiet):
        logs = load_model(model).log_probability(read_series(file))
    write_lines(output, (f"{log:.6f}" for log in logs.tolist()))


@click.command()
@model_argument
@click.argument("file", metavar="FILE")
@json_option
@output_option
@quiet_option
def predict(model: str, file: str, as_json: bool, output: str, quiet: bool) -> None:
    """The most probable state of each row of FILE, a blank line between series.

    With --json one object per row, with the probability of each state.
    """
    found, series = load_model(model), read_series(file)
    with watching("predicting", quiet):
        states, _ = found.best_states(series)
        shares = found.posteriors(series) if as_json else None
        write_lines(output, _state_lines(series, states, shares))


def _state_lines(series: Series, states: Any, shares: Any) -> Iterator[str]:
    begins = set(series.offsets[1:-1].tolist())
    for row, state in enumerate(states.tolist()):
        if row in begins and shares is None:
            yield ""
        yield (
            str(state)
            if shares is None
            else to_json({"state": state, "probabilities": np.round(shares[row], 9).tolist()})
        )


@click.command()
@model_argument
@click.argument("file", metavar="FILE")
@json_option
@quiet_option
def evaluate(model: str, file: str, as_json: bool, quiet: bool) -> None:
    """How well MODEL describes FILE: log-density per row, aic and bic."""
    found, series = load_model(model), read_series(file)
    with watching("evaluating", quiet):
        total = float(found.log_probability(series).sum())
    n_rows, free = len(series.values), found.n_parameters
    figures = {
        "n_series": len(series),
        "n_rows": n_rows,
        "log_density": total / n_rows,
        "aic": -2 * total + 2 * free,
        "bic": -2 * total + free * float(np.log(n_rows)),
    }
    print_figures(figures, as_json)


@click.command()
@model_argument
@click.option(
    "-n", "n_series", type=click.IntRange(0), default=1, show_default=True, help="Number of series."
)
@click.option("--length", type=click.IntRange(1), default=100, show_default=True, help="Rows per series.")
@seed_option
@output_option
def sample(model: str, n_series: int, length: int, seed: int, output: str) -> None:
    """Draw series from MODEL, a row per line, a blank line between them."""
    write_lines(
        output, written_series(load_model(model).sample(n_series, np.random.default_rng(seed), length))
    )


@click.command()
@model_argument
@json_option
@output_option
def show(model: str, as_json: bool, output: str) -> None:
    """What MODEL is and how it was learned."""
    found, header = load_model(model), read_header(model)
    facts: dict[str, Any] = {
        "file": model,
        "kind": header["family"],
        "states": found.n_states,
        "components": found.weights.shape[1],
        "dimensions": found.n_dimensions,
        "covariance": found.kind,
        "parameters": found.n_parameters,
    }
    if as_json:
        arrays = {"initial": found.initial, "transition": found.transition, "means": found.means}
        facts |= {name: array.tolist() for name, array in arrays.items()} | {"learned": header["learned"]}
    print_figures(facts, as_json, output)


@click.command()
@model_argument
@click.option("--to", "target", type=click.Choice(["hmm"]), required=True, help="Format to write.")
@output_option
def convert(model: str, target: str, output: str) -> None:
    """Write the arrays of MODEL as JSON, by the names that hmmlearn has for them.

    startprob, transmat, weights of components, means and covars; without mixtures the axis of components is
    left out, as in its GaussianHMM.
    """
    found = load_model(model)
    parts = {"weights": found.weights, "means": found.means, "covars": found.covariances}
    if found.weights.shape[1] == 1:
        parts = {"means": found.means[:, 0], "covars": found.covariances[:, 0]}
    arrays = {"startprob": found.initial, "transmat": found.transition, **parts}
    facts = {"covariance_type": found.kind, **{name: array.tolist() for name, array in arrays.items()}}
    write_lines(output, [to_json(facts)])
