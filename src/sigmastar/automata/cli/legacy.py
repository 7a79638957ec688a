"""Commands with the options of all families, for families that have no commands of their own yet.

Each passes its parameters on to the module that serves the family of the model. To be removed with
`sigmastar.cli.families` as soon as every family has converted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from sigmastar.core.cli.options import (
    data_options,
    json_option,
    model_argument,
    output_option,
    quiet_option,
    seed_option,
    threads_option,
    unknown_option,
)
from sigmastar.core.family import load

Option = Callable[[Any], Any]

_FILE = click.argument("file", metavar="FILE", required=False)


def _command(name: str, *options: Option) -> click.Command:
    def run(model: str, **given: Any) -> None:
        if not load("sigmastar.cli.families:handled")(name, model):
            raise click.UsageError(f"there is no {name} for this model")

    for option in reversed((model_argument, *options)):
        run = option(run)
    return click.command(name)(run)


predict = _command(
    "predict",
    _FILE,
    click.option("--top", type=click.IntRange(1), default=5),
    click.option("--tags", is_flag=True),
    threads_option,
    click.option("--nbest", type=click.IntRange(1), default=1),
    click.option("--inverse", is_flag=True),
    data_options,
    unknown_option,
    json_option,
    output_option,
    quiet_option,
)
evaluate = _command(
    "evaluate",
    _FILE,
    click.option("--targets", metavar="FILE"),
    click.option("--reference", metavar="FILE"),
    click.option("--samples", type=click.IntRange(2), default=20_000),
    click.option("--gold-tags", is_flag=True),
    click.option("--max-length", type=click.IntRange(1), metavar="N"),
    threads_option,
    seed_option,
    data_options,
    unknown_option,
    json_option,
    quiet_option,
)
score = _command("score", _FILE, data_options, unknown_option, output_option, quiet_option)
sample = _command(
    "sample",
    click.option("-n", "n_strings", type=click.IntRange(0), default=10),
    click.option("--max-length", type=click.IntRange(0), default=10_000),
    seed_option,
    data_options,
    output_option,
    quiet_option,
)
show = _command(
    "show",
    click.option("--dot", is_flag=True),
    click.option("--html", is_flag=True),
    click.option("--head", metavar="TAG"),
    click.option("--direction", type=click.Choice(["left", "right"]), default="right"),
    click.option("--sentence", metavar="TEXT"),
    click.option("--svg", is_flag=True),
    click.option("--pairs", metavar="FILE"),
    json_option,
    output_option,
)
convert = _command(
    "convert",
    click.option(
        "--to",
        "target",
        type=click.Choice(["att", "pautomac", "dot", "hmm", "json", "rules", "word2vec", "word2vec-heads"]),
        required=True,
    ),
    click.option("--symbols", metavar="FILE"),
    output_option,
)
