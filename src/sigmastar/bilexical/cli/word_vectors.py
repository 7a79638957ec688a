"""What the commands do with word vectors: the nearest words, and what they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from sigmastar.bilexical.model.vectors import Vectors
from sigmastar.bilexical.model.word2vec import write_word2vec
from sigmastar.core.atomic import atomic_write
from sigmastar.core.cli.printing import print_figures, to_json
from sigmastar.core.model_files import load_model, read_header
from sigmastar.core.text_files import open_text

Parameters = Mapping[str, Any]


def predict(parameters: Parameters) -> None:
    """The words nearest to each word of a file, one a line."""
    vectors: Vectors = load_model(parameters["model"], "vectors")
    words = [line.strip() for line in open_text(parameters["file"]) if line.strip()]
    with atomic_write(parameters["output"]) as stream:
        for word in words:
            best = vectors.nearest(word, parameters["top"]) if word in vectors else []
            text = "\t".join(f"{other}\t{value:.6g}" for other, value in best)
            stream.write((to_json({"word": word, "nearest": best}) if parameters["as_json"] else text) + "\n")


def convert(parameters: Parameters) -> None:
    """The vectors in word2vec's text format."""
    if parameters["target"] != "word2vec":
        raise click.UsageError("vectors are written --to word2vec")
    vectors: Vectors = load_model(parameters["model"], "vectors")
    with atomic_write(parameters["output"]) as stream:
        write_word2vec(vectors, stream)


def show(parameters: Parameters) -> None:
    """How many words and dimensions, and how they were counted."""
    if parameters["dot"] or parameters["html"]:
        raise click.UsageError("vectors have no graph; show them as text or --json")
    vectors: Vectors = load_model(parameters["model"], "vectors")
    learned = read_header(parameters["model"])["learned"]
    settings = learned.get("settings") if isinstance(learned, Mapping) else None
    facts = {
        "family": "vectors",
        "words": f"{len(vectors)}: {' '.join(vectors.words[:8])} ..",
        "dimension": vectors.dimension,
        "settings": ", ".join(f"{name} {value}" for name, value in (settings or {}).items()),
    }
    if parameters["as_json"]:
        print_figures({**facts, "learned": learned}, as_json=True)
        return
    with atomic_write(parameters["output"]) as stream:
        stream.writelines(f"{name:<12}  {value}\n" for name, value in facts.items())
