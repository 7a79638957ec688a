"""`sigmastar sample`: strings drawn from a model."""

from __future__ import annotations

import click
import numpy as np

from sigmastar.automata.cli.corpora import Layout
from sigmastar.automata.cli.models import load
from sigmastar.automata.data.lines import write_lines
from sigmastar.automata.data.pautomac import write_pautomac
from sigmastar.cli.families import handled
from sigmastar.core.atomic import atomic_write
from sigmastar.core.cli.options import data_options, model_argument, output_option, quiet_option, seed_option
from sigmastar.core.cli.progress import watching


@click.command()
@model_argument
@click.option(
    "-n", "n_strings", type=click.IntRange(0), default=10, show_default=True, help="How many strings."
)
@click.option(
    "--max-length", type=click.IntRange(0), default=10_000, show_default=True, help="Longer strings are cut."
)
@seed_option
@data_options
@output_option
@quiet_option
def command(
    model: str,
    n_strings: int,
    max_length: int,
    seed: int,
    file_format: str | None,
    characters: bool | None,
    separator: str | None,
    output: str,
    quiet: bool,
) -> None:
    """Draw strings from MODEL and write them in the format of its data, or in the one asked for."""
    if handled("sample", model):
        return
    loaded = load(model)
    layout = Layout.of(file_format, characters, separator, loaded.learned)
    with watching("sampling", quiet):
        strings = loaded.model.sample(n_strings, np.random.default_rng(seed), max_length)
    with atomic_write(output) as stream:
        if layout.format == "lines":
            write_lines(strings, stream, layout.joint)
        else:
            write_pautomac(strings, stream)
