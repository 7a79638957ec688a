"""`sigmastar vectors`, and the commands on files of word vectors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from sigmastar.bilexical.counts import WEIGHTINGS
from sigmastar.bilexical.estimator.word_vectors import WordVectors
from sigmastar.bilexical.model.vectors import Vectors, write_word2vec
from sigmastar.core.atomic import atomic_write, require_folder, write_lines
from sigmastar.core.cli.learning import (
    SPREAD,
    Learned,
    Method,
    built,
    learn,
    learn_options,
    parameter,
    spread_options,
)
from sigmastar.core.cli.options import json_option, model_argument, output_option
from sigmastar.core.cli.printing import print_figures, to_json
from sigmastar.core.model_reading import load_model, read_header
from sigmastar.core.progress import tell, watching
from sigmastar.core.text_files import described_file, open_text

VECTORS = Method(
    WordVectors,
    ("window", "n_contexts", "sided", "weighting", "min_count", "n_dimensions", "lower_case", *SPREAD),
)
_SHOWN = 8  # words


@click.command()
@click.argument("files", metavar="TEXT...", nargs=-1, required=True)
@parameter("window", "--window", VECTORS, type=click.IntRange(1), help="Number of words to each side.")
@parameter(
    "n_contexts",
    "--contexts",
    VECTORS,
    type=click.IntRange(1),
    help="Number of the most frequent words that are contexts.",
)
@parameter(
    "sided",
    "--sided",
    VECTORS,
    is_flag=True,
    help="Contexts on the left and on the right counted apart: for bilexical.",
)
@parameter(
    "weighting", "--weighting", VECTORS, type=click.Choice(list(WEIGHTINGS)), help="Weighting of the counts."
)
@parameter(
    "min_count",
    "--min-count",
    VECTORS,
    type=click.IntRange(1),
    help="Count below which words have no vector.",
)
@click.option(
    "--dimension",
    "n_dimensions",
    type=click.IntRange(1),
    help="Number of dimensions to compress to; one per context if left out.",
)
@click.option(
    "--keep-case", "lower_case", is_flag=True, flag_value=False, default=None, help="Case of the text kept."
)
@click.option("--word2vec", is_flag=True, help="word2vec's text format in place of a model file.")
@spread_options()
@learn_options
def command(files: tuple[str, ...], word2vec: bool, **given: Any) -> None:
    """Count the words around each word of TEXT, one tokenized sentence per line, and make vectors of that.

    A corpus folder may stand in the place of a file.
    """
    settings = {name: given.pop(name) for name in VECTORS.parameters}
    estimator = built({"vectors": VECTORS}, "vectors", settings)
    assert isinstance(estimator, WordVectors)
    if word2vec:
        _write_text(estimator, files, given)
        return

    def work(fitting: Any, say: Any) -> Learned:
        vectors = fitting.fit([Path(file) for file in files]).model_
        return Learned(
            {"files": [described_file(file) for file in files]},
            f"{len(vectors)} words, {vectors.dimension} dimensions",
            found={"n_words": len(vectors), "dimension": vectors.dimension},
        )

    learn(estimator, settings["weighting"] or estimator.weighting, work, **given)


def _write_text(estimator: WordVectors, files: tuple[str, ...], options: Mapping[str, Any]) -> None:
    output, quiet = options["output"], options["quiet"]
    require_folder(output)
    with watching("counting", quiet):
        vectors = estimator.fit([Path(file) for file in files]).model_
    with atomic_write(output) as stream:
        write_word2vec(vectors, stream)
    if options["as_json"]:
        print_figures({"n_words": len(vectors), "dimension": vectors.dimension}, as_json=True)
    tell(f"{output}: {len(vectors)} words, {vectors.dimension} dimensions", quiet)


@click.command()
@model_argument
@click.argument("file", metavar="FILE")
@click.option("--top", type=click.IntRange(1), default=5, show_default=True, help="Number of words to give.")
@output_option
@json_option
def predict(model: str, file: str, top: int, output: str, as_json: bool) -> None:
    """The words nearest to each word of FILE, one word per line."""
    vectors: Vectors = load_model(model, "vectors")
    words = [line.strip() for line in open_text(file) if line.strip()]
    lines = []
    for word in words:
        best = vectors.nearest(word, top) if word in vectors else []
        text = "\t".join(f"{other}\t{value:.6g}" for other, value in best)
        lines.append(to_json({"word": word, "nearest": best}) if as_json else text)
    write_lines(output, lines)


@click.command()
@model_argument
@click.option(
    "--to",
    "target",
    type=click.Choice(["word2vec"]),
    required=True,
    help="Format to write: word2vec's text.",
)
@output_option
def convert(model: str, target: str, output: str) -> None:
    """Write vectors for other tools."""
    vectors: Vectors = load_model(model, "vectors")
    with atomic_write(output) as stream:
        write_word2vec(vectors, stream)


@click.command()
@model_argument
@output_option
@json_option
def show(model: str, output: str, as_json: bool) -> None:
    """Numbers of words and dimensions, and how they were counted."""
    vectors: Vectors = load_model(model, "vectors")
    learned = read_header(model)["learned"]
    if as_json:
        facts = {
            "family": "vectors",
            "n_words": len(vectors),
            "words": vectors.words[:_SHOWN],
            "dimension": vectors.dimension,
        }
        print_figures({**facts, "learned": learned}, as_json=True)
        return
    settings = learned.get("settings") if isinstance(learned, Mapping) else None
    rows = {
        "family": "vectors",
        "words": f"{len(vectors)}: {' '.join(vectors.words[:_SHOWN])} ..",
        "dimension": vectors.dimension,
        "settings": ", ".join(f"{name} {value}" for name, value in (settings or {}).items()),
    }
    write_lines(output, (f"{name:<12}  {value}" for name, value in rows.items()))
