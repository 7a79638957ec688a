"""`sigmastar predict`: next symbols."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
import numpy as np

from sigmastar.automata.cli.inputs import layout_of, load, string_options
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.model.sequence import SequenceModel, next_distribution, pieces, top_columns
from sigmastar.core.alphabet import Symbol
from sigmastar.core.atomic import atomic_write
from sigmastar.core.cli.options import (
    json_option,
    model_argument,
    output_option,
    quiet_option,
    unknown_option,
)
from sigmastar.core.cli.printing import to_json
from sigmastar.core.cli.progress_bar import watching

END = "<end>"

Ranking = list[tuple[Symbol | None, float]]
"""Symbols, None for the end, with their probabilities, best first."""


@click.command()
@model_argument
@click.argument("file", metavar="FILE")
@click.option(
    "--top", type=click.IntRange(1), default=5, show_default=True, help="Number of symbols per prefix."
)
@string_options
@unknown_option
@json_option
@output_option
@quiet_option
def predict(
    model: str,
    file: str,
    top: int,
    unknown: str,
    as_json: bool,
    output: str,
    quiet: bool,
    **layout_options: Any,
) -> None:
    """The most likely symbols after each prefix in FILE.

    One line per prefix: symbol, probability, symbol, probability .. separated by tabs, best first; <end> is
    the end of the string. With --json one object per line, with null for the end.
    """
    loaded = load(model)
    layout = layout_of(**layout_options, learned=loaded.learned)
    with watching("predicting", quiet):
        prefixes = loaded.read(file, layout, unknown)
        written = [
            _in_json(row) if as_json else _in_text(row) for row in rankings(loaded.model, prefixes, top)
        ]
    with atomic_write(output) as stream:
        stream.writelines(line + "\n" for line in written)


def rankings(model: SequenceModel, prefixes: Strings, top: int) -> Iterator[Ranking]:
    names = (*model.alphabet.symbols, None)
    for piece in pieces(prefixes):
        rows = next_distribution(model, piece)
        best = top_columns(rows, top)
        for columns, values in zip(best.tolist(), np.take_along_axis(rows, best, 1).tolist(), strict=True):
            yield [(names[column], value) for column, value in zip(columns, values, strict=True)]


def _in_text(ranking: Ranking) -> str:
    return "\t".join(f"{END if symbol is None else symbol}\t{value:.6g}" for symbol, value in ranking)


def _in_json(ranking: Ranking) -> str:
    return to_json({"next": [{"symbol": symbol, "probability": value} for symbol, value in ranking]})
