"""`sigmastar predict`: next symbols."""

from __future__ import annotations

from collections.abc import Iterator

import click
import numpy as np

from sigmastar.automata.cli.corpora import Layout
from sigmastar.automata.cli.models import load
from sigmastar.automata.data.strings import Strings
from sigmastar.automata.metrics import pieces, top_columns
from sigmastar.automata.model.sequence import SequenceModel, next_distribution
from sigmastar.cli.families import handled
from sigmastar.core.alphabet import Symbol
from sigmastar.core.atomic import atomic_write
from sigmastar.core.cli.options import (
    data_options,
    json_option,
    model_argument,
    output_option,
    quiet_option,
    threads_option,
    unknown_option,
)
from sigmastar.core.cli.printing import to_json
from sigmastar.core.cli.progress import watching

END = "<end>"

Ranking = list[tuple[Symbol | None, float]]
"""Symbols, None for the end, with their probabilities, best first."""


@click.command()
@model_argument
@click.argument("file", metavar="FILE")
@click.option("--top", type=click.IntRange(1), default=5, show_default=True, help="Symbols to give.")
@click.option("--tags", is_flag=True, help="Treebank parsers: FILE holds word_TAG, or trees with tags.")
@threads_option
@click.option("--nbest", type=click.IntRange(1), default=1, help="Of a transducer: outputs an input.")
@click.option("--inverse", is_flag=True, help="Of a transducer: inputs for the outputs in FILE.")
@data_options
@unknown_option
@json_option
@output_option
@quiet_option
def command(
    model: str,
    file: str,
    top: int,
    nbest: int,
    inverse: bool,
    tags: bool,
    threads: int,
    file_format: str | None,
    characters: bool | None,
    separator: str | None,
    unknown: str,
    as_json: bool,
    output: str,
    quiet: bool,
) -> None:
    """What MODEL says of FILE: tags, trees, arcs, outputs, or the most likely next symbols.

    An automaton writes a line a prefix: symbol, probability, symbol, probability .. separated by tabs,
    best first; <end> is the end of the string. With --json an object a line, with null for the end. A
    tagger writes a word and its tag a line, a treebank parser a tree in brackets a sentence, a
    dependency parser CoNLL-U, a transducer the outputs of each input, a weighted grammar brackets.
    """
    if handled("predict", model):
        return
    loaded = load(model)
    layout = Layout.of(file_format, characters, separator, loaded.learned)
    with watching("predicting", quiet):
        prefixes = layout.read(file, loaded.model.alphabet, unknown)
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
