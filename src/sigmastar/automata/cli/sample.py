"""`sigmastar sample`: strings drawn from a model."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from sigmastar.automata.cli.inputs import layout_of, load, string_options
from sigmastar.core.atomic import atomic_write
from sigmastar.core.cli.options import model_argument, output_option, quiet_option, seed_option
from sigmastar.core.cli.progress_bar import watching


@click.command()
@model_argument
@click.option(
    "-n", "n_strings", type=click.IntRange(0), default=10, show_default=True, help="Number of strings."
)
@click.option(
    "--max-length",
    type=click.IntRange(0),
    default=10_000,
    show_default=True,
    help="Number of symbols per string at which strings are cut.",
)
@seed_option
@string_options
@output_option
@quiet_option
def sample(
    model: str,
    n_strings: int,
    max_length: int,
    seed: int,
    output: str,
    quiet: bool,
    **layout_options: Any,
) -> None:
    """Draw strings from MODEL and write them in the format of its data, or in the one asked for."""
    loaded = load(model)
    layout = layout_of(**layout_options, learned=loaded.learned)
    with watching("sampling", quiet):
        strings = loaded.model.sample(n_strings, np.random.default_rng(seed), max_length)
    with atomic_write(output) as stream:
        layout.write(strings, stream)
