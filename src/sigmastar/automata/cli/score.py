"""`sigmastar score`: log-probabilities."""

from __future__ import annotations

from typing import Any

import click

from sigmastar.automata.cli.inputs import layout_of, load, string_options
from sigmastar.core.atomic import atomic_write
from sigmastar.core.cli.options import model_argument, output_option, quiet_option, unknown_option
from sigmastar.core.cli.progress_bar import watching


@click.command()
@model_argument
@click.argument("file", metavar="FILE")
@string_options
@unknown_option
@output_option
@quiet_option
def score(
    model: str,
    file: str,
    unknown: str,
    output: str,
    quiet: bool,
    **layout_options: Any,
) -> None:
    """The natural log-probability of each string of FILE, one per line; -inf where it has none."""
    loaded = load(model)
    layout = layout_of(**layout_options, learned=loaded.learned)
    with watching("scoring", quiet):
        values = loaded.model.log_probability(loaded.read(file, layout, unknown)).tolist()
    with atomic_write(output) as stream:
        stream.writelines(f"{value!r}\n" for value in values)
