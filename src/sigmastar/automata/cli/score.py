"""`sigmastar score`: log-probabilities."""

from __future__ import annotations

import click

from sigmastar.automata.cli.corpora import Layout
from sigmastar.automata.cli.models import load
from sigmastar.cli.families import handled
from sigmastar.core.atomic import atomic_write
from sigmastar.core.cli.options import (
    data_options,
    model_argument,
    output_option,
    quiet_option,
    unknown_option,
)
from sigmastar.core.cli.progress import watching


@click.command()
@model_argument
@click.argument("file", metavar="FILE")
@data_options
@unknown_option
@output_option
@quiet_option
def command(
    model: str,
    file: str,
    file_format: str | None,
    characters: bool | None,
    separator: str | None,
    unknown: str,
    output: str,
    quiet: bool,
) -> None:
    """The natural log-probability of each string of FILE under MODEL, one a line; -inf where it has none."""
    if handled("score", model):
        return
    loaded = load(model)
    layout = Layout.of(file_format, characters, separator, loaded.learned)
    with watching("scoring", quiet):
        strings = layout.read(file, loaded.model.alphabet, unknown)
        values = loaded.model.log_probability(strings).tolist()
    with atomic_write(output) as stream:
        stream.writelines(f"{value!r}\n" for value in values)
